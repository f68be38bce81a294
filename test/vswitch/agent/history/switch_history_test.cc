// switch_history_test.cc - events of held-back time and drops, their bounds, and histories of removed vNICs.
#include "vswitch/agent/history/switch_history.h"

#include "test/support/catch.h"

using namespace weir;

namespace {

constexpr Nanos kMilli = 1'000'000;
constexpr auto kUplinkHold = static_cast<std::size_t>(HoldReason::kUplink);

std::vector<std::string> lines(const EventLog& events) {
    std::vector<std::string> lines;
    for (const SwitchEvent& event : events.since(0))
        lines.push_back(std::to_string(event.at / kMilli) + ' ' +
                        (event.vnic.empty() ? event.part : event.vnic) + ' ' + name_of(event.kind) + ' ' +
                        event.detail);
    return lines;
}

/// vm1, sampled every millisecond.
struct Switch {
    SwitchHistory history{0};
    VnicTrack* vm1 = &history.begin("vm1", kNanosPerSec);
    VnicSample counters;
    Nanos now = kNanosPerSec;

    void pass(unsigned milliseconds, Nanos held_of_each) {
        for (unsigned i = 0; i < milliseconds; ++i) {
            history.add(*vm1, counters, now);
            now += kMilli;
            counters.held[kUplinkHold] += held_of_each;
        }
    }
};

}  // namespace

TEST_CASE("a vNIC that is held back for more than half of a second is an event with begin and end") {
    Switch state;
    state.pass(1'200, 0);
    state.pass(1'800, 700'000);
    state.pass(2'000, 100'000);  // less than half
    state.pass(2'000, 700'000);  // within 10 s it is the same episode
    state.pass(12'000, 0);
    CHECK(lines(state.history.events) ==
          std::vector<std::string>{"2200 vm1 held_back bucket uplink, 56% of the first second",
                                   "8000 vm1 held_back_ended it lasted 5.8 s"});
}

TEST_CASE("drops are an event of each reason when they begin, and when there were none for 10 s") {
    Switch state;
    VnicStats stats;
    const auto second = [&](std::uint64_t drops) {
        state.now += kNanosPerSec;
        stats.to_vm.drops[static_cast<std::size_t>(DropReason::kVmRingFull)] += drops;
        state.history.note_drops(*state.vm1, stats, state.now);
    };
    second(0);
    second(5);
    second(7);
    for (int i = 0; i < 10; ++i)
        second(0);
    CHECK(lines(state.history.events) ==
          std::vector<std::string>{
              "3000 vm1 drops vm_ring_full, 5 packets in the last second: the receiving VM "
              "did not empty its ring, or more came than its receive_limit",
              "4000 vm1 drops_ended vm_ring_full, 12 packets in all"});
}

TEST_CASE("a vNIC or a link with too many events displaces its own, and all together the oldest") {
    EventLog events;
    events.add_of("switch", 1, EventKind::kStarted);
    for (Nanos i = 0; i < 300; ++i)
        events.add_of_vnic(10 + i, "vm1", EventKind::kUp);
    REQUIRE(events.since(0).size() == 1 + EventLog::kEventsOfOneMax);
    CHECK(events.since(0)[1].at == 10 + 300 - EventLog::kEventsOfOneMax);
    for (Nanos i = 0; i < 300; ++i)
        events.add_of("uplink", 400 + i, EventKind::kLinkLost);
    REQUIRE(events.since(0).size() == 1 + 2 * EventLog::kEventsOfOneMax);
    for (Nanos i = 0; i < 2'000; ++i)
        events.add_of_vnic(1'000 + i, "vm" + std::to_string(i), EventKind::kUp, std::string(1'000, 'x'));
    CHECK(events.since(0).size() == EventLog::kEventsMax);
    CHECK(events.since(0).back().detail.size() == EventLog::kDetailMax);
    CHECK(events.since(0, events.last_number() - 3).size() == 3);
    CHECK(events.since(2'999).size() == 1);
}

TEST_CASE("a removed vNIC keeps its history for an hour, of 64 vNICs at most") {
    Switch state;
    state.pass(2'500, 0);
    state.history.end("vm1", state.now);
    REQUIRE(state.history.find("vm1") != nullptr);
    CHECK(state.history.find("vm1")->history.seconds(0, kNever).size() == 3);
    CHECK(&state.history.begin("vm1", state.now + kNanosPerSec) == state.vm1);
    state.history.end("vm1", state.now);
    for (unsigned i = 0; i < SwitchHistory::kKeptMax; ++i) {
        state.history.begin("other" + std::to_string(i), state.now + i);
        state.history.end("other" + std::to_string(i), state.now + 1 + i);
    }
    CHECK(state.history.find("vm1") == nullptr);
    CHECK(state.history.find("other0") != nullptr);
    state.history.begin("vm2", state.now + 2 * SwitchHistory::kKeptFor);
    CHECK(state.history.find("other0") == nullptr);
}
