// services_test.cc - appliances, tenants and the controller's own solver in virtual time: queues by hand,
// then Pulsar's Fig. 14 at a fifth of its size.
#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/sim/services/service_simulation.h"
#include "ctrl/placement/cluster_plan.h"
#include "test/bench/sim/sim_support.h"
#include "test/support/catch.h"
#include "test/support/faults.h"
#include "test/support/places.h"

using namespace weir;
using namespace weir::sim;
using weir::sim::test::kCosts;
using weir::test::has_fault;

namespace {

ServiceScenario valid_services(std::variant<ServiceScenario, Faults> read) {
    if (const Faults* faults = std::get_if<Faults>(&read))
        FAIL(weir::test::lines_of(*faults));
    return std::get<ServiceScenario>(read);
}

/// A shipped scenario, so many times slower and smaller: the same tokens a second in proportion, fewer
/// events.
ServiceScenario shipped(const char* name, double times) {
    ServiceScenario scenario = valid_services(
        load_service_scenario(weir::test::source_path("bench/scenarios/" + std::string(name)), kCosts));
    const auto smaller = [times](std::uint64_t& value) {
        value = static_cast<std::uint64_t>(static_cast<double>(value) / times);
    };
    for (ServiceSpec& service : scenario.services) {
        for (ServiceCurve* curve : {&service.read, &service.write})
            for (ServiceCurve::Point& point : curve->points)
                point.nanos *= times;
        smaller(service.capacity_min);
        smaller(service.capacity_max);
    }
    for (ServiceHost& host : scenario.hosts) {
        smaller(host.link_bps);
        smaller(host.encryption);
    }
    for (ServiceTenant& tenant : scenario.tenants) {
        smaller(tenant.reservation_bps);
        smaller(tenant.encryption);
        for (ServiceTenant::Part& part : tenant.parts)
            smaller(part.reservation);
    }
    return scenario;
}

std::string small(const std::string& load, const char* servers = "1") {
    return R"({"duration": "2s", "isolation": "off", "delay": "0us",
        "services": [{"name": "s", "costs": "key_value_store", "servers": )" +
           std::string(servers) + R"(, "read": {"8KiB": "1ms", "64KiB": "8ms"}, "write": {"8KiB": "2ms"},
            "capacity_min": "1Mtokens", "capacity_max": "100Mtokens"}],
        "tenants": [{"name": "T", "services": [{"name": "s", "reservation": "1Mtokens"}]}],
        "loads": [{"tenant": "T", "service": "s", )" +
           load + "}]}";
}

double served_in_first(const std::string& text) {
    const ServiceScenario scenario = valid_services(parse_service_scenario(text, kCosts));
    ServiceSimulation simulation(scenario);
    simulation.run();
    return simulation.rows().at(0).served[0];
}

/// The largest relative error of the estimated capacity in rows first .. last.
/// @param capacity tokens per second that the service reaches with that mix of requests
double worst_error(const ServiceSimulation& simulation, std::size_t first, std::size_t last,
                   double capacity) {
    double worst = 0;
    for (std::size_t i = first; i <= last; ++i)
        worst = std::max(worst, std::abs(simulation.rows()[i].estimate[0] / capacity - 1));
    return worst;
}

}  // namespace

TEST_CASE("a closed loop is served at the rate of the servers, by operation and size") {
    CHECK(served_in_first(small(R"("size": "8KiB", "outstanding": 4)")) == Approx(1000 * 8192).epsilon(0.01));
    CHECK(served_in_first(small(R"("size": "64KiB", "outstanding": 4)")) ==
          Approx(125 * 65536).epsilon(0.01));
    CHECK(served_in_first(small(R"("size": "36KiB", "outstanding": 4)")) ==
          Approx(36864 / 4.5e-3).epsilon(0.01));
    CHECK(served_in_first(small(R"("size": "8KiB", "outstanding": 4, "reads": "0%")")) ==
          Approx(500 * 8192).epsilon(0.01));
    CHECK(served_in_first(small(R"("size": "8KiB", "outstanding": 1)", "3")) ==
          Approx(1000 * 8192).epsilon(0.01));
    CHECK(served_in_first(small(R"("size": "8KiB", "outstanding": 9)", "3")) ==
          Approx(3000 * 8192).epsilon(0.01));
}

