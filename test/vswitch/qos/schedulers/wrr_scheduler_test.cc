// wrr_scheduler_test.cc - reservation, then shares, under limits; by worked numbers.
#include "vswitch/qos/schedulers/wrr_scheduler.h"

#include "test/support/catch.h"
#include "test/vswitch/qos/schedulers/link_harness.h"

using namespace weir;
using namespace weir::testing;

TEST_CASE("shares 1:2:5 divide the link within 1 %, whatever the frame sizes") {
    LinkHarness h(10 * kGbit, {Source{.profile = shares(100), .frame = 88}, Source{.profile = shares(200)},
                               Source{.profile = shares(500), .frame = 9000}});
    h.run(100 * kMs, 2 * kUs);
    const double unit = 10.0 * kGbit / 8;
    CHECK(h.rate(0) / unit == Approx(1).epsilon(0.01));
    CHECK(h.rate(1) / unit == Approx(2).epsilon(0.01));
    CHECK(h.rate(2) / unit == Approx(5).epsilon(0.01));
}

TEST_CASE("shares 1:1000 and super-frames: quanta smaller than packets still divide exactly") {
    LinkHarness h(10 * kGbit, {Source{.profile = shares(1), .frame = 66'000},
                               Source{.profile = shares(1), .frame = 88}, Source{.profile = shares(998)}});
    h.run(kNanosPerSec, 10 * kUs);
    CHECK(h.rate(1) / h.rate(2) == Approx(1.0 / 998).epsilon(0.02));
    CHECK(h.rate(0) / h.rate(1) == Approx(1).epsilon(0.1));
    h.sources[2].greedy = false;
    h.run(kMs, 10 * kUs);
    h.forget();
    h.run(100 * kMs, 10 * kUs);
    CHECK(h.rate(0) / h.rate(1) == Approx(1).epsilon(0.01));
}

TEST_CASE("the link's rate is exact although reservations overdraw it") {
    LinkHarness h(kGbit, {Source{.profile = reserved(kGbit * 6 / 10), .greedy = false}, Source{}});
    h.run(10 * kMs, kUs);
    h.forget();
    for (int i = 0; i < 200; ++i) {
        for (int k = 0; k < 24; ++k)  // bursts of 37 kB every 0.5 ms: 0.59 Gbit/s
            REQUIRE(h.offer(0));
        h.run(500 * kUs, kUs);
    }
    const double total = h.rate(0) + h.rate(1);
    CHECK(total / kGbit == Approx(1).epsilon(0.005));
    CHECK(h.sources[0].delay_max <= 2 * kUs);
}

TEST_CASE("reservations over the capacity get the same fraction each; raising the capacity restores them") {
    LinkHarness h(kGbit, {Source{.profile = reserved(kGbit * 3 / 2, 1)},
                          Source{.profile = reserved(kGbit / 2, 900)}, Source{}});
    h.run(100 * kMs, 2 * kUs);
    h.forget();
    h.run(300 * kMs, 2 * kUs);
    CHECK(h.rate(0) / kGbit == Approx(0.75).epsilon(0.02));
    CHECK(h.rate(1) / kGbit == Approx(0.25).epsilon(0.03));
    h.link->set_capacity(4 * kGbit, h.now);
    h.run(100 * kMs, 2 * kUs);
    h.forget();
    h.run(300 * kMs, 2 * kUs);
    CHECK(h.rate(0) / kGbit == Approx(1.5).epsilon(0.01));
    CHECK(h.rate(1) / kGbit > 0.5);
}

TEST_CASE("a reservation that was backlogged before there was any capacity counts once there is") {
    LinkHarness h(0, {Source{.profile = reserved(kGbit * 8 / 10, 1)}, Source{.profile = shares(1000)}});
    h.run(kMs, kUs);
    REQUIRE(h.sources[0].sent == 0);
    h.link->set_capacity(kGbit, h.now);
    h.run(2 * kMs, kUs);
    h.forget();
    h.run(50 * kMs, kUs);
    CHECK(h.rate(0) / kGbit == Approx(0.8).epsilon(0.02));
}
