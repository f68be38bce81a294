// used_cycles_test.cc - long spans with and without the core. Source: docs/algorithms.md 3.5. Units: cycles.
#include "vswitch/datapath/vnic/used_cycles.h"

#include "test/support/catch.h"
#include "test/support/random.h"

using namespace weir;

namespace {
constexpr std::uint64_t kBelieved = UsedCycles::kBelieved;
}

TEST_CASE("time without the core is taken off a long span") {
    UsedCycles used;
    CHECK(used.of(5'000'000, 100'000'000, 90'000'000) == kBelieved);  // nothing is known before the first
    CHECK(used.of(9'000'000, 130'000'000, 118'000'000) == 7'000'000);
    CHECK(used.of(9'000'000, 140'000'000, 128'000'000) == 9'000'000);
    CHECK(used.of(9'000'000, 150'000'000, 128'500'000) == kBelieved);
    CHECK(used.of(9'000'000, 160'000'000, 139'000'000) == 9'000'000);  // the clocks may differ by rounding
}

TEST_CASE("no span is billed beyond what was used in it and what is believed") {
    testing::Random32 random(1);
    const auto below = [&random](std::uint32_t end) { return random() % end; };
    for (int run = 0; run < 1000; ++run) {
        UsedCycles used;
        std::uint64_t now = below(1'000'000'000);
        std::uint64_t own = now / 2;
        for (int i = 0; i < 100; ++i) {
            const auto pass = [&](std::uint64_t cycles, unsigned percent) {
                now += cycles;
                const std::uint64_t ran = cycles * percent / 100;
                own += ran;
                return ran;
            };
            pass(below(10'000'000), below(101));
            const std::uint64_t cycles = kBelieved + 1 + below(50'000'000);
            const std::uint64_t ran = pass(cycles, below(101));
            const std::uint64_t billed = used.of(cycles, now, own);
            REQUIRE(billed >= kBelieved);
            REQUIRE(billed <= std::max(kBelieved, ran + 1));
        }
    }
}