TEST_CASE("an open loop comes at its own rate, and leaves what is too much in the queue") {
    CHECK(served_in_first(small(R"("size": "8KiB", "rate": "300tokens")")) ==
          Approx(300 * 8192).epsilon(0.2));
    CHECK(served_in_first(small(R"("size": "8KiB", "rate": "2ktokens")")) ==
          Approx(1000 * 8192).epsilon(0.01));
}

TEST_CASE("a specification runs under load: its reservations hold, and the same seed gives the same bytes") {
    const ServiceScenario scenario = shipped("specification/services.jsonc", 1);
    const auto bytes = [](const ServiceScenario& of) {
        ServiceSimulation simulation(of);
        simulation.run();
        return simulation.result().dump();
    };
    ServiceSimulation simulation(scenario);
    simulation.run();
    CHECK(bytes(scenario) == simulation.result().dump());
    ServiceScenario other = scenario;
    other.seed = 2;
    CHECK(bytes(other) != simulation.result().dump());
    // B keeps 80 requests waiting at the disk and A 8; A's reservation is 30 Mtokens/s.
    CHECK(simulation.rows().back().served[0] > 30e6);
    ServiceScenario off = scenario;
    off.isolation = ServiceIsolation::kOff;
    ServiceSimulation without(off);
    without.run();
    CHECK(without.rows().back().served[0] < 15e6);
}

TEST_CASE("vNICs of a specification stand on their hosts of the file, or of the plan") {
    const ServiceScenario scenario = shipped("specification/services.jsonc", 1);
    const auto loaded = load_cluster(weir::test::source_path("bench/scenarios/specification/cluster.jsonc"));
    const auto& config = std::get<ClusterConfig>(loaded);
    const ClusterPlan made = plan_cluster(config);
    const ClusterConfig simulated = cluster_of(scenario);
    REQUIRE(simulated.tenants.size() == made.tenants.size());
    for (std::size_t t = 0; t < made.tenants.size(); ++t)
        for (std::size_t v = 0; v < made.tenants[t].vnics.size(); ++v) {
            const TenantVnicConfig& vnic = simulated.tenants[t].vnics[v];
            CHECK(vnic.host == made.topology.hosts[made.plan.entries[t].layout.hosts[v]].id);
            CHECK(vnic.reservation_bps == config.tenants[t].vnics[v].reservation_bps);
            const std::string& wanted = config.tenants[t].vnics[v].host;
            CHECK((wanted.empty() || wanted == vnic.host));
        }
    CHECK(vm_name(scenario.tenants[1], 2) == "b3");
}

TEST_CASE("faults of a specification, and values that it has already, are named") {
    const std::string folder = weir::test::source_path("bench/scenarios/specification");
    const auto faults = [&folder](const std::string& keys) {
        const auto read = parse_service_scenario(R"({"duration": "1s", )" + keys + "}", kCosts, folder);
        const Faults* found = std::get_if<Faults>(&read);
        return found == nullptr ? Faults{} : *found;
    };
    const auto with = [](const std::string& service) {
        return R"("specification": "cluster.jsonc", "services": [{"read": {"8KiB": "1ms"}, "write": {"8KiB": "1ms"},
            "costs": "key_value_store", )" +
               service + "}]";
    };
    CHECK(faults(with(R"("name": "disk")")).empty());
    CHECK(has_fault(faults(with(R"("name": "tape")")), "services[0].name", "none of this name"));
    CHECK(has_fault(faults(with(R"("name": "disk", "capacity_min": "1ktokens")")), "services[0].capacity_min",
                    "has it"));
    CHECK(has_fault(faults(with(R"("name": "disk")") + R"(, "tenants": [])"), "tenants", "has it"));
    CHECK(has_fault(faults(R"("services": [], "specification": "services.jsonc")"), "specification: duration",
                    "unknown"));
    CHECK_FALSE(faults(R"("services": [], "specification": "none.jsonc")").empty());
}

