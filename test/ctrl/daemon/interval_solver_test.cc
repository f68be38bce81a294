// interval_solver_test.cc - the solver of weir-ctrl, against appliances that are formulas.
#include "ctrl/daemon/interval_solver.h"

#include <map>
#include <nlohmann/json.hpp>

#include "ctrl/placement/cluster_plan.h"
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

/// A cluster whose vNICs a and b are on host h1. Ids of endpoints are 1, 2, 3 ... in the order of their
/// creation.
struct Site {
    explicit Site(const char* file = kFile)
        : config(std::get<ClusterConfig>(parse_cluster(file, placement_faults))),
          cluster(config, [this](auto, auto name) {
              return ids.emplace(std::string(name), static_cast<std::uint32_t>(ids.size() + 1)).first->second;
          }) {
        cluster.place_vnic(ids.at("a"), 0, "02:00:00:00:00:01", 0);
        cluster.place_vnic(ids.at("b"), 0, "02:00:00:00:00:02", 0);
    }
    /// A flow to the disk that used `used` tokens and had `backlog` tokens more to send.
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
    FlowDemands demands;
};

double tokens(const wire::FlowAllocation& rates) {
    return static_cast<double>(rates.rate[1]);
}

}  // namespace

TEST_CASE("the capacity of a saturated appliance is found within ten intervals, and allocated", "[solver]") {
    Site site;
    IntervalSolver solver(site.config);
    double given = 3000;
    for (int interval = 0; interval < 30; ++interval) {
        const double served = std::min(given, 8000.0);
        const double queued = given - served;  // tokens beyond the capacity are let in, and not answered
        site.set("a", served / 2, 5000, 20 + queued / 2);
        site.set("b", served / 2, 5000, 20 + queued / 2);
        const auto rates = solver.solve(site.cluster, site.demands, true);
        REQUIRE(rates.size() == 2);
        given = tokens(rates[0]) + tokens(rates[1]);
        CHECK(tokens(rates[0]) == Approx(tokens(rates[1])).epsilon(0.01));
        if (interval >= 10)
            CHECK(given == Approx(8000).epsilon(0.05));
    }
    CHECK(solver.capacities().state(0).phase == estimate::Phase::kStable);
}

TEST_CASE("between intervals a demand gets a rate, and no capacity estimate changes", "[solver]") {
    Site site;
    IntervalSolver solver(site.config);
    site.set("a", 1500, 5000, 20);
    site.set("b", 1500, 5000, 20);
    (void)solver.solve(site.cluster, site.demands, true);
    const double before = solver.capacities().rate(0);
    for (int i = 0; i < 10; ++i)
        (void)solver.solve(site.cluster, site.demands, false);
    CHECK(solver.capacities().rate(0) == before);
}

TEST_CASE("a flow that reports a huge backlog leaves the other its reservation", "[solver]") {
    Site site;
    IntervalSolver solver(site.config);
    site.set("a", 1500, 1e15, 1);
    site.set("b", 1000, 900, 20);
    const auto rates = solver.solve(site.cluster, site.demands, true);
    REQUIRE(rates.size() == 2);
    const double b = tokens(site.ids.at("a") == rates[0].flow.source ? rates[1] : rates[0]);
    CHECK(b >= 1000);
}

