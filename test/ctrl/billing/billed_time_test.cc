// billed_time_test.cc - parts of periods that are not billed, by numbers and against a slow model.
#include "ctrl/billing/billed_time.h"

#include <set>

#include "test/support/catch.h"
#include "test/support/random.h"

using weir::billing::BilledTime;
using Part = std::optional<BilledTime::Span>;

TEST_CASE("of a period that overlaps others the part is billed that no other has") {
    BilledTime time;
    time.add({0, 10});
    time.add({20, 30});
    CHECK(time.unbilled_part({5, 15}) == Part({10, 15}));
    CHECK(time.unbilled_part({12, 18}) == Part({12, 18}));
    CHECK(time.unbilled_part({20, 30}) == Part());
    CHECK(time.unbilled_part({22, 28}) == Part());
    CHECK(time.unbilled_part({25, 40}) == Part({30, 40}));
    CHECK(time.unbilled_part({5, 40}) == Part({10, 20}));  // the longest part; of two, the first
    CHECK(time.unbilled_part({30, 40}) == Part({30, 40}));
    CHECK(time.unbilled_part({-5, 2}) == Part({-5, 0}));
    CHECK(time.ended() == 30);
}

TEST_CASE("time before the oldest known span counts as billed") {
    BilledTime time(100);
    CHECK(time.ended() == 100);
    CHECK(time.unbilled_part({50, 100}) == Part());
    CHECK(time.unbilled_part({50, 110}) == Part({100, 110}));
    for (std::int64_t i = 1; i <= static_cast<std::int64_t>(BilledTime::kSpansMax) + 1; ++i)
        time.add({100 * i + 50, 100 * i + 60});
    CHECK(time.unbilled_part({110, 120}) ==
          Part());  // the first span was given up, and with it the gap before
    CHECK(time.unbilled_part({220, 230}) == Part({220, 230}));
}

TEST_CASE("periods in any order, repeated and overlapping: no instant is billed twice") {
    weir::testing::Random32 random{7};
    for (int round = 0; round < 200; ++round) {
        BilledTime time;
        std::set<std::int64_t> billed;
        for (int i = 0; i < 40; ++i) {
            const std::int64_t began = random() % 60;
            const BilledTime::Span period{began, began + 1 + random() % 6};
            const Part part = time.unbilled_part(period);
            if (!part)
                continue;
            REQUIRE(part->began >= period.began);
            REQUIRE(part->ended <= period.ended);
            for (std::int64_t at = part->began; at < part->ended; ++at)
                REQUIRE(billed.insert(at).second);
            time.add(*part);
        }
    }
}
