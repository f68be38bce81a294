// status_test.cc - status of a switch and of a controller, and drops, character by character.
#include "ctrl/cli/commands.h"
#include "test/ctrl/cli/canned.h"
#include "test/support/catch.h"
#include "test/support/text.h"

using namespace weir::cli;
using namespace weir::cli::test;
using nlohmann::json;
using weir::test::has;

namespace {

const json kStatus =
    json::parse(R"({"role": "controller", "version": "0.1.0", "cluster": "c1", "epoch": 1795257000,
    "interval": 42, "interval_ns": 1000000000, "flows": 7,
    "hosts": [{"name": "h1", "state": "connected", "authenticated": true, "version": "0.1.0", "last_message_ms": 400, "vnics": 2,
               "flows": 7, "refused_vnics": ["x9: it is not in the cluster file"]},
              {"name": "h2", "state": "absent"}],
    "counters": {"messages": 100, "solves": 45, "early_solves": 3,
                 "refused": {"malformed": {"magic": 2, "short": 0}, "stale": 1, "foreign": 0}},
    "appliances": [{"name": "disk", "phase": "stable", "estimate": 6500, "allocate": 6400, "window": [6400, 6600]}],
    "sockets": {"denied": 5},
    "loop": {"ticks": 42, "missed": 1, "lag_ns": {"last": 150000, "p99": 2000000, "max": 40000000},
             "solve_ns": {"last": 3000000, "max": 5000000}, "early_solve_ns": {"last": 1000000, "max": 2000000, "sum": 3000000}},
    "budgets": {"refused": {"hellos": 91, "messages": 0}, "peers": [{"peer": "h2", "reason": "hellos", "times": 91}]},
    "refusals": [{"what": "refused: there is no host h9 in the cluster file", "times": 4}]})");

}  // namespace

TEST_CASE("status has the reason why feedback is off") {
    json status = canned_status();
    status["feedback_off"] = "no feedback.key_file: a reason";
    CHECK(has(switch_text(status, kPipe), "\nfeedback off, no feedback.key_file: a reason\n"));
    status["feedback_off"] = nullptr;
    CHECK_FALSE(has(switch_text(status, kPipe), "feedback"));
}

TEST_CASE("status has what a worker can encrypt, and the promises of more") {
    json status = canned_status();
    json& encryption = status["workers"][0]["encryption"];
    encryption = {{"tokens", 0}, {"cycles", 0}, {"capacity", nullptr}, {"reserved", 0}};
    CHECK_FALSE(has(switch_text(status, kPipe), "encrypts"));
    encryption["reserved"] = 400'000'000;
    CHECK(has(switch_text(status, kPipe),
              "worker 0 encrypts nothing yet, so its capacity is not known; reserved 400 Mtokens/s\n"));
    encryption["capacity"] = 1'000'000'000;
    CHECK(has(switch_text(status, kPipe), "worker 0 encrypts at most 1 Gtokens/s; reserved 400 Mtokens/s\n"));
    encryption["reserved"] = 910'000'000;
    CHECK(has(switch_text(status, kPipe), "910 Mtokens/s, which leaves less than a tenth"));
}

TEST_CASE("status has a line for a clock that only commands move") {
    json status = canned_status();
    CHECK_FALSE(has(switch_text(status, kPipe), "clock"));
    status["clock"] = "stepped";
    status["now_ns"] = 1'000'010'000;
    CHECK(has(switch_text(status, kPipe),
              "\nclock stepped, for tests, at 1000010000 ns; only `weirctl clock step` moves it\n"));
}

TEST_CASE("status has the reason why cycles of requests are not charged") {
    json status = canned_status();
    status["cycles_off"] = "no cycle_costs: a reason";
    CHECK(
        has(switch_text(status, kPipe), "\ncycles of requests are not charged, no cycle_costs: a reason\n"));
}

TEST_CASE("status has the traffic that is on no bill") {
    json status = canned_status();
    status["controller"] = {{"state", "connected"}, {"unbilled_periods", 3}, {"unbilled_bytes", 5'000'000}};
    CHECK(has(switch_text(status, kPipe),
              "       not billed: 3 periods with 5 MB, of vNICs that the controller does not know\n"));
    status["controller"]["unbilled_periods"] = 0;
    CHECK_FALSE(has(switch_text(status, kPipe), "not billed"));
}

TEST_CASE("status and drops name the vNICs that the controller refuses, and their service") {
    json status = canned_status();
    json refused{{"name", "vm2"}, {"why", "host h2 has it"}, {"service", "hold"}};
    status["controller"] = {{"state", "connected"}, {"refused_vnics", json::array({refused})}};
    CHECK(
        has(switch_text(status, kPipe), "\n           refuses vNIC vm2: host h2 has it; its frames wait\n"));
    status["controller"]["refused_vnics"][0]["service"] = "best_effort";
    CHECK(has(switch_text(status, kPipe), "has it; served as best effort\n"));
    status["controller"]["refused_vnics"] = json::array();
    CHECK_FALSE(has(switch_text(status, kPipe), "refuses"));
    const json drops{
        {"vnics", {{{"name", "vm2"}, {"refusal", "host h2 has it"}, {"from_vm", json::object()}}}}};
    CHECK(drops_text(drops, kPipe) ==
          "nothing was dropped\nthe controller refuses vNIC vm2: host h2 has it\n");
}