TEST_CASE("a demand that pauses for an interval keeps most of its rate", "[solver]") {
    Site site;
    IntervalSolver solver(site.config);
    const auto rate_of_a = [&](double used) {
        site.set("a", used, 0, 20);
        site.set("b", 2000, 8000, 20);
        const auto rates = solver.solve(site.cluster, site.demands, true);
        for (const wire::FlowAllocation& rate : rates)
            if (rate.flow.source == site.ids.at("a"))
                return tokens(rate);
        return 0.0;  // no rate
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

namespace {

// Two tenants at one disk of 3000 tokens/s, whose capacity is known.
double share_of_b(const char* a_and_b, double a_wants, double b_wants) {
    std::string file = kFile;
    file.replace(file.find("20ktokens"), 9, "3ktokens");
    const std::size_t tenants = file.find("\"tenants\"");
    file.replace(tenants, std::string::npos, std::string("\"tenants\": [") + a_and_b + "]}");
    Site site(file.c_str());
    IntervalSolver solver(site.config);
    site.set("a", a_wants, 0, 0);
    site.set("b", b_wants, 0, 0);
    for (const wire::FlowAllocation& rate : solver.solve(site.cluster, site.demands, true))
        if (rate.flow.source == site.ids.at("b"))
            return tokens(rate);
    return 0;
}

}  // namespace

TEST_CASE("a tenant has what it reserved, and the rest is divided by reservations", "[solver]") {
    const char* const kTwo = R"(
        {"name": "A", "vnics": [{"name": "a"}], "appliances": [{"name": "disk", "reservation": "1ktokens"}]},
        {"name": "B", "vnics": [{"name": "b"}], "appliances": [{"name": "disk", "reservation": "500tokens"}]})";
    CHECK(share_of_b(kTwo, 9000, 400) >= 400);
    CHECK(share_of_b(kTwo, 9000, 9000) ==
          Approx(500 + 500).epsilon(0.02));  // and a third of the remaining 1500
    CHECK(share_of_b(kTwo, 0, 9000) == Approx(3000).epsilon(0.02));
    CHECK(share_of_b(kTwo, 9000, 1) == 500);  // its floor
}

TEST_CASE("a fixed reservation is also the limit", "[solver]") {
    CHECK(share_of_b(R"({"name": "A", "vnics": [{"name": "a"}], "appliances": [{"name": "disk"}]},
        {"name": "B", "sharing_rule": "fixed", "vnics": [{"name": "b"}],
         "appliances": [{"name": "disk", "reservation": "500tokens"}]})",
                     10, 9000) == Approx(500).epsilon(0.01));
    CHECK(share_of_b(R"({"name": "A", "vnics": [{"name": "a"}], "appliances": [{"name": "disk"}]},
        {"name": "B", "vnics": [{"name": "b"}],
         "appliances": [{"name": "disk", "reservation": "500tokens", "limit": "700tokens"}]})",
                     10, 9000) == Approx(700).epsilon(0.01));
}

TEST_CASE(
    "links with room do not hold back requests that the appliance would serve, full links are not exceeded",
    "[solver]") {
    Site site;
    IntervalSolver solver(site.config);
    for (const char* vnic : {"a", "b"}) {
        site.set(vnic, 1500, 0, 20);
        auto& demand = site.demands[{site.ids.at(vnic), site.ids.at("disk")}];
        demand.used[0] = 1'000;   // bytes to the disk: few
        demand.used[2] = 900e6F;  // bytes back: both flows together exceed the 10 Gbit link
    }
    const auto rates = solver.solve(site.cluster, site.demands, true);
    REQUIRE(rates.size() == 2);
    double back = 0;
    for (const wire::FlowAllocation& rate : rates) {
        CHECK(rate.rate[0] >= 10'000);
        back += static_cast<double>(rate.rate[2]);
    }
    CHECK(back <= 10e9 / 8);
    CHECK(back >= 0.9 * 10e9 / 8 * 0.97);
}

TEST_CASE("a closed loop that waits at the appliance, not in its switch, gets its reservation", "[solver]") {
    Site site;
    IntervalSolver solver(site.config);
    const auto rate_of_a = [&](double used, double outstanding, double used_b, double outstanding_b,
                               double backlog_b) {
        site.set("a", used, 0, outstanding);
        site.set("b", used_b, backlog_b, outstanding_b);
        for (const wire::FlowAllocation& rate : solver.solve(site.cluster, site.demands, true))
            if (rate.flow.source == site.ids.at("a"))
                return tokens(rate);
        return 0.0;
    };
    (void)rate_of_a(500, 5, 2500, 25, 5000);  // 10 ms
    (void)rate_of_a(500, 5, 2500, 25, 5000);
    // Now 500 ms: b's long window fills the queue, and a's few requests wait in it.
    CHECK(rate_of_a(200, 100, 3000, 1500, 0) >= 1000);
}

namespace {

constexpr const char* kPooled = R"({
  "secret_key_file": "/k", "store": "/s", "interval": "1s",
  "topology": {"hosts": [{"name": "h1", "uplink": "10Gbit"}]},
  "appliances": [{"name": "disk", "capacity_min": "3ktokens", "capacity_max": "3ktokens"}],
  "tenants": [{"name": "A", "vnics": [{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "d"}],
               "appliances": [{"name": "disk"}]}],
  "pools": [{"name": "one", "appliance": "disk", "reservation": "1500tokens", "vnics": [{"name": "a"}, {"name": "b"}]},
            {"name": "two", "appliance": "disk", "shares": 200, "vnics": [{"name": "c"}]}]
})";

