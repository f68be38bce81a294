// clock_test.cc - ticks are converted to nanoseconds without drift and without a division.
#include "common/clock.h"

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
