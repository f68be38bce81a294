// time_text_test.cc - times as operators write them.
#include "ctrl/cli/commands.h"
#include "test/support/catch.h"

using namespace weir::cli;

namespace {

constexpr std::uint64_t kMidnight = 1'795'219'200;  // 2026-11-21
constexpr std::uint64_t kHour = 3'600;

}  // namespace

TEST_CASE("times are UTC days, minutes, seconds, or Unix seconds") {
    CHECK(parse_time("1970-01-02") == 86'400U);
    CHECK(parse_time("2026-11-21") == kMidnight);
    CHECK(parse_time("2026-11-21T15:30") == kMidnight + 55'800);
    CHECK(parse_time("2026-11-21T15:30:07") == kMidnight + 55'807);
    CHECK(parse_time("2026-11-21T15:30:07Z") == kMidnight + 55'807);
    CHECK(parse_time("2026-11-21 15:30:07") == kMidnight + 55'807);
    CHECK(parse_time("1795219200") == kMidnight);
    for (const char* wrong : {"", "yesterday", "2026-11", "2026-11-31", "2026-11-21T15", "2026-11-21T24:00",
                              "-5", "2026-11-21T15:30:60", "2026-11-21Z", "2026-11-21  15:30", "24:00",
                              "10:60", "10:", "10:00:00:00", "-", "-5parsecs", "Z"}) {
        INFO(wrong);
        CHECK_FALSE(parse_time(wrong));
        CHECK_FALSE(time_fault(wrong).empty());
    }
}

TEST_CASE("a time of day is the last one of this name: today's, else yesterday's") {
    const std::uint64_t now = kMidnight + 12 * kHour;
    CHECK(parse_time("10:00", now) == kMidnight + 10 * kHour);
    CHECK(parse_time("10:00:05", now) == kMidnight + 10 * kHour + 5);
    CHECK(parse_time("12:00", now) == now);
    CHECK(parse_time("12:01", now) == now + 60 - 24 * kHour);
}

TEST_CASE("a time ago is a duration, with or without its sign") {
    const std::uint64_t now = kMidnight;
    CHECK(parse_time("-5min", now) == now - 300);
    CHECK(parse_time("-5m", now) == now - 300);
    CHECK(parse_time("2h", now) == now - 2 * kHour);
    CHECK(parse_time("-1500ms", now) == now - 1);
    CHECK(parse_ago("-1500ms") == 1'500'000'000U);
    CHECK_FALSE(parse_ago("10:00"));
    CHECK_FALSE(parse_ago("5"));
}
