// vnic_history_test.cc - records of milliseconds and seconds: rates, bursts, delays, held-back time, gaps.
#include "vswitch/agent/history/vnic_history.h"

#include "test/support/catch.h"

using namespace weir;

namespace {

constexpr Nanos kMs = 1'000'000;
constexpr Nanos kStart = kNanosPerSec;  // of the tests' clock
constexpr auto kLimit = static_cast<std::size_t>(HoldReason::kLimit);
constexpr auto kUplink = static_cast<std::size_t>(HoldReason::kUplink);

/// A vNIC that is sampled at whole milliseconds.
struct Sampled {
    VnicHistory history{0};
    VnicSample counters;
    Nanos now = kStart;

    Sampled() { history.add(counters, now); }
    /// Lets time pass with these many bytes sent. @return a second has ended
    bool pass(Nanos span, std::uint64_t sent = 0) {
        now += span;
        counters.sent_bytes += sent;
        const bool ended = history.add(counters, now);
        counters.queue_delay = 0;
        return ended;
    }
    void pass_times(unsigned times, std::uint64_t sent = 0) {
        for (unsigned i = 0; i < times; ++i)
            pass(kMs, sent);
    }
};

}  // namespace

TEST_CASE("1,500 bytes in each millisecond of a second are 1.5 MB/s with bursts of 1,500 bytes") {
    Sampled vm;
    vm.pass_times(999, 1'500);
    CHECK(vm.history.seconds(0, kNever).size() == 1);
    CHECK_FALSE(vm.pass(kMs, 1'500));  // ends with the second
    CHECK(vm.pass(kMs, 7));
    const HistoryRecord second = vm.history.last_second();
    CHECK(second.from == kStart);
    CHECK(second.until == kStart + kNanosPerSec);
    CHECK(second.samples == 1'000);
    CHECK(second.sent_bytes == 1'500'000);
    CHECK(second.received_bytes == 0);
    CHECK(second.sent_burst == 1'500);
}

TEST_CASE("a second has the largest burst, the longest delay, the drops, and held-back time by reason") {
    Sampled vm;
    for (unsigned i = 0; i < 1'001; ++i) {
        vm.counters.received_bytes += i == 500 ? 64'000 : 100;
        vm.counters.queue_delay = i == 300 ? 4 * kMs : i;
        vm.counters.dropped += i == 20 ? 3 : 0;
        vm.counters.held[kLimit] += i < 250 ? kMs : 0;
        vm.counters.held[kUplink] += i < 100 ? 0 : kMs / 10;
        vm.pass(kMs);
    }
    const HistoryRecord second = vm.history.last_second();
    CHECK(second.received_burst == 64'000);
    CHECK(second.queue_delay == 4 * kMs);
    CHECK(second.dropped == 3);
    CHECK(second.held[kLimit] == 250 * kMs);
    CHECK(second.held[kUplink] == 90 * kMs);
    CHECK(second.held_by() == HoldReason::kLimit);
}

TEST_CASE("a sample that comes late covers its whole time, and its burst is the mean per millisecond") {
    Sampled vm;
    vm.pass(kMs, 100);
    vm.pass(3 * kMs, 900);
    const auto records = vm.history.samples(0, kNever);
    REQUIRE(records.size() == 2);
    CHECK(records[1].from == kStart + kMs);
    CHECK(records[1].until == kStart + 4 * kMs);
    CHECK(records[1].sent_bytes == 900);
    CHECK(records[1].sent_burst == 300);
}

TEST_CASE("a worker that stands still for 3 s is one record of 3 s, and no second is invented") {
    Sampled vm;
    vm.pass_times(1'000, 10);
    vm.pass(3 * kNanosPerSec, 3'000);
    vm.pass(kMs);
    const auto records = vm.history.seconds(0, kNever);
    REQUIRE(records.size() == 3);
    CHECK(records[0].sent_bytes == 10'000);
    CHECK(records[1].span() == 3 * kNanosPerSec);
    CHECK(records[1].samples == 1);
    CHECK(records[1].sent_bytes == 3'000);
    CHECK(records[1].sent_burst == 1);
}

TEST_CASE("samples last ten seconds and seconds an hour, the oldest first, in memory of one size") {
    Sampled vm;
    for (unsigned second = 0; second < 3'700; ++second)
        for (unsigned i = 0; i < 100; ++i)
            vm.pass(10 * kMs, second);
    const auto range = vm.history.range();
    REQUIRE(range);
    CHECK(range->until == vm.now);
    CHECK(range->from == vm.now - 3'601 * kNanosPerSec);
    CHECK(range->fine_from == vm.now - 10'000 * 10 * kMs);
    const auto seconds = vm.history.seconds(0, kNever);
    CHECK(seconds.size() == 3'601);  // the last one has not ended
    CHECK(seconds.front().sent_bytes == 99 * 100);
    CHECK(vm.history.samples(0, kNever).size() == 10'000);
    STATIC_REQUIRE(VnicHistory::bytes() == 10'001 * 24 + 3'600 * 64);
}

TEST_CASE("records are found by the time that they share") {
    Sampled vm;
    vm.pass_times(5'000, 1);
    CHECK(vm.history.seconds(kStart + kNanosPerSec, kStart + 3 * kNanosPerSec).size() == 2);
    CHECK(vm.history.seconds(kStart + 3'500 * kMs, kStart + 3'600 * kMs).size() == 1);
    CHECK(vm.history.samples(kStart + 100 * kMs, kStart + 120 * kMs).size() == 20);
    CHECK(vm.history.seconds(0, kStart).empty());
}

TEST_CASE("seconds end with the seconds of Unix time") {
    VnicHistory history(600 * kMs);  // 1.6 s on the samples' clock are a whole second
    VnicSample counters;
    Nanos now = kStart;
    while (!history.add(counters, now))
        now += kMs;
    CHECK(history.last_second().until == kStart + 400 * kMs);
}

TEST_CASE(
    "the begin of held-back time is known to the millisecond of the last ten seconds, then to the second") {
    Sampled vm;
    vm.pass_times(2'300);
    for (unsigned i = 0; i < 5'000; ++i) {
        vm.counters.held[kLimit] += kMs / 2;
        vm.pass(kMs);
    }
    CHECK(vm.history.held_since(HoldReason::kLimit, vm.now).at == kStart + 2'300 * kMs);
    CHECK(vm.history.held_since(HoldReason::kUplink, vm.now).at == vm.now);
    for (unsigned i = 0; i < 9'000; ++i) {
        vm.counters.held[kLimit] += kMs / 2;
        vm.pass(kMs);
    }
    const auto since = vm.history.held_since(HoldReason::kLimit, vm.now);
    CHECK(since.at == kStart + 2'000 * kMs);
    CHECK_FALSE(since.before_history);
}

TEST_CASE("a vNIC that was held back when its history began states that") {
    Sampled vm;
    for (unsigned i = 0; i < 1'500; ++i) {
        vm.counters.held[kLimit] += kMs;
        vm.pass(kMs);
    }
    const auto since = vm.history.held_since(HoldReason::kLimit, vm.now);
    CHECK(since.at == kStart);
    CHECK(since.before_history);
}

TEST_CASE("a vNIC that comes back under its name keeps its past, and its counters begin anew") {
    Sampled vm;
    vm.pass_times(1'500, 100);
    vm.history.restart();
    vm.counters = {};
    vm.now += 200 * kMs;
    vm.history.add(vm.counters, vm.now);
    vm.pass_times(300, 5);
    const auto records = vm.history.seconds(0, kNever);
    REQUIRE(records.size() == 3);
    CHECK(records[0].sent_bytes == 100'000);
    CHECK(records[1].sent_bytes == 50'000);
    CHECK(records[2].sent_bytes == 1'500);
    CHECK(records[2].from == records[1].until + 200 * kMs);
    CHECK(vm.history.samples(records[1].until, records[2].from).empty());
}
