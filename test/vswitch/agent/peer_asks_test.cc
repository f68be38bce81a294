// peer_asks_test.cc - when an address is asked for, and when it is forgotten.
#include "vswitch/agent/peer_asks.h"

#include <set>

#include "test/support/catch.h"

using namespace weir;

namespace {

constexpr Nanos kSec = kNanosPerSec;
const PeerPair kPair{"vm1", "52:54:00:00:00:02"};

/// Seconds at which the pair is asked for until `end`, when it is answered as unknown each time at once.
std::vector<Nanos> asked_at(PeerAsks& asks, Nanos begin, Nanos end, bool is_answered) {
    std::vector<Nanos> times;
    for (Nanos now = begin; now < end; now += kSec) {
        (void)asks.note(kPair, now);
        if (asks.due(now, 10).empty())
            continue;
        times.push_back(now / kSec);
        if (is_answered)
            (void)asks.on_unknown(kPair, now);
    }
    return times;
}

}  // namespace

TEST_CASE("an address is asked for at once, and every 2 s until there is an answer") {
    PeerAsks asks;
    CHECK(asked_at(asks, 0, 9 * kSec, false) == std::vector<Nanos>{0, 2, 4, 6, 8});
    asks.set_known(kPair, true);
    CHECK(asks.due(20 * kSec, 10).empty());
    CHECK(asks.contains(kPair));
}

TEST_CASE("an unknown address is asked for after 1, 2, 4, 8, 16, 32, 32 s, and in a new session at once") {
    PeerAsks asks;
    CHECK(asked_at(asks, 0, 100 * kSec, true) == std::vector<Nanos>{0, 1, 3, 7, 15, 31, 63, 95});
    asks.restart(100 * kSec);
    CHECK(asked_at(asks, 100 * kSec, 104 * kSec, true) == std::vector<Nanos>{100, 101, 103});
}

TEST_CASE("the fourth answer that an address is unknown counts, once in a session") {
    PeerAsks asks;
    REQUIRE(asks.note(kPair, 0));
    const auto fourth = [&] {
        std::vector<bool> counts;
        for (int i = 0; i < 6; ++i)
            counts.push_back(asks.on_unknown(kPair, 0));
        return counts;
    };
    CHECK(fourth() == std::vector<bool>{false, false, false, true, false, false});
    asks.restart(0);
    CHECK(fourth() == std::vector<bool>{false, false, false, true, false, false});
    CHECK_FALSE(asks.on_unknown({"vm1", "other"}, 0));
}

TEST_CASE("an address that is not known is forgotten a minute after its last frame, a known one is not") {
    PeerAsks asks;
    REQUIRE(asks.note(kPair, 0));
    REQUIRE(asks.note({"vm2", kPair.mac}, 0));
    asks.set_known({"vm2", kPair.mac}, true);
    (void)asks.due(60 * kSec, 10);
    CHECK(asks.pairs().size() == 2);
    (void)asks.due(60 * kSec + 1, 10);
    CHECK(asks.pairs().size() == 1);
    asks.restart(1'000 * kSec);  // its frames were counted all the time
    (void)asks.due(1'060 * kSec, 10);
    CHECK(asks.pairs().size() == 1);
}

TEST_CASE("of 4,096 addresses each has its turn, and there is no room for another") {
    PeerAsks asks;
    const auto pair = [](std::size_t i) {
        return PeerPair{"vm" + std::to_string(i / PeerAsks::kUnknownMax), std::to_string(i)};
    };
    for (std::size_t i = 0; i < PeerAsks::kPairsMax; ++i)
        REQUIRE(asks.note(pair(i), 0));
    CHECK_FALSE(asks.note({"vm99", "another"}, 0));
    CHECK(asks.note(pair(17), 0));
    std::set<PeerPair> asked;
    for (int i = 0; i < 41; ++i)
        for (const PeerPair& each : asks.due(1, 100))
            CHECK(asked.insert(each).second);
    CHECK(asked.size() == PeerAsks::kPairsMax);
}

TEST_CASE("a guest that sends to many addresses takes 64 places, and more as they are known") {
    PeerAsks asks;
    for (std::size_t i = 0; i < 1'000; ++i)
        CHECK(asks.note({"vm1", std::to_string(i)}, 0) == (i < PeerAsks::kUnknownMax));
    CHECK(asks.note({"vm2", "1"}, 0));
    asks.set_known({"vm1", "5"}, true);
    CHECK(asks.note({"vm1", "2000"}, 0));
    CHECK_FALSE(asks.note({"vm1", "2001"}, 0));
}
