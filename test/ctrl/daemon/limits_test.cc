// limits_test.cc - limits of the cluster file hold in rates and guarantees: the review's numbers.
#include <map>
#include <string>

#include "ctrl/daemon/interval_solver.h"
#include "ctrl/placement/cluster_plan.h"
#include "test/support/catch.h"

using namespace weir;

namespace {

/// A cluster of hosts h1 and h2 with links of 10 Gbit/s; each vNIC is on the host that the file names.
struct LimitedSite {
    explicit LimitedSite(const std::string& tenants, const std::string& pools = "[]")
        : config(std::get<ClusterConfig>(parse_cluster(
              R"({"topology": {"hosts": [{"name": "h1"}, {"name": "h2"}]},
                  "appliances": [{"name": "disk", "capacity_min": "100ktokens", "capacity_max": "100ktokens"}],
                  "tenants": )" +
                  tenants + R"(, "pools": )" + pools + "}",
              placement_faults))),
          cluster(config,
                  [this](auto, auto name) {
                      return ids.emplace(std::string(name), static_cast<std::uint32_t>(ids.size() + 1))
                          .first->second;
                  }),
          solver(config) {
        for (const TenantConfig& tenant : config.tenants)
            for (const TenantVnicConfig& vnic : tenant.vnics)
                cluster.place_vnic(ids.at(vnic.name), cluster.find_host(vnic.host), "", 0);
    }
    void want(const char* vnic, const char* end, std::array<float, 3> used) {
        const wire::FlowKey flow{ids.at(vnic), ids.at(end)};
        demands[flow] = {.flow = flow, .used = used};
    }
    void solve() {
        for (const wire::FlowAllocation& each : solver.solve(cluster, demands, true))
            rates[each.flow] = each;
    }
    std::uint64_t rate(const char* vnic, const char* end, std::size_t part) const {
        return rates.at({ids.at(vnic), ids.at(end)}).rate[part];
    }

    std::map<std::string, std::uint32_t> ids;
    ClusterConfig config;
    Cluster cluster;
    IntervalSolver solver;
    FlowDemands demands;
    std::map<wire::FlowKey, wire::FlowAllocation> rates;
};

constexpr std::uint64_t kMbit = 125'000;  // bytes per second

}  // namespace

TEST_CASE("a tenant's limit at an appliance bounds its rate and its guarantee", "[limits]") {
    LimitedSite site(R"([{"name": "A", "vnics": [{"name": "a", "host": "h1"}],
                          "appliances": [{"name": "disk", "limit": "1ktokens"}]}])");
    site.want("a", "disk", {0, 5, 0});
    site.solve();
    CHECK(site.rate("a", "disk", wire::kTokens) == 1000);  // 3,000 without the limit, a part of the headroom
    site.want("a", "disk", {0, 50'000, 0});
    site.solve();
    CHECK(site.rate("a", "disk", wire::kTokens) >= 999);
    CHECK(site.rate("a", "disk", wire::kTokens) <= 1000);
    REQUIRE(site.cluster.tables_of(0, false).guarantees.size() == 1);
    CHECK(site.cluster.tables_of(0, false).guarantees[0].rate[wire::kTokens] == 1000);
}

TEST_CASE("the vNICs of a tenant together have no more than its limit at an appliance", "[limits]") {
    LimitedSite site(
        R"([{"name": "A", "appliances": [{"name": "disk", "reservation": "1ktokens", "limit": "1ktokens"}],
                          "vnics": [{"name": "a1", "host": "h1"}, {"name": "a2", "host": "h2", "weight": 300}]}])");
    site.want("a1", "disk", {0, 50'000, 0});
    site.want("a2", "disk", {0, 1, 0});
    site.solve();
    const std::uint64_t idle = site.rate("a2", "disk", wire::kTokens);
    CHECK(site.rate("a1", "disk", wire::kTokens) + idle <= 1000);
    CHECK(site.rate("a1", "disk", wire::kTokens) >= 940);
    CHECK(idle == 50);  // half of a tenth; its part of the reservation is 750
    CHECK(site.cluster.floor_tokens({site.ids.at("a1"), site.ids.at("disk")}) == 250);
    CHECK(site.cluster.floor_tokens({site.ids.at("a2"), site.ids.at("disk")}) == 750);
}

TEST_CASE("a pool's limit bounds the guarantees of its vNICs", "[limits]") {
    LimitedSite site(R"([{"name": "A", "appliances": [{"name": "disk"}],
                          "vnics": [{"name": "a1", "host": "h1"}, {"name": "a2", "host": "h2"}]}])",
                     R"([{"name": "p", "appliance": "disk", "limit": "600tokens",
                          "vnics": [{"name": "a1", "shares": 200}, {"name": "a2", "shares": 100}]}])");
    CHECK(site.cluster.floor_tokens({site.ids.at("a1"), site.ids.at("disk")}) ==
          400);  // 1,500 of the headroom
    CHECK(site.cluster.floor_tokens({site.ids.at("a2"), site.ids.at("disk")}) == 200);
}

