// controller_placement_test.cc - when refused vNICs find their place, and the rates of a host after a
// silence.
#include <memory>
#include <nlohmann/json.hpp>

#include "ctrl/daemon/controller.h"
#include "ctrl/placement/cluster_plan.h"
#include "test/ctrl/daemon/controller_world.h"
#include "test/support/catch.h"

using namespace weir;
using test::FakeSwitch;
using test::kInterval;
using wire::Part;

namespace {

/// Hosts with room for one of the vNICs a, b and c each; they may be on any host.
const char* const kTightHosts = R"({"headroom": "0%",
    "topology": {"racks": [{"name": "r", "uplink": "8Gbit"}],
        "hosts": [{"name": "h1", "uplink": "8Gbit", "rack": "r"}, {"name": "h2", "uplink": "8Gbit", "rack": "r"},
                  {"name": "far", "uplink": "80Gbit"}]},
    "appliances": [{"name": "disk", "host": "far", "capacity_min": "1ktokens", "capacity_max": "1ktokens"}],
    "tenants": [
        {"name": "A", "vnics": [{"name": "a", "reservation": "6Gbit"}, {"name": "a9", "host": "far", "reservation": "6Gbit"}],
         "appliances": [{"name": "disk", "reservation": "100tokens"}]},
        {"name": "B", "vnics": [{"name": "b", "reservation": "6Gbit"}, {"name": "b9", "host": "far", "reservation": "6Gbit"}],
         "appliances": [{"name": "disk", "reservation": "200tokens"}]}]})";

struct TightWorld : test::ControllerWorld {
    FakeSwitch h1{"h1", {}, "r1"};
    FakeSwitch h2{"h2", {}, "r2"};
    FakeSwitch far{"far", {}, "r3"};

    TightWorld() : ControllerWorld(kTightHosts) { switches = {&h1, &h2, &far}; }

    void hello(FakeSwitch& from, const std::vector<std::string>& vnics) {
        from.hello.vnics.clear();
        for (const std::string& vnic : vnics)
            from.hello.vnics.push_back({.name = vnic});
        join(from);
    }
    [[nodiscard]] nlohmann::json refused(const std::string& name) const {
        return host(name)["refused_vnics"];
    }
};

}  // namespace

TEST_CASE("a vNIC may replace one that leaves a full host in the same HELLO", "[placement]") {
    TightWorld world;
    world.hello(world.h1, {"a"});
    CHECK(world.refused("h1").empty());
    world.hello(world.h1, {"a", "b"});
    CHECK(world.refused("h1").dump().find("b: its guarantee does not fit: the uplink of host h1") !=
          std::string::npos);
    world.hello(world.h1, {"b"});
    CHECK(world.refused("h1").empty());
}

TEST_CASE("a vNIC that another host has is placed when it leaves there", "[placement]") {
    TightWorld world;
    world.hello(world.h1, {"a"});
    world.hello(world.h2, {"a"});
    CHECK(world.refused("h2") == nlohmann::json::array({"a: host h1 has it"}));
    world.pass_interval({&world.h1, &world.h2});
    CHECK(world.refused("h2").size() == 1);
    world.hello(world.h1, {});
    world.pass_interval({&world.h1, &world.h2});
    CHECK(world.refused("h2").empty());
    REQUIRE(world.h2.id_of("a") != 0);  // TABLES came
    world.h2.want("a", "disk", {0, 900, 0});
    world.pass_interval({&world.h1, &world.h2});
    CHECK(world.h2.rate("a", "disk", Part::kAppliance) == 900);
}

TEST_CASE("a vNIC is placed when the host that has it is lost", "[placement]") {
    TightWorld world;
    world.hello(world.h1, {"a"});
    world.hello(world.h2, {"a"});
    for (int i = 0; i < 3; ++i) {
        CHECK(world.refused("h2").size() == 1);
        world.pass_interval({&world.h2});
    }
    world.pass_interval({&world.h2});
    CHECK(world.refused("h2").empty());
}

