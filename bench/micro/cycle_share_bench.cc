// cycle_share_bench.cc - cycles that the cycle accounting itself costs, per vNIC and round.
#include <benchmark/benchmark.h>

#include "bench/micro/cycles.h"
#include "vswitch/qos/schedulers/cycle_share.h"

namespace weir::bench {
namespace {

/// All vNICs are asked; every eighth has work.
void round(benchmark::State& state) {
    const auto vnics = static_cast<std::size_t>(state.range(0));
    CycleShare share(vnics);
    for (std::size_t i = 0; i < vnics; ++i)
        share.add(i, 100);
    const std::uint64_t began = cycles();
    for (auto _ : state) {
        for (std::size_t i = 0; i < vnics; ++i) {
            if (share.may_poll(i) && i % 8 == 0)
                share.charge(i, 5000);
        }
        share.end_round();
        benchmark::DoNotOptimize(share);
    }
    state.counters["cycles_per_vnic"] = static_cast<double>(cycles() - began) /
                                        static_cast<double>(state.iterations()) / static_cast<double>(vnics);
}
BENCHMARK(round)->Arg(1)->Arg(8)->Arg(64)->Arg(1000);

}  // namespace
}  // namespace weir::bench