TEST_CASE("wrong scenarios of services are refused with their path") {
    const auto faults = [](const std::string& text) {
        const auto read = parse_service_scenario(text, kCosts);
        const Faults* found = std::get_if<Faults>(&read);
        return found == nullptr ? Faults{} : *found;
    };
    CHECK(has_fault(faults("{}"), "duration", "needed"));
    CHECK(has_fault(faults(small(R"("size": "8KiB")")), "loads[0].outstanding", "closed or open"));
    CHECK(has_fault(faults(small(R"("outstanding": 1)")), "loads[0].size", "needed"));
    CHECK(has_fault(faults(R"({"isolation": "on"})"), "isolation", "off, appliances, network, weir"));
    CHECK(has_fault(faults(R"({"hosts": [{"name": "h"}]})"), "hosts[0].link", "needed"));
    CHECK(has_fault(
        faults(
            R"({"hosts": [{"name": "h", "link": "1Gbit"}], "tenants": [{"name": "T", "vms": 3, "placement": [{"host": "h", "vms": 2}]}]})"),
        "tenants[0].placement", "there are 2"));
    CHECK(has_fault(faults(small(R"("size": "8KiB", "outstanding": 1, "speed": 3)")), "loads[0].speed",
                    "unknown"));
}

TEST_CASE("connections share a link alike, and under isolation tenants by what they reserved") {
    const std::string hosts = R"("hosts": [{"name": "a", "link": "8Gbit"},
                                           {"name": "b", "link": "8Gbit"}, {"name": "c", "link": "800Mbit"}],)";
    const auto tenant = [](const char* name, const char* load) {
        const std::string text = name;
        return std::array{R"({"name": ")" + text + R"(", "vms": 2, "reservation": "100Mbit",
            "placement": [{"host": "a"}, {"host": "c"}]})",
                          R"({"tenant": ")" + text + R"(", "to_vm": 2, "size": "64KiB", )" + load + "}"};
    };
    const auto served = [&](const char* isolation, const char* load_p, const char* load_q) {
        const auto p = tenant("P", load_p);
        const auto q = tenant("Q", load_q);
        const ServiceScenario scenario = valid_services(
            parse_service_scenario(R"({"duration": "6s", "isolation": ")" + std::string(isolation) + "\"," +
                                       hosts + R"("services": [], "tenants": [)" + p[0] + "," + q[0] +
                                       R"(], "loads": [)" + p[1] + "," + q[1] + "]}",
                                   kCosts));
        ServiceSimulation simulation(scenario);
        simulation.run();
        return simulation.rows().at(4).served;
    };
    // 100 MB/s, five connections.
    const auto by_connection =
        served("off", R"("outstanding": 8, "connections": 4)", R"("outstanding": 16, "connections": 1)");
    CHECK(by_connection[0] == Approx(80e6).epsilon(0.02));
    CHECK(by_connection[1] == Approx(20e6).epsilon(0.02));
    const auto by_guarantee =
        served("weir", R"("outstanding": 8, "connections": 4)", R"("outstanding": 16, "connections": 1)");
    CHECK(by_guarantee[0] == Approx(50e6).epsilon(0.1));
    CHECK(by_guarantee[1] == Approx(50e6).epsilon(0.1));
}

TEST_CASE("the same scenario and seed give the same bytes") {
    ServiceScenario scenario = shipped("pulsar/fig14-key-value.jsonc", 200);
    scenario.duration = 5 * kNanosPerSec;
    std::vector<std::string> results;
    for (int i = 0; i < 2; ++i) {
        ServiceSimulation simulation(scenario);
        simulation.run();
        results.push_back(simulation.result().dump());
    }
    CHECK(results[0] == results[1]);
}

TEST_CASE(
    "Fig. 14 (a): the estimate is there five intervals after a tenant comes; guarantees are kept all the "
    "time") {
    const ServiceScenario scenario = shipped("pulsar/fig14-key-value.jsonc", 5);
    ServiceSimulation simulation(scenario);
    simulation.run();
    const auto& rows = simulation.rows();
    REQUIRE(rows.size() == 44);
    // The paper's capacities. Tenants come at 0, 15 and 30 s; row i is the interval that ends at i + 1 s. The
    // first has to be searched for.
    CHECK(worst_error(simulation, 4, 14, 6840e6 / 5) < 0.05);
    CHECK(worst_error(simulation, 16, 29, 3485e6 / 5) < 0.05);
    CHECK(worst_error(simulation, 34, 43, 5737e6 / 5) < 0.05);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        INFO("interval that ends at " << i + 1 << " s");
        const bool all = i >= 35;
        const bool two = i >= 19 && i < 30;
        if (all || two)
            CHECK(rows[i].served[1] / rows[i].served[2] == Approx(2).epsilon(0.05));
        if (all)
            CHECK(rows[i].served[0] / rows[i].served[2] == Approx(3).epsilon(0.05));
        CHECK(rows[i].served[2] >= 0.99 * 200e6 / 5);
        CHECK((i < 15 || rows[i].served[1] >= 0.99 * 400e6 / 5));
        CHECK((i < 30 || rows[i].served[0] >= 0.99 * 600e6 / 5));
    }
}

