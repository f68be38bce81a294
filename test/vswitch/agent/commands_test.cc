// commands_test.cc - every command of the operator's socket, and every way to be refused.
#include "vswitch/agent/commands.h"

#include <nlohmann/json.hpp>

#include "test/support/catch.h"
#include "test/vswitch/agent/fake_control.h"

using namespace weir;
using namespace weir::testing;
using nlohmann::json;

namespace {

struct Console {
    json send(const std::string& text) {
        json reply = json::parse(answer(control, text, step, origin));
        CHECK(reply.at("schema") == 1);
        return reply;
    }
    json ask(const char* command, const json& args = json::object()) {
        json reply = send(json{{"schema", 1}, {"command", command}, {"args", args}}.dump());
        INFO(reply.dump());
        REQUIRE(reply.at("ok") == true);
        return reply.at("data");
    }
    /// @return the first fault
    json refused(const json& reply) {
        INFO(reply.dump());
        REQUIRE(reply.at("ok") == false);
        REQUIRE(reply.at("faults").is_array());
        REQUIRE_FALSE(reply.at("faults").empty());
        return reply.at("faults")[0];
    }
    json refused(const char* command, const json& args) {
        return refused(send(json{{"schema", 1}, {"command", command}, {"args", args}}.dump()));
    }
    FakeControl control;
    StepClock step;  ///< absent: time is real
    CommandOrigin origin;
};

// vm1 asks a disk and a cache, vm2 the disk.
void add_appliances(FakeControl& control) {
    ApplianceConfig disk;
    disk.name = "disk";
    disk.address = "10.0.0.5";
    disk.port = 10'809;
    disk.protocol = "nbd";
    disk.cost = "ssd_file_store";
    ApplianceConfig cache = disk;
    cache.name = "cache";
    cache.window_tokens = 64'000;
    control.state.appliances = {disk, cache};
    control.state.vnics[0].appliances.resize(2);
    control.state.vnics[0].appliances[0].name = "disk";
    control.state.vnics[0].appliances[1].name = "cache";
    control.state.vnics[1].appliances = {control.state.vnics[0].appliances[0]};
    RequestFlowStats& requests = control.requests;
    requests.used = {8'000, 700, 90'000, 600};
    requests.limit = {800, UINT64_MAX, 5'000, UINT64_MAX};
    requests.queued = {4, 5, 6, 7};
    requests.blocked_ns = {1, 2, 3, 4, 5};
    requests.outstanding = 7;
    requests.outstanding_tokens = 70;
    requests.latency_p50 = 50;
    requests.latency_p99 = 99;
    requests.latency_max = 100;
}

json third() {
    return {{"name", "vm3"},
            {"socket", "/run/weir/vm/vm3.sock"},
            {"mac", "52:54:00:00:00:03"},
            {"limit", "1Gbit"}};
}

}  // namespace

TEST_CASE("status has the reason why feedback that is enabled is off: it has no key") {
    Console console;
    CHECK(console.ask("status").at("feedback_off") == nullptr);
    console.control.state.feedback.enabled = true;
    CHECK(console.ask("status").at("feedback") == nullptr);
    CHECK(console.ask("status").at("feedback_off") == kFeedbackWithoutKey);
    console.control.state.feedback.key_file = "/etc/weir/feedback.key";
    CHECK(console.ask("status").at("feedback").is_object());
    CHECK(console.ask("status").at("feedback_off") == nullptr);
}

TEST_CASE("status has the reason why cycles of requests are not charged: they were not measured") {
    Console console;
    CHECK(console.ask("status").at("cycles_off") == nullptr);
    add_appliances(console.control);
    CHECK(console.ask("status").at("cycles_off").get<std::string>().starts_with("no cycle_costs: "));
    console.control.state.cycle_costs = "/etc/weir/cycles.json";
    CHECK(console.ask("status").at("cycles_off") == nullptr);
}

TEST_CASE("a vNIC that the controller refuses has the reason in status, vnic.show, drops and why") {
    Console console;
    CHECK(console.ask("status").at("controller") == nullptr);
    console.control.controller = ControllerReport{.state = "connected", .counters = {}};
    CHECK(console.ask("status").at("controller").at("refused_vnics") == json::array());
    CHECK(console.ask("vnic.show", {{"name", "vm2"}}).at("refusal") == nullptr);
    console.control.refusals = {{"vm2", {"host h2 has it", false}}};
    const json status = console.ask("status");
    CHECK(status.at("controller").at("refused_vnics") ==
          json::array({{{"name", "vm2"}, {"why", "host h2 has it"}, {"service", "hold"}}}));
    CHECK(status.at("vnics")[0].at("refusal") == nullptr);
    CHECK(status.at("vnics")[1].at("refusal") == "host h2 has it");
    CHECK(console.ask("vnic.show", {{"name", "vm2"}}).at("refusal") == "host h2 has it");
    CHECK(console.ask("drops").at("vnics")[1].at("refusal") == "host h2 has it");
    CHECK(console.ask("why", {{"name", "vm2"}}).at("vnic").at("refusal") == "host h2 has it");
    console.control.refusals = {{"vm2", {"it is not in the cluster file", true}}};
    CHECK(console.ask("status").at("controller").at("refused_vnics")[0].at("service") == "best_effort");
}

TEST_CASE("vnic.show and status have the origin of a vNIC's values, and the file's where they differ") {
    Console console;
    CHECK(console.ask("vnic.show", {{"name", "vm1"}})["promise"] == nullptr);
    console.control.promise = VnicPromiseReport{"controller", {{"reservation", "1Gbit", "2Gbit"}}};
    const json expected = json::parse(
        R"({"from": "controller", "differences": [{"key": "reservation", "promised": "1Gbit", "file": "2Gbit"}]})");
    CHECK(console.ask("vnic.show", {{"name", "vm1"}})["promise"] == expected);
    CHECK(console.ask("status")["vnics"][0]["promise"] == expected);
}

TEST_CASE("vnic.set of a value that the controller promises is refused with the controller's command") {
    Console console;
    console.control.promised.by_vnic["vm1"] =
        VnicPromise{.reservation_bps = 1'000'000'000, .limit_bps = 4'000'000'000};
    const auto set = [](const char* vnic, const json& change) {
        return json{{"name", vnic}, {"change", change}};
    };
    const json fault = console.refused("vnic.set", set("vm1", {{"shares", 200}}));
    CHECK(fault["path"] == "change.shares");
    CHECK(fault["message"].get<std::string>().find("weirctl tenant set-vnic TENANT vm1 weight=VALUE") !=
          std::string::npos);
    CHECK(console.refused("vnic.set", set("vm1", {{"limit", "5Gbit"}}))["path"] == "change.limit");
    CHECK(console.ask("vnic.set", set("vm1", {{"limit", "3Gbit"}}))["limit"] == "3Gbit");
    CHECK(console.ask("vnic.set", set("vm1", {{"cycle_shares", 200}}))["cycle_shares"] == 200);
    CHECK(console.ask("vnic.set", set("vm2", {{"shares", 200}}))["shares"] == 200);
}

TEST_CASE("status names the host and every vNIC") {
    Console console;
    const json data = console.ask("status");
    CHECK(data.at("host") == "h1");
    CHECK(data.at("accounting") == "wire");
    CHECK(data.at("isolation") == true);
    REQUIRE(data.at("vnics").size() == 2);
    CHECK(data.at("vnics")[1].at("name") == "vm2");
}

TEST_CASE("vnic.list and vnic.show report the same, and offered = delivered + queued + dropped") {
    Console console;
    const json list = console.ask("vnic.list").at("vnics");
    REQUIRE(list.size() == 2);
    CHECK(list[0] == console.ask("vnic.show", {{"name", "vm1"}}));
    const json& from = list[0].at("from_vm");
    CHECK(from.at("offered").at("packets") == 12);
    CHECK(from.at("delivered").at("packets") == 9);
    CHECK(from.at("queued").at("packets") == 1);
    CHECK(from.at("dropped").at("packets") == 2);
    CHECK(from.at("drops") == json{{"mac_spoof", 2}});
    CHECK(list[0].at("held_back_ns") == json{{"total", 18},
                                             {"limit", 5},
                                             {"uplink", 6},
                                             {"buffers", 7},
                                             {"encryption", 0},
                                             {"receiver", 0},
                                             {"refused", 0}});
    CHECK(list[0].at("mean_burst") == 4.0);
    CHECK(list[0].at("limit_bps").is_null());
}

TEST_CASE("vnic.show reports why a front-end is not served, and null when none was refused") {
    Console console;
    CHECK(console.ask("vnic.show", {{"name", "vm1"}}).at("front_end_fault").is_null());
    console.control.front_end_fault = "ring 2; allowed: 0 to 1";
    CHECK(console.ask("vnic.show", {{"name", "vm1"}}).at("front_end_fault") == "ring 2; allowed: 0 to 1");
}

TEST_CASE("vnic.show reports what the guest is offered, as configured") {
    Console console;
    VnicConfig& plain = console.control.state.vnics[1];
    plain.packed = plain.mergeable = plain.tso = plain.checksum = false;
    for (const char* key : {"packed", "mergeable", "tso", "checksum"}) {
        CHECK(console.ask("vnic.show", {{"name", "vm1"}}).at(key) == true);
        CHECK(console.ask("vnic.show", {{"name", "vm2"}}).at(key) == false);
    }
}

TEST_CASE("vnic.show reports the addresses of a guarded guest, and what it has learned") {
    Console console;
    VnicConfig& vnic = console.control.state.vnics[0];
    const auto guard = [&] { return console.ask("vnic.show", {{"name", "vm1"}}).at("guard"); };
    CHECK(guard().is_null());
    vnic.router = false;
    CHECK(
        guard() ==
        json{{"addresses", json::array()}, {"dhcp", nullptr}, {"router", false}, {"learned", json::array()}});
    vnic.addresses = {*IpNetwork::parse("10.0.0.1"), *IpNetwork::parse("fd00:1::/64")};
    vnic.dhcp = DhcpRole::kClient;
    console.control.learned = {{"10.0.0.7", "dhcp", 5 * kNanosPerSec}, {"fd00::7", "dhcpv6", std::nullopt}};
    CHECK(guard() == json{{"addresses", {"10.0.0.1", "fd00:1::/64"}},
                          {"dhcp", "client"},
                          {"router", false},
                          {"learned",
                           {{{"address", "10.0.0.7"}, {"from", "dhcp"}, {"left_ns", 5'000'000'000}},
                            {{"address", "fd00::7"}, {"from", "dhcpv6"}, {"left_ns", nullptr}}}}});
}

TEST_CASE("drops lists the reasons that occurred and no others") {
    Console console;
    const json data = console.ask("drops");
    REQUIRE(data.at("vnics").size() == 2);
    CHECK(data.at("vnics")[0].at("from_vm") == json{{"mac_spoof", 2}});
    CHECK(data.at("vnics")[0].at("to_vm") == json::object());
    CHECK(data.at("workers") == json::object());
}

TEST_CASE("drops lists of a worker what is among no vNIC's drops, status its NUMA node") {
    Console console;
    console.control.workers.resize(2);
    console.control.workers[1].id = 1;
    console.control.workers[1].node = 3;
    HandoffStats& handoff = console.control.workers[1].snapshot.handoff;
    handoff.posted = 100;
    handoff.copies_ring_full = 3;
    handoff.vnic_gone = 2;
    CHECK(console.ask("drops").at("workers") == json{{"1", {{"copies_ring_full", 3}, {"vnic_gone", 2}}}});
    const json workers = console.ask("status").at("workers");
    CHECK(workers[0].at("numa_node") == nullptr);
    CHECK(workers[1].at("numa_node") == 3);
    CHECK(workers[1].at("handoff") ==
          json{{"posted", 100}, {"vnic_gone", 2}, {"copies_ring_full", 3}, {"copies_without_buffer", 0}});
}

TEST_CASE("flow.list reports each vNIC's requests to each appliance, in the order of the path") {
    Console console;
    add_appliances(console.control);
    const json data = console.ask("flow.list");
    REQUIRE(data.at("flows").size() == 3);
    const json& flow = data.at("flows")[1];
    CHECK(flow.at("vnic") == "vm1");
    CHECK(flow.at("appliance") == "cache");
    CHECK(flow.at("used") ==
          json{{"appliance", 8'000}, {"uplink", 700}, {"downlink", 90'000}, {"cycles", 600}});
    CHECK(flow.at("limit") ==
          json{{"appliance", 800}, {"uplink", nullptr}, {"downlink", 5'000}, {"cycles", nullptr}});
    CHECK(flow.at("queued") == json{{"appliance", 4}, {"uplink", 5}, {"downlink", 6}, {"cycles", 7}});
    CHECK(flow.at("blocked_ns") ==
          json{{"appliance", 1}, {"uplink", 2}, {"downlink", 3}, {"cycles", 4}, {"window", 5}});
    CHECK(flow.at("outstanding") == 7);
    CHECK(flow.at("outstanding_tokens") == 70);
    CHECK(flow.at("latency_ns") == json{{"p50", 50}, {"p99", 99}, {"max", 100}});
    REQUIRE(data.at("appliances").size() == 2);
    CHECK(data.at("appliances")[0] == json{{"name", "disk"},
                                           {"address", "10.0.0.5"},
                                           {"port", 10'809},
                                           {"protocol", "nbd"},
                                           {"cost", "ssd_file_store"},
                                           {"window_tokens", nullptr},
                                           {"outstanding", 14},
                                           {"outstanding_tokens", 140}});
    CHECK(data.at("appliances")[1].at("window_tokens") == 64'000);
    CHECK(data.at("appliances")[1].at("outstanding") == 7);

    const json one = console.ask("flow.list", {{"name", "vm2"}});
    REQUIRE(one.at("flows").size() == 1);
    CHECK(one.at("flows")[0].at("vnic") == "vm2");
    CHECK(console.refused("flow.list", {{"name", "absent"}}).at("path") == "args.name");
    CHECK(console.refused("flow.list", {{"name", 5}}).at("path") == "args.name");
    CHECK(Console().ask("flow.list").at("flows") == json::array());
}

TEST_CASE("why reports a vNIC, the uplink, and others at its appliances") {
    Console console;
    add_appliances(console.control);
    const json data = console.ask("why", {{"name", "vm2"}});
    CHECK(data.at("vnic") == console.ask("vnic.show", {{"name", "vm2"}}));
    CHECK(data.at("isolation") == true);
    CHECK(data.at("uplink").is_null());
    CHECK(data.at("others") == json::array({{{"name", "vm1"}, {"uplink_bytes", 300}}}));
    REQUIRE(data.at("flows").size() == 2);  // vm1 at the cache is none of its business
    CHECK(data.at("flows")[0].at("vnic") == "vm1");
    CHECK(data.at("flows")[0].at("appliance") == "disk");
    CHECK(data.at("flows")[1].at("vnic") == "vm2");
}

TEST_CASE("vnic.add, vnic.set and vnic.remove change the switch and answer in the configuration's words") {
    Console console;
    CHECK(console.ask("vnic.add", {{"vnic", third()}}).at("limit") == "1Gbit");
    REQUIRE(console.control.state.vnics.size() == 3);
    CHECK(console.control.state.vnics[2].limit_bps == 1'000'000'000U);

    const json changed = console.ask(
        "vnic.set",
        {{"name", "vm3"}, {"change", {{"limit", nullptr}, {"shares", 300}, {"reservation", "2Mbit"}}}});
    CHECK(changed.at("shares") == 300);
    CHECK_FALSE(console.control.state.vnics[2].limit_bps.has_value());
    CHECK(console.control.state.vnics[2].reservation_bps == 2'000'000);

    CHECK(console.ask("vnic.remove", {{"name", "vm1"}}) == json{{"removed", "vm1"}});
    REQUIRE(console.control.state.vnics.size() == 2);
    CHECK(console.control.state.vnics[0].name == "vm2");
}

TEST_CASE("what is no request is refused, with the place and what is allowed") {
    Console console;
    CHECK(console.refused(console.send("")).at("allowed") == "JSON with comments, in UTF-8");
    CHECK(console.refused(console.send("{\"schema\":1,")).at("allowed") == "JSON with comments, in UTF-8");
    CHECK(console.refused(console.send("[]")).at("found") == "array");
    CHECK(console.refused(console.send("\xff\xfe")).at("allowed") == "JSON with comments, in UTF-8");
    CHECK(console.refused(console.send("{}")).at("path") == "schema");
    CHECK(console.refused(console.send(R"({"schema":2,"command":"status"})")).at("path") == "schema");
    CHECK(console.refused(console.send(R"({"schema":1})")).at("path") == "command");
    CHECK(console.refused(console.send(R"({"schema":1,"command":7})")).at("path") == "command");
    const json unknown = console.refused("vnic.explode", json::object());
    CHECK(unknown.at("path") == "command");
    CHECK(
        unknown.at("allowed") ==
        "capture.read, capture.start, capture.stop, clock.step, drops, events, flow.list, log.level, status, "
        "vnic.add, vnic.list, vnic.remove, vnic.set, "
        "vnic.show, "
        "why, why.at");
    CHECK(console.refused(console.send(R"({"schema":1,"command":"status","args":[]})")).at("path") == "args");
}

TEST_CASE("a command for a vNIC wants the name of one that exists") {
    Console console;
    for (const char* command : {"vnic.show", "vnic.set", "vnic.remove", "why"}) {
        CHECK(console.refused(command, json::object()).at("found") == "nothing");
        CHECK(console.refused(command, {{"name", 7}}).at("found") == "7");
        const json fault = console.refused(command, {{"name", "absent"}});
        CHECK(fault.at("path") == "args.name");
        CHECK(fault.at("found") == "absent");
    }
    CHECK(console.control.state.vnics.size() == 2);
}

TEST_CASE("a vNIC that is wrong or in the way is not added") {
    Console console;
    CHECK_FALSE(console.refused("vnic.add", json::object()).at("message").get<std::string>().empty());
    for (const auto& [key, value] : std::initializer_list<std::pair<const char*, json>>{
             {"name", "vm1"},
             {"mac", "52:54:00:00:00:01"},
             {"socket", "/run/weir/vm/vm1.sock"},
             {"socket", std::string("/") + std::string(107, 'x')},
             {"limit", 10},
             {"vlan", 4095},
             {"colour", "red"}}) {
        json wrong = third();
        wrong[key] = value;
        CHECK(console.refused("vnic.add", {{"vnic", wrong}}).at("path") == std::string("vnic.") + key);
    }
    CHECK(console.control.state.vnics.size() == 2);
}

TEST_CASE("what cannot change at run time is refused whole") {
    Console console;
    for (const char* key : {"name", "mac", "socket", "vlan", "queues"}) {
        const json change = {{"shares", 7}, {key, 1}};
        CHECK(console.refused("vnic.set", {{"name", "vm1"}, {"change", change}}).at("path") ==
              std::string("change.") + key);
    }
    CHECK(console.refused("vnic.set", {{"name", "vm1"}, {"change", {{"shares", 0}}}}).at("path") ==
          "change.shares");
    CHECK(console.control.state.vnics[0].shares == 100);
}

TEST_CASE("what the host refuses is the reply, and nothing has changed") {
    Console console;
    console.control.complaint = "no room; make some";
    for (const json& request :
         {json{{"command", "status"}}, json{{"command", "vnic.add"}, {"args", {{"vnic", third()}}}},
          json{{"command", "vnic.remove"}, {"args", {{"name", "vm1"}}}},
          json{{"command", "vnic.set"}, {"args", {{"name", "vm1"}, {"change", {{"shares", 5}}}}}}}) {
        json whole = request;
        whole["schema"] = 1;
        CHECK(console.refused(console.send(whole.dump())).at("message") == "no room; make some");
    }
    CHECK(console.control.state.vnics.size() == 2);
}

TEST_CASE("a request nested as deep as its size allows is refused, not fatal") {
    Console console;
    for (const char* where : {"command", "schema", "args"}) {
        std::string text = std::string(R"({"schema":1,"command":"status",")") + where + "\":";
        text += std::string(30'000, '[') + std::string(30'000, ']') + "}";
        CHECK_FALSE(console.refused(console.send(text)).at("message").get<std::string>().empty());
    }
}

TEST_CASE(
    "clock.step moves a stepped clock by the given time in poll turns, of 10 us unless another is given") {
    Console console;
    ClockStep asked;
    console.step = [&asked](const ClockStep& step) {
        asked = step;
        return 7 * kNanosPerSec;
    };
    CHECK(console.ask("clock.step", {{"span", "100ms"}}) == json{{"now_ns", 7 * kNanosPerSec}});
    CHECK(asked.span == 100'000'000);
    CHECK(asked.turn == 10'000);
    console.ask("clock.step", {{"span", "2s"}, {"turn", "100us"}});
    CHECK(asked.turns() == 20'000);
}

TEST_CASE("clock.step refuses real time, parts of poll turns, and more poll turns than a command may take") {
    Console console;
    CHECK(console.refused("clock.step", {{"span", "1ms"}}).at("allowed") ==
          "a switch that was started with --clock stepped");
    bool moved = false;
    console.step = [&moved](const ClockStep&) {
        moved = true;
        return Nanos{0};
    };
    const auto path_of = [&](const json& args) { return console.refused("clock.step", args).at("path"); };
    CHECK(path_of(json::object()) == "args.span");
    CHECK(path_of({{"span", "100"}}) == "args.span");
    CHECK(path_of({{"span", "0ms"}}) == "args.span");
    CHECK(path_of({{"span", "15us"}}) == "args.span");
    CHECK(path_of({{"span", "200010us"}}) == "args.span");
    CHECK(path_of({{"span", "1ms"}, {"turn", "11ms"}}) == "args.turn");
    CHECK(path_of({{"span", "1ms"}, {"turns", 5}}) == "args.turns");
    CHECK_FALSE(moved);
}

TEST_CASE(
    "at the socket for reading, commands that change something are refused with the missing permission") {
    Console console;
    console.origin = {.peer = "uid 107, process 42", .may_change = false};
    for (const char* command : {"status", "drops", "flow.list", "vnic.list"})
        CHECK_NOTHROW(console.ask(command));
    CHECK_NOTHROW(console.ask("vnic.show", {{"name", "vm1"}}));
    const std::size_t vnics = console.control.state.vnics.size();
    for (const char* command : {"vnic.add", "vnic.set", "vnic.remove", "clock.step", "log.level",
                                "capture.start", "capture.read", "capture.stop"}) {
        const json fault = console.refused(command, {{"name", "vm1"}});
        CHECK(fault["path"] == "command");
        CHECK(fault["found"] == command);
        CHECK(fault["message"].get<std::string>().find("--socket") != std::string::npos);
    }
    CHECK(console.control.state.vnics.size() == vnics);
    console.origin.may_change = true;
    CHECK_NOTHROW(console.ask("vnic.remove", {{"name", "vm1"}}));
}
