// multi_bucket.h - several buckets that are paid together or not at all.
// Source: Pulsar 4.4 (multi-resource token bucket). Units: one cost per resource, in that resource's tokens.
// Threads: one owner.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "vswitch/qos/buckets/token_bucket.h"

namespace weir {

template <std::size_t N>
class MultiBucket {
  public:
    using Costs = std::array<std::uint32_t, N>;

    [[nodiscard]] bool can_pay(const Costs& costs, Nanos now) const {
        const FineTime t = to_fine(now);
        bool all = true;
        for (std::size_t i = 0; i < N; ++i)
            all &= buckets_[i].affords(buckets_[i].price(costs[i]), t);
        return all;
    }

    /// Takes every cost; may leave debt.
    void pay(const Costs& costs, Nanos now) {
        const FineTime t = to_fine(now);
        for (std::size_t i = 0; i < N; ++i)
            buckets_[i].take(buckets_[i].price(costs[i]), t);
    }

    /// can_pay and pay in one: all costs are taken, or none.
    [[nodiscard]] bool admit(const Costs& costs, Nanos now) {
        const FineTime t = to_fine(now);
        std::array<FineTime, N> prices;
        bool all = true;
#pragma GCC unroll 8
        for (std::size_t i = 0; i < N; ++i) {
            prices[i] = buckets_[i].price(costs[i]);
            all &= buckets_[i].affords(prices[i], t);
        }
        if (!all)
            return false;
#pragma GCC unroll 8
        for (std::size_t i = 0; i < N; ++i)
            buckets_[i].take(prices[i], t);
        return true;
    }

    /// When the slowest bucket can pay; kNever if one that is asked is parked.
    [[nodiscard]] Nanos ready_at(const Costs& costs) const {
        const std::size_t last = slowest(costs);
        return buckets_[last].ready_at(costs[last]);
    }

    /// The bucket that can pay last: the answer to "what holds it back?".
    [[nodiscard]] std::size_t slowest(const Costs& costs) const {
        std::size_t last = 0;
        for (std::size_t i = 1; i < N; ++i) {
            if (buckets_[i].ready_at(costs[i]) > buckets_[last].ready_at(costs[last]))
                last = i;
        }
        return last;
    }

    [[nodiscard]] TokenBucket& bucket(std::size_t i) { return buckets_[i]; }
    [[nodiscard]] const TokenBucket& bucket(std::size_t i) const { return buckets_[i]; }

  private:
    std::array<TokenBucket, N> buckets_;
};

/// A vNIC's limit: bytes and packets, unlimited until set. One cache line, so that 100,000 of them prefetch
/// well.
class alignas(64) Limiter : public MultiBucket<2> {
  public:
    static constexpr std::size_t kBytes = 0;
    static constexpr std::size_t kPackets = 1;

    void set_profiles(const BucketProfile& bytes, const BucketProfile& packets, Nanos now) {
        bucket(kBytes).set_profile(bytes, now);
        bucket(kPackets).set_profile(packets, now);
    }
};
static_assert(sizeof(Limiter) == 64);

}  // namespace weir