TEST_CASE("status names the vNICs of which the switch's file differs from the controller's specification") {
    json status = canned_status();
    status["vnics"][0]["promise"] = {{"from", "controller"}, {"differences", json::array()}};
    CHECK_FALSE(has(switch_text(status, kPipe), "promise to vNIC"));
    status["vnics"][0]["promise"]["differences"].push_back(
        {{"key", "shares"}, {"promised", "100"}, {"file", "300"}});
    CHECK(has(switch_text(status, kPipe),
              "\n           promise to vNIC vm1 of the controller; its file differs: "
              "shares 100 (file: 300)\n"));
}

TEST_CASE("status is one screen") {
    CHECK(switch_text(canned_status(), kPipe) ==
          R"(host h1, weir-switch 0.1.0, up 2 h 3 min, isolation on, accounting wire, poll busy
uplink net_tap0 (net_tap) up, rate 10 Gbit/s, capacity 9 Gbit/s, MTU 1500
       received 1 k packets, sent 2 k packets, dropped: nic_queue_full 7
buffers 12000 of 16384 free, MAC table 3 entries

WORKER  CORE  VNICS   BUSY  CYCLES/PACKET  MEAN BURST
     0     1      2  42.0%            140        12.0

VNIC  STATE  WORKER  STEERING
vm1   up          0  software (net_tap has no rules)
vm2   down        0  hardware
)");
}

TEST_CASE("status of a switch without an uplink and vNICs names the next command") {
    json status = canned_status();
    status["uplink"] = nullptr;
    status["vnics"] = json::array();
    const std::string text = switch_text(status, kPipe);
    CHECK(text.find("no uplink: the vNICs of this host reach only each other\n") != std::string::npos);
    CHECK(text.find("no vNICs; to add one: weirctl vnic add name=vm1") != std::string::npos);
}

TEST_CASE("drops are listed by port, direction and reason") {
    CHECK(drops_text(canned_drops(), kPipe) ==
          R"(PORT    DIRECTION  REASON          PACKETS
vm1     from VM    foreign_mac           8
vm1     to VM      vm_ring_full       1234
uplink  -          nic_queue_full        7
)");
    CHECK(drops_text(json::parse(R"({"vnics": [{"name": "a", "from_vm": {}, "to_vm": {}}], "uplink": {}})"),
                     kPipe) == "nothing was dropped\n");
    CHECK(drops_text(json::parse(R"({"vnics": [], "uplink": {}, "workers": {"1": {"copies_ring_full": 5}}})"),
                     kPipe) ==
          "PORT      DIRECTION  REASON            PACKETS\nworker 1  -          copies_ring_full        5\n");
}

TEST_CASE("answers of another shape are shown with dashes and never throw") {
    for (const json& shape : canned_shapes()) {
        INFO(shape.dump());
        CHECK_NOTHROW(switch_text(shape, kPipe));
        CHECK_NOTHROW(drops_text(shape, kPipe));
    }
}

TEST_CASE("the status of a switch says why it has no connection to its controller") {
    json status = canned_status();
    status["controller"] = {{"state", "connecting"}, {"fault", "tcp://ctrl:5555: the name does not resolve"}};
    CHECK(has(switch_text(status, kPipe), "tcp://ctrl:5555: the name does not resolve\n"));
    status["controller"] = {{"state", "connected"}, {"fault", ""}};
    CHECK_FALSE(has(switch_text(status, kPipe), "tcp://"));
    status["controller"]["ignored"] = "a controller of epoch 5 answers, and is ignored";
    CHECK(has(switch_text(status, kPipe), "           a controller of epoch 5 answers, and is ignored\n"));
}

TEST_CASE("color is used on a terminal only") {
    Terminal terminal;
    terminal.color = true;
    CHECK(switch_text(canned_status(), terminal).find("\x1b[32mup\x1b[0m") != std::string::npos);
    CHECK(switch_text(canned_status(), kPipe).find('\x1b') == std::string::npos);
}

