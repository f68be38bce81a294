// wrr_scheduler_bench.cc - cycles per packet through the scheduler and past it.
#include "bench/micro/scheduler_load.h"
#include "vswitch/qos/schedulers/wrr_scheduler.h"

namespace weir::bench {
namespace {

void bypass(benchmark::State& state) {
    TimingWheel limits(1);
    WrrScheduler link({.classes = 1, .wheel = &limits});
    link.set_capacity(kRate, 0);
    link.add(0, {.reservation = kRate / 4}, nullptr, 0);
    Nanos now = 1'000'000;
    const std::uint64_t began = cycles();
    for (auto _ : state) {
        now += 200;
        if (link.can_bypass(0, kFrame, now))
            link.bypass(0, kFrame, now);
    }
    state.counters["cycles_per_packet"] =
        static_cast<double>(cycles() - began) / static_cast<double>(state.iterations());
}
BENCHMARK(bypass);

/// `busy` backlogged classes; every second has a reservation if `reserved`. With what fills the queues.
void backlogged(benchmark::State& state) {
    const std::uint64_t reservation = kRate / 1000 * static_cast<unsigned>(state.range(1));
    const Spent spent = schedule<WrrScheduler>(
        state, static_cast<VnicId>(state.range(0)), 32,
        [reservation](VnicId id) { return ClassProfile{.reservation = id % 2 == 0 ? reservation : 0}; });
    state.counters["cycles_per_packet"] =
        static_cast<double>(spent.in_all) / static_cast<double>(spent.packets);
}
BENCHMARK(backlogged)->ArgNames({"busy", "reserved"})->ArgsProduct({{1, 10, 100, 1000}, {0, 1}});

}  // namespace
}  // namespace weir::bench
