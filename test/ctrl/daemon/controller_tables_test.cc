// controller_tables_test.cc - TABLES: the endpoints that each switch gets, the switches that get a change,
// and messages of the largest valid file.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "test/ctrl/daemon/controller_world.h"
#include "test/support/catch.h"

using namespace weir;
using test::FakeSwitch;
using test::kInterval;

namespace {

const char* const kFourHosts = R"({"name": "test", "headroom": "0%",
    "topology": {"hosts": [{"name": "h1"}, {"name": "h2"}, {"name": "h3"}, {"name": "h4"}]},
    "appliances": [{"name": "disk", "capacity_min": "1ktokens", "capacity_max": "2ktokens"},
                   {"name": "tape", "capacity_min": "1ktokens", "capacity_max": "2ktokens"}],
    "tenants": [
        {"name": "A", "vnics": [{"name": "a1"}, {"name": "a2"}, {"name": "a3"}, {"name": "a4"}],
         "appliances": [{"name": "disk", "reservation": "400tokens"}, {"name": "tape"}]},
        {"name": "B", "vnics": [{"name": "b1"}, {"name": "b2"}], "appliances": [{"name": "disk"}]}]})";

std::string mac_of(const std::string& vnic) {
    return "52:54:00:00:0" + std::string(1, vnic[0]) + ":0" + vnic.substr(1);
}

FakeSwitch by_need(const std::string& host, const std::vector<std::string>& vnics) {
    FakeSwitch made(host, vnics, "route of " + host);
    for (wire::HelloVnic& vnic : made.hello.vnics)
        vnic.mac = mac_of(vnic.name);
    made.hello.appliances = {{.name = "disk", .address = "10.0.0.5", .port = 10809}};
    made.hello.capabilities = {std::string(wire::capability::kTablesByNeed)};
    return made;
}

struct TablesWorld : test::ControllerWorld {
    TablesWorld() : ControllerWorld(kFourHosts) {}

    void join(FakeSwitch& each) {
        if (std::ranges::find(switches, &each) == switches.end())
            switches.push_back(&each);
        ControllerWorld::join(each);
    }
    void ask(FakeSwitch& from, const std::vector<std::pair<std::string, std::string>>& pairs) {
        std::vector<std::pair<std::uint32_t, std::string>> addresses;
        for (const auto& [vnic, mac] : pairs)
            addresses.emplace_back(store.endpoint_id("vnic", vnic), mac);
        give(from, from.send_ask(addresses));
        deliver();
    }
    void pass_interval() { ControllerWorld::pass_interval(switches); }
    /// Moves the vNIC from one switch to another, which both say in a HELLO.
    void move(const std::string& vnic, FakeSwitch& from, FakeSwitch& to) {
        std::erase_if(from.hello.vnics, [&](const auto& each) { return each.name == vnic; });
        join(from);
        to.hello.vnics.push_back({.name = vnic, .mac = mac_of(vnic)});
        join(to);
        pass_interval();
    }
};

std::set<std::string> names_in(const FakeSwitch& each) {
    std::set<std::string> names;
    for (const wire::Endpoint& end : each.tables.endpoints)
        names.insert(end.name);
    return names;
}

using Names = std::set<std::string>;

}  // namespace

TEST_CASE("with TABLES by need a switch gets its own vNICs and the appliances that it tracks, and no others",
          "[tables]") {
    TablesWorld world;
    FakeSwitch h1 = by_need("h1", {"a1", "b1"});
    FakeSwitch h2 = by_need("h2", {"a2"});
    world.join(h2);
    world.join(h1);
    CHECK(wire::has(h1.welcome->capabilities, wire::capability::kTablesByNeed));
    CHECK(names_in(h1) == Names{"a1", "b1", "disk"});
    CHECK(h1.tables.guarantees.size() == 2);  // to the disk; it tracks no tape
    world.pass_interval();
    CHECK(names_in(h1) == Names{"a1", "b1", "disk"});
    FakeSwitch old = by_need("h3", {"a3"});
    old.hello.capabilities.clear();
    world.join(old);
    CHECK(names_in(old) == Names{"a1", "a2", "a3", "a4", "disk", "tape"});
}

TEST_CASE("an address is answered with a vNIC of the same tenant on another host, and with nothing else",
          "[tables]") {
    TablesWorld world;
    FakeSwitch h1 = by_need("h1", {"a1", "b1", "a3"});
    FakeSwitch h2 = by_need("h2", {"a2", "b2", "a4"});
    h2.hello.vnics[2].vlan = 5;
    world.join(h1);
    world.join(h2);
    world.pass_interval();
    world.ask(h1, {{"a1", mac_of("a2")}});
    CHECK(h1.unknown.empty());
    REQUIRE(h1.endpoint("a2") != nullptr);
    CHECK(h1.endpoint("a2")->host == "h2");
    CHECK(h1.endpoint("a2")->mac == mac_of("a2"));
    world.ask(h1, {{"a1", mac_of("b2")},           // another tenant's
                   {"b1", mac_of("a2")},           // likewise
                   {"a1", mac_of("a3")},           // on the same host
                   {"a1", mac_of("a4")},           // in another VLAN
                   {"b2", mac_of("b1")},           // another host asks for its own
                   {"x9", mac_of("a2")},           // no such vNIC
                   {"a1", "52:54:00:ff:ff:ff"}});  // no vNIC has it
    CHECK(h1.unknown.size() == 7);
    CHECK(names_in(h1) == Names{"a1", "a2", "a3", "b1", "disk"});
    CHECK(world.controller->counters().asked == 8);
    CHECK(world.controller->counters().asked_unknown == 7);
    CHECK(world.host("h1")["peers"] == 1);
    FakeSwitch old = by_need("h3", {});
    old.hello.capabilities.clear();
    world.join(old);
    const unsigned before = old.tables_messages;
    world.ask(old, {{"a1", mac_of("a2")}});  // without the capability
    CHECK(old.tables_messages == before);
    CHECK(world.controller->counters().bad_json == 1);
}

