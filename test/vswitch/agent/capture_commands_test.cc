// capture_commands_test.cc - orders of captures from JSON, and captured frames to it.
#include "vswitch/agent/capture_commands.h"

#include <nlohmann/json.hpp>

#include "test/support/catch.h"
#include "test/vswitch/agent/fake_control.h"

using namespace weir;
using namespace weir::testing;
using nlohmann::json;

namespace {

/// The path of the only fault, and nothing has begun.
std::string fault_of(const json& args) {
    FakeControl control;
    Faults faults;
    (void)capture_start(control, args, faults);
    CHECK(control.captures.empty());
    return faults.size() == 1 ? faults[0].path : std::to_string(faults.size()) + " faults";
}

}  // namespace

TEST_CASE("an order for a capture has every choice of weirctl") {
    FakeControl control;
    Faults faults;
    const json reply = capture_start(control,
                                     {{"vnic", "vm1"},
                                      {"drops", true},
                                      {"reason", "mac_spoof"},
                                      {"first", 3},
                                      {"every", 2},
                                      {"snap", 96},
                                      {"filter", {{0x28, 0, 0, 12}, {0x06, 0, 0, 0xFFFF'FFFF}}}},
                                     faults);
    CHECK(faults.empty());
    CHECK(reply == json{{"capture", 1}});
    const CaptureOrder& order = control.captures.at(0);
    CHECK(order.vnic == "vm1");
    CHECK(order.drops);
    CHECK(order.reason == DropReason::kMacSpoof);
    CHECK(order.first == 3);
    CHECK(order.every == 2);
    CHECK(order.snap == 96);
    REQUIRE(order.filter.size() == 2);
    CHECK(order.filter[1].code == 0x06);
    CHECK(order.filter[1].value == 0xFFFF'FFFF);
    (void)capture_start(control, {{"uplink", true}}, faults);
    CHECK(control.captures.at(1).vnic.empty());
    CHECK(control.captures.at(1).snap == CaptureOrder::kSnap);
}

TEST_CASE("a capture that is wrong does not begin, and the fault names the argument") {
    CHECK(fault_of(json::object()) == "args.vnic");
    CHECK(fault_of({{"vnic", "vm1"}, {"uplink", true}}) == "args.vnic");
    CHECK(fault_of({{"vnic", "vm1"}, {"reason", "mac_spoof"}}) == "args.reason");
    CHECK(fault_of({{"vnic", "vm1"}, {"first", 3}}) == "args.first");
    CHECK(fault_of({{"vnic", "vm1"}, {"drops", true}, {"reason", "bad_luck"}}) == "args.reason");
    CHECK(fault_of({{"vnic", "vm1"}, {"snap", 10}}) == "args.snap");
    CHECK(fault_of({{"vnic", "vm1"}, {"every", 0}}) == "args.every");
    CHECK(fault_of({{"vnic", "vm1"}, {"snaps", 100}}) == "args.snaps");
    for (const json& filter :
         {json("ip"), json{1, 2}, json{{0x28, 0, 0}}, json{{0x28, 256, 0, 0}}, json{{-1, 0, 0, 0}},
          json(std::vector<json>(kFilterInstructionsMax + 1, {6, 0, 0, 0}))})
        CHECK(fault_of({{"vnic", "vm1"}, {"filter", filter}}) == "args.filter");
}

TEST_CASE("captured frames come with time, port, verdict and bytes in base64") {
    FakeControl control;
    Faults faults;
    (void)capture_start(control, {{"vnic", "vm1"}}, faults);
    control.captured.missed = 5;
    control.captured.frames.push_back({.unix_ns = 1'700'000'000'000'000'001,
                                       .vnic = "vm1",
                                       .record = {.queue_delay = 12'000,
                                                  .length = 60,
                                                  .kept = 2,
                                                  .point = CapturePoint::to_vm(3),
                                                  .verdict = CaptureVerdict::kDropped,
                                                  .reason = DropReason::kVmRingFull},
                                       .bytes = {std::byte{0xFF}, std::byte{0xEE}}});
    const json reply = capture_read(control, {{"capture", 1}}, faults);
    CHECK(faults.empty());
    CHECK(reply.at("missed") == 5);
    CHECK(reply.at("ended").is_null());
    CHECK(reply.at("frames") == json{{{"unix_ns", 1'700'000'000'000'000'001},
                                      {"length", 60},
                                      {"vnic", "vm1"},
                                      {"direction", "to_vm"},
                                      {"verdict", "dropped"},
                                      {"reason", "vm_ring_full"},
                                      {"queue_delay_ns", 12'000},
                                      {"bytes", "/+4="}}});
    control.captured.ended = "the vNIC was removed";
    CHECK(capture_read(control, {{"capture", 1}}, faults).at("ended") == "the vNIC was removed");
    CHECK(capture_stop(control, {{"capture", 1}}, faults) == json{{"stopped", 1}});
    CHECK(control.stopped_captures == std::vector<std::uint64_t>{1});
    CHECK_THROWS_AS((void)capture_read(control, {{"capture", 2}}, faults), HostError);
    CHECK(faults.empty());
    (void)capture_read(control, {{"capture", "one"}}, faults);
    (void)capture_stop(control, json::object(), faults);
    CHECK(faults.size() == 2);
}
