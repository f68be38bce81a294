// history_commands_test.cc - requests for a vNIC's past and for events, against a switch with a history.
#include <nlohmann/json.hpp>

#include "test/support/catch.h"
#include "test/vswitch/agent/fake_control.h"
#include "vswitch/agent/commands.h"

using namespace weir;
using namespace weir::testing;
using nlohmann::json;

namespace {

constexpr double kTenOClock = 1'795'773'600;
constexpr auto kBuffersHold = static_cast<std::size_t>(HoldReason::kBuffers);

/// 20 s of vm1, since 10:00 UTC: 1,000 bytes in each millisecond, held back from 3.5 s to 17 s half the time.
struct PastConsole {
    PastConsole() {
        VnicTrack& track = control.past.begin("vm1", control.clock.now());
        VnicSample sample;
        control.past.add(track, sample, control.clock.now());
        for (unsigned ms = 0; ms < 20'000; ++ms) {
            control.clock.advance(1'000'000);
            sample.sent_bytes += 1'000;
            if (ms >= 3'500 && ms < 17'000)
                sample.held[kBuffersHold] += 500'000;
            control.past.add(track, sample, control.clock.now());
        }
    }
    json send(const char* command, const json& args) {
        return json::parse(answer(control, json{{"schema", 1}, {"command", command}, {"args", args}}.dump()));
    }
    json ask(const char* command, const json& args) {
        json reply = send(command, args);
        INFO(reply.dump().substr(0, 500));
        REQUIRE(reply.at("ok") == true);
        return reply.at("data");
    }
    json fault(const char* command, const json& args) {
        const json reply = send(command, args);
        REQUIRE(reply.at("ok") == false);
        return reply.at("faults").at(0);
    }
    FakeControl control;
};

}  // namespace

TEST_CASE("why.at has the second, its bucket with the begin of the time, and the seconds around") {
    PastConsole console;
    const json data = console.ask("why.at", {{"name", "vm1"}, {"at", 1'795'773'605}});
    CHECK(data["second"]["from"] == kTenOClock + 5);
    CHECK(data["second"]["span_ns"] == kNanosPerSec);
    CHECK(data["second"]["sent_bps"] == 8e6);
    CHECK(data["second"]["sent_burst_bytes"] == 1'000);
    CHECK(data["resolution_ns"] == 1'000'000);
    CHECK(
        data["held_back_by"] ==
        json{{"bucket", "buffers"}, {"percent", 50.0}, {"since", kTenOClock + 3}, {"before_history", false}});
    CHECK(data["held_back_ns_by_bucket"]["buffers"] == kNanosPerSec / 2);
    CHECK(data["seconds"].size() == 11);
    CHECK(data["seconds"][0]["from"] == kTenOClock);
    CHECK(data["samples"].empty());
    CHECK(data["history"]["from"] == kTenOClock);
    CHECK(data["history"]["until"] == kTenOClock + 20);
    CHECK(data["history"]["samples_from"] == kTenOClock + 10);
}

TEST_CASE("why.at of the last ten seconds has each sample, and of a time without a bucket none") {
    PastConsole console;
    const json held = console.ask("why.at", {{"name", "vm1"}, {"ago", "3500ms"}});
    CHECK(held["second"]["from"] == kTenOClock + 16);
    REQUIRE(held["samples"].size() == 1'000);
    CHECK(held["samples"][0]["held_back_by"] == "buffers");
    CHECK(held["samples"][0]["held_back_percent"] == 50.0);
    const json free = console.ask("why.at", {{"name", "vm1"}, {"ago", "0s"}});
    CHECK(free["second"]["from"] == kTenOClock + 19);
    CHECK(free["held_back_by"] == nullptr);
}

TEST_CASE("why.at of another time names the time that is there, and of no time or vNIC what it needs") {
    PastConsole console;
    for (const json& at : {json{{"at", 1'795'773'599}}, json{{"at", 1'795'773'621}}, json{{"at", 0}}}) {
        json args = at;
        args["name"] = "vm1";
        const json fault = console.fault("why.at", args);
        CHECK(fault["path"] == "args.at");
        CHECK(fault["allowed"] == "2026-11-27 10:00:00 UTC to 2026-11-27 10:00:20 UTC");
    }
    CHECK(console.fault("why.at", {{"name", "vm1"}, {"at", 1'795'773'599}})["found"] ==
          "2026-11-27 09:59:59 UTC");
    CHECK(console.fault("why.at", {{"name", "vm1"}, {"ago", "55min"}})["found"] == "55min ago");
    CHECK(console.fault("why.at", {{"name", "vm1"}})["path"] == "args.ago");
    CHECK(console.fault("why.at", {{"name", "vm9"}, {"ago", "1s"}})["path"] == "args.name");
    CHECK(console.fault("why.at", {{"name", "vm1"}, {"at", -1}})["path"] == "args.at");
    CHECK(console.fault("why.at", {{"name", "vm1"}, {"ago", "1s"}, {"when", 1}})["path"] == "args.when");
}

TEST_CASE("events has those of the time, of the vNIC, and after a number") {
    PastConsole console;
    console.control.past.events.add_of("uplink", 2 * kNanosPerSec, EventKind::kLinkLost, "no carrier");
    const json all = console.ask("events", json::object());
    CHECK(all["last"] == 2);
    REQUIRE(all["events"].size() == 2);
    CHECK(all["events"][0] == json{{"number", 2},
                                   {"time", kTenOClock + 1},
                                   {"part", "uplink"},
                                   {"vnic", nullptr},
                                   {"event", "link_lost"},
                                   {"detail", "no carrier"}});
    CHECK(all["events"][1]["vnic"] == "vm1");
    CHECK(all["events"][1]["event"] == "held_back");
    CHECK(console.ask("events", {{"since", 1'795'773'602}})["events"].size() == 1);
    CHECK(console.ask("events", {{"name", "vm1"}})["events"].size() == 1);
    CHECK(console.ask("events", {{"after", 2}})["events"].empty());
    CHECK(console.fault("events", {{"since", "now"}})["path"] == "args.since");
}