TEST_CASE("times since start have two units at most") {
    CHECK(uptime_text(5.9) == "5 s");
    CHECK(uptime_text(184) == "3 min 4 s");
    CHECK(uptime_text(90'000) == "1 d 1 h");
    CHECK(uptime_text(-1) == "-");
}

TEST_CASE("the controller's status shows its hosts and what was refused") {
    REQUIRE(is_controller(kStatus));
    const std::string text = controller_text(kStatus, {});
    INFO(text);
    CHECK(has(text, "cluster c1, weir-ctrl 0.1.0, epoch 1795257000, interval 42, one every 1 s"));
    CHECK(has(text, "7 service flows, allocated 45 times (3 between intervals), 100 messages received"));
    CHECK(has(text, "h1    connected  verified      2      7    400 ms ago  0.1.0"));
    CHECK(has(text, "h2    absent     -             -      -             -  -"));
    CHECK(has(text, "disk       stable  6.5 ktokens/s  6.4 ktokens/s  6.4 ktokens/s to 6.6 ktokens/s"));
    CHECK(has(
        text,
        "\nintervals begin late by 150 us (99 % within 2 ms, at most 40 ms), missed 1; allocating took 3 ms "
        "(at most 5 ms), between intervals 1 ms (at most 2 ms)\n"));
    CHECK(
        has(text,
            "refused: malformed magic 2, stale 1, over budget hellos 91, connections without a known key 5\n"
            "  over budget: hellos of h2 (91 times)\n"));
    CHECK(has(text, "refused: there is no host h9 in the cluster file (4 times)"));
    CHECK(has(text, "refused now: vNIC x9: it is not in the cluster file (host h1)"));
}

TEST_CASE("the status names what is kept for a silent host, and what two files state differently") {
    const json status{{"role", "controller"},
                      {"hosts",
                       {{{"name", "h1"}, {"state", "silent"}, {"kept_ms", 12'000}},
                        {{"name", "h2"}, {"warnings", {"the switch may promise 9Gbit"}}}}}};
    const std::string text = controller_text(status, {});
    CHECK(has(text, "  host h1: silent; its guarantees are kept for it for another 12 s\n"));
    CHECK(has(text, "  host h2: the switch may promise 9Gbit\n"));
}

TEST_CASE("the status of a switch says of when the promises are that are in force") {
    json status{
        {"controller",
         {{"state", "silent"},
          {"promises", {{"unix_s", 1'795'257'000}, {"age_s", 720}, {"from", "file"}, {"in_force", true}}}}}};
    CHECK(has(
        switch_text(status, {}),
        "guarantees of 2026-11-21 10:30:00Z in force (age 720 s), from the file that outlasts the switch\n"));
    status["controller"]["promises"]["in_force"] = false;
    CHECK_FALSE(has(switch_text(status, {}), "in force"));
    status["controller"]["promises"] = nullptr;
    CHECK_FALSE(has(switch_text(status, {}), "in force"));
}

TEST_CASE(
    "the controller's status shows a store and a bill that cannot be written, and periods that were "
    "refused") {
    json status = kStatus;
    status["store"] = {{"failing_since", nullptr}, {"fault", ""}, {"refused_writes", 9}, {"audit_lost", 0}};
    status["bill"] = status["store"];
    status["periods"] = {{"stored", 5}, {"refused_future", 0}};
    CHECK_FALSE(has(controller_text(status, {}), "failing"));
    CHECK_FALSE(has(controller_text(status, {}), "billing periods"));
    status["store"]["failing_since"] = 1'795'257'000;
    status["store"]["fault"] = "store /s: database or disk is full";
    status["store"]["audit_lost"] = 3;
    status["bill"]["failing_since"] = 0;
    status["periods"] = {{"refused_future", 2}, {"clipped", 1}};
    const std::string text = controller_text(status, {});
    INFO(text);
    CHECK(has(text, "store failing since 2026-11-21 "));
    CHECK(has(text, ": store /s: database or disk is full; 9 writes refused; tried again every interval\n"));
    CHECK(has(text, "bill failing since 1970-01-01 00:00:00Z"));
    CHECK(has(text, "audit: 3 entries were lost"));
    CHECK(has(text, "billing periods: 2 beyond the controller's clock, 1 clipped because they overlapped\n"));
}

TEST_CASE("the vNICs that are still on a drained host are listed") {
    json status = kStatus;
    status["hosts"][0]["drained"] = {{"floating", {"a1", "a2"}}, {"stated", json::array()}};
    CHECK(has(controller_text(status, {}),
              "host h1 is drained: vNICs to move 2 (a1, a2), with this host in the specification 0\n"));
}

TEST_CASE("a status of another version's controller is shown as far as it goes") {
    CHECK_FALSE(is_controller(json::object()));
    CHECK(has(controller_text({{"role", "controller"}, {"hosts", 3}}, {}), "refused: nothing"));
    CHECK(has(controller_text({{"role", "controller"}, {"hosts", {1, "x"}}}, {}), "cluster -"));
}

TEST_CASE("the status of a switch shows the state of its link to the controller") {
    const json status{{"controller",
                       {{"state", "refused"},
                        {"refusal", "there is no host h9"},
                        {"cluster", "c1"},
                        {"epoch", 5},
                        {"flows", 0}}}};
    CHECK(has(switch_text(status, {}),
              "controller refused, cluster c1, epoch 5, rates for 0 service flows, refused: there is no"));
    CHECK_FALSE(has(switch_text({{"controller", nullptr}}, {}), "controller"));
}
