// mac_table_test.cc - static and learned addresses, aging by a clock of our own, and the cache's honesty.
#include "vswitch/datapath/vnic/mac_table.h"

#include "test/support/catch.h"
#include "test/support/eal_fixture.h"
#include "test/support/frames.h"
#include "vswitch/base/limits.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr Nanos kAging = 300 * kNanosPerSec;

struct Table {
    explicit Table(WorkerId id = 0) : macs((buffer_pool(), id), kAging, &updates) {}
    MacUpdateRing updates;
    MacTable macs;
    /// Looks at every entry once.
    void age_all(Nanos now) {
        for (std::uint32_t i = 0; i < 2 * limits::kMacEntriesMax / 8; ++i)
            macs.age(now);
    }
};

constexpr MacKey kKey = mac_key(mac(1), 10);

}  // namespace

TEST_CASE("no address is known at first, and VLANs are worlds apart") {
    Table table;
    CHECK(table.macs.find(kKey) == kNowhere);
    table.macs.set_static(kKey, 5);
    CHECK(table.macs.find(kKey) == 5);
    CHECK(table.macs.find(mac_key(mac(1), 11)) == kNowhere);
    CHECK(table.macs.size() == 1);
}

TEST_CASE("a static address is not taken away by claiming it") {
    Table table;
    table.macs.set_static(kKey, 5);
    table.macs.learn(kKey, kToUplink, 0);
    table.macs.on_update({kKey, 6}, 0);
    CHECK(table.macs.find(kKey) == 5);
    MacUpdate update{};
    CHECK_FALSE(table.updates.pop(update));
}

TEST_CASE("a static address wins over what was learned before") {
    Table table;
    table.macs.learn(kKey, kToUplink, 0);
    CHECK(table.macs.find(kKey) == kToUplink);
    table.macs.set_static(kKey, 5);
    CHECK(table.macs.find(kKey) == 5);
    table.macs.learn(kKey, kToUplink, 0);
    CHECK(table.macs.find(kKey) == 5);
}

TEST_CASE("an address that its vNIC gave away is learned elsewhere, ages there, and is taken back at once") {
    Table table;
    table.macs.set_static(kKey, 5);
    table.macs.learn(kKey, kToUplink, 0);  // refused, and not looked at again for a second
    CHECK(table.macs.find(kKey) == 5);
    table.macs.give_away(kKey);
    CHECK(table.macs.find(kKey) == kNowhere);
    CHECK(table.macs.find_or_home(kKey) == 5);
    SECTION("learned on the wire") {
        table.macs.learn(kKey, kToUplink, 0);
    }
    SECTION("learned by another worker") {
        table.macs.on_update({kKey, kToUplink}, 0);
    }
    CHECK(table.macs.find(kKey) == kToUplink);
    CHECK(table.macs.find_or_home(kKey) == kToUplink);
    CHECK(table.macs.size() == 1);
    table.age_all(2 * kAging);
    CHECK(table.macs.find(kKey) == kNowhere);
    CHECK(table.macs.find_or_home(kKey) == 5);
    table.macs.learn(kKey, 6, 2 * kAging);
    CHECK(table.macs.find(kKey) == 6);
    table.macs.forget(6);
    CHECK(table.macs.find(kKey) == kNowhere);
    table.macs.learn(kKey, 6, 2 * kAging);
    table.macs.set_static(kKey, 5);
    CHECK(table.macs.find(kKey) == 5);
    table.macs.learn(kKey, kToUplink, 2 * kAging);
    CHECK(table.macs.find(kKey) == 5);
    table.macs.give_away(kKey);
    table.macs.learn(kKey, kToUplink, 2 * kAging);
    table.macs.remove(kKey);
    CHECK(table.macs.find_or_home(kKey) == kNowhere);
    CHECK(table.macs.size() == 0);
}

