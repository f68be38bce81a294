// fulfillment_scheduler_bench.cc - the fulfillment scheduler's decision, per packet, queues included.
#include <benchmark/benchmark.h>

#include <array>
#include <chrono>

#include "bench/micro/cycles.h"
#include "vswitch/qos/fulfillment_scheduler.h"

namespace weir::bench {
namespace {

constexpr std::uint32_t kFrame = 1538;
constexpr std::uint64_t kRate = 12'500'000'000;
constexpr Nanos kBurstTime = Nanos{32} * kFrame * kNanosPerSec / kRate;

/// `busy` backlogged classes of 1000, which together are promised `promised` percent of the link. A poll
/// moves 32 packets; what is measured is dequeue_burst(), which decides and takes out, not what fills the
/// queues.
void fulfillment(benchmark::State& state) {
    const auto busy = static_cast<VnicId>(state.range(0));
    TimingWheel limits(1000);
    FulfillmentScheduler link({.classes = 1000, .queue_packets = 64, .limits = &limits});
    link.set_capacity(kRate, 0);
    const std::uint64_t each = kRate / 100 * static_cast<std::uint64_t>(state.range(1)) / busy;
    for (VnicId id = 0; id < 1000; ++id)
        link.add(id, {.reservation = each}, nullptr, 0);
    Nanos now = 1'000'000;
    for (VnicId id = 0; id < busy; ++id)
        for (int i = 0; i < 48; ++i)
            benchmark::DoNotOptimize(link.enqueue(id, {nullptr, now, kFrame, 1, 1}, now));
    std::array<PacketRef, 32> out;
    VnicId next = 0;
    std::uint64_t packets = 0;
    std::uint64_t spent = 0;
    const std::uint64_t began = cycles();
    const auto clock_began = std::chrono::steady_clock::now();
    for (auto _ : state) {
        now += kBurstTime;
        const std::uint64_t before = cycles();
        const std::size_t sent = link.dequeue_burst(now, out);
        spent += cycles() - before;
        packets += sent;
        for (std::size_t i = 0; i < sent; ++i) {
            while (link.backlog_packets(next) >= 48)
                next = static_cast<VnicId>(next + 1 < busy ? next + 1 : 0);
            benchmark::DoNotOptimize(link.enqueue(next, {nullptr, now, kFrame, 1, 1}, now));
        }
    }
    const double nanos =
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - clock_began).count();
    const double per_cycle = nanos / static_cast<double>(cycles() - began);
    state.counters["cycles_per_packet"] = static_cast<double>(spent) / static_cast<double>(packets);
    state.counters["decision_ns"] = static_cast<double>(spent) * per_cycle / static_cast<double>(packets);
}
BENCHMARK(fulfillment)->ArgNames({"busy", "promised"})->ArgsProduct({{1, 10, 100, 1000}, {50, 400}});

}  // namespace
}  // namespace weir::bench
