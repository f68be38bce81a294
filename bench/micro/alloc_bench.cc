// alloc_bench.cc - milliseconds of one core per allocation, in the datacenter of Pulsar 6.4.
// Source: Pulsar 6.4. Units: ms, tokens/s. Threads: one; the time is the thread's own, so that other programs
// on the core do not count.
//
//   MECHANISM/vms:N/load:P/active:P   a mechanism that solved the same shape before, as in every interval but
//   the first cold/...                          a new DRF each time, which allocates its memory vdc/...
//   locally DRF, globally H-DRF; each tenant reserved half of its mean demand
//
// The datacenter: 12 VMs on a server with one flow each, 44 % of them to appliances and the others to other
// VMs. Each server has an uplink and a downlink; at load 100 % the flows of a server demand all of its
// uplink. Deterministic.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "ctrl/alloc/vdc.h"

namespace weir::bench {
namespace {

struct Datacenter {
    alloc::DemandMatrix demand;
    std::vector<double> weights;
    std::vector<double> capacity;
    alloc::ShareTree tenants;

    [[nodiscard]] alloc::Problem problem() const {
        return {
            .demand = demand, .weights = weights, .capacity = capacity, .share_base = {}, .tree = &tenants};
    }
};

struct DatacenterShape {
    std::uint32_t servers = 2000;
    std::uint32_t vms_per_server = 12;
    double load = 1;    ///< demand of all flows on the uplinks over their capacity
    double active = 1;  ///< part of the VMs that have a demand
    std::uint32_t vms_per_tenant = 48;
};

/// There is an appliance for ten servers; a request to it takes as many tokens as it has bytes, and the
/// response has as many bytes.
Datacenter make_datacenter(const DatacenterShape& shape) {
    constexpr double kLink = 1.25e9;  // bytes a second
    const std::uint32_t appliances = shape.servers / 10;
    const std::uint32_t vms = shape.servers * shape.vms_per_server;
    std::mt19937_64 random(shape.servers);
    const auto uniform = [&random] { return static_cast<double>(random() >> 11) * 0x1p-53; };
    const auto below = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(uniform() * bound); };

    Datacenter made;
    made.capacity.assign(2 * shape.servers, kLink);  // uplinks, then downlinks
    made.capacity.insert(made.capacity.end(), appliances, 5.3 * kLink);
    for (std::uint32_t vm = 0; vm < vms; ++vm) {
        const std::uint32_t server = vm / shape.vms_per_server;
        const double tokens = shape.load * kLink / shape.vms_per_server * 2 * uniform();
        if (uniform() < shape.active) {
            made.demand.put(server, tokens);
            if (uniform() < 0.44) {
                made.demand.put(shape.servers + server, tokens * 2 * uniform());
                made.demand.put(2 * shape.servers + below(appliances), tokens);
            } else {
                made.demand.put(shape.servers + below(shape.servers), tokens);
            }
        }
        made.demand.end_flow();
        made.weights.push_back(1);
        // Tenants are spread over the servers.
        made.tenants.node_of_flow.push_back(below((vms + shape.vms_per_tenant - 1) / shape.vms_per_tenant));
    }
    made.tenants.parent.assign((vms + shape.vms_per_tenant - 1) / shape.vms_per_tenant, alloc::kNone);
    made.tenants.weight.assign(made.tenants.parent.size(), 1.0);
    return made;
}

using alloc::kNone;

const alloc::MechanismEntry& mechanism(std::string_view name) {
    for (const alloc::MechanismEntry& entry : alloc::kMechanisms)
        if (entry.name == name)
            return entry;
    return alloc::kMechanisms[0];
}

/// The datacenter of a case's arguments: VMs, load and active in percent. Kept, because cases are repeated.
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

void report(benchmark::State& state, const Datacenter& made) {
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
    report(state, made);
}

void cold(benchmark::State& state) {
    const Datacenter& made = datacenter(state);
    for (auto _ : state) {
        alloc::Allocation out;
        mechanism("drf").make()->allocate(made.problem(), out);
        benchmark::DoNotOptimize(out.used.data());
    }
    report(state, made);
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
        for (const std::uint32_t k : made.demand.row(flow)) {
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
    report(state, made);
}

const std::vector<std::string> kArguments{"vms", "load", "active"};

void add_all() {
    const auto add = [](const char* name, auto&& run, const std::vector<std::vector<std::int64_t>>& product) {
        benchmark::RegisterBenchmark(name, run)->ArgNames(kArguments)->ArgsProduct(product);
    };
    const auto by = [](const char* name) { return [name](benchmark::State& state) { solve(state, name); }; };
    // Growth, up to a million flows.
    add("drf", by("drf"), {{3'000, 48'000, 96'000, 1'000'008}, {100}, {100}});
    add("hdrf", by("hdrf"), {{3'000, 48'000, 96'000}, {100}, {100}});
    add("cold", cold, {{24'000, 1'000'008}, {100}, {100}});
    // Load, at Pulsar's size.
    add("drf", by("drf"), {{24'000}, {30, 400}, {100}});
    add("hdrf", by("hdrf"), {{24'000}, {30, 400}, {100}});
    for (const char* name : {"first_fit", "max_min", "revenue"})
        add(name, by(name), {{24'000}, {100}, {100}});
    add("vdc", vdc, {{24'000}, {100}, {100}});
    // Pulsar Fig. 16.
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
