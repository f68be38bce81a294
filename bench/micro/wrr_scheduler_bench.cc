// wrr_scheduler_bench.cc - cycles per packet through the scheduler and past it.
#include <benchmark/benchmark.h>

#include <array>

#include "bench/micro/cycles.h"
#include "vswitch/qos/wrr_scheduler.h"

namespace weir::bench {
namespace {

constexpr std::uint32_t kFrame = 1538;
constexpr std::uint64_t kRate = 12'500'000'000;
constexpr Nanos kBurstTime = Nanos{32} * kFrame * kNanosPerSec / kRate;

void report(benchmark::State& state, std::uint64_t began, std::uint64_t packets) {
    state.counters["cycles_per_packet"] =
        static_cast<double>(cycles() - began) / static_cast<double>(packets);
}

void bypass(benchmark::State& state) {
    TimingWheel limits(1);
    WrrScheduler link({.classes = 1, .limits = &limits});
    link.set_capacity(kRate, 0);
    link.add(0, {.reservation = kRate / 4}, nullptr, 0);
    Nanos now = 1'000'000;
    const std::uint64_t began = cycles();
    for (auto _ : state) {
        now += 200;
        if (link.can_bypass(0, kFrame, now))
            link.bypass(0, kFrame, now);
    }
    report(state, began, static_cast<std::uint64_t>(state.iterations()));
}
BENCHMARK(bypass);

/// `busy` backlogged classes of 1000; every second has a reservation if `reserved`. A poll moves 32 packets.
void backlogged(benchmark::State& state) {
    const auto busy = static_cast<VnicId>(state.range(0));
    TimingWheel limits(1000);
    WrrScheduler link({.classes = 1000, .queue_packets = 64, .limits = &limits});
    link.set_capacity(kRate, 0);
    for (VnicId id = 0; id < 1000; ++id)
        link.add(id, {.reservation = id % 2 == 0 ? kRate / 1000 * static_cast<unsigned>(state.range(1)) : 0},
                 nullptr, 0);
    Nanos now = 1'000'000;
    for (VnicId id = 0; id < busy; ++id)
        for (int i = 0; i < 32; ++i)
            benchmark::DoNotOptimize(link.enqueue(id, {nullptr, now, kFrame, 1, 1}, now));
    std::array<PacketRef, 32> out;
    VnicId next = 0;
    std::uint64_t packets = 0;
    const std::uint64_t began = cycles();
    for (auto _ : state) {
        now += kBurstTime;
        const std::size_t sent = link.dequeue_burst(now, out);
        packets += sent;
        for (std::size_t i = 0; i < sent; ++i) {
            while (link.backlog_packets(next) >= 32)
                next = static_cast<VnicId>(next + 1 < busy ? next + 1 : 0);
            benchmark::DoNotOptimize(link.enqueue(next, {nullptr, now, kFrame, 1, 1}, now));
        }
    }
    report(state, began, packets);
}
BENCHMARK(backlogged)->ArgNames({"busy", "reserved"})->ArgsProduct({{1, 10, 100, 1000}, {0, 1}});

}  // namespace
}  // namespace weir::bench
