// scheduler_property_test.cc - the properties of every scheduler: worked numbers, and seeded random mixes of
// classes, each judged by its invariants.
#include <algorithm>

#include "common/water_fill.h"
#include "test/support/catch.h"
#include "test/support/random.h"
#include "test/support/sanitized.h"
#include "test/vswitch/qos/schedulers/link_harness.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr Nanos kStep = 2000;

/// The case is run once for each.
std::string_view every_scheduler() {
    return kSchedulers[GENERATE(range(std::size_t{0}, kSchedulers.size()))].name;
}

std::vector<Source> random_mix(weir::testing::Random32& random, std::uint64_t capacity) {
    std::vector<Source> mix(2 + random() % 7);
    constexpr std::array<std::uint32_t, 4> kFrames{88, 300, 1538, 9000};
    for (Source& s : mix) {
        s.profile.shares = 50 + random() % 500;
        s.profile.reservation = random() % 2 == 0 ? capacity / (10 + random() % 40) : 0;
        if (random() % 3 == 0)  // a limit rules over a reservation; configurations keep them in order
            s.limit = std::max(s.profile.reservation, capacity / (4 + random() % 30));
        s.frame = kFrames[random() % kFrames.size()];
    }
    return mix;
}

/// A bucket that the link's departures are poured into, and that drains at `rate`, in bytes/s: `highest` is
/// the most bytes beyond the rate that left in any window.
struct Overflow {
    double rate;
    double level = 0;
    double highest = 0;

    void pour(std::uint64_t bytes, Nanos step) {
        level += static_cast<double>(bytes);
        highest = std::max(highest, level);
        level = std::max(0.0, level - rate * static_cast<double>(step) * 1e-9);
    }
};

/// How far a class's service may lag behind its reservation while it is backlogged.
struct Lag {
    double owed = 0;
    double worst = 0;

    void step(bool backlogged, double earned, std::uint64_t sent) {
        owed = backlogged ? std::max(0.0, owed + earned - static_cast<double>(sent)) : 0;
        worst = std::max(worst, owed);
    }
};

}  // namespace

TEST_CASE("V2 on the link: 1000 Mbit over (100,300,1) (400,-,1) (0,150,2) (0,-,4) is 100, 400, 150, 350") {
    const std::string_view scheduler = every_scheduler();
    INFO(scheduler);
    const std::uint64_t mbit = 125'000;
    LinkHarness h(1000 * mbit,
                  {Source{.profile = reserved(100 * mbit, 1), .limit = 300 * mbit},
                   Source{.profile = reserved(400 * mbit, 1)},
                   Source{.profile = shares(2), .limit = 150 * mbit}, Source{.profile = shares(4)}},
                  scheduler);
    h.run(50 * kMs, 2 * kUs);
    h.forget();
    h.run(500 * kMs, 2 * kUs);
    const std::array<double, 4> expected{100, 400, 150, 350};
    for (std::size_t i = 0; i < 4; ++i)
        CHECK(h.rate(i) / static_cast<double>(mbit) == Approx(expected[i]).epsilon(0.01));
}

TEST_CASE("a change of shares counts at once") {
    const std::string_view scheduler = every_scheduler();
    INFO(scheduler);
    LinkHarness h(kGbit, {Source{.profile = shares(100)}, Source{.profile = shares(100)}}, scheduler);
    h.run(20 * kMs, kUs);
    h.link->change(0, shares(300), h.now);
    h.forget();
    h.run(200 * kMs, kUs);
    CHECK(h.rate(0) / h.rate(1) == Approx(3).epsilon(0.01));
}

TEST_CASE("a reserved packet waits for no other class while these flood") {
    const std::string_view scheduler = every_scheduler();
    INFO(scheduler);
    LinkHarness h(kGbit,
                  {Source{.profile = reserved(kGbit / 2), .greedy = false}, Source{.frame = 88}, Source{}},
                  scheduler);
    h.run(10 * kMs, kUs);
    h.sources[0].delay_max = 0;
    for (int i = 0; i < 2000; ++i) {  // 0.25 Gbit/s in single frames
        REQUIRE(h.offer(0));
        h.run(49 * kUs, kUs);
    }
    CHECK(h.sources[0].sent == 2000 * 1538);
    CHECK(h.sources[0].delay_max == 0);
}

