// scheduler_load.h - a link of 1000 classes of which some are backlogged, and what a scheduler spends on it.
// Threads: one.
#pragma once

#include <benchmark/benchmark.h>

#include <array>
#include <chrono>

#include "bench/micro/cycles.h"
#include "vswitch/qos/schedulers/link_scheduler.h"

namespace weir::bench {

inline constexpr std::uint32_t kFrame = 1538;
inline constexpr std::uint64_t kRate = 12'500'000'000;

struct Spent {
    std::uint64_t packets = 0;
    std::uint64_t deciding = 0;  ///< cycles in dequeue_burst(), which decides and takes out
    std::uint64_t in_all = 0;    ///< cycles, with what fills the queues
    double nanos_per_cycle = 0;
};

/// `busy` classes have `depth` packets each; profile(id) is a class's. A poll moves 32 packets.
template <class Scheduler, class Profile>
Spent schedule(benchmark::State& state, VnicId busy, std::uint32_t depth, Profile&& profile) {
    constexpr Nanos kBurstTime = Nanos{32} * kFrame * kNanosPerSec / kRate;
    TimingWheel limits(1000);
    Scheduler link({.classes = 1000, .queue_packets = 64, .wheel = &limits});
    link.set_capacity(kRate, 0);
    for (VnicId id = 0; id < 1000; ++id)
        link.add(id, profile(id), nullptr, 0);
    Nanos now = 1'000'000;
    const auto fill = [&](VnicId id) {
        benchmark::DoNotOptimize(link.enqueue(id, {nullptr, now, kFrame, 1, 1}, now));
    };
    for (VnicId id = 0; id < busy; ++id)
        for (std::uint32_t i = 0; i < depth; ++i)
            fill(id);
    std::array<PacketRef, 32> out;
    VnicId next = 0;
    Spent spent;
    const auto clock_began = std::chrono::steady_clock::now();
    const std::uint64_t began = cycles();
    for (auto _ : state) {
        now += kBurstTime;
        const std::uint64_t before = cycles();
        const std::size_t sent = link.dequeue_burst(now, out);
        spent.deciding += cycles() - before;
        spent.packets += sent;
        for (std::size_t i = 0; i < sent; ++i) {
            while (link.backlog_packets(next) >= depth)
                next = static_cast<VnicId>(next + 1 < busy ? next + 1 : 0);
            fill(next);
        }
    }
    spent.in_all = cycles() - began;
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - clock_began;
    spent.nanos_per_cycle = took.count() / static_cast<double>(spent.in_all);
    return spent;
}

inline void report_decisions(benchmark::State& state, const Spent& spent) {
    const double cycles = static_cast<double>(spent.deciding) / static_cast<double>(spent.packets);
    state.counters["cycles_per_packet"] = cycles;
    state.counters["decision_ns"] = cycles * spent.nanos_per_cycle;
}

}  // namespace weir::bench
