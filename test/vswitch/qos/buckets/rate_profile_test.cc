// rate_profile_test.cc - fixed point is fine enough, default bursts keep their promises.
#include "vswitch/qos/buckets/rate_profile.h"

#include "test/support/catch.h"

using namespace weir;

TEST_CASE("a 64-byte frame at 100 Gbit/s is priced within 0.1 % of 5.12 ns") {
    const FineTime price = make_profile(12'500'000'000, 0).price(64);
    CHECK(static_cast<double>(price) / 128 == Approx(5.12).epsilon(0.001));
}

TEST_CASE("a price is linear in the cost to half a tick, at every rate from 1/s to 1 Tbit/s") {
    for (std::uint64_t rate = 1; rate <= 125'000'000'000; rate *= 7) {
        const BucketProfile p = make_profile(rate, 1);
        for (const std::uint32_t cost : {1U, 64U, 1524U, 66'000U}) {
            const double exact = 128e9 * cost / static_cast<double>(rate);
            REQUIRE(static_cast<double>(p.price(cost)) == Approx(exact).epsilon(1e-6).margin(0.51));
        }
    }
}

TEST_CASE("no rate is parked, an absurd rate is unlimited, no burst is pure pacing") {
    CHECK(make_profile(0, 1000).parked());
    CHECK_FALSE(make_profile(0, 1000).unlimited());
    CHECK(make_profile(UINT64_MAX, 0).unlimited());
    CHECK_FALSE(unlimited_profile().parked());
    CHECK_FALSE(make_profile(1000, 0).parked());
    CHECK(make_profile(1000, 0).burst_time == 1);
}

TEST_CASE("the default burst and a super-frame stay under 1 % of a second's bytes at 100 Mbit/s") {
    const std::uint64_t rate = 12'500'000;
    CHECK(burst_for_rate(rate) == 50'000);
    CHECK(std::max<std::uint64_t>(burst_for_rate(rate), 65'536 + 44 * 78) < rate / 100);
}

TEST_CASE("default bursts grow with the rate and never fall below two frames") {
    CHECK(burst_for_rate(0) == 2 * 1538);
    CHECK(burst_for_rate(12'500) == 2 * 1538);
    CHECK(burst_for_rate(25'000'000) == 65'536);
    CHECK(burst_for_rate(1'250'000'000) == 1'250'000);
    CHECK(burst_for_packet_rate(100) == 2);
    CHECK(burst_for_packet_rate(1'000'000) == 4000);
    CHECK(burst_for_link(125'000'000) == 12'500);
}