TEST_CASE("a flood before it was contested costs a class at most one burst of its reservation") {
    const std::string_view scheduler = every_scheduler();
    INFO(scheduler);
    LinkHarness h(
        kGbit, {Source{.profile = reserved(kGbit / 2, 1)}, Source{.profile = shares(1000), .greedy = false}},
        scheduler);
    h.run(kNanosPerSec, 5 * kUs);  // alone: twice its reservation
    h.sources[1].greedy = true;
    h.forget();
    h.run(20 * kMs, kUs);
    const std::uint64_t promised = kGbit / 2 / 50;
    CHECK(h.sources[0].sent + burst_for_rate(kGbit / 2) + 2 * 1538 >= promised);
}

TEST_CASE("an idle class's reservation is lent to the others and there again when it returns") {
    const std::string_view scheduler = every_scheduler();
    INFO(scheduler);
    LinkHarness h(kGbit, {Source{.profile = reserved(kGbit * 8 / 10), .greedy = false}, Source{}}, scheduler);
    h.run(50 * kMs, kUs);
    CHECK(h.rate(1) / kGbit == Approx(1).epsilon(0.005));
    h.sources[0].greedy = true;
    h.run(2 * kMs, kUs);  // it starts with a full bucket
    h.forget();
    h.run(50 * kMs, kUs);
    CHECK(h.rate(0) / kGbit == Approx(0.8).epsilon(0.02));
    CHECK(h.rate(1) / kGbit == Approx(0.2).epsilon(0.05));
}

