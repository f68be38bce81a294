// multi_bucket.h - several token buckets that are paid together or not at all.
// Source: Pulsar 4.4; docs/algorithms.md 2.2. Units: one cost per resource, in that resource's tokens.
// Threads: one owner.
//
// A packet needs bytes and a place in the packet rate. If it took the bytes while it waits for the packets,
// other packets could use neither. Example: buckets with 3,000 bytes and 0 packets refuse a packet of 1,500
// bytes and take nothing; when the packet bucket has earned one packet, both pay.
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

    /// Every bucket can pay its cost.
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
            buckets_[i].charge(buckets_[i].price(costs[i]), t);
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

    /// Time at which every bucket can pay; kNever if a bucket with a cost is parked.
    [[nodiscard]] Nanos ready_at(const Costs& costs, Nanos now) const {
        const std::size_t last = slowest(costs, now);
        return buckets_[last].ready_at(costs[last], now);
    }

    /// Index of the bucket that can pay last: the one that holds the packet back.
    [[nodiscard]] std::size_t slowest(const Costs& costs, Nanos now) const {
        std::size_t last = 0;
        for (std::size_t i = 1; i < N; ++i) {
            if (buckets_[i].ready_at(costs[i], now) > buckets_[last].ready_at(costs[last], now))
                last = i;
        }
        return last;
    }

    [[nodiscard]] TokenBucket& bucket(std::size_t i) { return buckets_[i]; }
    [[nodiscard]] const TokenBucket& bucket(std::size_t i) const { return buckets_[i]; }

  private:
    std::array<TokenBucket, N> buckets_;
};

}  // namespace weir
