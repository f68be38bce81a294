// cluster_plan_test.cc - plans of cluster files: layouts, over-commitments, and how often they fail.
#include "ctrl/placement/cluster_plan.h"

#include <nlohmann/json.hpp>

#include "ctrl/billing/overcommit.h"
#include "test/support/catch.h"
#include "test/support/faults.h"

using namespace weir;
using nlohmann::json;

namespace {

ClusterConfig config_of(const std::string& text) {
    auto parsed = parse_cluster(text);
    if (const Faults* faults = std::get_if<Faults>(&parsed))
        FAIL(faults->front().to_line());
    return std::get<ClusterConfig>(parsed);
}

// Two hosts of 10 Gbit; A has 6 Gbit from one to the other.
std::string two_hosts(const std::string& tenants, const std::string& keys = "") {
    return R"({"headroom": "0%", )" + keys + R"("topology": {"hosts": [{"name": "h1"}, {"name": "h2"}]},
        "appliances": [{"name": "disk", "capacity_min": "1ktokens", "capacity_max": "2ktokens"}],
        "tenants": [{"name": "A", "vnics": [{"name": "a1", "host": "h1", "reservation": "6Gbit"},
                                            {"name": "a2", "host": "h2", "reservation": "6Gbit"}]})" +
           tenants + "]}";
}

const char* const kSecondTenant =
    R"(, {"name": "B", "vnics": [{"name": "b1", "host": "h1", "reservation": "6Gbit"},
                                                         {"name": "b2", "host": "h2", "reservation": "6Gbit"}]})";

json plan_of(const std::string& text, const RunningCluster* running = nullptr) {
    const ClusterConfig config = config_of(text);
    return plan_json(config, plan_cluster(config, running), running);
}

json named(const json& list, const std::string& key, const std::string& name) {
    for (const json& each : list)
        if (each[key] == name)
            return each;
    return {};
}

}  // namespace

