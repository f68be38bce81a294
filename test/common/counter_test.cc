// counter_test.cc - a reader sees a counter only grow, and no half-written value.
#include <thread>

#include "common/metrics.h"
#include "test/support/catch.h"

using namespace weir;

TEST_CASE("a counter adds and can be set") {
    Counter c;
    c.add(3);
    c.add(4);
    CHECK(c.value() == 7);
    c.set(1);
    CHECK(c.value() == 1);
}

TEST_CASE("two threads: a reader sees a counter only grow, by whole steps") {
    constexpr std::uint64_t kStep = 0x1'0000'0001;
    constexpr std::uint64_t kSteps = 200'000;
    Counter c;
    std::thread writer([&] {
        for (std::uint64_t i = 0; i < kSteps; ++i)
            c.add(kStep);
    });
    std::uint64_t last = 0;
    bool sound = true;
    while (last != kSteps * kStep) {
        const std::uint64_t seen = c.value();
        sound &= seen >= last && seen % kStep == 0;
        last = seen;
    }
    writer.join();
    CHECK(sound);
}

TEST_CASE("two threads: snapshots of a histogram never go backwards") {
    constexpr std::uint64_t kValues = 100'000;
    Histogram h;
    std::thread writer([&] {
        for (std::uint64_t i = 0; i < kValues; ++i)
            h.add(i);
    });
    std::uint64_t last = 0;
    bool sound = true;
    while (last != kValues) {
        const std::uint64_t seen = h.snapshot().count();
        sound &= seen >= last;
        last = seen;
    }
    writer.join();
    CHECK(sound);
}
