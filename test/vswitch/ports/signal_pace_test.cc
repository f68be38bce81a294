// signal_pace_test.cc - when signals of a vNIC go by way of another thread, and for how long.
#include "vswitch/ports/signal_pace.h"

#include <algorithm>

#include "test/support/catch.h"

using namespace weir;

namespace {

constexpr std::uint64_t kHz = 1'000'000'000;  // a cycle is a nanosecond
constexpr std::uint64_t kOneMinute = 60 * kHz;
constexpr std::uint64_t kUs = 1000;

}  // namespace

TEST_CASE("one signal of a millisecond, or four of 50 us within a minute, and a minute is the relay's") {
    for (const bool is_long : {true, false}) {
        SignalPace pace(kHz);
        std::uint64_t now = 5 * kOneMinute;
        CHECK_FALSE(pace.is_slow(50 * kUs - 1));
        CHECK(pace.is_slow(50 * kUs));
        CHECK(pace.longest() == 0);
        for (int i = 0; i < (is_long ? 0 : 3); ++i)
            pace.note(50 * kUs, now);
        CHECK_FALSE(pace.relays(now));
        pace.note(is_long ? 7800 * kUs : 60 * kUs, now);
        CHECK(pace.longest() == (is_long ? 7800 * kUs : 60 * kUs));
        CHECK(pace.relays(now));
        now += kOneMinute - 1;
        CHECK(pace.relays(now));
        CHECK_FALSE(pace.relays(now + 1));  // the worker tries again
        for (std::uint64_t minutes = 2; minutes < 200; minutes *= 2) {
            pace.note(2000 * kUs, ++now);
            now += std::min<std::uint64_t>(minutes, 60) * kOneMinute - 1;
            CHECK(pace.relays(now));
            CHECK_FALSE(pace.relays(now + 1));
        }
        pace.note(2000 * kUs, now + 2 * kOneMinute);  // a minute without: as at first
        CHECK_FALSE(pace.relays(now + 3 * kOneMinute));
    }
}

TEST_CASE("a slow signal now and then changes nothing: a hypervisor took the core away") {
    SignalPace pace(kHz);
    for (std::uint64_t now = kOneMinute; now < 100 * kOneMinute; now += kOneMinute / 3) {
        pace.note(200 * kUs, now);
        CHECK_FALSE(pace.relays(now));
    }
}