TEST_CASE("a host whose vNIC was taken while it did not answer has it again when it leaves there",
          "[placement]") {
    TightWorld world;
    world.hello(world.h1, {"a"});
    world.now += 4 * test::kInterval;  // no interval ends meanwhile: the session is not lost yet
    world.hello(world.h2, {"a"});
    CHECK(world.refused("h2").empty());
    world.pass_interval({&world.h1, &world.h2});
    CHECK(world.refused("h1") == nlohmann::json::array({"a: host h2 has it"}));
    world.hello(world.h2, {});
    world.pass_interval({&world.h1, &world.h2});
    CHECK(world.refused("h1").empty());
    CHECK(world.host("h1")["vnics"] == 1);
}

TEST_CASE("a vNIC for which a rack had no room is placed when another one leaves the rack", "[placement]") {
    TightWorld world;
    world.hello(world.h1, {"a"});
    world.hello(world.h2, {"b"});
    CHECK(world.refused("h2").dump().find("rack r would need 12Gbit of 8Gbit") != std::string::npos);
    world.hello(world.h1, {});
    world.pass_interval({&world.h1, &world.h2});
    CHECK(world.refused("h2").empty());
}

TEST_CASE("a vNIC that the file has no place for stays refused", "[placement]") {
    TightWorld world;
    world.hello(world.h1, {"a9", "zz", "a"});
    world.hello(world.h2, {"b"});
    world.hello(world.h2, {});
    world.pass_interval({&world.h1, &world.h2});
    CHECK(world.refused("h1") ==
          nlohmann::json::array({"a9: its host is far", "zz: it is not in the cluster file"}));
}

TEST_CASE("after a silence a host has its flows' floors until the first solve, not its old rates",
          "[placement]") {
    TightWorld world;
    world.hello(world.far, {"a9"});
    world.hello(world.h1, {"a"});
    world.h1.want("a", "disk", {0, 900, 0});
    world.h1.want("a", "a9", {500e6F, 0, 0});
    world.pass_interval({&world.h1});
    CHECK(world.h1.rate("a", "disk", Part::kAppliance) == 900);
    CHECK(world.h1.rate("a", "a9", Part::kThere) == 500'000'000);
    for (int i = 0; i < 5; ++i)
        world.pass_interval({});
    world.h1.rates.clear();
    world.hello(world.h1, {"a"});
    CHECK(world.h1.rate("a", "disk", Part::kAppliance) == 50);  // half of 100 tokens: A has two vNICs
    CHECK(world.h1.rate("a", "a9", Part::kThere) == 750'000'000);
    world.pass_interval({&world.h1});
    CHECK(world.h1.rate("a", "disk", Part::kAppliance) == 900);
}

TEST_CASE("a switch that says HELLO again without a silence keeps its rates", "[placement]") {
    TightWorld world;
    world.hello(world.h1, {"a"});
    world.h1.want("a", "disk", {0, 900, 0});
    world.pass_interval({&world.h1});
    world.h1.rates.clear();
    world.hello(world.h1, {"a"});
    CHECK(world.h1.rate("a", "disk", Part::kAppliance) == 900);
}

TEST_CASE("refused vNICs are sent to a switch that knows the key, and to no other", "[placement]") {
    TightWorld world;
    world.hello(world.h1, {"zz"});
    CHECK(world.h1.welcome->capabilities.empty());
    CHECK_FALSE(world.h1.tables.refused_vnics);
    world.h2.hello.capabilities = {"refusals", "of-a-later-version"};
    world.hello(world.h2, {"zz"});
    CHECK(wire::has(world.h2.welcome->capabilities, wire::capability::kRefusals));
    CHECK(wire::has(world.h2.welcome->capabilities, wire::capability::kBlocked));
    REQUIRE(world.h2.tables.refused_vnics);
    CHECK(*world.h2.tables.refused_vnics ==
          std::vector<wire::RefusedVnic>{{"zz", "it is not in the cluster file", true}});
    world.hello(world.h2, {});
    REQUIRE(world.h2.tables.refused_vnics);
    CHECK(world.h2.tables.refused_vnics->empty());
}