TEST_CASE("a vNIC's limit bounds its flows to other vNICs, each way", "[limits]") {
    LimitedSite site(
        R"([{"name": "A", "vnics": [{"name": "a1", "host": "h1", "limit": "10Mbit"}, {"name": "a2", "host": "h2"},
                                    {"name": "a3", "host": "h2"}]}])");
    site.want("a1", "a2", {1000, 0, 0});
    site.want("a2", "a1", {1000, 0, 0});
    site.solve();
    CHECK(site.rate("a1", "a2", wire::kThere) <= 10 * kMbit);
    CHECK(site.rate("a2", "a1", wire::kThere) <= 10 * kMbit);
    site.want("a1", "a2", {1e9F, 0, 0});
    site.want("a1", "a3", {1e9F, 0, 0});
    site.want("a2", "a1", {1e9F, 0, 0});
    site.want("a3", "a1", {1000, 0, 0});
    site.solve();
    CHECK(site.rate("a1", "a2", wire::kThere) + site.rate("a1", "a3", wire::kThere) <= 10 * kMbit);
    CHECK(site.rate("a1", "a2", wire::kThere) + site.rate("a1", "a3", wire::kThere) >= 9 * kMbit);
    CHECK(site.rate("a2", "a1", wire::kThere) + site.rate("a3", "a1", wire::kThere) <= 10 * kMbit);
    CHECK(site.rate("a3", "a1", wire::kThere) >= kMbit / 10);  // it can show that it wants more
}

TEST_CASE("a vNIC's limit bounds the ways to and from an appliance, beside its other flows", "[limits]") {
    const std::string reserved = GENERATE("", R"("reservation": "20Mbit", )");
    LimitedSite site(R"([{"name": "A", "appliances": [{"name": "disk", "reservation": "1ktokens"}],
                          "vnics": [{"name": "a1", "host": "h1", )" +
                     reserved + R"("limit": "100Mbit"}, {"name": "a2", "host": "h2"}]}])");
    site.want("a1", "disk", {1e5F, 500, 1e6F});
    site.solve();
    // A hundred times as much as was measured, without the limit: 9.7 Gbit/s.
    CHECK(site.rate("a1", "disk", wire::kThere) >= 75 * kMbit);
    CHECK(site.rate("a1", "disk", wire::kThere) <= 100 * kMbit);
    CHECK(site.rate("a1", "disk", wire::kBack) <= 100 * kMbit);
    CHECK(site.rate("a1", "disk", wire::kTokens) >= 500);
    site.want("a1", "disk", {8e6F, 50'000, 1e9F});
    site.want("a1", "a2", {1e9F, 0, 0});
    site.want("a2", "a1", {1e8F, 0, 0});
    site.solve();
    CHECK(site.rate("a1", "disk", wire::kThere) + site.rate("a1", "a2", wire::kThere) <= 100 * kMbit);
    CHECK(site.rate("a1", "disk", wire::kBack) + site.rate("a2", "a1", wire::kThere) <= 100 * kMbit);
    CHECK(site.rate("a1", "disk", wire::kBack) + site.rate("a2", "a1", wire::kThere) >= 90 * kMbit);
}

TEST_CASE("a way that was not used yet has a rate where a limit holds, and no rate elsewhere", "[limits]") {
    LimitedSite site(R"([{"name": "A", "appliances": [{"name": "disk"}],
                          "vnics": [{"name": "a1", "host": "h1", "limit": "100Mbit"}, {"name": "a2", "host": "h2"}]}])");
    site.want("a1", "disk", {0, 500, 0});
    site.want("a2", "disk", {0, 500, 0});
    site.solve();
    CHECK(site.rate("a1", "disk", wire::kThere) == 100 * kMbit);
    CHECK(site.rate("a1", "disk", wire::kBack) == 100 * kMbit);
    CHECK(site.rate("a2", "disk", wire::kThere) == wire::kNoStatement);
}
