// token_bucket_bench.cc - cycles per packet of a bucket that can pay, and of a limit that cannot.
// Units: TSC cycles. Threads: one.
#include <benchmark/benchmark.h>

#include "bench/micro/cycles.h"
#include "vswitch/qos/buckets/limiter.h"

namespace weir::bench {
namespace {

void report(benchmark::State& state, std::uint64_t began) {
    const auto spent = static_cast<double>(cycles() - began);
    state.counters["cycles_per_packet"] = spent / static_cast<double>(state.iterations());
}

void bucket_pays(benchmark::State& state) {
    TokenBucket bucket(make_profile(1'250'000'000, 1'000'000));
    Nanos now = 0;
    const std::uint64_t began = cycles();
    for (auto _ : state) {
        now += 2000;
        if (bucket.can_pay(1538, now))
            bucket.pay(1538, now);
        benchmark::DoNotOptimize(bucket);
    }
    report(state, began);
}
BENCHMARK(bucket_pays);

void limit_pays(benchmark::State& state) {
    Limiter limit;
    limit.set_profiles(make_profile(1'250'000'000, 1'000'000), make_profile(10'000'000, 1000), 0);
    Nanos now = 0;
    const std::uint64_t began = cycles();
    for (auto _ : state) {
        now += 2000;
        benchmark::DoNotOptimize(limit.admit({1538, 1}, now));
    }
    report(state, began);
}
BENCHMARK(limit_pays);

void limit_refuses(benchmark::State& state) {
    Limiter limit;
    limit.set_profiles(make_profile(1000, 1000), make_profile(10'000'000, 1000), 0);
    limit.pay({1'000'000, 1}, 0);
    Nanos now = 0;
    const std::uint64_t began = cycles();
    for (auto _ : state) {
        ++now;
        if (!limit.admit({1538, 1}, now))
            benchmark::DoNotOptimize(limit.ready_at({1538, 1}, now));
    }
    report(state, began);
}
BENCHMARK(limit_refuses);

}  // namespace
}  // namespace weir::bench
