// controller_test.cc - which messages count, the controller's answers, and the state that survives its
// restart.
#include "ctrl/daemon/controller.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ctrl/placement/cluster_plan.h"
#include "test/ctrl/daemon/controller_world.h"
#include "test/support/catch.h"

using namespace weir;
using test::FakeSwitch;
using test::kInterval;
using wire::Part;

namespace {

const char* const kThreeHosts = R"({"name": "test", "headroom": "0%",
    "topology": {"hosts": [{"name": "h1", "uplink": "8Gbit"}, {"name": "h2", "uplink": "8Gbit"}, {"name": "h3"}]},
    "appliances": [{"name": "disk", "host": "h3", "capacity_min": "1ktokens", "capacity_max": "2ktokens"}],
    "tenants": [
        {"name": "A", "vnics": [{"name": "a1", "weight": 300}, {"name": "a2"}],
         "appliances": [{"name": "disk", "reservation": "400tokens"}]},
        {"name": "B", "vnics": [{"name": "b1", "host": "h1"}], "appliances": [{"name": "disk"}]}]})";

struct TwoSwitches : test::ControllerWorld {
    FakeSwitch h1{"h1", {"a1", "b1"}, "r1"};
    FakeSwitch h2{"h2", {"a2"}, "r2"};

    TwoSwitches() : ControllerWorld(kThreeHosts) { switches = {&h1, &h2}; }

    using ControllerWorld::pass_interval;
    /// Of those that were welcomed.
    void pass_interval() {
        std::vector<FakeSwitch*> talking;
        for (FakeSwitch* each : switches)
            if (each->welcome && each->welcome->refused.empty())
                talking.push_back(each);
        pass_interval(talking);
    }
    /// Both join, and each asks for 900 tokens/s of the disk.
    void ask_for_the_disk() {
        join(h1);
        join(h2);
        h1.want("a1", "disk", {0, 900, 0});
        h2.want("a2", "disk", {0, 900, 0});
        pass_interval();
    }
};

}  // namespace

TEST_CASE("a switch that sends HELLO is welcomed, and gets the endpoints that its vNICs may send to") {
    TwoSwitches world;
    world.join(world.h1);
    REQUIRE(world.h1.welcome);
    CHECK(world.h1.welcome->refused.empty());
    CHECK(world.h1.welcome->interval == kInterval);
    CHECK(world.h1.welcome->validity == 3);
    CHECK(world.h1.tables.endpoints.size() == 4);  // a1, a2, b1, disk
    CHECK(world.host("h1")["state"] == "welcomed");
    CHECK(world.host("h2")["state"] == "absent");
    world.pass_interval();
    CHECK(world.host("h1")["state"] == "connected");
    CHECK(world.host("h1")["vnics"] == 2);
}

TEST_CASE("a flow's guarantee is its part of what its tenant reserved, and never 0") {
    TwoSwitches world;
    world.join(world.h1);
    const auto guarantee = [&](const char* vnic) {
        for (const wire::FlowAllocation& each : world.h1.tables.guarantees)
            if (each.flow == wire::FlowKey{world.h1.id_of(vnic), world.h1.id_of("disk")})
                return each.rate[static_cast<std::size_t>(Part::kAppliance)];
        return std::uint64_t{0};
    };
    CHECK(guarantee("a1") == 300);  // weight 300 of 400, of 400 tokens
    CHECK(guarantee("b1") == 1);    // nothing reserved, no headroom
}

