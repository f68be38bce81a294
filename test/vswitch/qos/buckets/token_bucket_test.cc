// token_bucket_test.cc - the bucket with debt, by worked numbers and against an exact model.
#include "vswitch/qos/buckets/token_bucket.h"

#include <cmath>
#include <random>

#include "test/support/amounts.h"
#include "test/support/catch.h"

using namespace weir;
using weir::testing::kMs;

namespace {

constexpr Nanos kTwoYears = Nanos{2 * 365} * 86'400 * kNanosPerSec;

/// Pulsar's bucket as the paper writes it, in floating point.
struct PaperBucket {
    double rate;
    double cap;
    double level = cap;
    Nanos last = 0;

    void refill(Nanos now) {
        level = std::min(cap, level + rate * static_cast<double>(now - last) * 1e-9);
        last = now;
    }
};

}  // namespace

TEST_CASE("requests of 9000 to a bucket of 5000 at 5000/s pass at 0, 1.8, 3.6 and 5.4 s") {
    TokenBucket b(make_profile(5000, 5000));
    for (const Nanos t : {0 * kMs, 1800 * kMs, 3600 * kMs, 5400 * kMs}) {
        CHECK(b.ready_at(9000, t) == t);
        if (t > 0)
            CHECK_FALSE(b.can_pay(9000, t - 1));
        REQUIRE(b.can_pay(9000, t));
        b.pay(9000, t);
        CHECK(b.level(t) == -4000);
    }
}

TEST_CASE("a bucket starts full and never holds more than its capacity") {
    TokenBucket b(make_profile(1000, 300));
    CHECK(b.level(0) == 300);
    CHECK(b.level(3600 * kNanosPerSec) == 300);
    b.pay(300, 3600 * kNanosPerSec);
    CHECK(b.level(3600 * kNanosPerSec) == 0);
    CHECK(b.level(3600 * kNanosPerSec + 100 * kMs) == 100);
}

TEST_CASE("a cost of nothing passes even in debt, a cost of one does not") {
    TokenBucket b(make_profile(1000, 10));
    b.pay(500, 0);
    CHECK(b.level(0) == -490);
    CHECK(b.can_pay(0, 0));
    CHECK(b.ready_at(0, 0) == 0);
    CHECK_FALSE(b.can_pay(1, 0));
    CHECK(b.ready_at(1, 0) == 491 * kMs);
}

TEST_CASE("an unlimited bucket always pays") {
    TokenBucket b;
    for (int i = 0; i < 1000; ++i) {
        REQUIRE(b.can_pay(UINT32_MAX, 5));
        b.pay(UINT32_MAX, 5);
    }
    CHECK(b.level(5) == INT64_MAX);
    CHECK(b.ready_at(UINT32_MAX, 5) <= 5);
}

TEST_CASE("a parked bucket pays nothing but nothing, and keeps its debt for its next rate") {
    TokenBucket b(make_profile(1000, 500));
    b.pay(900, 0);
    b.set_profile(make_profile(0, 500), 0);
    CHECK(b.level(3600 * kNanosPerSec) == -400);
    CHECK(b.ready_at(1, 0) == kNever);
    CHECK_FALSE(b.can_pay(1, kTwoYears));
    CHECK(b.can_pay(0, 0));
    b.set_profile(make_profile(100, 500), 60 * kNanosPerSec);
    CHECK(b.level(60 * kNanosPerSec) == -400);
    CHECK(b.ready_at(100, 60 * kNanosPerSec) == 65 * kNanosPerSec);
}

TEST_CASE("a parked bucket has no credit, whatever it held before") {
    TokenBucket b(make_profile(1000, 500));
    b.set_profile(make_profile(0, 500), 7);
    b.set_profile(make_profile(1000, 500), kNanosPerSec);
    CHECK(b.level(kNanosPerSec) == 0);
}

