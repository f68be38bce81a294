// controller_adoption_test.cc - a new configuration while switches are connected: the messages that each of
// them gets, vNICs and hosts that go, guarantees of silent hosts, and periods that wait.
#include <nlohmann/json.hpp>

#include "test/ctrl/daemon/controller_world.h"
#include "test/support/catch.h"

using namespace weir;
using test::FakeSwitch;
using test::kInterval;
using wire::Part;

namespace {

const char* const kThreeTenants = R"({"name": "test", "headroom": "0%",
    "topology": {"hosts": [{"name": "h1"}, {"name": "h2"}, {"name": "h3"}]},
    "appliances": [{"name": "disk", "capacity_min": "1ktokens", "capacity_max": "1ktokens"}],
    "tenants": [
        {"name": "A", "vnics": [{"name": "a1"}, {"name": "a2"}],
         "appliances": [{"name": "disk", "reservation": "400tokens"}]},
        {"name": "B", "vnics": [{"name": "b1"}, {"name": "b2"}],
         "appliances": [{"name": "disk", "reservation": "300tokens"}]},
        {"name": "C", "vnics": [{"name": "c1"}, {"name": "c2"}]}]})";

std::string address_of(const std::string& vnic) {
    return "52:54:00:00:0" + std::string(1, vnic[0]) + ":0" + vnic.substr(1);
}

FakeSwitch made_switch(const std::string& host, const std::vector<std::string>& vnics) {
    FakeSwitch made(host, vnics, "route of " + host);
    for (wire::HelloVnic& vnic : made.hello.vnics)
        vnic.mac = address_of(vnic.name);
    made.hello.appliances = {{.name = "disk"}};
    made.hello.capabilities = {std::string(wire::capability::kTablesByNeed),
                               std::string(wire::capability::kRefusals)};
    return made;
}

/// A tenant has a vNIC on each of h1 and h2, or (C) on h3 alone.
struct AdoptingWorld : test::ControllerWorld {
    FakeSwitch h1 = made_switch("h1", {"a1", "b1"});
    FakeSwitch h2 = made_switch("h2", {"a2", "b2"});
    FakeSwitch h3 = made_switch("h3", {"c1", "c2"});

    AdoptingWorld() : ControllerWorld(kThreeTenants) {
        switches = {&h1, &h2, &h3};
        for (FakeSwitch* each : switches)
            join(*each);
        ask(h1, "a1", "a2");
        h1.want("a1", "disk", {0, 900, 0});
        h2.want("b2", "disk", {0, 900, 0});
        h1.want("a1", "a2", {1'000'000, 0, 0});
        pass_interval();
        pass_interval();
    }
    void ask(FakeSwitch& from, const std::string& vnic, const std::string& peer) {
        give(from, from.send_ask({{from.id_of(vnic), address_of(peer)}}));
        deliver();
    }
    void pass_interval() { ControllerWorld::pass_interval(switches); }
    TenantConfig& tenant(std::size_t index) { return config.tenants[index]; }
    /// Bytes of the messages that each host got for the change.
    std::map<std::string, std::size_t> adopt() {
        controller->adopt(
            controller->plan(config, [this](auto kind, auto name) { return store.endpoint_id(kind, name); }),
            now);
        const std::vector<Outgoing> messages = controller->take_outgoing();
        std::map<std::string, std::size_t> bytes;
        for (const Outgoing& message : messages)
            bytes[message.route.substr(std::string("route of ").size())] +=
                message.header.size() + message.body.size();
        for (FakeSwitch* each : switches)
            each->receive(messages);
        return bytes;
    }
    [[nodiscard]] std::string refusals(const std::string& name) const {
        return host(name)["refused_vnics"].dump();
    }
};

}  // namespace

