// promises_test.cc - the specification's promises to vNICs: which switch gets which, and the warnings where a
// switch's file states other values.
#include "ctrl/daemon/promises.h"

#include <nlohmann/json.hpp>

#include "test/ctrl/daemon/controller_world.h"
#include "test/support/catch.h"

using namespace weir;
using test::FakeSwitch;

namespace {

constexpr std::uint64_t kPromisedGbit = 1'000'000'000;

const char* const kPromisedVnics = R"({"name": "test", "headroom": "0%",
    "topology": {"hosts": [{"name": "h1"}, {"name": "h2"}, {"name": "h3"}]},
    "tenants": [
        {"name": "A", "vnics": [{"name": "a1", "reservation": "1Gbit", "limit": "4Gbit", "weight": 50,
                                 "mac": "52:54:00:00:00:0A", "vlan": 7},
                                {"name": "a2", "guarantee_kind": "dynamic", "size": "75GB", "time": "600s"}]},
        {"name": "B", "vnics": [{"name": "b1"}, {"name": "b2", "guarantee_kind": "best_effort"}]}]})";

FakeSwitch promised_switch(const std::string& host, const std::vector<std::string>& vnics) {
    FakeSwitch made(host, vnics, "route of " + host);
    for (wire::HelloVnic& vnic : made.hello.vnics)
        if (vnic.name == "a1") {
            vnic.mac = "52:54:00:00:00:0a";
            vnic.vlan = 7;
        } else {
            vnic.mac = "52:54:00:00:01:" + std::string(vnic.name == "a2" ? "0a" : "0b");
        }
    made.hello.capabilities = {
        std::string(wire::capability::kTablesByNeed), std::string(wire::capability::kRefusals),
        std::string(wire::capability::kVnicPromises), std::string(wire::capability::kWorkerPromises)};
    return made;
}

struct PromisesWorld : test::ControllerWorld {
    FakeSwitch h1 = promised_switch("h1", {"a1", "b1"});
    FakeSwitch h2 = promised_switch("h2", {"a2"});
    FakeSwitch h3 = promised_switch("h3", {"b2"});

    PromisesWorld() : ControllerWorld(kPromisedVnics) { switches = {&h1, &h2, &h3}; }
    void join_all() {
        for (FakeSwitch* each : switches)
            join(*each);
        pass_interval(switches);
    }
    /// @return endpoints in the messages that each host got for the change
    std::map<std::string, std::vector<std::string>> adopt() {
        controller->adopt(
            controller->plan(config, [this](auto kind, auto name) { return store.endpoint_id(kind, name); }),
            now);
        std::map<std::string, std::vector<std::string>> sent;
        for (const Outgoing& message : controller->take_outgoing()) {
            for (FakeSwitch* each : switches)
                if (message.route == each->peer.route)
                    each->receive(message);
            const std::string_view text(reinterpret_cast<const char*>(message.body.data()),
                                        message.body.size());
            const auto tables = wire::parse_tables(text);
            std::vector<std::string>& names = sent[message.route.substr(std::string("route of ").size())];
            if (const auto* changed = std::get_if<wire::Tables>(&tables))
                for (const wire::Endpoint& end : changed->endpoints)
                    names.push_back(end.name);
        }
        return sent;
    }
    TenantVnicConfig& vnic(std::size_t tenant, std::size_t index) {
        return config.tenants[tenant].vnics[index];
    }
    [[nodiscard]] std::vector<std::string> warnings(const std::string& name) const {
        return host(name)["warnings"].get<std::vector<std::string>>();
    }
};

}  // namespace

TEST_CASE("a switch gets the promises to its own vNICs as the specification has them", "[vnic_promises]") {
    PromisesWorld world;
    world.join_all();
    CHECK(wire::has(world.h1.welcome->capabilities, wire::capability::kVnicPromises));
    CHECK(world.h1.endpoint("a1")->promise ==
          VnicPromise{.reservation_bps = kPromisedGbit, .limit_bps = 4 * kPromisedGbit, .shares = 50});
    CHECK(world.h1.endpoint("b1")->promise == VnicPromise{});
    CHECK(world.h2.endpoint("a2")->promise == VnicPromise{.guarantee = GuaranteeKind::kDynamic,
                                                          .reservation_bps = kPromisedGbit,
                                                          .size_bytes = 75'000'000'000,
                                                          .time = 600 * kNanosPerSec});
    CHECK(world.h3.endpoint("b2")->promise == VnicPromise{.guarantee = GuaranteeKind::kBestEffort});
    CHECK(world.warnings("h1").empty());
}

TEST_CASE("a peer's promise is not the switch's business, and a switch that does not know promises gets none",
          "[vnic_promises]") {
    PromisesWorld world;
    world.config.tenants[0].vnics[0].vlan.reset();
    world.restart();
    world.h1.hello.vnics[0].vlan = 0;
    std::erase(world.h3.hello.capabilities, std::string(wire::capability::kVnicPromises));
    world.join_all();
    world.give(world.h1, world.h1.send_ask({{world.h1.id_of("a1"), "52:54:00:00:01:0a"}}));
    world.deliver();
    REQUIRE(world.h1.endpoint("a2") != nullptr);
    CHECK_FALSE(world.h1.endpoint("a2")->promise);
    CHECK_FALSE(world.h3.endpoint("b2")->promise);
    CHECK_FALSE(wire::has(world.h3.welcome->capabilities, wire::capability::kVnicPromises));
    REQUIRE(world.warnings("h3").size() == 1);
    CHECK(world.warnings("h3")[0].find("upgrade its weir-switch") != std::string::npos);
}