TEST_CASE("a new rate keeps the level in tokens, debt included, and clamps it to the new capacity") {
    TokenBucket b(make_profile(1'000'000, 10'000));
    b.pay(4000, 0);
    b.set_profile(make_profile(50'000, 8000), 0);
    CHECK(b.level(0) == 6000);
    b.set_profile(make_profile(50'000, 1000), 0);
    CHECK(b.level(0) == 1000);
    b.pay(3000, 0);
    b.set_profile(make_profile(10'000'000'000, 1'000'000), 0);
    CHECK(b.level(0) == -2000);
    CHECK(b.ready_at(1000, 0) <= 301);
    CHECK(b.ready_at(1000, 0) >= 300);
}

TEST_CASE("the outstanding time is rescaled by old rate over new rate") {
    TokenBucket b(make_profile(1000, 1));
    b.pay(101, 0);
    CHECK(b.ready_at(1, 0) == 101 * kMs);
    b.set_profile(make_profile(4000, 1), 1 * kMs);  // 99 tokens of debt are left, and 1 to earn
    CHECK(b.ready_at(1, 1 * kMs) == 1 * kMs + 25 * kMs);
}

TEST_CASE("a bounded payment leaves one capacity of debt at most and never forgives any") {
    TokenBucket b(make_profile(1000, 100));
    b.pay_bounded(150, 0);
    CHECK(b.level(0) == -50);
    b.pay_bounded(150, 0);
    CHECK(b.level(0) == -100);
    b.pay(300, 0);
    b.pay_bounded(150, 0);
    CHECK(b.level(0) == -400);
    TokenBucket parked(make_profile(0, 0));
    parked.pay_bounded(150, 0);
    CHECK(parked.level(0) == 0);
}

TEST_CASE("debt_within holds from debt_within_at on") {
    TokenBucket b(make_profile(1'000'000, 1000));
    b.pay(6000, 0);  // 5000 in debt: 5 ms
    CHECK(b.debt_within(5 * kMs, 0));
    CHECK_FALSE(b.debt_within(2 * kMs, 0));
    CHECK(b.debt_within_at(2 * kMs, 0) == 3 * kMs);
    CHECK(b.debt_within(2 * kMs, 3 * kMs));
    CHECK_FALSE(b.debt_within(2 * kMs, 3 * kMs - 1));
    CHECK(TokenBucket(make_profile(0, 0)).debt_within_at(kMs, 0) == kNever);
}

TEST_CASE("after two years the bucket is as exact as at start") {
    TokenBucket b(make_profile(12'500'000'000, 100'000));
    b.pay(100'000, kTwoYears);
    CHECK(b.level(kTwoYears) == 0);
    CHECK(b.ready_at(12'500, kTwoYears) == kTwoYears + 1000);
    CHECK_FALSE(b.can_pay(12'500, kTwoYears + 999));
    CHECK(b.can_pay(12'500, kTwoYears + 1000));
}

TEST_CASE("a bucket pays at its rate before, at and behind each wrap of the clock's fine time") {
    constexpr Nanos kWrap = Nanos{1} << (64 - kFineBits);  // 4.57 years
    for (const Nanos wrap : {kWrap / 2, kWrap, 2 * kWrap}) {
        const Nanos start = wrap - 10 * kMs;
        TokenBucket b;
        b.set_profile(make_profile(125'000'000, 10'000), start);
        TokenBucket parked;
        parked.set_profile(make_profile(0, 0), start);
        Nanos now = start;
        std::uint64_t paid = 0;
        for (; now < wrap + 10 * kMs; paid += 1000) {
            const Nanos at = b.ready_at(1000, now);
            REQUIRE(at < now + kMs);
            REQUIRE((at <= now || !b.can_pay(1000, at - 1)));
            now = std::max(now, at);
            REQUIRE(b.can_pay(1000, now));
            b.pay(1000, now);
            REQUIRE(b.level(now) < 10'000);
            REQUIRE(b.debt_within(kMs, now));
            REQUIRE_FALSE(parked.can_pay(1, now));
        }
        CHECK(paid >= 2'500'000);
        CHECK(paid <= 2'500'000 + 12'000);
        CHECK(b.can_pay(10'000, now + 300 * 86'400 * kNanosPerSec));  // idle for 300 days
        CHECK(b.level(now + 300 * 86'400 * kNanosPerSec) == 10'000);
        CHECK(parked.ready_at(1, now) == kNever);
    }
}

TEST_CASE("debts add up to no more than is earned in 208 days") {
    TokenBucket b(make_profile(1, 1));
    for (int i = 0; i < 1000; ++i)
        b.pay(UINT32_MAX, kNanosPerSec);
    CHECK_FALSE(b.can_pay(1, kNanosPerSec));
    CHECK_FALSE(b.can_pay(1, 200 * 86'400 * kNanosPerSec));
    CHECK(b.can_pay(1, 210 * 86'400 * kNanosPerSec));
}

TEST_CASE("the slowest rate with the highest cost does not overflow") {
    TokenBucket b(make_profile(1, 1));
    b.pay(UINT32_MAX, kTwoYears);
    CHECK_FALSE(b.can_pay(1, kTwoYears + 86'400 * kNanosPerSec));
    CHECK(b.ready_at(1, kTwoYears) > kTwoYears);
    CHECK(b.ready_at(1, kTwoYears) < kNever);
}

TEST_CASE("property: the bucket agrees with the paper's, and ready_at is the first moment that pays") {
    std::mt19937_64 random(7);
    for (int trial = 0; trial < 200; ++trial) {
        const std::uint64_t rate = std::uint64_t{1} << (random() % 34);
        const std::uint64_t burst = 1 + random() % 100'000;
        TokenBucket b(make_profile(rate, burst));
        PaperBucket paper{static_cast<double>(rate), static_cast<double>(burst)};
        Nanos now = random() % kNanosPerSec;
        paper.last = now;
        for (int i = 0; i < 50; ++i) {
            const auto cost = static_cast<std::uint32_t>(1 + random() % 150'000);
            const Nanos at = std::max(now, b.ready_at(cost, now));
            REQUIRE(b.can_pay(cost, at));
            if (at > now)
                REQUIRE_FALSE(b.can_pay(cost, at - 1));
            paper.refill(at);
            const double needed = std::min<double>(cost, paper.cap);
            REQUIRE(paper.level >= needed - (1 + needed * 1e-3 + paper.rate * 1e-9));
            b.pay(cost, at);
            paper.level -= cost;
            REQUIRE(static_cast<double>(b.level(at)) ==
                    Approx(paper.level).margin(2 + paper.rate * 1e-9 + 1e-3 * cost));
            now = at + random() % (2 * kMs);
        }
    }
}

TEST_CASE("how long a cost waits behind others: in full for these, as far as the bucket holds for itself") {
    TokenBucket bucket(make_profile(1'000, 100));
    const Nanos now = kNanosPerSec;
    CHECK(bucket.wait_behind(0, 100, now) == 0);
    CHECK(bucket.wait_behind(0, 5'000, now) == 0);  // a full bucket pays anything
    CHECK(bucket.wait_behind(100, 100, now) == 100'000'000);
    CHECK(bucket.wait_behind(300, 50, now) == 250'000'000);
    bucket.pay(300, now);
    CHECK(bucket.wait_behind(0, 10, now) == bucket.ready_at(10, now) - now);
    CHECK(bucket.wait_behind(0, 0, now) == 200'000'000);
    bucket.set_profile(make_profile(0, 0), now);
    CHECK(bucket.wait_behind(1, 1, now) == kNever);
    CHECK(TokenBucket().wait_behind(UINT32_MAX, UINT32_MAX, now) == 0);
}
