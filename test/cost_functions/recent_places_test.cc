// recent_places_test.cc - repeats, compared with a memory that forgets nothing.
#include "cost_functions/recent_places.h"

#include <map>
#include <vector>

#include "test/support/catch.h"
#include "test/support/random.h"

using namespace weir;

namespace {

constexpr Nanos kSec = kNanosPerSec;

struct Touch {
    Nanos at;
    std::uint32_t span;
};

}  // namespace

TEST_CASE("a place is recent from its first touch until the window has passed since the last") {
    RecentPlaces places({10 * kSec, 1024, 0});
    CHECK_FALSE(places.touch(7, 0, 0));
    CHECK(places.touch(7, 0, 10 * kSec));
    CHECK(places.touch(7, 0, 20 * kSec));  // counted from the last touch
    CHECK_FALSE(places.touch(7, 0, 30 * kSec + 1));
    CHECK(places.touch(7, 0, 31 * kSec));
    CHECK_FALSE(places.touch(8, 0, 31 * kSec));
}

TEST_CASE("place 0 at time 0 is a place like any other") {
    RecentPlaces places({kSec, 16, 0});
    CHECK_FALSE(places.touch(0, 0, 0));
    CHECK(places.touch(0, 0, 0));
}

TEST_CASE("a larger span than before is new; a smaller one does not renew the rest") {
    RecentPlaces places({10 * kSec, 1024, 0});
    CHECK_FALSE(places.touch(4096, 4096, 0));
    CHECK_FALSE(places.touch(4096, 65'536, 1 * kSec));
    CHECK(places.touch(4096, 4096, 2 * kSec));
    CHECK(places.touch(4096, 65'536, 3 * kSec));
    CHECK(places.touch(4096, 512, 13 * kSec));  // of the large piece at 3 s, which it does not renew
    CHECK_FALSE(places.touch(4096, 65'536, 13 * kSec + 1));
    // Spans are compared by powers of two.
    CHECK_FALSE(places.touch(1 << 20, 5000, 0));
    CHECK(places.touch(1 << 20, 8192, 0));
    CHECK_FALSE(places.touch(1 << 20, 8193, 0));
}

TEST_CASE("places of one block are one place") {
    RecentPlaces places({kSec, 1024, 12});
    CHECK_FALSE(places.touch(8192, 512, 0));
    CHECK(places.touch(8192 + 4095, 512, 0));
    CHECK_FALSE(places.touch(8192 + 4096, 512, 0));
}

TEST_CASE("a deleted place is new") {
    RecentPlaces places({kSec, 1024, 0});
    (void)places.touch(7, 0, 0);
    (void)places.touch(8, 0, 0);
    places.forget(7);
    places.forget(99);
    CHECK_FALSE(places.touch(7, 0, 0));
    CHECK(places.touch(8, 0, 0));
}

TEST_CASE("a time that runs backwards is no hit") {
    RecentPlaces places({kSec, 1024, 0});
    (void)places.touch(7, 0, 5 * kSec);
    CHECK_FALSE(places.touch(7, 0, 4 * kSec));
}

TEST_CASE("no hit without a touch of that place within the window, with a span as large") {
    testing::Random32 random(5);
    for (const std::uint32_t capacity : {16U, 256U, 4096U}) {
        RecentPlaces places({kSec, capacity, 0});
        std::map<std::uint64_t, std::vector<Touch>> all;
        Nanos now = 0;
        std::size_t hits = 0;
        for (int i = 0; i < 100'000; ++i) {
            now += random() % 1'000'000;
            // Few places and many, near each other and anywhere.
            const std::uint64_t place =
                random() % 2 ? random() % 300 : std::uint64_t{random()} << 32 | random() % 2;
            const std::uint32_t span = random() >> (random() % 32);
            const bool hit = places.touch(place, span, now);
            std::vector<Touch>& before = all[place];
            bool allowed = false;
            for (auto it = before.rbegin(); it != before.rend() && now - it->at <= kSec && !allowed; ++it)
                allowed = it->span > span / 2 || span <= 1;
            REQUIRE((!hit || allowed));
            before.push_back({now, span});
            hits += hit;
        }
        CHECK(hits > 500);
    }
}

TEST_CASE("a working set of half the capacity is nearly always recent") {
    RecentPlaces places({kSec, 4096, 0});
    std::size_t hits = 0;
    for (int round = 0; round < 10; ++round)
        for (std::uint64_t place = 0; place < 2048; ++place)
            hits += places.touch(place * 4096, 4096, 0);
    CHECK(hits >= 9 * 2048 * 95 / 100);
}

TEST_CASE("of any number of touched places at most the capacity is remembered") {
    RecentPlaces places({kSec, 1000, 0});
    CHECK(places.capacity() == 1024);
    testing::Random32 random(6);
    std::vector<std::uint64_t> flood;
    for (int i = 0; i < 50'000; ++i) {
        flood.push_back(std::uint64_t{random()} << 32 | random());
        (void)places.touch(flood.back(), 0, static_cast<Nanos>(i));
    }
    // Each place is asked of a copy, so that asking pushes nothing out.
    std::size_t kept = 0;
    for (std::size_t i = flood.size() - 5'000; i < flood.size(); ++i) {
        RecentPlaces copy = places;
        kept += copy.touch(flood[i], 0, 50'000);
    }
    CHECK(kept <= places.capacity());
    CHECK(kept >= places.capacity() * 9 / 10);
}
