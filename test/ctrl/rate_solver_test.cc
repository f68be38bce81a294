// rate_solver_test.cc - the solver that weir-ctrl runs, against appliances that are numbers.
#include "ctrl/rate_solver.h"

#include <map>

#include "test/support/catch.h"

using namespace weir;

namespace {

constexpr const char* kFile = R"({
  "secret_key_file": "/k", "store": "/s", "interval": "1s",
  "topology": {"hosts": [{"name": "h1", "uplink": "10Gbit"}]},
  "appliances": [{"name": "disk", "capacity_min": "3ktokens", "capacity_max": "20ktokens"}],
  "tenants": [
    {"name": "A", "vnics": [{"name": "a", "host": "h1"}], "appliances": [{"name": "disk", "reservation": "1ktokens"}]},
    {"name": "B", "vnics": [{"name": "b", "host": "h1"}], "appliances": [{"name": "disk", "reservation": "1ktokens"}]}]
})";

/// A cluster with its vNICs in place; ends are numbered in the order in which they are asked for.
struct Site {
    Site()
        : config(std::get<ClusterConfig>(parse_cluster(kFile))), cluster(config, [this](auto, auto name) {
              return ids.emplace(std::string(name), static_cast<std::uint32_t>(ids.size() + 1)).first->second;
          }) {
        cluster.put_vnic(ids.at("a"), 0, "02:00:00:00:00:01", 0);
        cluster.put_vnic(ids.at("b"), 0, "02:00:00:00:00:02", 0);
    }
    /// A flow to the disk that got `used` and had `backlog` more to send.
    void set(const char* vnic, double used, double backlog, double outstanding) {
        const wire::FlowKey flow{ids.at(vnic), ids.at("disk")};
        demands[flow] = {.flow = flow};
        demands[flow].used[1] = static_cast<float>(used);
        demands[flow].backlog[1] = demands[flow].queued[1] = static_cast<float>(backlog);
        demands[flow].outstanding[1] = static_cast<float>(outstanding);
    }
    std::map<std::string, std::uint32_t> ids;
    ClusterConfig config;
    Cluster cluster;
    DemandTable demands;
};

double tokens(const wire::FlowAllocation& rates) {
    return static_cast<double>(rates.rate[1]);
}

}  // namespace

TEST_CASE("an appliance that is asked for everything is found within ten intervals, and given out",
          "[solver]") {
    Site site;
    RateSolver solver(site.config);
    double given = 3000;
    for (int interval = 0; interval < 30; ++interval) {
        const double served = std::min(given, 8000.0);
        site.set("a", served / 2, 5000, 20);
        site.set("b", served / 2, 5000, 20);
        const auto rates = solver.solve(site.cluster, site.demands, true);
        REQUIRE(rates.size() == 2);
        given = tokens(rates[0]) + tokens(rates[1]);
        CHECK(tokens(rates[0]) == Approx(tokens(rates[1])).epsilon(0.01));
        if (interval >= 10)
            CHECK(given == Approx(8000).epsilon(0.05));
    }
    CHECK(solver.appliances().state(0).phase == estimate::Phase::kStable);
}

TEST_CASE("between intervals a demand is answered and nothing is learnt of appliances", "[solver]") {
    Site site;
    RateSolver solver(site.config);
    site.set("a", 1500, 5000, 20);
    site.set("b", 1500, 5000, 20);
    (void)solver.solve(site.cluster, site.demands, true);
    const double before = solver.appliances().rate(0);
    for (int i = 0; i < 10; ++i)
        (void)solver.solve(site.cluster, site.demands, false);
    CHECK(solver.appliances().rate(0) == before);
}

TEST_CASE("a flow that claims a long queue does not crowd out the other", "[solver]") {
    Site site;
    RateSolver solver(site.config);
    site.set("a", 1500, 1e15, 1);
    site.set("b", 1000, 900, 20);
    const auto rates = solver.solve(site.cluster, site.demands, true);
    REQUIRE(rates.size() == 2);
    const double b = tokens(site.ids.at("a") == rates[0].flow.source ? rates[1] : rates[0]);
    CHECK(b >= 1000);
}

TEST_CASE("a demand that pauses for an interval keeps most of its rate", "[solver]") {
    Site site;
    RateSolver solver(site.config);
    const auto rate_of_a = [&](double used) {
        site.set("a", used, 0, 20);
        site.set("b", 2000, 8000, 20);
        const auto rates = solver.solve(site.cluster, site.demands, true);
        for (const wire::FlowAllocation& rate : rates)
            if (rate.flow.source == site.ids.at("a"))
                return tokens(rate);
        return 0.0;  // nothing is said of it
    };
    for (int i = 0; i < 5; ++i)
        (void)rate_of_a(1000);
    CHECK(rate_of_a(0) >= 0.75 * 1000);
    CHECK(rate_of_a(0) >= 0.6 * 1000);
    double last = 0;
    for (int i = 0; i < 40; ++i)
        last = rate_of_a(0);
    CHECK(last == 0);
}
