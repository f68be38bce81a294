// common_bucket_test.cc - one limit of which several workers spend: worked numbers, exactness in virtual time
// and between threads.
#include "vswitch/qos/buckets/common_bucket.h"

#include <array>
#include <atomic>
#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "test/support/catch.h"
#include "test/support/random.h"
#include "vswitch/qos/buckets/limiter.h"
#include "vswitch/qos/buckets/sharable_bucket.h"
#include "vswitch/qos/buckets/timing_wheel.h"

using namespace weir;

namespace {

constexpr Nanos kMicro = 1000;
constexpr Nanos kMilli = 1'000'000;
constexpr std::uint64_t kBytesPerUs = 1'000'000;  // of a rate in bytes per second

/// A limit that some workers share.
class SharedLimit {
  public:
    SharedLimit(std::size_t workers, const BucketProfile& bytes, const BucketProfile& packets, Nanos now)
        : limits(workers) {
        for (std::size_t i = 0; i < workers; ++i) {
            shares_.push_back(std::make_unique<LimiterShares>(
                LimiterShares{BucketShare(common_[0], i), BucketShare(common_[1], i)}));
            limits[i].share(*shares_[i]);
            limits[i].set_profiles(bytes, packets, now);
        }
    }

    std::vector<Limiter> limits;

  private:
    std::array<CommonBucket, 2> common_;
    std::vector<std::unique_ptr<LimiterShares>> shares_;
};

/// Bytes that each worker sends in 100 ms, behind the burst, with all of them backlogged: worker after worker
/// in the same order, each with a wheel of its own.
std::vector<std::uint64_t> send_shared(SharedLimit& shared, std::uint32_t frame, std::uint32_t burst,
                                       Nanos start, Nanos span) {
    const std::size_t count = shared.limits.size();
    std::vector<TimingWheel> wheels;
    std::vector<std::uint64_t> sent(count);
    for (std::size_t i = 0; i < count; ++i) {
        wheels.emplace_back(1);
        wheels[i].insert(0, start, start);
    }
    const Limiter::Costs costs{frame * burst, burst};
    for (Nanos now = start; now < start + span; now += kMicro)
        for (std::size_t i = 0; i < count; ++i)
            wheels[i].advance(now, 1, [&](TimingWheel::Ids) {
                while (shared.limits[i].admit(costs, now))
                    sent[i] += costs[0];
                wheels[i].insert(0, shared.limits[i].ready_at(costs, now), now);
            });
    return sent;
}

}  // namespace

