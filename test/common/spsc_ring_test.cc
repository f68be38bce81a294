// spsc_ring_test.cc - all events arrive, once and in order.
#include "common/spsc_ring.h"

#include <cstdint>
#include <thread>

#include "test/support/catch.h"

using namespace weir;

TEST_CASE("a ring of 4 holds 4 events; push() fails when it is full, pop() when it is empty") {
    SpscRing<int, 4> ring;
    int value = -1;
    CHECK_FALSE(ring.pop(value));
    CHECK(value == -1);
    for (int i = 0; i < 4; ++i)
        CHECK(ring.push(i));
    CHECK_FALSE(ring.push(4));
    for (int i = 0; i < 4; ++i) {
        REQUIRE(ring.pop(value));
        CHECK(value == i);
    }
    CHECK_FALSE(ring.pop(value));
}

TEST_CASE("two threads: every event arrives once and in order") {
    constexpr std::uint64_t kEvents = 300'000;
    SpscRing<std::uint64_t, 64> ring;
    std::thread writer([&] {
        for (std::uint64_t i = 0; i < kEvents;) {
            if (ring.push(i))
                ++i;
            else
                std::this_thread::yield();
        }
    });
    std::uint64_t expected = 0;
    bool sound = true;
    while (expected != kEvents) {
        std::uint64_t event = 0;
        if (!ring.pop(event)) {
            std::this_thread::yield();
            continue;
        }
        sound &= event == expected;
        ++expected;
    }
    writer.join();
    CHECK(sound);
}
