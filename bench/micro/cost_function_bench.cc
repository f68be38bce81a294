// cost_function_bench.cc - ns per request of the cost function: shapes of tables, repeated places.
// Units: ns of the thread's own time. Threads: one. 4,096 requests, whose sizes are spread evenly over powers
// of two, come in random order again and again.
#include <benchmark/benchmark.h>

#include <ctime>
#include <random>
#include <vector>

#include "cost_functions/cost_function.h"

namespace weir::bench {
namespace {

constexpr std::size_t kRequests = 4096;
constexpr std::uint32_t kKi = 1024;

std::vector<Request> requests(std::uint64_t places) {
    std::minstd_rand random(1);
    std::vector<Request> all(kRequests);
    for (Request& request : all) {
        request.operation = static_cast<Operation>(random() % kOperations);
        request.request_bytes = static_cast<std::uint32_t>(random()) >> (11 + random() % 16);
        request.response_bytes = static_cast<std::uint32_t>(random()) >> (11 + random() % 16);
        request.place = random() % places * 4096;
        request.span = 4096;
    }
    return all;
}

/// The thread's own time: the loops wait for nothing, and another program may have the core.
double spent_ns() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

void report(benchmark::State& state, double began) {
    state.counters["ns_per_request"] =
        (spent_ns() - began) / (static_cast<double>(state.iterations()) * double{kRequests});
}

CostTable table_of(const CostCurve& curve, std::optional<RepeatRule> repeat = std::nullopt) {
    std::array<CostTable::Row, kOperations> rows;
    for (CostTable::Row& row : rows) {
        row.counted = CountedSize::kLarger;
        row.plain = curve;
        if (repeat)
            row.repeat = CostCurve::linear(1, {1, 10'000});
    }
    return {{"bench", "token", "bench", repeat}, rows};
}

CostCurve points(std::size_t count) {
    std::vector<CostCurve::Point> list;
    for (std::size_t i = 0; i < count; ++i)
        list.push_back({512 * (i + 1) * (i + 1), static_cast<std::uint32_t>(1'000 + 300 * i)});
    return CostCurve::points(list);
}

void run_table(benchmark::State& state, const CostTable& table) {
    const std::vector<Request> all = requests(1);
    const double began = spent_ns();
    for (auto _ : state)
        for (const Request& request : all)
            benchmark::DoNotOptimize(
                table.tokens(request.operation, request.request_bytes, request.response_bytes));
    report(state, began);
}

void cost_linear(benchmark::State& state) {
    run_table(state, table_of(CostCurve::linear(0, {1, 1})));
}
BENCHMARK(cost_linear);
void cost_minimum(benchmark::State& state) {
    run_table(state, table_of(CostCurve::minimum(8192, 0, {1, 1})));
}
BENCHMARK(cost_minimum);
void cost_steps(benchmark::State& state) {
    run_table(state, table_of(CostCurve::steps(1, 16 * kKi, {1, 32 * kKi})));
}
BENCHMARK(cost_steps);
void cost_points(benchmark::State& state) {
    run_table(state, table_of(points(static_cast<std::size_t>(state.range(0)))));
}
BENCHMARK(cost_points)->Arg(5)->Arg(16)->Arg(64);

/// The whole function with repeats; with more places than the capacity of 65,536 no request is one.
void cost_function_repeats(benchmark::State& state) {
    const RepeatRule rule{10 * kNanosPerSec, 65'536, 12};
    CostFunction function(std::make_shared<CostTable>(table_of(CostCurve::minimum(8192, 0, {1, 1}), rule)));
    const std::vector<Request> all = requests(static_cast<std::uint64_t>(state.range(0)));
    Nanos now = 0;
    std::uint64_t offset = 0;
    const double began = spent_ns();
    for (auto _ : state) {
        for (Request request : all) {
            request.place = (request.place + offset) & 0xFFF'FFFF'FFFF;
            benchmark::DoNotOptimize(function.tokens(request, request.response_bytes, ++now));
        }
        if (state.range(0) > 65'536)
            offset += 0x1000'0000;
    }
    report(state, began);
}
BENCHMARK(cost_function_repeats)->Arg(1'000)->Arg(1'000'000);

void cost_function_plain(benchmark::State& state) {
    CostFunction function(std::make_shared<CostTable>(table_of(CostCurve::minimum(8192, 0, {1, 1}))));
    const std::vector<Request> all = requests(1'000);
    const double began = spent_ns();
    for (auto _ : state)
        for (const Request& request : all)
            benchmark::DoNotOptimize(function.tokens(request, request.response_bytes, 0));
    report(state, began);
}
BENCHMARK(cost_function_plain);

}  // namespace
}  // namespace weir::bench