/// Rates at the disk, in the order of the vNICs' names.
std::vector<double> rates_of(IntervalSolver& solver, Site& site) {
    std::vector<double> rates;
    for (const wire::FlowAllocation& each : solver.solve(site.cluster, site.demands, true))
        rates.push_back(tokens(each));
    return rates;
}

}  // namespace

TEST_CASE("pools divide their appliance: siblings first, and a change counts from the next interval on",
          "[solver]") {
    Site site(kPooled);
    site.cluster.place_vnic(site.ids.at("c"), 0, "02:00:00:00:00:03", 0);
    site.cluster.place_vnic(site.ids.at("d"), 0, "02:00:00:00:00:04", 0);
    IntervalSolver solver(site.config);
    for (const char* vnic : {"a", "b", "c", "d"})
        site.set(vnic, 700, 5000, 20);
    // Pool one has its 1500 tokens; pool two and vNIC d, which is in no pool, share the rest 200:100.
    CHECK(rates_of(solver, site) == std::vector<double>{750, 750, 1000, 500});
    site.set("a", 0, 0, 0);
    // All goes to its sibling at once, except for 0.05 * 3000 / 4 that an idle vNIC keeps.
    CHECK(rates_of(solver, site)[1] == 1462);
    CHECK(rates_of(solver, site)[2] == 1000);
    // It uses all of that: then it may want any amount.
    site.set("a", 37, 0, 2);
    CHECK(rates_of(solver, site)[1] == 750);
    // One that uses 300 of more is given 10 % to grow.
    site.set("a", 300, 0, 2);
    CHECK(rates_of(solver, site)[1] == 1170);

    CHECK_FALSE(solver.pools()->set({.name = "one", .reservation_tokens = 3001}).empty());
    CHECK_FALSE(solver.pools()->set({.name = "none", .shares = 1}).empty());
    CHECK_FALSE(solver.pools()->set({.name = "disk", .shares = 1}).empty());
    REQUIRE(
        solver.pools()
            ->set({.name = "one", .reservation_tokens = 0, .limit_tokens = std::optional<std::uint64_t>(600)})
            .empty());
    site.set("a", 0, 0, 0);
    CHECK(rates_of(solver, site)[1] == 562);
    CHECK(rates_of(solver, site)[2] == 1600);
    CHECK(rates_of(solver, site)[3] == 800);
}

TEST_CASE("pools: the part of a host that vanished goes to the others, and pool.show has all nodes",
          "[solver]") {
    Site site(kPooled);
    site.cluster.place_vnic(site.ids.at("c"), 0, "02:00:00:00:00:03", 0);
    IntervalSolver solver(site.config);
    for (const char* vnic : {"a", "b", "c"})
        site.set(vnic, 700, 5000, 20);
    (void)rates_of(solver, site);
    for (const char* vnic : {"a", "b"}) {
        site.cluster.remove_vnic(site.ids.at(vnic));
        site.demands.erase({site.ids.at(vnic), site.ids.at("disk")});
    }
    CHECK(rates_of(solver, site) == std::vector<double>{3000});
    const nlohmann::json shown = solver.pools()->describe();
    REQUIRE(shown.size() == 1);
    CHECK(shown[0]["appliance"] == "disk");
    CHECK(shown[0]["capacity"] == 3000);
    const nlohmann::json& nodes = shown[0]["nodes"];
    REQUIRE(nodes.size() == 7);
    CHECK(nodes[0]["parent"].is_null());
    CHECK(nodes[1]["name"] == "one");
    CHECK(nodes[1]["present"] == false);
    CHECK(nodes[1]["static"]["reservation"] == 1500);
    CHECK(nodes[4]["name"] == "two");
    CHECK(nodes[4]["delivered"] == 700);
    CHECK(nodes[4]["dynamic"]["limit"].is_null());
    CHECK(nodes[5]["host"] == "h1");
    CHECK(nodes[6]["name"] == "d");
    CHECK(nodes[6]["kind"] == "vnic");
}

TEST_CASE("pools: the floor of a vNIC is its part of the reservations, and never 0", "[solver]") {
    Site site(kPooled);
    const std::uint32_t disk = site.ids.at("disk");
    CHECK(site.cluster.floor_tokens({site.ids.at("a"), disk}) == 750);
    CHECK(site.cluster.floor_tokens({site.ids.at("c"), disk}) > 0);
    CHECK(site.cluster.floor_tokens({site.ids.at("c"), disk}) < 100);
    CHECK(site.cluster.floor_tokens({site.ids.at("d"), disk}) > 0);
}