TEST_CASE("a switch of another protocol is refused in words, and so is one of another header, once") {
    TwoSwitches world;
    world.h1.hello.protocol = 2;
    world.h1.hello.vnics.clear();
    world.join(world.h1);
    REQUIRE(world.h1.welcome);
    CHECK(world.h1.welcome->refused ==
          "host h1: its weir-switch speaks protocol 2, and this weir-ctrl knows protocol 1 only: upgrade "
          "this weir-ctrl");
    CHECK(world.host("h1")["state"] == "absent");

    FakeSwitch::Message later = world.h2.send_hello();
    later.header[4] = 9;
    world.give(world.h2, later);
    world.deliver();
    REQUIRE(world.h2.welcome);
    CHECK(world.h2.welcome->refused ==
          "a program on this connection speaks protocol 9, and this weir-ctrl knows protocol 1 only: upgrade "
          "this "
          "weir-ctrl");
    const auto sent = world.controller->counters().bytes_out;
    for (int again = 0; again < 100; ++again)
        world.give(world.h2, later);
    CHECK(world.controller->counters().bytes_out == sent);
    CHECK(world.controller->counters().malformed[static_cast<std::size_t>(wire::Malformed::kVersion)] == 101);
    CHECK(world.controller->status(world.now)["refusals"].size() == 2);
}

TEST_CASE("floors of pairs are sent to a switch that names their capability, and to no other") {
    TwoSwitches world;
    world.join(world.h1);
    for (const wire::Endpoint& each : world.h1.tables.endpoints)
        CHECK_FALSE(each.floor);
    world.h2.hello.capabilities = {"pair-floors", "of-a-later-version"};
    world.join(world.h2);
    for (const wire::Endpoint& each : world.h2.tables.endpoints)
        CHECK(each.floor.has_value() == (each.kind == wire::Endpoint::Kind::kVnic));
}

TEST_CASE("demands become rates within an interval") {
    TwoSwitches world;
    world.join(world.h1);
    world.join(world.h2);
    world.pass_interval();
    world.h1.want("a1", "disk", {1000, 900, 2000});
    world.h2.want("a2", "disk", {1000, 900, 2000});
    world.h1.want("a1", "a2", {600e6F, 0, 0});
    world.pass_interval();
    CHECK(world.h1.rate("a1", "disk", Part::kAppliance) == 500);  // of capacity_min, 1000
    CHECK(world.h2.rate("a2", "disk", Part::kAppliance) == 500);
    CHECK(world.h1.rate("a1", "a2", Part::kThere) == 600'000'000);
    CHECK(world.host("h1")["flows"] == 2);
}

TEST_CASE("a flow that is gone, and one that its switch no longer names, are removed") {
    TwoSwitches world;
    world.join(world.h1);
    world.h1.want("a1", "disk", {0, 900, 0});
    world.h1.want("b1", "disk", {0, 900, 0});
    world.pass_interval();
    CHECK(world.h1.rates.size() == 2);
    world.h1.demands.pop_back();
    world.pass_interval();
    CHECK(world.h1.rates.size() == 1);
    world.h1.demands.clear();
    world.h1.sender.send_snapshot();
    world.pass_interval();
    CHECK(world.h1.rates.empty());
}

TEST_CASE("a host that is not in the file, or shows another host's key, is refused with the reason") {
    TwoSwitches world;
    FakeSwitch unknown("h9", {}, "r1");
    world.give(unknown, unknown.send_hello());
    unknown.receive(world.controller->take_outgoing());
    REQUIRE(unknown.welcome);
    CHECK(unknown.welcome->refused == "there is no host h9 in the cluster file");

    FakeSwitch liar("h1", {"a1"}, "r7");
    liar.peer.host = "h2";
    world.give(liar, liar.send_hello());
    liar.receive(world.controller->take_outgoing());
    CHECK(liar.welcome->refused == "host h1 is claimed with the key of h2");
    CHECK(world.controller->counters().refused_hosts == 2);
    const auto status = world.controller->status(world.now);
    CHECK(status["refusals"].size() == 2);
    CHECK(status["refusals"].dump().find("key of h2") != std::string::npos);
    CHECK(world.host("h1")["state"] == "absent");
}

