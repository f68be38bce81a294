// controller_why_test.cc - the resource that holds a vNIC's flows back, the other tenant, and the second.
#include <nlohmann/json.hpp>

#include "test/ctrl/daemon/controller_world.h"
#include "test/support/catch.h"

using namespace weir;
using nlohmann::json;
using test::FakeSwitch;

namespace {

const char* const kExplainedTenants = R"({"name": "test", "headroom": "0%",
    "topology": {"hosts": [{"name": "h1"}, {"name": "h2"}, {"name": "h3"}]},
    "appliances": [{"name": "disk", "capacity_min": "1ktokens", "capacity_max": "1ktokens"}],
    "tenants": [
        {"name": "A", "vnics": [{"name": "a1"}, {"name": "a2", "limit": "2Gbit"}, {"name": "a3"}],
         "appliances": [{"name": "disk", "reservation": "400tokens", "limit": "500tokens"}]},
        {"name": "B", "vnics": [{"name": "b1"}, {"name": "b3"}],
         "appliances": [{"name": "disk", "reservation": "300tokens"}]}]})";

constexpr float kGigabit = 125e6F;

/// a1 and b1 are on h1, a2 on h2, a3 and b3 on h3. The time begins at 1,000.
struct ExplainedWorld : test::ControllerWorld {
    FakeSwitch h1{"h1", {"a1", "b1"}, "route 1"};
    FakeSwitch h2{"h2", {"a2"}, "route 2"};
    FakeSwitch h3{"h3", {"a3", "b3"}, "route 3"};
    std::int64_t unix_time = 1'000;

    ExplainedWorld() : ControllerWorld(kExplainedTenants) {
        controller = std::make_unique<Controller>(
            config, [](const ClusterConfig& of) { return std::make_shared<IntervalSolver>(of); }, store,
            unix_time);
        switches = {&h1, &h2, &h3};
        for (FakeSwitch* each : switches) {
            each->hello.appliances = {{.name = "disk"}};
            join(*each);
        }
    }
    void pass(int intervals) {
        for (int i = 0; i < intervals; ++i) {
            now += test::kInterval;
            for (FakeSwitch* each : switches)
                give(*each, each->send_demands());
            controller->tick(now, ++unix_time);
            deliver();
        }
    }
    json ask(const json& request) { return json::parse(controller->on_command(request.dump(), {}, now)); }
    json why(const std::string& vnic) {
        const json reply = ask({{"schema", 1}, {"command", "why"}, {"args", {{"name", vnic}}}});
        INFO(reply.dump());
        REQUIRE(reply["ok"] == true);
        return reply["data"];
    }
};

}  // namespace

TEST_CASE("a flow that has what it wants is held back by nothing") {
    ExplainedWorld world;
    world.h1.want("a1", "a3", {kGigabit, 0, 0});
    world.pass(3);
    const json why = world.why("a1");
    CHECK(why["tenant"] == "A");
    CHECK(why["host"] == "h1");
    CHECK(why["flows"].size() == 1);
    CHECK(why["flows"][0]["destination"] == "a3");
    CHECK(why["flows"][0]["wanted"].get<double>() == Approx(1e9).epsilon(0.01));
    CHECK(why["flows"][0]["held_by"].is_null());
    CHECK(why["resources"].empty());
    CHECK(world.why("a3")["flows"] == why["flows"]);  // it is a flow of its receiver, too
}