TEST_CASE(
    "a reservation that changes concerns the hosts of its tenant alone, and is in force an interval later") {
    AdoptingWorld world;
    const std::uint64_t before = world.h1.rate("a1", "disk", Part::kAppliance);
    world.tenant(0).vnics[0].reservation_bps = 1'000'000'000;
    world.tenant(0).appliances[0].reservation_tokens = 650;
    const auto bytes = world.adopt();
    CHECK(bytes.at("h1") <= 1'024);
    CHECK(bytes.at("h2") <= 1'024);
    CHECK_FALSE(bytes.contains("h3"));
    CHECK(world.h1.endpoint("a1")->floor == 125'000'000);
    CHECK(world.h1.rate("a1", "disk", Part::kAppliance) == before);
    world.pass_interval();
    CHECK(world.h1.rate("a1", "disk", Part::kAppliance) > 0);
}

TEST_CASE("a vNIC that was refused has its place as soon as the configuration has it") {
    AdoptingWorld world;
    world.h3.hello.vnics.push_back({.name = "a3", .mac = address_of("a3")});
    world.join(world.h3);
    world.pass_interval();
    CHECK(world.refusals("h3").find("a3: it is not in the cluster file") != std::string::npos);
    world.tenant(0).vnics.push_back({.name = "a3"});
    (void)world.adopt();
    world.pass_interval();
    CHECK(world.refusals("h3") == "[]");
    REQUIRE(world.h3.endpoint("a3") != nullptr);
    CHECK(world.h3.endpoint("a3")->host == "h3");
    world.h3.want("a3", "disk", {0, 100, 0});
    world.pass_interval();
    CHECK(world.h3.rate("a3", "disk", Part::kAppliance) == 100);
}

TEST_CASE("a vNIC that the configuration has no longer is refused at its switch, and its flows end") {
    AdoptingWorld world;
    const std::uint32_t id = world.h1.id_of("a1");
    world.tenant(0).vnics.erase(world.tenant(0).vnics.begin());
    (void)world.adopt();
    world.pass_interval();
    CHECK(world.refusals("h1") == R"(["a1: it is not in the cluster file"])");
    CHECK(world.h1.endpoint("a1") == nullptr);
    REQUIRE(world.h1.tables.refused_vnics);
    CHECK(world.h1.tables.refused_vnics->size() == 1);
    CHECK(std::ranges::none_of(world.h1.rates, [id](const auto& each) { return each.first.source == id; }));
    CHECK(world.h2.rate("b2", "disk", Part::kAppliance) == 900);
    CHECK(world.h2.id_of("a2") != 0);
}

TEST_CASE("a vNIC of another tenant goes on there, unless its switch serves it for the tenant before") {
    AdoptingWorld world;
    world.h3.hello.vnics[1].tenant = "C";
    world.join(world.h3);
    world.pass_interval();
    std::vector<TenantVnicConfig>& vnics = world.tenant(2).vnics;
    world.tenant(0).vnics.insert(world.tenant(0).vnics.end(), vnics.begin(), vnics.end());
    vnics = {{.name = "c3"}};
    (void)world.adopt();
    world.pass_interval();
    REQUIRE(world.h3.endpoint("c1") != nullptr);
    CHECK(world.h3.endpoint("c1")->tenant == "A");
    CHECK(world.h3.endpoint("c1")->host == "h3");
    CHECK(world.refusals("h3") == R"(["c2: its tenant is A, not C"])");
}

TEST_CASE("a vNIC whose host is another one by the new configuration leaves, and is refused where it is") {
    AdoptingWorld world;
    world.tenant(1).vnics[1].host = "h3";
    (void)world.adopt();
    world.pass_interval();
    CHECK(world.refusals("h2") == R"(["b2: its host is h3"])");
    world.h3.hello.vnics.push_back({.name = "b2", .mac = address_of("b2")});
    world.join(world.h3);
    CHECK(world.h3.endpoint("b2")->host == "h3");
}

TEST_CASE("a vNIC that grows has no place where it does not fit beside those of tenants that stay the same") {
    AdoptingWorld world;
    world.config.hosts[0].uplink_bps = 1'000'000'000;
    for (TenantVnicConfig& vnic : world.tenant(1).vnics)
        vnic.reservation_bps = 600'000'000;
    (void)world.adopt();
    CHECK(world.refusals("h1") == "[]");
    for (TenantVnicConfig& vnic : world.tenant(0).vnics)
        vnic.reservation_bps = 600'000'000;
    const Controller::Next next = world.controller->plan(
        world.config, [&](auto kind, auto name) { return world.store.endpoint_id(kind, name); });
    REQUIRE(next.displaced.size() == 1);
    CHECK(next.displaced[0].name == "a1");
    CHECK(next.displaced[0].why ==
          "its guarantee does not fit: the uplink of host h1 would need 1.2Gbit of 1Gbit");
}

TEST_CASE("a host that the configuration has no longer is refused, and so is one whose key is another") {
    AdoptingWorld world;
    world.config.hosts.erase(world.config.hosts.begin() + 1);
    (void)world.adopt();
    REQUIRE(world.h2.welcome);
    CHECK(world.h2.welcome->refused == "host h2 was removed from the cluster file");
    world.pass_interval();
    CHECK(world.h2.asked_hello);
    CHECK(world.host("h2").is_null());
    CHECK(world.host("h3")["state"] == "connected");
    world.config.hosts[0].key = std::string(40, 'k');
    (void)world.adopt();
    CHECK(world.h1.welcome->refused == "the key of host h1 was changed in the cluster file");
    CHECK(world.host("h1")["state"] == "silent");
}

TEST_CASE("guarantees that are kept for a silent host are those of the new configuration") {
    AdoptingWorld world;
    for (int i = 0; i < 5; ++i) {
        world.now += kInterval;
        world.give(world.h2, world.h2.send_demands());
        world.controller->tick(world.now, 1'000);
        world.deliver();
    }
    REQUIRE(world.host("h1")["state"] == "silent");
    CHECK(world.h2.rate("b2", "disk", Part::kAppliance) == 650);  // 200 are kept for a1, 150 for b1
    world.tenant(0).appliances[0].reservation_tokens = 600;
    (void)world.adopt();
    world.now += kInterval;
    world.give(world.h2, world.h2.send_demands());
    world.controller->tick(world.now, 1'000);
    world.deliver();
    CHECK(world.h2.rate("b2", "disk", Part::kAppliance) == 550);
}

TEST_CASE(
    "an appliance that comes is tracked at once by switches that have it, and one that goes is forgotten") {
    AdoptingWorld world;
    world.h1.hello.appliances.push_back({.name = "tape"});
    world.join(world.h1);
    world.config.appliances.push_back({.name = "tape", .capacity_min = 100, .capacity_max = 100});
    world.tenant(1).appliances.push_back({.name = "tape", .reservation_tokens = 50});
    (void)world.adopt();
    CHECK(world.h1.endpoint("tape") != nullptr);
    CHECK(world.h2.endpoint("tape") == nullptr);
    world.h1.want("b1", "tape", {0, 80, 0});
    world.pass_interval();
    CHECK(world.h1.rate("b1", "tape", Part::kAppliance) == 80);
    world.tenant(1).appliances.pop_back();
    world.config.appliances.pop_back();
    (void)world.adopt();
    world.pass_interval();
    CHECK(world.h1.endpoint("tape") == nullptr);
    CHECK(world.controller->status(world.now)["flows"] == 3);
}

TEST_CASE("a guarantee between ends that stay is taken back by a whole table") {
    AdoptingWorld world;
    const wire::FlowKey flow{world.h1.id_of("a1"), world.h1.id_of("disk")};
    world.tenant(0).appliances.clear();
    (void)world.adopt();
    world.pass_interval();
    CHECK(world.h1.endpoint("disk") != nullptr);  // b1 uses it
    CHECK(std::ranges::none_of(world.h1.tables.guarantees,
                               [&](const auto& each) { return each.flow == flow; }));
    world.tenant(0).appliances.push_back({.name = "disk", .reservation_tokens = 400});
    (void)world.adopt();
    world.pass_interval();  // the switch is asked for its whole demand
    world.pass_interval();
    CHECK(world.h1.rates.contains(flow));
}

TEST_CASE("changes between two tables are the ends and guarantees that differ") {
    const auto end = [](std::uint32_t id, const char* name) {
        return wire::Endpoint{.id = id, .name = name};
    };
    const auto rate = [](std::uint32_t from, std::uint32_t to, std::uint64_t tokens) {
        wire::FlowAllocation made{.flow = {from, to}};
        made.rate[wire::kTokens] = tokens;
        return made;
    };
    const wire::Tables before{.endpoints = {end(1, "a"), end(2, "b"), end(4, "d")},
                              .guarantees = {rate(1, 2, 10), rate(1, 4, 20)}};
    const wire::Tables now{.endpoints = {end(1, "a"), end(2, "c"), end(3, "e")},
                           .guarantees = {rate(1, 2, 11), rate(1, 3, 5)}};
    const auto change = change_between(before, now);
    REQUIRE(change);
    CHECK(*change == wire::Tables{.endpoints = {end(2, "c"), end(3, "e")},
                                  .guarantees = {rate(1, 2, 11), rate(1, 3, 5)},
                                  .changes = true,
                                  .removed = {4}});
    CHECK(change_between(now, now)->entries() == 0);
    CHECK_FALSE(change_between(before, {.endpoints = before.endpoints, .guarantees = {rate(1, 4, 20)}}));
    CHECK_FALSE(change_between(before, {.endpoints = before.endpoints, .guarantees = {rate(1, 2, 10)}}));
}