TEST_CASE("next_ready is when the next packet leaves, not later") {
    const std::string_view scheduler = every_scheduler();
    INFO(scheduler);
    LinkHarness h(kGbit, {Source{}, Source{.profile = reserved(kGbit / 10)}}, scheduler);
    h.run(10 * kMs, kUs);
    for (int i = 0; i < 1000; ++i) {
        const Nanos at = h.link->next_ready(h.now);
        REQUIRE(at >= h.now);
        REQUIRE(at <= h.now + 25 * kUs);  // two frames: a reserved one may have gone into debt
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
    const std::string_view scheduler = every_scheduler();
    INFO(scheduler);
    std::vector<Source> sources(1000, Source{.profile = {.queue_bytes_max = 20'000}});
    LinkHarness h(100 * kGbit, std::move(sources), scheduler);
    h.run(20 * kMs, 20 * kUs);
    h.forget();
    h.run(200 * kMs, 20 * kUs);
    for (std::size_t i = 0; i < 1000; ++i)
        REQUIRE(h.rate(i) / (0.1 * kGbit) == Approx(1).epsilon(0.01));
}

TEST_CASE("property: backlogged classes get what water_fill() says, within 1 %", "[long]") {
    const auto scheduler = every_scheduler();
    INFO(scheduler);
    weir::testing::Random32 random(101);
    for (int trial = 0; trial < 15; ++trial) {
        const std::uint64_t capacity = kGbit * (1 + random() % 10);
        LinkHarness h(capacity, random_mix(random, capacity), scheduler);
        h.run(60 * kMs, kStep);
        h.forget();
        h.run(150 * kMs, kStep);
        std::vector<Claim> claims;
        for (const Source& s : h.sources)
            claims.push_back({.reservation = s.profile.reservation,
                              .limit = s.limit == 0 ? Claim::kNoLimit : s.limit,
                              .shares = s.profile.shares});
        std::vector<std::uint64_t> expected(claims.size());
        const std::uint64_t unused = water_fill(capacity, claims, expected);
        double total = 0;
        for (std::size_t i = 0; i < claims.size(); ++i) {
            INFO("trial " << trial << ", class " << i);
            total += h.rate(i);
            // A frame more or less at either end of the window is not unfairness.
            const double grain = 2.0 * h.sources[i].frame * 1e9 / (150e6);
            CHECK(h.rate(i) == Approx(static_cast<double>(expected[i])).epsilon(0.01).margin(grain));
        }
        CHECK(total == Approx(static_cast<double>(capacity - unused)).epsilon(0.005));
    }
}

TEST_CASE("property: no window exceeds the capacity by more than burst, debt and a frame") {
    const auto scheduler = every_scheduler();
    INFO(scheduler);
    weir::testing::Random32 random(103);
    for (unsigned trial = 0; trial < weir::testing::rounds(10); ++trial) {
        const std::uint64_t capacity = kGbit * (1 + random() % 10);
        LinkHarness h(capacity, random_mix(random, capacity), scheduler);
        Overflow window{static_cast<double>(capacity)};
        for (int i = 0; i < 30'000; ++i) {
            if (i % 1000 == 0)
                for (Source& s : h.sources)
                    s.greedy = random() % 2 == 0;
            window.pour(h.run(kStep, kStep), kStep);
        }
        const double debt = static_cast<double>(capacity) / 1000;
        CHECK(window.highest <= static_cast<double>(burst_for_link(capacity)) + debt + 9000 +
                                    static_cast<double>(capacity) * kStep * 1e-9);
    }
}

TEST_CASE(
    "property: a backlogged reservation lags by two bursts at most; packets are conserved and in order") {
    const auto scheduler = every_scheduler();
    INFO(scheduler);
    weir::testing::Random32 random(107);
    for (unsigned trial = 0; trial < weir::testing::rounds(10); ++trial) {
        const std::uint64_t capacity = kGbit * (1 + random() % 10);
        std::vector<Source> mix = random_mix(random, capacity);
        for (Source& s : mix)
            s.limit = 0;
        LinkHarness h(capacity, mix, scheduler);
        std::vector<Lag> lags(mix.size());
        std::uint64_t sent_in_all = 0;
        for (int i = 0; i < 30'000; ++i) {
            if (i % 500 == 0)
                for (Source& s : h.sources)
                    s.greedy = random() % 2 == 0;
            std::vector<std::uint64_t> before;
            for (const Source& s : h.sources)
                before.push_back(s.sent);
            sent_in_all += h.run(kStep, kStep);
            for (std::size_t k = 0; k < mix.size(); ++k)
                lags[k].step(h.link->backlog_bytes(static_cast<VnicId>(k)) != 0,
                             static_cast<double>(mix[k].profile.reservation) * kStep * 1e-9,
                             h.sources[k].sent - before[k]);
        }
        std::uint64_t sent = 0;
        for (std::size_t k = 0; k < mix.size(); ++k) {
            const Source& s = h.sources[k];
            const auto id = static_cast<VnicId>(k);
            INFO("trial " << trial << ", class " << k);
            CHECK(s.in_order);
            CHECK(s.offered == s.sent + h.link->backlog_bytes(id));
            CHECK(s.next_in == s.next_out + h.link->backlog_packets(id));
            const std::uint64_t rate = s.profile.reservation;
            const double slots = static_cast<double>(rate) * 3 * kStep * 1e-9;
            CHECK(lags[k].worst <= 2.0 * static_cast<double>(burst_for_rate(rate)) + 2.0 * s.frame + slots);
            sent += s.sent;
        }
        CHECK(sent == sent_in_all);
    }
}

TEST_CASE("property: the link is never idle while an unlimited class is backlogged") {
    const auto scheduler = every_scheduler();
    INFO(scheduler);
    weir::testing::Random32 random(109);
    for (unsigned trial = 0; trial < weir::testing::rounds(10); ++trial) {
        const std::uint64_t capacity = kGbit * (1 + random() % 10);
        std::vector<Source> mix = random_mix(random, capacity);
        mix[0].limit = 0;
        LinkHarness h(capacity, mix, scheduler);
        h.run(kMs, kStep);
        std::uint64_t sent = 0;
        for (int i = 0; i < 200; ++i) {
            for (std::size_t k = 1; k < h.sources.size(); ++k)
                h.sources[k].greedy = random() % 2 == 0;
            sent += h.run(500'000, kStep);
        }
        CHECK(static_cast<double>(sent) >= static_cast<double>(capacity) * 0.1 * 0.998);
    }
}