TEST_CASE(
    "a switch that does not know promises of workers gets the others, and a warning when there are some",
    "[vnic_promises]") {
    PromisesWorld world;
    std::erase(world.h1.hello.capabilities, std::string(wire::capability::kWorkerPromises));
    // Values of workers that its file states hold there: they are no difference.
    world.h1.hello.vnics[0].stated = VnicPromise{.worker = {.cycle_shares = 7, .encrypt_reservation = 9}};
    world.join_all();
    CHECK(world.warnings("h1").empty());
    world.vnic(0, 0).worker = {.cycle_shares = 300, .encrypt_reservation = 5'000'000};
    world.vnic(0, 1).worker = {.reservation_pps = 1'000};
    world.adopt();
    CHECK(world.h1.endpoint("a1")->promise->worker == WorkerPromise{});
    CHECK(world.h1.endpoint("a1")->promise->shares == 50);
    REQUIRE(world.warnings("h1").size() == 1);
    CHECK(world.warnings("h1")[0].find("packets, cycles and encryption") != std::string::npos);
    CHECK(world.h2.endpoint("a2")->promise->worker == WorkerPromise{.reservation_pps = 1'000});
    CHECK(world.warnings("h2").empty());
}

TEST_CASE("a promise that changes is sent to the host concerned, and no other vNIC with it",
          "[vnic_promises]") {
    PromisesWorld world;
    world.join_all();
    world.vnic(1, 0).guarantee = GuaranteeKind::kFairness;
    auto sent = world.adopt();
    CHECK(sent["h1"] == std::vector<std::string>{"b1"});
    CHECK(sent["h2"].empty());
    CHECK(sent["h3"].empty());  // of the same tenant: its own promise is the same
    CHECK(world.h1.endpoint("b1")->promise == VnicPromise{.guarantee = GuaranteeKind::kFairness});
    world.vnic(0, 0).weight = 80;
    world.vnic(0, 0).reservation_bps = 2 * kPromisedGbit;
    sent = world.adopt();
    CHECK(sent["h1"] == std::vector<std::string>{"a1"});
    CHECK(world.h1.endpoint("a1")->promise->shares == 80);
    CHECK(world.h1.endpoint("a1")->promise->reservation_bps == 2 * kPromisedGbit);
    const unsigned messages = world.h1.tables_messages;
    world.pass_interval(world.switches);
    CHECK(world.h1.tables_messages == messages);
}

TEST_CASE("a vNIC whose address is not the specification's is refused with both", "[vnic_promises]") {
    PromisesWorld world;
    const auto refusals = [&] { return world.host("h1")["refused_vnics"].dump(); };
    world.h1.hello.vnics[0].mac = "52:54:00:00:00:0b";
    world.join_all();
    CHECK(refusals() ==
          R"(["a1: its MAC address is 52:54:00:00:00:0a, and the switch's file has 52:54:00:00:00:0b"])");
    world.h1.hello.vnics[0].mac.clear();
    world.join(world.h1);
    CHECK(refusals().find("and the switch's file has none") != std::string::npos);
    CHECK(world.h1.endpoint("a1") == nullptr);  // and has no promise
    world.h1.hello.vnics[0].mac = "52:54:00:00:00:0a";
    world.h1.hello.vnics[0].vlan = 0;
    world.join(world.h1);
    CHECK(refusals() == R"(["a1: its VLAN is 7, and the switch's file has 0"])");
    world.vnic(0, 0).vlan.reset();
    (void)world.adopt();
    world.pass_interval(world.switches);
    CHECK(refusals() == "[]");
    REQUIRE(world.h1.endpoint("a1") != nullptr);
    CHECK(world.h1.endpoint("a1")->promise->shares == 50);
    world.vnic(0, 0).mac = "52:54:00:00:00:0c";  // while it runs
    (void)world.adopt();
    world.pass_interval(world.switches);
    CHECK(refusals().find("its MAC address is 52:54:00:00:00:0c") != std::string::npos);
    CHECK(world.h1.endpoint("a1") == nullptr);
}

TEST_CASE("status names each vNIC of which the switch's file states other values, at most 20",
          "[vnic_promises]") {
    PromisesWorld world;
    world.h1.hello.vnics[0].stated = VnicPromise{.reservation_bps = 2 * kPromisedGbit, .shares = 300};
    world.h1.hello.vnics[1].stated = VnicPromise{.limit_bps = kPromisedGbit};  // a bound of the host
    world.join_all();
    CHECK(
        world.warnings("h1") ==
        std::vector<std::string>{
            "vNIC a1: the switch's file states other values than the specification, whose hold: reservation "
            "1Gbit (file: 2Gbit); shares 50 (file: 300); remove them from that file"});
    CHECK(world.warnings("h2").empty());
    world.vnic(0, 0).reservation_bps = 2 * kPromisedGbit;
    world.vnic(0, 0).weight = 300;
    (void)world.adopt();
    CHECK(world.warnings("h1").empty());
    std::vector<std::string> names;
    for (int i = 0; i < 25; ++i) {
        names.push_back("c" + std::to_string(i));
        world.config.tenants[1].vnics.push_back({.name = names.back()});
    }
    (void)world.adopt();
    world.h3 = promised_switch("h3", names);
    for (wire::HelloVnic& vnic : world.h3.hello.vnics) {
        vnic.mac.clear();
        vnic.stated = VnicPromise{.shares = 9};
    }
    world.h3.session = 7;
    world.now += 10 * test::kInterval;
    world.join(world.h3);
    REQUIRE(world.warnings("h3").size() == 21);
    CHECK(world.warnings("h3").back() == "5 more vNICs of which the switch's file states other values");
}