TEST_CASE("pools: a vNIC that falls idle does not lower the capacity estimate", "[solver]") {
    std::string file = kPooled;
    file.replace(file.find(R"("capacity_max": "3ktokens")"), 26, R"("capacity_max": "20ktokens")");
    Site site(file.c_str());
    IntervalSolver solver(site.config);
    std::map<std::uint32_t, double> allocated;
    double lowest = 1e9;
    for (int interval = 0; interval < 60; ++interval) {
        double wanted = 0;
        for (const char* vnic : {"a", "b"})
            wanted += interval >= 40 && *vnic == 'a' ? 0 : allocated[site.ids.at(vnic)];
        const double part = wanted > 8000 ? 8000 / wanted : 1;
        for (const char* vnic : {"a", "b"}) {
            const bool idle = interval >= 40 && *vnic == 'a';
            site.set(vnic, idle ? 0 : part * allocated[site.ids.at(vnic)], idle ? 0 : 5000, idle ? 0 : 20);
        }
        for (const wire::FlowAllocation& each : solver.solve(site.cluster, site.demands, true))
            allocated[each.flow.source] = tokens(each);
        if (interval >= 40)
            lowest = std::min(lowest, solver.capacities().rate(0));
    }
    CHECK(lowest > 0.9 * 8000);
    CHECK(allocated[site.ids.at("b")] > 0.9 * 8000);
}

TEST_CASE("pools: with a latency, windows follow eq. 4 and are divided among hosts", "[solver]") {
    std::string file = kPooled;
    const auto change = [&file](std::string_view from, std::string_view to) {
        file.replace(file.find(from), from.size(), to);
    };
    change(R"("capacity_min": "3ktokens", "capacity_max": "3ktokens")",
           R"("capacity_min": "1ktokens", "capacity_max": "9ktokens", "latency": "20ms")");
    change("1500tokens", "900tokens");
    change(R"({"name": "h1", "uplink": "10Gbit"})", R"({"name": "h1"}, {"name": "h2"})");
    Site site(file.c_str());
    site.cluster.place_vnic(site.ids.at("c"), 1, "02:00:00:00:00:03", 0);
    IntervalSolver solver(site.config);
    double window = 20;  // of 1000 tokens/s and 20 ms
    std::vector<Solver::Window> windows;
    for (int interval = 0; interval < 20; ++interval) {
        for (const char* vnic : {"a", "b", "c"})
            site.set(vnic, 1000, 5000, window / 3);  // of an appliance of 3000 tokens/s
        (void)solver.solve(site.cluster, site.demands, true);
        windows = solver.windows(site.cluster);
        window = 0;
        for (const Solver::Window& each : windows)
            window +=
                each.record.flow.source == wire::kWholeHost ? static_cast<double>(each.record.rate[1]) : 0;
    }
    CHECK(window == Approx(60).margin(1));
    // Pool one has 1000 by its 100 shares, pool two 2000 by its 200: a and b are on the first host, c on the
    // second.
    REQUIRE(windows.size() == 5);
    const std::uint32_t disk = site.ids.at("disk");
    CHECK(windows[0].record.flow == wire::FlowKey{wire::kWholeHost, disk});
    CHECK(windows[0].host == 0);
    CHECK(static_cast<double>(windows[0].record.rate[1]) == Approx(20).margin(1));
    CHECK(windows[1].record.flow == wire::FlowKey{site.ids.at("a"), disk | wire::kReserved});
    CHECK(static_cast<double>(windows[1].record.rate[1]) == Approx(500).epsilon(0.03));
    CHECK(windows[1].record.rate[0] == 50);  // a quarter of c's, by the pools' shares; the mean is 100
    CHECK(windows[4].record.rate[0] == 200);
    CHECK(windows[3].host == 1);
    CHECK(static_cast<double>(windows[3].record.rate[1]) == Approx(40).margin(1));
    CHECK(static_cast<double>(windows[4].record.rate[1]) == Approx(2000).epsilon(0.03));
    const nlohmann::json appliances = solver.describe_appliances();
    CHECK(appliances[0]["phase"] == "latency");
    CHECK(appliances[0]["estimate"].get<double>() == Approx(3000).epsilon(0.03));
}