TEST_CASE("common bucket: a worker borrows its price and 20 us beyond, and spends that without the others") {
    CommonBucket common;
    common.set_profile(make_profile(100 * kBytesPerUs, 100'000), 0);  // 100 bytes per us, for 1 ms
    BucketShare first(common, 0);
    BucketShare second(common, 1);
    const BucketProfile profile = make_profile(100 * kBytesPerUs, 100'000);
    CHECK(first.borrow(profile.price(1000), 0));
    CHECK(common.level(0) == 100'000 - 1000 - 2000);
    first.spend(profile.price(1000));
    CHECK(first.borrow(profile.price(2000), 0));
    CHECK(common.level(0) == 97'000);
    first.spend(profile.price(2000));
    CHECK(second.borrow(profile.price(97'000), 0));
    CHECK(common.level(0) == 0);
    CHECK_FALSE(first.borrow(profile.price(1), 0));
    CHECK(first.borrow(profile.price(100), to_fine(1 * kMicro)));
}

TEST_CASE("common bucket: the worker that waits first is first, though another one's turn comes before") {
    CommonBucket common;
    const BucketProfile profile = make_profile(100 * kBytesPerUs, 100'000);
    common.set_profile(profile, 0);
    BucketShare first(common, 0);
    BucketShare second(common, 1);
    first.take(profile.price(100'000), 0);  // borrowed: the bucket is empty
    const FineTime burst = profile.price(2000);
    CHECK(first.wait(burst, 0) == 20 * kMicro);
    CHECK(second.wait(burst, 0) == 40 * kMicro);
    const auto spends = [&](BucketShare& share, Nanos now) {
        if (!share.borrow(burst, to_fine(now)))
            return false;
        share.spend(burst);
        return true;
    };
    CHECK_FALSE(spends(second, 20 * kMicro));
    CHECK(spends(first, 20 * kMicro));
    CHECK(first.wait(burst, 20 * kMicro) == 60 * kMicro);
    CHECK_FALSE(spends(first, 40 * kMicro));
    CHECK(spends(second, 40 * kMicro));
    CHECK(spends(first, 60 * kMicro));
    // A place whose worker has no more frames ends 100 us after its tokens were there.
    CHECK(second.wait(burst, 60 * kMicro) == 80 * kMicro);
    CHECK_FALSE(first.affords(burst, to_fine(80 * kMicro)));
    CHECK(first.affords(burst, to_fine(181 * kMicro)));
}

TEST_CASE("common bucket: a cost above the bucket passes when it is full, and leaves a debt") {
    CommonBucket common;
    const BucketProfile profile = make_profile(5000, 5000);
    common.set_profile(profile, 0);
    std::array shares{BucketShare(common, 0), BucketShare(common, 1)};
    for (const std::uint64_t tenths : {0UL, 18UL, 36UL}) {
        BucketShare& share = shares[tenths / 18 % 2];
        const Nanos now = tenths * 100 * kMilli;
        if (now != 0) {
            CHECK_FALSE(share.affords(profile.price(9000), to_fine(now - kMilli)));
        }
        CHECK(share.borrow(profile.price(9000), to_fine(now)));
        share.spend(profile.price(9000));
        CHECK(common.level(now) == -4000);
    }
}

TEST_CASE("common bucket: a change of rate keeps the level, and parks and frees all workers") {
    const BucketProfile slow = make_profile(1'000'000, 10'000);
    const BucketProfile fast = make_profile(4'000'000, 40'000);
    CommonBucket common;
    BucketShare shares[]{{common, 0}, {common, 1}};
    SharableBucket first;
    SharableBucket second;
    first.share(&shares[0]);
    second.share(&shares[1]);
    const auto change = [&](const BucketProfile& profile, Nanos now) {
        first.set_profile(profile, now);
        second.set_profile(profile, now);
    };
    CHECK(first.can_pay(UINT32_MAX, 0));  // unlimited
    change(slow, 0);
    second.pay(10'000, 0);
    CHECK(common.level(0) == 0);
    change(fast, 0);
    CHECK(common.level(0) == 0);
    CHECK(first.can_pay(4000, 1 * kMilli));
    CHECK_FALSE(first.can_pay(4001, 1 * kMilli));
    change(make_profile(0, 0), 1 * kMilli);
    CHECK_FALSE(first.can_pay(1, 1000 * kMilli));
    CHECK_FALSE(second.can_pay(1, 1000 * kMilli));
    CHECK(shares[1].wait(1, 2 * kMilli) == kNever);
    change(unlimited_profile(), 2 * kMilli);
    CHECK(second.can_pay(UINT32_MAX, 2 * kMilli));
}

TEST_CASE("common bucket: two workers get its rate, and none while it is parked, when fine time wraps") {
    constexpr Nanos kWrap = Nanos{1} << (64 - kFineBits);  // 4.57 years
    for (const Nanos wrap : {kWrap / 2, kWrap}) {
        const BucketProfile profile = make_profile(100 * kBytesPerUs, 10'000);
        CommonBucket common;
        std::array shares{BucketShare(common, 0), BucketShare(common, 1)};
        Nanos now = wrap - 2 * kMilli;
        for (BucketShare& share : shares)
            share.set_profile(profile, now);
        std::uint64_t spent = 0;
        for (; now < wrap + 2 * kMilli; now += kMicro)
            for (BucketShare& share : shares)
                if (share.borrow(profile.price(1000), to_fine(now))) {
                    share.spend(profile.price(1000));
                    spent += 1000;
                } else {
                    CHECK(share.wait(profile.price(1000), now) < now + kMilli);
                }
        CHECK(spent <= 4000 * 100 + 10'000);
        CHECK(spent >= 4000 * 100 - 10'000);
        const BucketProfile parked = make_profile(0, 0);
        for (BucketShare& share : shares)
            share.set_profile(parked, now);
        for (BucketShare& share : shares) {
            CHECK_FALSE(share.affords(parked.price(1), to_fine(now + kNanosPerSec)));
            CHECK_FALSE(share.borrow(parked.price(1), to_fine(now + kNanosPerSec)));
            share.take(parked.price(500), to_fine(now));
            share.take_bounded(parked.price(500), to_fine(now));
        }
        CHECK(common.level(now) == -1000);
        for (BucketShare& share : shares)
            share.set_profile(profile, now);
        CHECK(common.level(now) == -1000);
        CHECK(shares[0].borrow(profile.price(1000), to_fine(now + kMilli)));
    }
}

TEST_CASE("common bucket: two resources are paid together or not at all") {
    SharedLimit shared(2, make_profile(100 * kBytesPerUs, 100'000), make_profile(1000, 2), 0);
    CHECK(shared.limits[0].admit({1000, 1}, 0));
    CHECK(shared.limits[1].admit({1000, 1}, 0));
    CHECK_FALSE(shared.limits[0].admit({1000, 1}, 0));
    CHECK(shared.limits[0].ready_at({1000, 1}, 0) == 1 * kMilli);
    // The bytes that it borrowed meanwhile are still its own.
    CHECK(shared.limits[0].admit({1000, 1}, 1 * kMilli));
    const std::int64_t left = shared.limits[0].level(Limiter::kBytes, 0);
    CHECK(left <= 100'000 - 3000);
    CHECK(left >= 100'000 - 3 * 1000 - 2 * 2000 - 1000);
}

TEST_CASE("a limit of several workers is met within 0.5 % over 100 ms, and none starves") {
    for (const std::size_t workers : {2U, 4U, 16U})
        for (const double mbit : {100.0, 1000.0, 10'000.0, 40'000.0})
            for (const std::uint32_t burst : {1U, 8U}) {
                const auto rate = static_cast<std::uint64_t>(mbit * 125'000);
                const std::uint64_t room = std::max<std::uint64_t>(burst_for_rate(rate), 8 * 1538);
                SharedLimit shared(workers, make_profile(rate, room), unlimited_profile(), 0);
                send_shared(shared, 1538, burst, 0, 10 * kMilli);
                const std::vector<std::uint64_t> sent =
                    send_shared(shared, 1538, burst, 10 * kMilli, 100 * kMilli);
                std::uint64_t sum = 0;
                for (const std::uint64_t bytes : sent)
                    sum += bytes;
                const double expected = static_cast<double>(rate) / 10;
                INFO(workers << " workers, " << mbit << " Mbit/s, bursts of " << burst << ": "
                             << static_cast<double>(sum) / expected);
                // Frames are counted whole, and tokens borrowed before, or left at the end.
                const double slack = 0.005 + static_cast<double>(1538 * burst) / expected;
                CHECK(std::abs(static_cast<double>(sum) / expected - 1) < slack);
                const double part = expected / static_cast<double>(workers);
                for (const std::uint64_t bytes : sent)
                    CHECK(static_cast<double>(bytes) > part / 8 - 2 * 1538 * burst);
            }
}

TEST_CASE("common bucket: random spenders never spend more than it earned, nor leave it unused") {
    testing::Random32 random(5);
    for (int round = 0; round < 50; ++round) {
        const std::uint64_t rate = (1 + random() % 5000) * 1'000'000;
        const std::uint64_t room = burst_for_rate(rate);
        const std::size_t workers = 2 + random() % 7;
        SharedLimit shared(workers, make_profile(rate, room), unlimited_profile(), 0);
        std::vector<bool> idle(workers);
        std::uint64_t spent = 0;
        Nanos now = 0;
        Nanos backlogged_from = 0;
        std::uint64_t spent_then = 0;
        for (int i = 0; i < 20'000; ++i) {
            now += random() % 2000;
            if (random() % 500 == 0) {  // some have no frames for a while
                for (std::size_t w = 0; w < workers; ++w)
                    idle[w] = random() % 2 == 0;
                idle[random() % workers] = false;
            }
            const std::size_t at = random() % workers;
            const std::uint32_t cost = 64 + random() % 9000;
            if (idle[at])
                continue;
            if (shared.limits[at].admit({cost, 1}, now))
                spent += cost;
            else
                (void)shared.limits[at].ready_at({cost, 1}, now);
            const double earned = static_cast<double>(rate) * static_cast<double>(now) / 1e9;
            REQUIRE(static_cast<double>(spent) <= earned * 1.0001 + static_cast<double>(room) + 9064);
            if (i == 1000) {
                backlogged_from = now;
                spent_then = spent;
            }
        }
        // On average a worker asks for more than the rate: nothing is left but shares and places.
        const double asked = 4500.0 / (1000.0 * 2) * 1e9;
        if (static_cast<double>(rate) < asked / 4) {
            const double earned =
                static_cast<double>(rate) * static_cast<double>(now - backlogged_from) / 1e9;
            CHECK(static_cast<double>(spent - spent_then) > earned * 0.9);
        }
    }
}

TEST_CASE("common bucket: threads that spend at once spend no more than it earned, and all of it") {
    constexpr std::size_t kWorkers = 3;
    constexpr std::uint64_t kRate = 1'000'000'000;
    constexpr std::uint64_t kRoom = 64 * 1024;
    constexpr Nanos kSpan = 100 * kMilli;
    SharedLimit shared(kWorkers, make_profile(kRate, kRoom), unlimited_profile(), 0);
    std::atomic<Nanos> clock{0};
    std::atomic<std::uint64_t> spent{0};
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kWorkers; ++i)
        threads.emplace_back([&, i] {
            std::uint64_t own = 0;
            for (Nanos now = 0; now < kSpan; now = clock.fetch_add(100) + 100) {
                if (shared.limits[i].admit({1538, 1}, now))
                    own += 1538;
                else
                    (void)shared.limits[i].ready_at({1538, 1}, now);
            }
            spent += own;
        });
    for (std::thread& thread : threads)
        thread.join();
    // Each thread's last moment is past the span by a step at most.
    const double earned = static_cast<double>(kRate) * 0.1;
    CHECK(static_cast<double>(spent) <= earned * 1.0001 + kRoom + 1538);
    CHECK(static_cast<double>(spent) >= earned * 0.9);
}