TEST_CASE("a file whose promises hold is admitted, and its plan has every promised constraint", "[plan]") {
    const json plan = plan_of(two_hosts(""));
    CHECK(plan["admitted"] == true);
    CHECK(plan["broken"].empty());
    const json link = named(plan["resources"], "what", "the uplink of host h1");
    CHECK(link["need"] == 6'000'000'000);
    CHECK(link["have"] == 10'000'000'000);
    CHECK(link["ratio"] == 0.6);
    CHECK(link["vnics"] == 1);
    CHECK(link["failure_probability"] == 0);
    CHECK(plan["tenants"][0]["vnics"][1]["host"] == "h2");
}

TEST_CASE("a tenant that does not fit is named with the link, and with the guarantees that would break",
          "[plan]") {
    const json plan = plan_of(two_hosts(kSecondTenant));
    CHECK(plan["admitted"] == false);
    const json b = named(plan["tenants"], "name", "B");
    CHECK(b["fits"] == false);
    CHECK(b["resource"] == "h1");
    CHECK(b["need"] == 12'000'000'000);
    CHECK(b["why"].get<std::string>().find("12Gbit of 10Gbit") != std::string::npos);
    REQUIRE(plan["broken"].size() == 2);
    CHECK(plan["broken"][0]["tenant"] == "A");
    CHECK(plan["broken"][0]["guaranteed"] == 6'000'000'000);
    CHECK(plan["broken"][0]["possible"] == 5'000'000'000);
    const Faults faults = std::get<Faults>(parse_cluster(two_hosts(kSecondTenant), placement_faults));
    CHECK(faults.size() == 2);
    CHECK(test::has_fault(faults, "topology.hosts[1].uplink", "12Gbit"));
}

TEST_CASE("on a drained host stand the vNICs whose host it is, and those that are there already", "[plan]") {
    constexpr const char* kDrained =
        R"({"topology": {"hosts": [{"name": "h1"}, {"name": "h2", "drain": true}]},
        "tenants": [{"name": "A", "vnics": [{"name": "a1"}, {"name": "a2", "host": "h2"}]}]})";
    const json plan = plan_of(kDrained);
    CHECK(plan["admitted"] == true);
    CHECK(plan["tenants"][0]["vnics"][0]["host"] == "h1");
    CHECK(plan["tenants"][0]["vnics"][1]["host"] == "h2");
    const RunningCluster running{config_of(kDrained), {{"a1", "h2"}}};
    const ClusterConfig config = config_of(kDrained);
    const json there = plan_json(config, plan_cluster(config, &running), &running);
    CHECK(there["admitted"] == true);
    CHECK(there["tenants"][0]["vnics"][0]["host"] == "h2");
    const Faults faults = std::get<Faults>(parse_cluster(
        R"({"topology": {"hosts": [{"name": "h1", "drain": true}]}, "tenants": [{"name": "A", "vnics": [{"name": "a1"}]}]})",
        placement_faults));
    CHECK(test::has_fault(faults, "topology.hosts[0].drain", "which is drained"));
}

TEST_CASE("a day of measured use replaces the model at links", "[plan]") {
    const auto use_of_all = [](double used) {
        billing::MeasuredUse use;
        use.add(used, billing::MeasuredUse::kSecondsEnough);
        return billing::UseTable({{"a1", use}});
    };
    const ClusterConfig config = config_of(two_hosts(kSecondTenant, R"("overcommit": true,)"));
    const auto plan_with = [&config](const billing::UseTable& use) {
        return plan_json(config, plan_cluster(config, nullptr, &use));
    };
    const json idle = plan_with(use_of_all(0.1));
    CHECK(idle["admitted"] == true);
    CHECK(named(idle["resources"], "what", "the uplink of host h1")["failure_probability"] == 0);
    CHECK(named(idle["resources"], "what", "the uplink of host h1")["measured"] == true);
    const json busy = plan_with(use_of_all(1));
    CHECK(busy["admitted"] == false);
    CHECK(named(busy["resources"], "what", "the uplink of host h1")["failure_probability"] == Approx(1));
    const json model = plan_with({});
    CHECK(named(model["resources"], "what", "the uplink of host h1")["measured"] == false);
    CHECK(named(model["resources"], "what", "the uplink of host h1")["failure_probability"] > 0);
}

TEST_CASE("with over-commitment a file is admitted as long as it fails seldom", "[plan]") {
    const double fails = billing::failure_probability(2, 0.15, 1.2);
    const json plan = plan_of(two_hosts(kSecondTenant, R"("overcommit": true,)"));
    CHECK(plan["admitted"] == true);
    const json link = named(plan["resources"], "what", "the uplink of host h1");
    CHECK(link["failure_probability"] == Approx(fails));
    CHECK(link["over"] == true);
    CHECK(link["admissible"] == true);
    CHECK(plan["broken"].size() == 2);  // when all want theirs at once
    const std::string busy =
        two_hosts(kSecondTenant,
                  R"("overcommit": true, "overcommit_utilization": "80%", "overcommit_failure_max": "1%",)");
    CHECK(plan_of(busy)["admitted"] == false);
    CHECK(test::has_fault(std::get<Faults>(parse_cluster(busy, placement_faults)), "topology.hosts[0].uplink",
                          "12Gbit"));
}

TEST_CASE("a tenant's own VMs on one host need nothing of its uplink", "[plan]") {
    const json plan = plan_of(two_hosts(
        R"(, {"name": "B", "vnics": [{"name": "b1", "host": "h1", "reservation": "8Gbit"},
                                     {"name": "b2", "host": "h1", "reservation": "8Gbit"}]})"));
    CHECK(plan["admitted"] == true);
    CHECK(named(plan["resources"], "what", "the uplink of host h1")["need"] == 6'000'000'000);
}

TEST_CASE("an appliance is an end of a tenant, with its promised bandwidth", "[plan]") {
    const auto tenant = [](const std::string& part) {
        return R"(, {"name": "B", "vnics": [{"name": "b1", "host": "h1", "reservation": "6Gbit"}],
                     "appliances": [{"name": "disk")" +
               part + "}]}";
    };
    CHECK(plan_of(two_hosts(tenant("")))["admitted"] == true);  // nothing was promised of it
    CHECK(plan_of(two_hosts(tenant(R"(, "reservation": "1ktokens")")))["admitted"] == false);
    CHECK(plan_of(two_hosts(tenant(R"(, "reservation": "1ktokens", "bandwidth": "4Gbit")")))["admitted"] ==
          true);
    const json plan = plan_of(two_hosts(tenant(R"(, "reservation": "1100tokens", "bandwidth": "1Gbit")")));
    CHECK(plan["admitted"] == false);
    CHECK(plan["broken"][0]["what"] == "the capacity of appliance disk");
    CHECK(plan["broken"][0]["possible"] == 1'000);
}

TEST_CASE("reservations of pools are promises too", "[plan]") {
    std::string text = two_hosts("");
    text.insert(text.rfind('}'),
                R"(, "pools": [{"name": "all", "appliance": "disk", "reservation": "900tokens"},
        {"name": "some", "parent": "all", "appliance": "disk", "reservation": "500tokens"}])");
    const json plan = plan_of(text);
    const json load = named(plan["resources"], "what", "the capacity of appliance disk");
    CHECK(load["need"] == 900);
    CHECK(load["tenants"]["pool all"] == 900);
    const RunningCluster running{config_of(two_hosts("")), {}};
    CHECK(named(plan_of(text, &running)["tenants"], "name", "pool all")["standing"] == "new");
    const RunningCluster same{config_of(text), {}};
    CHECK(named(plan_of(text, &same)["tenants"], "name", "pool all")["standing"] == "unchanged");
    CHECK(plan_of(two_hosts(""), &same)["gone"] == json{"pool all"});
}

TEST_CASE("slots are never over-committed", "[plan]") {
    const std::string text = R"({"overcommit": true, "topology": {"hosts": [{"name": "h1", "vms_max": 1}]},
        "tenants": [{"name": "A", "vnics": [{"name": "a1"}, {"name": "a2"}]}]})";
    CHECK(plan_of(text)["admitted"] == false);
    CHECK(test::has_fault(std::get<Faults>(parse_cluster(text, placement_faults)),
                          "topology.hosts[0].vms_max", "2"));
}

TEST_CASE("a dry run leaves vNICs on their hosts and marks what is new", "[plan]") {
    const std::string before =
        two_hosts(R"(, {"name": "B", "vnics": [{"name": "b1", "reservation": "3Gbit"}]},
        {"name": "C", "vnics": [{"name": "c1"}]})");
    const RunningCluster running{config_of(before), {{"a1", "h1"}, {"a2", "h2"}, {"b1", "h2"}}};
    const std::string after = two_hosts(R"(, {"name": "B", "vnics": [{"name": "b1", "reservation": "3Gbit"},
                                                          {"name": "b2", "host": "h1", "reservation": "5Gbit"}]},
        {"name": "D", "vnics": [{"name": "d1", "host": "h1", "reservation": "2Gbit"},
                                {"name": "d2", "host": "h2", "reservation": "2Gbit"}]})");
    const json plan = plan_of(after, &running);
    CHECK(plan["admitted"] == false);
    CHECK(plan["gone"] == json{"C"});
    CHECK(named(plan["tenants"], "name", "A")["standing"] == "unchanged");
    const json b = named(plan["tenants"], "name", "B");
    CHECK(b["standing"] == "changed");
    CHECK(b["vnics"][0]["host"] == "h2");  // where its switch has it
    CHECK(b["fits"] == true);              // 6 + 3
    const json d = named(plan["tenants"], "name", "D");
    CHECK(d["standing"] == "new");
    CHECK(d["fits"] == false);  // 6 + 3 + 2
    CHECK(named(plan["resources"], "what", "the uplink of host h1")["new"] == true);
    CHECK(plan["broken"].size() == 3);
    CHECK(plan["broken"][0]["new"] == true);
}

TEST_CASE("a constraint that was over-committed before is not new", "[plan]") {
    const RunningCluster running{config_of(two_hosts(kSecondTenant)),
                                 {{"a1", "h1"}, {"a2", "h2"}, {"b1", "h1"}, {"b2", "h2"}}};
    const json plan = plan_of(two_hosts(kSecondTenant), &running);
    CHECK(named(plan["tenants"], "name", "B")["fits"] == true);  // it is there
    CHECK(plan["admitted"] == false);
    CHECK(named(plan["resources"], "what", "the uplink of host h1")["new"] == false);
    CHECK(plan["broken"][0]["new"] == false);
}