TEST_CASE("of two switches with one name the first one stays until it is silent, with and without keys") {
    const std::string key = GENERATE("", "h1");
    TwoSwitches world;
    world.h1.peer.host = key;
    world.h1.peer.address = "10.0.0.5";
    world.join(world.h1);
    FakeSwitch twin("h1", {"a1", "b1"}, "r8");
    twin.peer.host = key;
    twin.peer.address = "10.0.0.6";
    twin.session = 70'000;  // each program begins with a random number
    const auto ask = [&] {
        world.give(twin, twin.send_hello());
        const auto messages = world.controller->take_outgoing();
        twin.receive(messages);
        world.h1.receive(messages);
        return twin.welcome->refused;
    };
    for (int i = 0; i < 6; ++i) {
        CHECK(ask() ==
              "host h1 is connected already, from 10.0.0.5 since 1970-01-01 00:16:40 UTC; this switch, from "
              "10.0.0.6, has the same name and key: give one of them its own (was its machine cloned?)");
        world.pass_interval();
        CHECK_FALSE(world.h1.asked_hello);
        CHECK(world.host("h1")["state"] == "connected");
    }
    CHECK(world.controller->status(world.now)["refusals"].dump().find("10.0.0.6") != std::string::npos);
    for (int i = 0; i < 4; ++i) {
        world.now += kInterval;
        world.controller->tick(world.now, 1'000);
    }
    CHECK(world.host("h1")["state"] == "silent");
    (void)world.controller->take_outgoing();
    CHECK(ask().empty());
    world.give(world.h1, world.h1.send_hello());  // the first one is the second one now
    world.h1.receive(world.controller->take_outgoing());
    CHECK(world.h1.welcome->refused.find("from 10.0.0.6") != std::string::npos);
}

TEST_CASE("a switch whose connection is gone is replaced at once by the one that was restarted") {
    TwoSwitches world;
    bool connected = true;
    std::vector<std::string> reached;
    world.controller->set_reach([&](const Outgoing& message) {
        reached.push_back(message.route);
        return connected;
    });
    world.join(world.h1);
    FakeSwitch restarted("h1", {"a1", "b1"}, "r8");
    restarted.session = 70'000;
    const auto ask = [&] {
        world.give(restarted, restarted.send_hello());
        restarted.receive(world.controller->take_outgoing());
        return restarted.welcome->refused;
    };
    CHECK_FALSE(ask().empty());
    connected = false;
    CHECK(ask().empty());
    CHECK((reached == std::vector<std::string>{"r1", "r1"}));
    CHECK(world.host("h1")["state"] == "welcomed");
}

TEST_CASE("the same program on a new connection is no rival, and one with a key is none of one without") {
    TwoSwitches world;
    world.join(world.h1);
    FakeSwitch again("h1", {"a1", "b1"}, "r8");
    again.session = world.h1.session;
    world.give(again, again.send_hello());
    again.receive(world.controller->take_outgoing());
    CHECK(again.welcome->refused.empty());
    FakeSwitch proven("h1", {"a1"}, "r9");
    proven.peer.host = "h1";
    proven.session = 70'000;
    world.give(proven, proven.send_hello());
    proven.receive(world.controller->take_outgoing());
    CHECK(proven.welcome->refused.empty());
    world.give(again, again.send_hello());
    again.receive(world.controller->take_outgoing());
    CHECK_FALSE(again.welcome->refused.empty());
}

TEST_CASE("vNICs of another host or tenant are refused one by one, each with its reason") {
    TwoSwitches world;
    world.join(world.h1);
    FakeSwitch h2("h2", {"a2", "b1", "a1", "x9"}, "r2");
    h2.hello.vnics[0].tenant = "B";
    world.give(h2, h2.send_hello());
    h2.receive(world.controller->take_outgoing());
    CHECK(h2.welcome->refused.empty());
    const auto refused = world.host("h2")["refused_vnics"];
    REQUIRE(refused.size() == 4);
    CHECK(refused[0] == "a2: its tenant is A, not B");
    CHECK(refused[1] == "b1: its host is h1");
    CHECK(refused[2] == "a1: host h1 has it");
    CHECK(refused[3] == "x9: it is not in the cluster file");
    CHECK(world.controller->counters().refused_vnics == 4);
}

TEST_CASE("switches of a tenant's other vNICs receive where a vNIC is") {
    TwoSwitches world;
    world.join(world.h1);
    world.h2.hello.vnics[0].mac = "52:54:00:00:00:02";
    world.join(world.h2);
    world.pass_interval();
    const auto& ends = world.h1.tables.endpoints;
    const auto a2 = std::find_if(ends.begin(), ends.end(), [](const auto& end) { return end.name == "a2"; });
    REQUIRE(a2 != ends.end());
    CHECK(a2->host == "h2");
    CHECK(a2->mac == "52:54:00:00:00:02");
}

TEST_CASE("flows of another host's vNICs, and flows that no tenant may have, are refused") {
    TwoSwitches world;
    world.join(world.h1);
    world.join(world.h2);
    const std::uint32_t a1 = world.h1.id_of("a1");
    const std::uint32_t b1 = world.h1.id_of("b1");
    const std::uint32_t a2 = world.h1.id_of("a2");
    const std::uint32_t disk = world.h1.id_of("disk");
    for (const wire::FlowKey key : {wire::FlowKey{a1, disk}, {a2, b1}, {disk, a2}, {a2, 999}, {998, disk}}) {
        wire::FlowDemand record;
        record.flow = key;
        record.used = {0, 10, 0};
        world.h2.demands = {record};
        world.h2.sender.send_snapshot();
        world.pass_interval();
    }
    CHECK(world.controller->counters().foreign_flows == 5);
    CHECK(world.h1.rates.empty());
    CHECK(world.h2.rates.empty());
}

TEST_CASE("stale, foreign, malformed and impossible messages are counted and change nothing") {
    TwoSwitches world;
    world.join(world.h1);
    world.h1.want("a1", "disk", {0, 900, 0});
    world.pass_interval();
    const auto before = world.h1.rates;

    world.h1.want("a1", "disk", {0, 100, 0});
    const auto message = world.h1.send_demands();
    world.give(world.h1, message);
    world.give(world.h1, message);
    CHECK(world.controller->counters().stale == 1);
    world.give(world.h2, message);  // of another session
    CHECK(world.controller->counters().foreign == 1);
    auto bad = message;
    bad.header[0] = 'X';
    world.give(world.h1, bad);
    world.give(world.h1, {{}, {}});
    CHECK(world.controller->counters().malformed[static_cast<std::size_t>(wire::Malformed::kMagic)] == 2);
    for (const float value : {NAN, -1.0F, static_cast<float>(1e300)}) {
        world.h1.demands[0].used[1] = value;
        world.h1.sender.send_snapshot();
        world.give(world.h1, world.h1.send_demands());
    }
    CHECK(world.controller->counters().refused_records == 3);
    wire::Header allocation = world.h1.sequencer.next(wire::Type::kAllocation, 1);
    world.give(world.h1, {wire::encode_header(allocation), {}});
    CHECK(world.controller->counters().wrong_type == 1);
    CHECK(world.controller->status(world.now)["counters"]["refused"]["records"] == 3);
}

TEST_CASE("a controller that restarts asks for HELLO, and sends the stored rates until it has demands") {
    TwoSwitches world;
    world.join(world.h1);
    world.h1.want("a1", "disk", {0, 900, 0});
    world.pass_interval();
    const auto before = world.h1.rates;
    REQUIRE(before.size() == 1);
    const std::uint64_t epoch = world.controller->epoch();

    world.restart();
    CHECK(world.controller->epoch() > epoch);
    world.pass_interval();  // in a session of the epoch before
    CHECK(world.h1.asked_hello);
    CHECK(world.controller->counters().foreign == 1);
    world.h1.rates.clear();
    world.join(world.h1);
    CHECK_FALSE(world.h1.asked_hello);
    CHECK(world.h1.rates == before);
    world.controller->tick(world.now += kInterval, 1'000);
    world.deliver();
    CHECK(world.h1.rates == before);
    world.h1.want("a1", "disk", {0, 300, 0});
    world.pass_interval();
    CHECK(world.h1.rate("a1", "disk", Part::kAppliance) == 300);
}

TEST_CASE("a host that comes late to a restarted controller has its flows' floors, not the stored rates") {
    TwoSwitches world;
    world.join(world.h1);
    world.h1.want("a1", "disk", {0, 900, 0});
    world.pass_interval();
    CHECK(world.h1.rate("a1", "disk", Part::kAppliance) == 900);
    world.restart();
    for (std::uint32_t i = 0; i <= Sessions::kValidity; ++i)
        world.controller->tick(world.now += kInterval, 1'000);
    world.h1.rates.clear();
    world.join(world.h1);
    CHECK(world.h1.rate("a1", "disk", Part::kAppliance) == 300);
}

TEST_CASE("the stored rates of a host that sends no demand end after three intervals") {
    TwoSwitches world;
    world.join(world.h1);
    world.h1.want("a1", "disk", {0, 900, 0});
    world.pass_interval();
    world.restart();
    for (std::uint32_t i = 0; i <= Sessions::kValidity; ++i) {
        world.join(world.h1);
        CHECK(world.h1.rate("a1", "disk", Part::kAppliance) == 900);
        world.controller->tick(world.now += kInterval, 1'000);
        world.deliver();
    }
    CHECK(world.h1.rate("a1", "disk", Part::kAppliance) == 300);
}

TEST_CASE("until a new session's first demand its host is allocated by those of the session before") {
    TwoSwitches world;
    world.join(world.h1);
    world.join(world.h2);
    world.h1.want("a1", "disk", {0, 900, 0});
    world.pass_interval();
    CHECK(world.h1.rate("a1", "disk", Part::kAppliance) == 900);
    world.h1.rates.clear();
    world.join(world.h1);
    CHECK(world.h1.rate("a1", "disk", Part::kAppliance) == 900);
    world.h2.want("a2", "disk", {0, 900, 0});
    world.now += kInterval;
    world.give(world.h2, world.h2.send_demands());
    world.controller->tick(world.now, 1'000);
    world.deliver();
    CHECK(world.h1.rate("a1", "disk", Part::kAppliance) == 500);
    CHECK(world.h2.rate("a2", "disk", Part::kAppliance) == 500);
}

TEST_CASE("a switch that is silent for three intervals no longer counts, and returns with a HELLO") {
    TwoSwitches world;
    world.ask_for_the_disk();
    CHECK(world.h2.rate("a2", "disk", Part::kAppliance) == 500);
    for (int i = 0; i < 4; ++i) {
        world.now += kInterval;
        world.give(world.h2, world.h2.send_demands());
        world.controller->tick(world.now, 1'000);
        world.deliver();
    }
    CHECK(world.host("h1")["state"] == "silent");
    CHECK(world.h2.rate("a2", "disk", Part::kAppliance) == 700);  // of 1000, of which a1 has reserved 300
    world.pass_interval();
    CHECK(world.h1.asked_hello);
    world.join(world.h1);
    world.pass_interval();
    CHECK(world.h1.rate("a1", "disk", Part::kAppliance) == 500);
}

TEST_CASE("the guarantees of a silent host are kept for it for as long as the cluster file says") {
    TwoSwitches world;
    world.config.keep_silent = 5 * kInterval;
    world.restart();
    world.ask_for_the_disk();
    const auto without_h1 = [&] {
        world.now += kInterval;
        world.give(world.h2, world.h2.send_demands());
        world.controller->tick(world.now, 1'000);
        world.deliver();
        return world.h2.rate("a2", "disk", Part::kAppliance);
    };
    for (int i = 1; i <= 3; ++i)
        CHECK(without_h1() == 500);
    CHECK_FALSE(world.host("h1").contains("kept_ms"));
    for (int i = 4; i <= 8; ++i) {
        CHECK(without_h1() == 700);
        CHECK(world.host("h1")["state"] == "silent");
        CHECK(world.host("h1")["kept_ms"] == (9 - i) * 1'000);
    }
    CHECK(without_h1() == 900);
    CHECK_FALSE(world.host("h1").contains("kept_ms"));
}

TEST_CASE("what was kept for a silent host ends with the first snapshot of its next session") {
    TwoSwitches world;
    world.ask_for_the_disk();
    world.now += 4 * kInterval;
    world.controller->tick(world.now, 1'000);  // both are silent
    (void)world.controller->take_outgoing();
    CHECK(world.controller->status(world.now)["flows"] == 2);
    world.join(world.h1);
    world.join(world.h2);
    CHECK(world.host("h1").contains("kept_ms"));
    world.h1.demands.clear();
    world.pass_interval();
    CHECK_FALSE(world.host("h1").contains("kept_ms"));
    CHECK(world.h2.rate("a2", "disk", Part::kAppliance) == 900);
    CHECK(world.controller->status(world.now)["flows"] == 1);
}

TEST_CASE("without keep_silent the demands of a silent host go at once") {
    TwoSwitches world;
    world.config.keep_silent = 0;
    world.restart();
    world.join(world.h1);
    world.h1.want("a1", "disk", {0, 900, 0});
    world.pass_interval();
    world.now += 4 * kInterval;
    world.controller->tick(world.now, 1'000);
    CHECK(world.controller->status(world.now)["flows"] == 0);
}

TEST_CASE(
    "of a host's link no more is planned than its switch may promise, and status names the difference") {
    TwoSwitches world;
    world.h1.hello.uplink_bps = 6'000'000'000;  // of 8 Gbit/s in the cluster file
    world.join(world.h1);
    world.join(world.h2);
    world.pass_interval();
    world.h1.want("a1", "a2", {2e9F, 0, 0});
    world.pass_interval();
    CHECK(world.h1.rate("a1", "a2", Part::kThere) == 750'000'000);
    CHECK(world.host("h2")["warnings"].size() == 1);  // it does not know promises to vNICs
    REQUIRE(world.host("h1")["warnings"].size() == 2);
    CHECK(world.host("h1")["warnings"][0] ==
          "the switch may promise 6Gbit of its uplink, the cluster file plans 8Gbit: 6Gbit are planned; give "
          "both "
          "files the same rate and headroom");
    world.h1.hello.uplink_bps = 9'000'000'000;
    world.join(world.h1);
    CHECK(world.host("h1")["warnings"].size() == 1);
    world.pass_interval();
    world.pass_interval();
    CHECK(world.h1.rate("a1", "a2", Part::kThere) == 1'000'000'000);
}

TEST_CASE("a large change is answered before the interval ends, a small one is not") {
    TwoSwitches world;
    world.join(world.h1);
    world.pass_interval();
    world.h1.want("a1", "disk", {0, 200, 0});
    world.give(world.h1, world.h1.send_demands());
    CHECK_FALSE(world.controller->early_solve_due());
    world.h1.want("a1", "disk", {0, 600, 0});  // by 400 of 1000
    world.give(world.h1, world.h1.send_demands());
    REQUIRE(world.controller->early_solve_due());
    world.controller->solve_early(world.now);
    world.deliver();
    CHECK_FALSE(world.controller->early_solve_due());
    CHECK(world.h1.rate("a1", "disk", Part::kAppliance) == 600);
    CHECK(world.controller->counters().early_solves == 1);
}

TEST_CASE("only changes are sent, 60 bytes up and 32 down for a flow") {
    TwoSwitches world;
    world.join(world.h1);
    world.h1.want("a1", "disk", {0, 100, 0});
    world.h1.want("b1", "disk", {0, 100, 0});
    world.pass_interval();
    world.pass_interval();
    const ControllerCounters before = world.controller->counters();
    world.h1.want("a1", "disk", {0, 200, 0});
    world.pass_interval();
    const ControllerCounters& after = world.controller->counters();
    CHECK(after.bytes_in - before.bytes_in == wire::kHeaderBytes + 60);
    CHECK(after.bytes_out - before.bytes_out == wire::kHeaderBytes + 32);
}
