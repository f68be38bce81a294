// wrr_scheduler_test.cc - reservation, then shares, under limits; by worked numbers.
#include "vswitch/qos/wrr_scheduler.h"

#include "test/qos/link_harness.h"
#include "test/support/catch.h"

using namespace weir;
using weir::testing::LinkHarness;
using weir::testing::Source;

namespace {

constexpr std::uint64_t kGbit = 125'000'000;
constexpr Nanos kMs = 1'000'000;
constexpr Nanos kUs = 1000;

ClassProfile shares(std::uint32_t n) {
    return {.shares = n};
}
ClassProfile reserved(std::uint64_t rate, std::uint32_t n = 100) {
    return {.reservation = rate, .shares = n};
}

}  // namespace

TEST_CASE("V2 on the link: 1000 Mbit over (100,300,1) (400,-,1) (0,150,2) (0,-,4) is 100, 400, 150, 350") {
    const std::uint64_t mbit = 125'000;
    LinkHarness h(1000 * mbit,
                  {Source{.profile = reserved(100 * mbit, 1), .limit = 300 * mbit},
                   Source{.profile = reserved(400 * mbit, 1)},
                   Source{.profile = shares(2), .limit = 150 * mbit}, Source{.profile = shares(4)}});
    h.run(50 * kMs, 2 * kUs);
    h.forget();
    h.run(500 * kMs, 2 * kUs);
    const std::array<double, 4> expected{100, 400, 150, 350};
    for (std::size_t i = 0; i < 4; ++i)
        CHECK(h.rate(i) / static_cast<double>(mbit) == Approx(expected[i]).epsilon(0.01));
}

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

TEST_CASE("a reserved packet waits for nobody while the others flood") {
    LinkHarness h(kGbit,
                  {Source{.profile = reserved(kGbit / 2), .greedy = false}, Source{.frame = 88}, Source{}});
    h.run(10 * kMs, kUs);
    h.sources[0].delay_max = 0;
    for (int i = 0; i < 2000; ++i) {  // 0.25 Gbit/s in single frames
        REQUIRE(h.offer(0));
        h.run(49 * kUs, kUs);
    }
    CHECK(h.sources[0].sent == 2000 * 1538);
    CHECK(h.sources[0].delay_max == 0);
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

TEST_CASE("a flood before it was contested costs a class at most one burst of its reservation") {
    LinkHarness h(
        kGbit, {Source{.profile = reserved(kGbit / 2, 1)}, Source{.profile = shares(1000), .greedy = false}});
    h.run(kNanosPerSec, 5 * kUs);  // alone: twice its reservation
    h.sources[1].greedy = true;
    h.forget();
    h.run(20 * kMs, kUs);
    const std::uint64_t promised = kGbit / 2 / 50;
    CHECK(h.sources[0].sent + burst_for_rate(kGbit / 2) + 2 * 1538 >= promised);
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

TEST_CASE("an idle class's reservation is lent to the others and there again when it returns") {
    LinkHarness h(kGbit, {Source{.profile = reserved(kGbit * 8 / 10), .greedy = false}, Source{}});
    h.run(50 * kMs, kUs);
    CHECK(h.rate(1) / kGbit == Approx(1).epsilon(0.005));
    h.sources[0].greedy = true;
    h.run(2 * kMs, kUs);  // it starts with a full bucket
    h.forget();
    h.run(50 * kMs, kUs);
    CHECK(h.rate(0) / kGbit == Approx(0.8).epsilon(0.02));
    CHECK(h.rate(1) / kGbit == Approx(0.2).epsilon(0.05));
}

TEST_CASE("a change of shares counts at once") {
    LinkHarness h(kGbit, {Source{.profile = shares(100)}, Source{.profile = shares(100)}});
    h.run(20 * kMs, kUs);
    h.link->change(0, shares(300), h.now);
    h.forget();
    h.run(200 * kMs, kUs);
    CHECK(h.rate(0) / h.rate(1) == Approx(3).epsilon(0.01));
}

TEST_CASE("next_ready is when the next packet leaves, not later") {
    LinkHarness h(kGbit, {Source{}, Source{.profile = reserved(kGbit / 10)}});
    h.run(10 * kMs, kUs);
    for (int i = 0; i < 1000; ++i) {
        const Nanos at = h.link->next_ready(h.now);
        REQUIRE(at >= h.now);
        REQUIRE(at <= h.now + 13 * kUs);
        if (at > h.now + 1) {
            const Nanos jump = at - 1 - h.now;
            h.now += jump;
            REQUIRE(h.poll(0) == 0);
            h.now += 1;
        }
        h.run(1, 1);
    }
}

TEST_CASE("1000 classes of which all are busy share alike") {
    std::vector<Source> sources(1000, Source{.profile = {.queue_bytes_max = 20'000}});
    LinkHarness h(100 * kGbit, std::move(sources));
    h.run(20 * kMs, 20 * kUs);
    h.forget();
    h.run(200 * kMs, 20 * kUs);
    for (std::size_t i = 0; i < 1000; ++i)
        REQUIRE(h.rate(i) / (0.1 * kGbit) == Approx(1).epsilon(0.01));
}