TEST_CASE("Fig. 14 (b): the same for a file store, whose capacity falls with each tenant") {
    const ServiceScenario scenario = shipped("pulsar/fig14-file-store.jsonc", 5);
    ServiceSimulation simulation(scenario);
    simulation.run();
    const auto& rows = simulation.rows();
    CHECK(worst_error(simulation, 4, 14, rows[8].service_served[0]) < 0.05);
    CHECK(worst_error(simulation, 16, 29, rows[25].service_served[0]) < 0.05);
    CHECK(worst_error(simulation, 32, 43, rows[40].service_served[0]) < 0.05);
    CHECK(rows[25].service_served[0] < 0.6 * rows[8].service_served[0]);
    CHECK(rows[40].service_served[0] < 0.95 * rows[25].service_served[0]);
    for (std::size_t i = 30; i < rows.size(); ++i) {
        INFO("interval that ends at " << i + 1 << " s");
        CHECK((i < 35 || rows[i].served[1] / rows[i].served[2] == Approx(2).epsilon(0.05)));
        CHECK((i < 35 || rows[i].served[0] / rows[i].served[2] == Approx(3).epsilon(0.05)));
        CHECK(rows[i].served[0] >= 0.99 * 300e6 / 5);
        CHECK(rows[i].served[1] >= 0.99 * 200e6 / 5);
        CHECK(rows[i].served[2] >= 0.99 * 100e6 / 5);
    }
}

TEST_CASE("without isolation long windows displace short ones") {
    ServiceScenario scenario = shipped("pulsar/fig14-key-value.jsonc", 20);
    scenario.isolation = ServiceIsolation::kOff;
    ServiceSimulation simulation(scenario);
    simulation.run();
    CHECK(simulation.rows()[40].served[0] < 0.5 * 600e6 / 20);  // B: guaranteed 600 MT/s
}

TEST_CASE(
    "Fig. 12 and 13: all tenants have their guarantees; without, and with one kind of isolation, those of "
    "the paper do not") {
    constexpr double kSlower = 5;
    ServiceScenario scenario = shipped("pulsar/fig12.jsonc", kSlower);
    scenario.duration = 14 * kNanosPerSec;
    const std::array guarantees{400e6 / kSlower, 1600e6 / kSlower, 800e6 / kSlower, 800e6 / kSlower};
    double least = 0;  // part of a guarantee in an interval, from the second on: the first fills queues
    // Parts of their guarantees that A, B, C and D have, on average of the last intervals.
    const auto parts = [&](ServiceIsolation isolation) {
        scenario.isolation = isolation;
        ServiceSimulation simulation(scenario);
        simulation.run();
        std::array<double, 4> sums{};
        least = 1e9;
        for (std::size_t i = 1; i < 13; ++i)
            for (std::size_t tenant = 0; tenant < 4; ++tenant) {
                const double part = simulation.rows().at(i).served[tenant] / guarantees[tenant];
                least = std::min(least, part);
                sums[tenant] += i < 9 ? 0 : part / 4;
            }
        return sums;
    };
    const auto weir = parts(ServiceIsolation::kWeir);
    CAPTURE(weir[0], weir[1], weir[2], weir[3]);
    CHECK(*std::min_element(weir.begin(), weir.end()) >= 0.99);
    CHECK(least >= 0.99);  // while the capacities are searched, too
    const auto off = parts(ServiceIsolation::kOff);
    CHECK((off[0] > 1 && off[2] > 1 && off[3] < 0.8 && off[1] < off[3]));
    const auto appliances = parts(ServiceIsolation::kAppliances);
    CHECK((appliances[0] > 1 && appliances[2] > 1 && appliances[3] < 0.95 && appliances[1] < appliances[3]));
    CHECK(appliances[3] > off[3]);
    const auto network = parts(ServiceIsolation::kNetwork);
    CHECK((network[0] > 1 && network[1] > 1 && network[2] > 1 && network[3] < 0.8));
}
