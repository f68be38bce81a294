// stall_score_test.cc - after how much waiting a guest is barred, and for how long.
#include "vswitch/ports/stall_score.h"

#include "test/support/catch.h"

using namespace weir;

namespace {

using Score = StallScore<int>;
constexpr Nanos kMs = 1'000'000;
constexpr Nanos kPeriod = 5 * kMs;
constexpr Nanos kMinute = 60 * kNanosPerSec;

/// The bar after `samples` in a row, the last of which ends at `now`; 0: none.
Nanos bar_after(Score& score, int guest, Score::Kind kind, unsigned samples, Nanos now) {
    Nanos bar = 0;
    for (unsigned i = samples; i != 0; --i)
        bar = std::max(bar, score.add(guest, kind, kPeriod, now - (i - 1) * kPeriod).bar);
    return bar;
}

}  // namespace

TEST_CASE("10 ms asleep or 200 ms of faults within a second bar a guest, and no other one") {
    for (const auto kind : {Score::Kind::kSleeps, Score::Kind::kFaults}) {
        const unsigned enough = kind == Score::Kind::kSleeps ? 2 : 40;
        Score score;
        CHECK(bar_after(score, 1, kind, enough - 1, 10 * kNanosPerSec) == 0);
        CHECK(bar_after(score, 1, kind, enough - 1, 12 * kNanosPerSec) == 0);  // another second
        CHECK(bar_after(score, 2, kind, 1, 12 * kNanosPerSec) == 0);
        const Score::Verdict last = score.add(1, kind, kPeriod, 12 * kNanosPerSec + kPeriod);
        CHECK(last.bar == kMinute);
        CHECK(last.waited == enough * kPeriod);
    }
}

TEST_CASE("a guest is barred twice as long each time, an hour at most, and an hour later as at first") {
    Score score;
    Nanos now = kNanosPerSec;
    Nanos expected = kMinute;
    for (int time = 0; time < 10; ++time) {
        now += kNanosPerSec;
        const Nanos bar = bar_after(score, 1, Score::Kind::kSleeps, 2, now);
        CHECK(bar == expected);
        CHECK(bar_after(score, 1, Score::Kind::kSleeps, 20, now + kNanosPerSec) == 0);  // while it ends
        now += bar;
        expected = std::min(2 * expected, 60 * kMinute);
    }
    CHECK(bar_after(score, 1, Score::Kind::kSleeps, 2, now + 59 * kMinute) == 60 * kMinute);
    now += 59 * kMinute + 60 * kMinute;
    CHECK(bar_after(score, 1, Score::Kind::kSleeps, 2, now + 60 * kMinute) == kMinute);
}
