// mac_table_test.cc - static and learned addresses, ageing by a clock of our own, and the cache's honesty.
#include "vswitch/datapath/mac_table.h"

#include "test/support/catch.h"
#include "test/support/eal_fixture.h"
#include "test/support/frames.h"
#include "vswitch/limits.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr Nanos kAgeing = 300 * kNanosPerSec;

struct Table {
    MacUpdateRing updates;
    MacTable macs{(buffer_pool(), WorkerId{0}), kAgeing, &updates};
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

TEST_CASE("a learned address unseen for the ageing time is forgotten, one that is seen is not") {
    Table table;
    const MacKey quiet = mac_key(mac(2), 10);
    table.macs.set_static(mac_key(mac(3), 10), 3);
    table.macs.learn(kKey, kToUplink, 0);
    table.macs.learn(quiet, kToUplink, 0);
    for (Nanos now = 0; now < kAgeing; now += kNanosPerSec)
        table.macs.learn(kKey, kToUplink, now);
    table.age_all(kAgeing - 1);
    CHECK(table.macs.size() == 3);
    table.age_all(kAgeing);
    CHECK(table.macs.find(quiet) == kNowhere);
    CHECK(table.macs.find(kKey) == kToUplink);
    table.age_all(3 * kAgeing);
    CHECK(table.macs.find(kKey) == kNowhere);
    CHECK(table.macs.find(mac_key(mac(3), 10)) == 3);
    CHECK(table.macs.size() == 1);
}

TEST_CASE("an address that aged out is learned again at its next frame") {
    Table table;
    table.macs.learn(kKey, kToUplink, 0);
    table.age_all(kAgeing);
    CHECK(table.macs.find(kKey) == kNowhere);
    table.macs.learn(kKey, kToUplink, kAgeing);
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

TEST_CASE("a full table forgets no address and learns none") {
    Table table;
    table.macs.set_static(kKey, 5);
    for (std::uint64_t i = 0; i < limits::kMacEntriesMax + 1000; ++i)
        table.macs.learn(mac_key(i << 8, 1), kToUplink, 0);
    const std::uint32_t full = table.macs.size();
    CHECK(full <= limits::kMacEntriesMax + 1000);
    CHECK(full >= limits::kMacEntriesMax);
    CHECK(table.macs.find(kKey) == 5);
    CHECK(table.macs.find(mac_key(0, 1)) == kToUplink);
    table.age_all(kAgeing);
    CHECK(table.macs.size() == 1);
    table.macs.learn(mac_key(mac(9), 1), 7, kAgeing);
    CHECK(table.macs.find(mac_key(mac(9), 1)) == 7);
}
