// alloc_bench.cc - milliseconds of one core per interval's allocation, on the datacenter of Pulsar 6.4.
//
//   MECHANISM/vms/load %/active %   a mechanism that has solved the same shape before, as in every interval
//   but the first cold/...                        a new DRF each time: what allocating its memory costs
//   besides vdc/...                         local by DRF, global by H-DRF, each tenant having reserved half
//   of its mean demand
// The time is the thread's, so that who else has the core does not count.
#include <benchmark/benchmark.h>

#include <map>
#include <string>
#include <tuple>

#include "bench/micro/datacenter.h"
#include "ctrl/alloc/vdc.h"

namespace weir::bench {
namespace {

using alloc::kNone;

const alloc::MechanismEntry& mechanism(std::string_view name) {
    for (const alloc::MechanismEntry& entry : alloc::kMechanisms)
        if (entry.name == name)
            return entry;
    return alloc::kMechanisms[0];
}

/// The datacenter of a bench's arguments: VMs, load and active in percent. Kept, since benches are repeated.
const Datacenter& datacenter(const benchmark::State& state) {
    static std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, Datacenter> kept;
    const std::tuple key{state.range(0), state.range(1), state.range(2)};
    if (const auto it = kept.find(key); it != kept.end())
        return it->second;
    const DatacenterShape shape{.servers = static_cast<std::uint32_t>((state.range(0) + 11) / 12),
                                .load = static_cast<double>(state.range(1)) / 100,
                                .active = static_cast<double>(state.range(2)) / 100};
    return kept.emplace(key, make_datacenter(shape)).first->second;
}

void count(benchmark::State& state, const Datacenter& made) {
    state.counters["ms_per_solve"] = {
        1e-3, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert};
    state.counters["flows"] = made.demand.flows();
    state.counters["resources"] = static_cast<double>(made.capacity.size());
    state.counters["entries"] = static_cast<double>(made.demand.entries());
}

void solve(benchmark::State& state, std::string_view name) {
    const Datacenter& made = datacenter(state);
    const auto solver = mechanism(name).make();
    alloc::Allocation out;
    solver->allocate(made.problem(), out);
    for (auto _ : state)
        solver->allocate(made.problem(), out);
    for (std::size_t j = 0; j < made.capacity.size(); ++j)
        if (out.used[j] > made.capacity[j])
            state.SkipWithError("a resource is over its capacity");
    count(state, made);
}

void cold(benchmark::State& state) {
    const Datacenter& made = datacenter(state);
    for (auto _ : state) {
        alloc::Allocation out;
        mechanism("drf").make()->allocate(made.problem(), out);
        benchmark::DoNotOptimize(out.used.data());
    }
    count(state, made);
}

/// Tenants of a datacenter on resources of their own.
struct Vdcs {
    alloc::DemandMatrix inside;
    std::vector<alloc::VdcTenant> tenants;
    std::vector<alloc::VirtualResource> resources;
};

Vdcs make_vdcs(const Datacenter& made) {
    Vdcs vdcs;
    vdcs.tenants.resize(made.tenants.parent.size());
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers;
    for (std::uint32_t flow = 0; flow < made.demand.flows(); ++flow) {
        for (std::uint32_t k = made.demand.begin(flow); k < made.demand.begin(flow + 1); ++k) {
            const std::pair key{made.tenants.node_of_flow[flow], made.demand.resource()[k]};
            const auto [it, is_new] = numbers.emplace(key, static_cast<std::uint32_t>(vdcs.resources.size()));
            if (is_new)
                vdcs.resources.push_back({.reserved = made.capacity[key.second] / 24});
            vdcs.inside.put(it->second, made.demand.tokens()[k]);
        }
        vdcs.inside.end_flow();
    }
    return vdcs;
}

void vdc(benchmark::State& state) {
    const Datacenter& made = datacenter(state);
    const Vdcs vdcs = make_vdcs(made);
    const alloc::VdcProblem problem{.demand = made.demand,
                                    .inside = vdcs.inside,
                                    .tenant = made.tenants.node_of_flow,
                                    .weights = made.weights,
                                    .tenants = vdcs.tenants,
                                    .capacity = made.capacity,
                                    .resources = vdcs.resources,
                                    .give_spare = true};
    alloc::VdcAllocator allocator(mechanism("hdrf"));
    alloc::VdcAllocation out;
    allocator.allocate(problem, out);
    for (auto _ : state)
        allocator.allocate(problem, out);
    count(state, made);
}

const std::vector<std::string> kArguments{"vms", "load", "active"};

void add_all() {
    const auto add = [](const char* name, auto&& run, const std::vector<std::vector<std::int64_t>>& product) {
        benchmark::RegisterBenchmark(name, run)->ArgNames(kArguments)->ArgsProduct(product);
    };
    const auto by = [](const char* name) { return [name](benchmark::State& state) { solve(state, name); }; };
    // Growth, and the million.
    add("drf", by("drf"), {{3'000, 48'000, 96'000, 1'000'008}, {100}, {100}});
    add("hdrf", by("hdrf"), {{3'000, 48'000, 96'000}, {100}, {100}});
    add("cold", cold, {{24'000, 1'000'008}, {100}, {100}});
    // Load, at Pulsar's size.
    add("drf", by("drf"), {{24'000}, {30, 400}, {100}});
    add("hdrf", by("hdrf"), {{24'000}, {30, 400}, {100}});
    for (const char* name : {"first_fit", "max_min", "revenue"})
        add(name, by(name), {{24'000}, {100}, {100}});
    add("vdc", vdc, {{24'000}, {100}, {100}});
    // Fig. 16.
    add("drf", by("drf"), {{6'000, 12'000, 18'000, 24'000}, {100}, {20, 40, 60, 80, 100}});
    add("hdrf", by("hdrf"), {{6'000, 12'000, 18'000, 24'000}, {100}, {20, 40, 60, 80, 100}});
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    weir::bench::add_all();
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