TEST_CASE(
    "addresses that were given away and learned count as learned, and no longer when they are taken back") {
    Table table;
    for (std::uint32_t round = 0; round < 3; ++round) {
        for (std::uint64_t i = 0; i < limits::kMacLearnedVnic; ++i) {
            table.macs.set_static(mac_key(i << 8, 10), 7);
            table.macs.give_away(mac_key(i << 8, 10));
            table.macs.learn(mac_key(i << 8, 10), 3, 0);
            REQUIRE(table.macs.find(mac_key(i << 8, 10)) == 3);
        }
        table.macs.learn(mac_key(0xFF'FF00, 10), 3, 0);
        CHECK(table.macs.find(mac_key(0xFF'FF00, 10)) == kNowhere);
        for (std::uint64_t i = 0; i < limits::kMacLearnedVnic; ++i)
            table.macs.set_static(mac_key(i << 8, 10), 7);
    }
}

TEST_CASE("what is no vNIC's fixed address cannot be given away") {
    Table table;
    table.macs.give_away(kKey);
    CHECK(table.macs.size() == 0);
    table.macs.learn(kKey, 4, 0);
    table.macs.give_away(kKey);
    CHECK(table.macs.find(kKey) == 4);
}

TEST_CASE("a learned address moves at once, cached or not, and each move is passed on once") {
    Table table;
    for (const Destination where : {Destination{3}, Destination{4}, kToUplink, Destination{3}}) {
        table.macs.learn(kKey, where, 0);
        CHECK(table.macs.find(kKey) == where);
        table.macs.learn(kKey, where, 0);
        MacUpdate update{};
        REQUIRE(table.updates.pop(update));
        CHECK(update.key == kKey);
        CHECK(update.destination == where);
        CHECK_FALSE(table.updates.pop(update));
    }
}

TEST_CASE("an update of another worker is known and not passed on again") {
    Table table;
    table.macs.on_update({kKey, 9}, 0);
    CHECK(table.macs.find(kKey) == 9);
    MacUpdate update{};
    CHECK_FALSE(table.updates.pop(update));
}

TEST_CASE("a learned address unseen for the aging time is forgotten, one that is seen is not") {
    Table table;
    const MacKey quiet = mac_key(mac(2), 10);
    table.macs.set_static(mac_key(mac(3), 10), 3);
    table.macs.learn(kKey, kToUplink, 0);
    table.macs.learn(quiet, kToUplink, 0);
    for (Nanos now = 0; now < kAging; now += kNanosPerSec)
        table.macs.learn(kKey, kToUplink, now);
    table.age_all(kAging - 1);
    CHECK(table.macs.size() == 3);
    table.age_all(kAging);
    CHECK(table.macs.find(quiet) == kNowhere);
    CHECK(table.macs.find(kKey) == kToUplink);
    table.age_all(3 * kAging);
    CHECK(table.macs.find(kKey) == kNowhere);
    CHECK(table.macs.find(mac_key(mac(3), 10)) == 3);
    CHECK(table.macs.size() == 1);
}

TEST_CASE("an address that aged out is learned again at its next frame") {
    Table table;
    table.macs.learn(kKey, kToUplink, 0);
    table.age_all(kAging);
    CHECK(table.macs.find(kKey) == kNowhere);
    table.macs.learn(kKey, kToUplink, kAging);
    CHECK(table.macs.find(kKey) == kToUplink);
}

TEST_CASE("forgetting a destination forgets what was learned there and nothing else") {
    Table table;
    for (unsigned i = 0; i < 200; ++i)
        table.macs.learn(mac_key(mac(i), 10), static_cast<Destination>(i % 2), 0);
    CHECK(table.macs.find(kKey) == 1);
    table.macs.forget(1);
    CHECK(table.macs.size() == 100);
    CHECK(table.macs.find(kKey) == kNowhere);
    CHECK(table.macs.find(mac_key(mac(2), 10)) == 0);
    table.macs.learn(kKey, 1, 0);
    CHECK(table.macs.find(kKey) == 1);
}

TEST_CASE("the cache never answers for an address that was removed or has collided") {
    Table table;
    // 20,000 addresses share 4096 cache slots.
    constexpr std::uint64_t kMany = 20'000;
    for (std::uint64_t i = 0; i < kMany; ++i)
        table.macs.learn(mac_key(i << 8, 0), static_cast<Destination>(i % 1000), 0);
    std::uint64_t wrong = 0;
    for (int round = 0; round < 2; ++round)
        for (std::uint64_t i = 0; i < kMany; ++i)
            wrong += table.macs.find(mac_key(i << 8, 0)) != i % 1000;
    for (std::uint64_t i = 0; i < kMany; i += 2)
        table.macs.remove(mac_key(i << 8, 0));
    for (std::uint64_t i = 0; i < kMany; ++i)
        wrong += table.macs.find(mac_key(i << 8, 0)) != (i % 2 == 0 ? kNowhere : i % 1000);
    CHECK(wrong == 0);
}

TEST_CASE("what is learned is bounded for the wire, for each vNIC and in all, and forgets no other address") {
    Table table;
    auto claim = [&table, next = std::uint64_t{0}](Destination at, std::uint32_t addresses) mutable {
        const std::uint32_t before = table.macs.size();
        for (std::uint32_t i = 0; i < addresses; ++i)
            table.macs.learn(mac_key(next++ << 8, 1), at, 0);
        return table.macs.size() - before;
    };
    table.macs.set_static(kKey, 5);
    table.macs.learn(mac_key(mac(9), 1), 7, 0);
    CHECK(claim(kToUplink, 2 * limits::kMacLearnedWire) == limits::kMacLearnedWire);
    CHECK(claim(7, 2 * limits::kMacLearnedVnic) == limits::kMacLearnedVnic - 1);
    CHECK(claim(8, 100) == 100);
    for (Destination vnic = 100; vnic < 110; ++vnic)
        claim(vnic, limits::kMacLearnedVnic);
    CHECK(table.macs.size() == 1 + limits::kMacLearnedMax);
    CHECK(table.macs.find(kKey) == 5);
    CHECK(table.macs.find(mac_key(0, 1)) == kToUplink);
    CHECK(table.macs.find(mac_key(mac(9), 1)) == 7);
    table.age_all(kAging);
    CHECK(table.macs.size() == 1);
    table.macs.learn(mac_key(mac(9), 1), 7, kAging);
    CHECK(table.macs.find(mac_key(mac(9), 1)) == 7);
    CHECK(claim(kToUplink, 100) == 100);
}

TEST_CASE("every vNIC's own address finds room, however much was learned before") {
    Table table;
    std::uint64_t next = 0;
    for (Destination vnic = 0; vnic < 20; ++vnic)
        for (std::uint32_t i = 0; i < limits::kMacLearnedVnic; ++i)
            table.macs.learn(mac_key(next++ << 8, 1), vnic, 0);
    for (VnicId vnic = 0; vnic < limits::kVnicsMax; ++vnic)
        table.macs.set_static(mac_key(std::uint64_t{vnic} << 8, 2), vnic);
    std::uint32_t unknown = 0;
    for (VnicId vnic = 0; vnic < limits::kVnicsMax; ++vnic)
        unknown += table.macs.find(mac_key(std::uint64_t{vnic} << 8, 2)) != vnic;
    CHECK(unknown == 0);
    CHECK(table.macs.size() == limits::kVnicsMax + limits::kMacLearnedMax);
}

TEST_CASE("an address moves only to where there is room, and its old place is free then") {
    Table table;
    for (std::uint64_t i = 0; i < limits::kMacLearnedVnic; ++i)
        table.macs.learn(mac_key(i << 8, 1), 7, 0);
    table.macs.learn(kKey, 8, 0);
    table.macs.learn(kKey, 7, 0);  // vNIC 7 is full
    CHECK(table.macs.find(kKey) == 8);
    table.macs.learn(mac_key(0, 1), 8, 0);
    CHECK(table.macs.find(mac_key(0, 1)) == 8);
    table.macs.learn(kKey, 7, kNanosPerSec);
    CHECK(table.macs.find(kKey) == 7);
}

TEST_CASE("an address that keeps sending is posted to the others again before they forget it") {
    Table table;
    Table other(1);
    MacUpdate update{};
    unsigned posted = 0;
    for (Nanos now = 0; now < 4 * kAging; now += kNanosPerSec) {
        table.macs.learn(kKey, 3, now, 9);
        for (; table.updates.pop(update); ++posted) {
            CHECK(update.generation == 9);
            other.macs.on_update(update, now);
        }
        if (now % (10 * kNanosPerSec) == 0)
            other.age_all(now);
        REQUIRE(other.macs.find(kKey) == 3);
    }
    CHECK(posted == 16);  // every 75 s
    CHECK_FALSE(other.updates.pop(update));
    // Silent since: it ages where it was seen, and then elsewhere.
    const Nanos silent = 4 * kAging - kNanosPerSec;
    table.age_all(silent + kAging);
    other.age_all(silent + kAging - 75 * kNanosPerSec);
    CHECK(table.macs.find(kKey) == kNowhere);
    CHECK(other.macs.find(kKey) == 3);
    other.age_all(silent + kAging + kAging / 4);
    CHECK(other.macs.find(kKey) == kNowhere);
}

TEST_CASE("what found no room in the ring is posted when there is room, without another frame") {
    Table table;
    constexpr std::uint64_t kMany = 3000;
    for (std::uint64_t i = 0; i < kMany; ++i)
        table.macs.learn(mac_key(i << 8, 1), 3, 0);
    MacUpdate update{};
    std::uint64_t posted = 0;
    for (; table.updates.pop(update); ++posted) {
    }
    CHECK(posted == 1024);
    for (unsigned round = 0; round < 3; ++round) {
        table.age_all(1);
        for (; table.updates.pop(update); ++posted) {
        }
    }
    CHECK(posted == kMany);
    table.age_all(2);
    CHECK_FALSE(table.updates.pop(update));
}

TEST_CASE("an address that sends again is posted 10 ms after the ring was full") {
    Table table;
    for (std::uint64_t i = 0; i < 1024; ++i)
        table.macs.learn(mac_key(i << 8, 1), 3, 0);
    table.macs.learn(kKey, 4, 0);
    MacUpdate update{};
    while (table.updates.pop(update))
        REQUIRE(update.key != kKey);
    table.macs.learn(kKey, 4, 9'000'000);
    CHECK_FALSE(table.updates.pop(update));
    table.macs.learn(kKey, 4, 10'000'000);
    REQUIRE(table.updates.pop(update));
    CHECK(update.key == kKey);
}
