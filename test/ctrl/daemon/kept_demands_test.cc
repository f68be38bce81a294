// kept_demands_test.cc - the demands of a silent host, and the capacity that the solver leaves free for it.
#include "ctrl/daemon/kept_demands.h"

#include <algorithm>
#include <map>

#include "ctrl/daemon/interval_solver.h"
#include "ctrl/placement/cluster_plan.h"
#include "test/support/catch.h"

using namespace weir;

namespace {

// Three hosts with links of 1 GB/s and no headroom. Tenant A has a1 on h1, a2 on h2 and a3 on h3; B has b1 on
// h2 and b3 on h3.
constexpr const char* kSites = R"({
  "secret_key_file": "/k", "store": "/s", "headroom": "0%",
  "topology": {"hosts": [{"name": "h1", "uplink": "8Gbit"}, {"name": "h2", "uplink": "8Gbit"},
                         {"name": "h3", "uplink": "8Gbit"}]},
  "appliances": [{"name": "disk", "capacity_min": "10ktokens", "capacity_max": "10ktokens"}],
  "tenants": [
    {"name": "A", "vnics": [{"name": "a1", "reservation": "4Gbit", "weight": 300},
                            {"name": "a2", "reservation": "2Gbit"}, {"name": "a3", "reservation": "2Gbit"}],
     "appliances": [{"name": "disk", "reservation": "5ktokens"}]},
    {"name": "B", "vnics": [{"name": "b1"}, {"name": "b3"}], "appliances": [{"name": "disk", "reservation": "1ktokens"}]}]
})";

struct ThreeSites {
    std::map<std::string, std::uint32_t> ids;
    ClusterConfig config = std::get<ClusterConfig>(parse_cluster(kSites, placement_faults));
    Cluster cluster{
        config, [this](auto, auto name) {
            return ids.emplace(std::string(name), static_cast<std::uint32_t>(ids.size() + 1)).first->second;
        }};
    FlowDemands demands;

    ThreeSites() {
        for (const auto& [name, host] : {std::pair{"a1", 0U}, {"a2", 1U}, {"a3", 2U}, {"b1", 1U}, {"b3", 2U}})
            cluster.place_vnic(ids.at(name), host, "", 0);
    }
    [[nodiscard]] wire::FlowKey flow(const char* from, const char* to) const {
        return {ids.at(from), ids.at(to)};
    }
    void want(const char* from, const char* to, std::array<float, wire::kParts> tokens) {
        demands[flow(from, to)] = {.flow = flow(from, to), .used = tokens};
    }
    /// Replaces the demands of h1 by those that it counts with while its switch is silent.
    void lose_h1() {
        std::size_t idle_pairs = kIdlePairsMax;
        const auto kept = kept_demands(cluster, 0, demands, idle_pairs);
        demands.take(ids.at("a1"));
        for (const wire::FlowDemand& each : kept)
            demands[each.flow] = each;
    }
    std::uint64_t rate(IntervalSolver& solver, const char* from, const char* to, std::size_t part) {
        for (const wire::FlowAllocation& each : solver.solve(cluster, demands, true))
            if (each.flow == flow(from, to))
                return each.rate[part];
        return 0;
    }
};

}  // namespace

TEST_CASE("a silent host counts with the guarantee of each flow, reported or reserved", "[kept]") {
    ThreeSites sites;
    sites.want("a1", "disk", {8'000, 4'000, 16'000});
    sites.want("a1", "a2", {900e6F, 0, 0});
    sites.want("b1", "disk", {0, 500, 0});
    std::size_t idle_pairs = 10;
    const auto kept = kept_demands(sites.cluster, 0, sites.demands, idle_pairs);
    CHECK(idle_pairs == 9);  // a1 to a3
    REQUIRE(kept.size() == 3);
    CHECK(std::ranges::is_sorted(kept, {}, &wire::FlowDemand::flow));
    std::map<wire::FlowKey, std::array<float, wire::kParts>> used;
    for (const wire::FlowDemand& each : kept) {
        used[each.flow] = each.used;
        CHECK(each.backlog == std::array<float, wire::kParts>{});
        CHECK(each.marks == kKeptMark);
    }
    // 5,000 tokens of the tenant by weight 300 of 500; bytes in the last proportion.
    CHECK(used[sites.flow("a1", "disk")] == std::array<float, wire::kParts>{6'000, 3'000, 12'000});
    // 2 Gbit/s of the receiver, of which each of its two peers has half: 125 MB/s.
    CHECK(used[sites.flow("a1", "a2")][wire::kThere] == 125e6F);
    CHECK(used[sites.flow("a1", "a3")][wire::kThere] == 125e6F);
}

TEST_CASE("beyond the bound an idle pair does not count, and a reported one does", "[kept]") {
    ThreeSites sites;
    sites.want("a1", "a3", {1, 0, 0});
    std::size_t idle_pairs = 0;
    std::vector<wire::FlowKey> flows;
    for (const wire::FlowDemand& each : kept_demands(sites.cluster, 0, sites.demands, idle_pairs))
        flows.push_back(each.flow);
    CHECK(std::ranges::find(flows, sites.flow("a1", "a3")) != flows.end());
    CHECK(std::ranges::find(flows, sites.flow("a1", "a2")) == flows.end());
    CHECK(std::ranges::find(flows, sites.flow("a1", "disk")) != flows.end());
}

TEST_CASE("what others get leaves the guarantees of a silent host free, at appliances and at links",
          "[kept]") {
    ThreeSites sites;
    IntervalSolver solver(sites.config);
    const auto greedy = [&] {
        sites.want("b1", "disk", {0, 50'000, 0});
        sites.want("b1", "b3", {900e6F, 0, 0});
        sites.want("b3", "b1", {2e9F, 0, 0});
    };
    sites.want("a1", "disk", {0, 9'000, 0});
    sites.want("a1", "a2", {900e6F, 0, 0});
    greedy();
    for (int interval = 0; interval < 5; ++interval)
        (void)solver.solve(sites.cluster, sites.demands, true);
    sites.lose_h1();
    greedy();
    // Averages of the last demands end within some intervals; until then more is free, not less.
    for (int interval = 0; interval < 60; ++interval) {
        CHECK(sites.rate(solver, "b1", "disk", wire::kTokens) <= 7'000);
        CHECK(sites.rate(solver, "b3", "b1", wire::kThere) <=
              875'000'000);  // the link into h2, less a1 to a2
        CHECK(sites.rate(solver, "b1", "b3", wire::kThere) <=
              875'000'000);  // the link into h3, less a1 to a3
    }
    CHECK(sites.rate(solver, "b1", "disk", wire::kTokens) >= 6'900);
    CHECK(sites.rate(solver, "b3", "b1", wire::kThere) >= 860'000'000);
    // The time is over: the host's demands go, and others have all.
    sites.demands.take(sites.ids.at("a1"));
    for (int interval = 0; interval < 60; ++interval)
        (void)solver.solve(sites.cluster, sites.demands, true);
    CHECK(sites.rate(solver, "b1", "disk", wire::kTokens) >= 9'900);
    CHECK(sites.rate(solver, "b3", "b1", wire::kThere) >= 990'000'000);
}
