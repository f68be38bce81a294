// pool_bench.cc - time of one divvy, and of a whole tree of pools, by the number of children.
// Source: SRP 3.1. Threads: one.
#include <benchmark/benchmark.h>

#include <random>

#include "ctrl/pools/division.h"

namespace weir::bench {
namespace {

using namespace weir::pools;

Controls controls_of(std::mt19937_64& random) {
    Controls own{.reservation = 0, .limit = kNoLimit, .shares = 1.0 + static_cast<double>(random() % 1000)};
    if (random() % 3 == 0)
        own.reservation = static_cast<double>(random() % 1000);
    if (random() % 3 == 0)
        own.limit = own.reservation + static_cast<double>(random() % 2000);
    return own;
}

void divvy(benchmark::State& state) {
    std::mt19937_64 random(1);
    std::vector<RealClaim> claims;
    for (std::int64_t i = 0; i < state.range(0); ++i) {
        const Controls own = controls_of(random);
        claims.push_back({own.reservation, own.limit, static_cast<double>(random() % 3000), own.shares});
    }
    std::vector<double> parts(claims.size());
    for (auto _ : state)
        benchmark::DoNotOptimize(water_fill(500.0 * static_cast<double>(claims.size()), claims, parts));
}
BENCHMARK(divvy)->Arg(100)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMicrosecond);

/// The worst order of events: each limit that binds leaves just enough for the next one to bind.
void divvy_staircase(benchmark::State& state) {
    std::vector<RealClaim> claims;
    double limit = 1;
    for (std::int64_t i = 0; i < state.range(0); ++i)
        claims.push_back({0, limit *= 1.001, RealClaim::kNoLimit, 1});
    std::vector<double> parts(claims.size());
    for (auto _ : state)
        benchmark::DoNotOptimize(water_fill(limit * 500, claims, parts));
}
BENCHMARK(divvy_staircase)->Arg(10'000)->Unit(benchmark::kMicrosecond);

/// One division of a whole tree with 20 VMs a pool.
void pools(benchmark::State& state) {
    std::mt19937_64 random(2);
    PoolTree tree({.reservation = 1000.0 * static_cast<double>(state.range(0))});
    std::vector<NodeIndex> pools;
    for (std::int64_t i = 0; i < state.range(0) / 20; ++i)
        pools.push_back(tree.add(kRoot, {.reservation = 12'000, .limit = kNoLimit, .shares = 100}));
    for (std::int64_t i = 0; i < state.range(0); ++i)
        tree.add(pools[random() % pools.size()], controls_of(random));
    std::vector<double> demands;
    for (NodeIndex node = 0; node < tree.size(); ++node)
        demands.push_back(static_cast<double>(random() % 3000));
    Divider divider;
    Division out;
    for (auto _ : state) {
        divider.divide(tree, demands, 500.0 * static_cast<double>(state.range(0)), out);
        benchmark::DoNotOptimize(out.entitlement.data());
    }
}
BENCHMARK(pools)->Arg(10'000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace weir::bench
