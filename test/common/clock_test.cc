// clock_test.cc - ticks are converted to nanoseconds without drift and without a division; stepped time.
#include "common/clock.h"

#include "common/stepped_clock.h"
#include "test/support/catch.h"

using namespace weir;

TEST_CASE("a tick converter is exact to 1 ns per second at 2.1 GHz") {
    const TickConverter clock(2'100'000'000, 1000);
    CHECK(clock.to_nanos(1000) == 0);
    CHECK(clock.to_nanos(1000 + 2'100'000'000) <= kNanosPerSec);
    CHECK(clock.to_nanos(1000 + 2'100'000'000) >= kNanosPerSec - 1);
    CHECK(clock.span_to_nanos(2100) == Approx(1000).margin(1));
}

TEST_CASE("a tick converter survives ten years of ticks") {
    const std::uint64_t ten_years = 315'360'000;
    const TickConverter clock(1'000'000'000, 0);
    CHECK(clock.to_nanos(ten_years * kNanosPerSec) == ten_years * kNanosPerSec);
}

TEST_CASE("a stepped clock moves by advance() alone, and a cycle is a nanosecond on it") {
    SteppedClock clock;
    CHECK(clock.now() == SteppedClock::kStart);
    clock.advance(250);
    CHECK(clock.now() == SteppedClock::kStart + 250);
    CHECK(clock.cycles().load() == clock.now());
    CHECK(TickConverter(kNanosPerSec, 0).to_nanos(clock.cycles()) == clock.now());
}

TEST_CASE("a step of 100 ms is 10,000 poll turns of 10 us, and one of 25 us is none of whole turns") {
    CHECK(ClockStep{.span = 100'000'000}.turns() == 10'000);
    CHECK(ClockStep{.span = 100'000'000}.whole());
    CHECK_FALSE(ClockStep{.span = 25'000}.whole());
    CHECK(ClockStep{.span = 25'000, .turn = 5'000}.turns() == 5);
}