TEST_CASE("a noisy tenant is named with the resource and the second in which it began") {
    ExplainedWorld world;
    world.h1.want("a1", "a3", {4 * kGigabit, 0, 0});
    world.pass(5);
    CHECK(world.why("a1")["flows"][0]["held_by"].is_null());
    world.h1.want("b1", "b3", {10 * kGigabit, 0, 0});  // the demand of second 1,006
    world.pass(4);
    world.h2.want("a2", "a3", {kGigabit / 100, 0, 0});
    world.pass(1);
    // Both share h1's uplink: without reservations, equal parts of 10 Gbit/s. a1's 4 Gbit/s fit.
    CHECK(world.why("a1")["flows"][0]["held_by"].is_null());
    world.h1.want("a1", "a3", {8 * kGigabit, 0, 0});
    world.pass(10);
    const json why = world.why("a1");
    CHECK(why["flows"][0]["held_by"] == "uplink of host h1");
    REQUIRE(why["resources"].size() == 1);
    const json& uplink = why["resources"][0];
    CHECK(uplink["name"] == "uplink of host h1");
    CHECK(uplink["capacity"] == 10e9);
    CHECK(uplink["used"].get<double>() == Approx(10e9).epsilon(0.01));
    CHECK(uplink["since"] == 1'006);
    REQUIRE(uplink["users"].size() == 2);
    for (const json& user : uplink["users"])
        CHECK(user["since"] == (user["vnic"] == "b1" ? 1'006 : 1'001));
}

TEST_CASE("a limit is named with its owner, and the tenant's at an appliance, too") {
    ExplainedWorld world;
    world.h2.want("a2", "a3", {4 * kGigabit, 0, 0});
    world.h1.want("a1", "disk", {1'000, 900, 1'000});
    world.pass(5);
    CHECK(world.why("a2")["flows"][0]["held_by"] == "limit of vNIC a2");
    CHECK(world.why("a1")["flows"][0]["held_by"] == "limit of tenant A at appliance disk");
    CHECK(world.why("a1")["flows"][0]["unit"] == "tokens/s");
}

TEST_CASE("times last over a change of the configuration, also of hosts and appliances") {
    ExplainedWorld world;
    world.h1.want("a1", "disk", {1'000, 450, 1'000});
    world.h1.want("b1", "disk", {1'000, 900, 1'000});
    world.pass(5);
    CHECK(world.why("b1")["resources"][0]["name"] == "appliance disk");
    CHECK(world.why("b1")["resources"][0]["since"] == 1'001);
    world.config.appliances.insert(world.config.appliances.begin(),
                                   {.name = "array", .capacity_min = 10, .capacity_max = 10});
    world.config.hosts.erase(world.config.hosts.begin() + 1);
    world.controller->adopt(
        world.controller->plan(world.config,
                               [&](auto kind, auto name) { return world.store.endpoint_id(kind, name); }),
        world.now);
    world.deliver();
    world.switches = {&world.h1, &world.h3};
    world.pass(2);
    const json disk = world.why("b1")["resources"][0];
    CHECK(disk["since"] == 1'001);
    CHECK(disk["users"][0]["vnic"] == "b1");
    CHECK(disk["users"][0]["since"] == 1'001);
}

TEST_CASE("why of a vNIC that is not there is refused with the command that lists them") {
    ExplainedWorld world;
    const json request{{"schema", 1}, {"command", "why"}, {"args", {{"name", "a9"}}}};
    world.pass(1);
    const json reply = world.ask(request);
    CHECK(reply["ok"] == false);
    CHECK(reply["faults"][0]["message"] == "there is no such vNIC; `weirctl tenant list` shows all");
}

TEST_CASE("allocation has each tenant's demands and rates, and the users of each resource") {
    ExplainedWorld world;
    world.h1.want("a1", "a3", {kGigabit, 0, 0});
    world.h2.want("a2", "a3", {kGigabit / 4, 0, 0});
    world.h1.want("b1", "disk", {1'000, 900, 1'000});
    world.pass(5);
    const json data = world.ask({{"schema", 1}, {"command", "allocation"}})["data"];
    CHECK(data["time"] == world.unix_time);
    REQUIRE(data["tenants"].size() == 2);
    const json& first = data["tenants"][0];
    CHECK(first["name"] == "A");
    for (const char* key : {"wanted_bps", "allocated_bps", "used_bps"})
        CHECK(first[key].get<double>() == Approx(1.25e9).epsilon(0.01));
    CHECK(first["appliances"].empty());
    const json& second = data["tenants"][1];
    CHECK(second["wanted_bps"] == 0);
    REQUIRE(second["appliances"].size() == 1);
    CHECK(second["appliances"][0]["name"] == "disk");
    CHECK(second["appliances"][0]["wanted"].get<double>() == Approx(900).epsilon(0.01));
    for (const json& resource : data["resources"])
        if (resource["name"] == "downlink of host h3") {
            REQUIRE(resource["users"].size() == 2);
            CHECK(resource["users"][0]["vnic"] == "a1");
            CHECK(resource["users"][0]["used"].get<double>() == Approx(1e9).epsilon(0.01));
        }
}
