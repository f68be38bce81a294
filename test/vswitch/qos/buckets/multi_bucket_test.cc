// multi_bucket_test.cc - several resources, all or nothing.
#include "test/support/amounts.h"
#include "test/support/catch.h"
#include "test/support/random.h"
#include "vswitch/qos/buckets/limiter.h"

using namespace weir;
using weir::testing::kMs;

namespace {

MultiBucket<2> pulsar_example() {
    MultiBucket<2> m;
    m.bucket(0) = TokenBucket(make_profile(800, 800));
    m.bucket(1) = TokenBucket(make_profile(5000, 5000));
    return m;
}

}  // namespace

TEST_CASE("of ten 4 KB READs one passes, the next waits 0.6 s for the second resource") {
    MultiBucket<2> m = pulsar_example();
    const MultiBucket<2>::Costs read{80, 4000};
    REQUIRE(m.admit(read, 0));
    CHECK(m.bucket(0).level(0) == 720);
    CHECK(m.bucket(1).level(0) == 1000);
    CHECK_FALSE(m.admit(read, 0));
    CHECK(m.ready_at(read, 0) == 600 * kMs);
    CHECK(m.slowest(read, 0) == 1);
    CHECK_FALSE(m.admit(read, 600 * kMs - 1));
    CHECK(m.admit(read, 600 * kMs));
}

TEST_CASE("a refused request charges no bucket") {
    MultiBucket<2> m = pulsar_example();
    m.bucket(1).pay(5000, 0);
    CHECK_FALSE(m.admit({80, 1}, 0));
    CHECK(m.bucket(0).level(0) == 800);
    CHECK(m.bucket(1).level(0) == 0);
}

TEST_CASE("a resource that is not asked is not looked at") {
    MultiBucket<2> m = pulsar_example();
    m.bucket(1) = TokenBucket(make_profile(0, 0));
    CHECK(m.admit({80, 0}, 0));
    CHECK_FALSE(m.can_pay({80, 1}, 0));
    CHECK(m.ready_at({80, 1}, 0) == kNever);
    CHECK(m.slowest({80, 1}, 0) == 1);
}

TEST_CASE("property: admit is can_pay and pay; ready_at is the first moment that admits") {
    weir::testing::Random32 random(11);
    for (int trial = 0; trial < 200; ++trial) {
        MultiBucket<3> one;
        for (std::size_t i = 0; i < 3; ++i)
            one.bucket(i) = TokenBucket(make_profile(1 + random() % 1'000'000, 1 + random() % 5000));
        MultiBucket<3> two = one;
        Nanos now = 0;
        for (int i = 0; i < 30; ++i) {
            const MultiBucket<3>::Costs costs{random() % 9000, random() % 9000, random() % 3};
            const bool payable = two.can_pay(costs, now);
            REQUIRE(one.admit(costs, now) == payable);
            if (payable)
                two.pay(costs, now);
            for (std::size_t k = 0; k < 3; ++k)
                REQUIRE(one.bucket(k).level(now) == two.bucket(k).level(now));
            const Nanos at = one.ready_at(costs, now);
            REQUIRE(one.can_pay(costs, std::max(now, at)));
            if (at > now)
                REQUIRE_FALSE(one.can_pay(costs, at - 1));
            now = std::max(now, at) + random() % kMs;
        }
    }
}

TEST_CASE("a vNIC's limit holds bytes and packets, is unlimited until set, and fills one cache line") {
    Limiter limit;
    CHECK(limit.admit({UINT32_MAX, UINT32_MAX}, 0));
    limit.set_profiles(make_profile(1'000'000, 3000), make_profile(1000, 2), 0);
    CHECK(limit.admit({100, 1}, 0));
    CHECK(limit.admit({100, 1}, 0));
    CHECK_FALSE(limit.admit({100, 1}, 0));
    CHECK(limit.ready_at({100, 1}, 0) == 1 * kMs);
    CHECK(sizeof(Limiter) == 64);
}
