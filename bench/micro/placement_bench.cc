// placement_bench.cc - time to fill 2,000 hosts with tenants, to place one more, to refuse one, and to audit
// all. Source: Pulsar 6.4 (the size). Threads: one.
#include <benchmark/benchmark.h>

#include "ctrl/placement/plan.h"

namespace weir::bench {
namespace {

using namespace weir::placement;

constexpr std::uint32_t kRacks = 100;
constexpr std::uint32_t kHostsPerRack = 20;
constexpr std::uint32_t kSlots = 12;
constexpr Tokens kGbit = 125'000'000;

/// Seeded, the same everywhere.
class Random {
  public:
    std::uint64_t below(std::uint64_t bound) {
        state_ = state_ * 6364136223846793005 + 1442695040888963407;
        return (state_ >> 33) % bound;
    }

  private:
    std::uint64_t state_ = 2014;
};

Topology datacenter(Tokens rack_uplink) {
    Topology topology;
    for (std::uint32_t r = 0; r < kRacks; ++r) {
        topology.racks.push_back({.id = "r" + std::to_string(r), .uplink = rack_uplink});
        for (std::uint32_t h = 0; h < kHostsPerRack; ++h)
            topology.hosts.push_back({.id = "h" + std::to_string(topology.hosts.size()),
                                      .uplink = 10 * kGbit,
                                      .rack = r,
                                      .slots = kSlots});
        for (std::uint32_t a = 0; a < 2; ++a)
            topology.appliances.push_back({.id = "p" + std::to_string(topology.appliances.size()),
                                           .type = "store",
                                           .capacity = 100'000,
                                           .rack = r,
                                           .link = 40 * kGbit});
    }
    return topology;
}

/// 1 to 48 VMs of 50 Mbit/s to 1 Gbit/s; every second tenant has a part of a store.
std::vector<Tenant> tenants_for(std::uint64_t vms) {
    Random random;
    std::vector<Tenant> tenants;
    while (vms != 0) {
        Tenant& tenant = tenants.emplace_back();
        tenant.id = "t" + std::to_string(tenants.size());
        const std::uint64_t count = std::min<std::uint64_t>(vms, 1 + random.below(48));
        const Tokens reservation = (1 + random.below(20)) * kGbit / 20;
        for (std::uint64_t i = 0; i < count; ++i)
            tenant.vnics.push_back({.id = std::to_string(i), .reservation = reservation});
        if (random.below(2) == 0)
            tenant.appliances.push_back(
                {.id = "store", .type = "store", .reservation = 10'000, .bandwidth = kGbit});
        vms -= count;
    }
    return tenants;
}

void fill_2000_hosts(benchmark::State& state) {
    const Topology topology = datacenter(static_cast<Tokens>(state.range(0)) * kGbit);
    const std::vector<Tenant> tenants = tenants_for(std::uint64_t{kRacks} * kHostsPerRack * kSlots);
    std::size_t placed = 0;
    std::size_t vms = 0;
    for (auto _ : state) {
        Placer placer(topology, LinkNeed::kHose);
        placed = vms = 0;
        for (const Tenant& tenant : tenants) {
            if (placer.place(tenant).layout) {
                ++placed;
                vms += tenant.vnics.size();
            }
        }
    }
    state.counters["tenants"] = static_cast<double>(tenants.size());
    state.counters["placed"] = static_cast<double>(placed);
    state.counters["vms"] = static_cast<double>(vms);
}
// Rack uplinks in Gbit/s: the sum of the hosts' uplinks; a quarter of it.
BENCHMARK(fill_2000_hosts)->Arg(200)->Arg(50)->Unit(benchmark::kMillisecond);

void one_more_when_half_full(benchmark::State& state) {
    const Topology topology = datacenter(50 * kGbit);
    Placer placer(topology, LinkNeed::kHose);
    for (const Tenant& tenant : tenants_for(kRacks * kHostsPerRack * kSlots / 2))
        benchmark::DoNotOptimize(placer.place(tenant).layout);
    const Tenant more = tenants_for(48)[0];
    for (auto _ : state) {
        const Outcome outcome = placer.place(more);
        if (!outcome.layout) {
            state.SkipWithError("the tenant was not placed");
            return;
        }
        placer.remove(more, *outcome.layout);
    }
}
BENCHMARK(one_more_when_half_full)->Unit(benchmark::kMicrosecond);

void one_that_does_not_fit(benchmark::State& state) {
    const Topology topology = datacenter(50 * kGbit);
    Placer placer(topology, LinkNeed::kHose);
    for (const Tenant& tenant : tenants_for(kRacks * kHostsPerRack * kSlots / 2))
        benchmark::DoNotOptimize(placer.place(tenant).layout);
    Tenant large{.id = "large", .vnics = {}, .appliances = {}};
    for (int i = 0; i < 40; ++i)
        large.vnics.push_back({.id = std::to_string(i), .reservation = 11 * kGbit});
    for (auto _ : state)
        benchmark::DoNotOptimize(placer.place(large).why);
}
BENCHMARK(one_that_does_not_fit)->Unit(benchmark::kMillisecond);

void judge_all(benchmark::State& state) {
    const Topology topology = datacenter(50 * kGbit);
    Placer placer(topology, LinkNeed::kHose);
    std::vector<Tenant> in;
    std::vector<Layout> layouts;
    for (const Tenant& tenant : tenants_for(kRacks * kHostsPerRack * kSlots)) {
        const Outcome outcome = placer.place(tenant);
        if (outcome.layout) {
            in.push_back(tenant);
            layouts.push_back(*outcome.layout);
        }
    }
    for (auto _ : state)
        benchmark::DoNotOptimize(audit(topology, LinkNeed::kHose, in, layouts).broken);
}
BENCHMARK(judge_all)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weir::bench
