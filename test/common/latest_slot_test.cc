// latest_slot_test.cc - the newest value arrives whole; older values may be skipped.
#include "common/latest_slot.h"

#include <array>
#include <thread>

#include "test/support/catch.h"

using namespace weir;

TEST_CASE("a slot gives the newest value once") {
    LatestSlot<int> slot;
    CHECK(slot.take() == nullptr);
    slot.publish(1);
    slot.publish(2);
    const int* const value = slot.take();
    REQUIRE(value != nullptr);
    CHECK(*value == 2);
    CHECK(slot.take() == nullptr);
    slot.publish(3);
    CHECK(*slot.take() == 3);
}

TEST_CASE("two threads: every value taken is whole and newer than the last") {
    constexpr std::uint64_t kLast = 200'000;
    using Table = std::array<std::uint64_t, 16>;
    LatestSlot<Table> slot;
    std::thread writer([&] {
        for (std::uint64_t i = 1; i <= kLast; ++i) {
            Table t;
            t.fill(i);
            slot.publish(t);
        }
    });
    std::uint64_t last = 0;
    bool sound = true;
    while (last != kLast) {
        const Table* const t = slot.take();
        if (t == nullptr)
            continue;
        for (const std::uint64_t v : *t)
            sound &= v == t->front();
        sound &= t->front() > last;
        last = t->front();
    }
    writer.join();
    CHECK(sound);
}