TEST_CASE("when a vNIC moves, the switches that send to it get one endpoint each, and the others nothing",
          "[tables]") {
    TablesWorld world;
    FakeSwitch h1 = by_need("h1", {"a1"});
    FakeSwitch h2 = by_need("h2", {"a2"});
    FakeSwitch h3 = by_need("h3", {"a3"});
    FakeSwitch h4 = by_need("h4", {"a4"});
    for (FakeSwitch* each : {&h1, &h2, &h3, &h4})
        world.join(*each);
    world.pass_interval();
    world.ask(h1, {{"a1", mac_of("a2")}});
    const unsigned before_h1 = h1.tables_messages;
    const unsigned before_h4 = h4.tables_messages;
    world.move("a2", h2, h3);
    CHECK(h1.tables_messages == before_h1 + 1);
    CHECK(h1.endpoint("a2")->host == "h3");
    CHECK(h4.tables_messages == before_h4);
    CHECK(names_in(h2) == Names{});
    CHECK(names_in(h3) == Names{"a2", "a3", "disk"});
    // A vNIC that leaves has no host, and comes back with another address.
    h3.hello.vnics.pop_back();
    world.join(h3);
    world.pass_interval();
    CHECK(h1.endpoint("a2")->host.empty());
    h2.hello.vnics = {{.name = "a2", .mac = "52:54:00:00:00:77"}};
    world.join(h2);
    world.pass_interval();
    CHECK(h1.endpoint("a2")->host == "h2");
    CHECK(h1.endpoint("a2")->mac == "52:54:00:00:00:77");
}

TEST_CASE("a host keeps no peer of a tenant that it has no vNIC of any more", "[tables]") {
    TablesWorld world;
    FakeSwitch h1 = by_need("h1", {"a1", "b1"});
    FakeSwitch h2 = by_need("h2", {"a2", "b2"});
    world.join(h1);
    world.join(h2);
    world.ask(h1, {{"a1", mac_of("a2")}, {"b1", mac_of("b2")}});
    CHECK(world.host("h1")["peers"] == 2);
    std::erase_if(h1.hello.vnics, [](const auto& vnic) { return vnic.name == "b1"; });
    world.join(h1);
    CHECK(names_in(h1) == Names{"a1", "a2", "disk"});
    CHECK(world.host("h1")["peers"] == 1);
}

TEST_CASE("2,000 addresses of a switch are answered in an interval, further ones when it asks again",
          "[tables]") {
    TablesWorld world;
    FakeSwitch h1 = by_need("h1", {"a1"});
    world.join(h1);
    const std::vector<std::pair<std::string, std::string>> many(1'000, {"a1", mac_of("a2")});
    for (int i = 0; i < 3; ++i)
        world.ask(h1, many);
    CHECK(world.controller->counters().asked == 2'000);
    CHECK(world.controller->counters().asked_late == 1'000);
    CHECK(h1.unknown.size() == 2'000);
    world.pass_interval();
    world.ask(h1, many);
    CHECK(world.controller->counters().asked == 3'000);
}

TEST_CASE("a snapshot has the peers that the switch asked for", "[tables]") {
    TablesWorld world;
    FakeSwitch h1 = by_need("h1", {"a1"});
    FakeSwitch h2 = by_need("h2", {"a2"});
    world.join(h1);
    world.join(h2);
    world.ask(h1, {{"a1", mac_of("a2")}});
    h1.tables = {};
    wire::Header header = h1.sequencer.next(wire::Type::kHeartbeat, h1.interval);
    header.flags = wire::flags::kAskSnapshot;
    world.give(h1, {wire::encode_header(header), {}});
    world.deliver();
    CHECK(names_in(h1) == Names{"a1", "a2", "disk"});
}

namespace {

/// Two tenants of so many vNICs each, and a host with one of each.
ClusterConfig large_file(std::uint32_t vnics) {
    ClusterConfig config;
    config.hosts = {{.name = "h1"}, {.name = "h2"}};
    for (const char* const name : {"A", "B"}) {
        TenantConfig tenant;
        tenant.name = name;
        for (std::uint32_t i = 0; i < vnics; ++i)
            tenant.vnics.push_back({.name = name + std::to_string(i)});
        config.tenants.push_back(std::move(tenant));
    }
    return config;
}

}  // namespace

TEST_CASE("a switch of an older version is sent what it takes of a large tenant, and status has the rest",
          "[tables]") {
    TablesWorld world;
    world.config = large_file(10'001);
    world.restart();
    FakeSwitch h1("h1", {"A10000", "B10000"}, "r1");
    world.join(h1);  // fails when the message is refused
    CHECK(h1.tables.endpoints.size() == 16'000);
    CHECK(h1.endpoint("A10000") != nullptr);
    CHECK(h1.endpoint("B10000") != nullptr);
    CHECK(world.host("h1")["endpoints_left_out"] == 4'002);
    FakeSwitch h2 = by_need("h2", {});
    h2.hello.vnics = {{.name = "A1"}};
    world.join(h2);
    CHECK(h2.tables.endpoints.size() == 1);
    CHECK(world.host("h2")["endpoints_left_out"] == 0);
}
