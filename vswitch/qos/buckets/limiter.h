// limiter.h - a vNIC's limit: bytes and packets, of its own or shared with other workers.
// Source: Pulsar 4.4; docs/algorithms.md 2.2, 2.5. Units: accounted bytes, packets. Threads: one owner.
#pragma once

#include <array>

#include "vswitch/qos/buckets/common_bucket.h"
#include "vswitch/qos/buckets/multi_bucket.h"

namespace weir {

/// The shares of one worker in a limit of several.
using LimiterShares = std::array<BucketShare, 2>;

/// Unlimited until set. One cache line, so that 100,000 of them prefetch well. A limiter that is shared has
/// closed buckets, so that one of its own is spared any test for shares as long as it can pay.
class alignas(64) Limiter : private MultiBucket<2> {
  public:
    using MultiBucket::Costs;
    static constexpr std::size_t kBytes = 0;
    static constexpr std::size_t kPackets = 1;

    /// @param shares outlive this
    void share(LimiterShares& shares) { shares_ = &shares; }
    void set_profiles(const BucketProfile& bytes, const BucketProfile& packets, Nanos now);
    [[nodiscard]] const BucketProfile& profile(std::size_t i) const { return bucket(i).profile(); }
    /// See TokenBucket::level(). If it is shared, by the worker with index 0.
    [[nodiscard]] std::int64_t level(std::size_t i, Nanos now) const;

    // See MultiBucket.

    [[nodiscard]] bool can_pay(const Costs& costs, Nanos now) const {
        return MultiBucket::can_pay(costs, now) || (shares_ != nullptr && shares_afford(costs, now));
    }
    void pay(const Costs& costs, Nanos now) {
        if (shares_ == nullptr) [[likely]]
            MultiBucket::pay(costs, now);
        else
            pay_shares(costs, now);
    }
    [[nodiscard]] bool admit(const Costs& costs, Nanos now) {
        return MultiBucket::admit(costs, now) || (shares_ != nullptr && admit_shares(costs, now));
    }
    /// A shared limiter takes a place before those that come later.
    [[nodiscard]] Nanos ready_at(const Costs& costs, Nanos now) const {
        return shares_ == nullptr ? MultiBucket::ready_at(costs, now) : wait_for_shares(costs, now);
    }

  private:
    [[nodiscard, gnu::noinline]] bool shares_afford(const Costs& costs, Nanos now) const;
    [[gnu::noinline]] void pay_shares(const Costs& costs, Nanos now);
    [[nodiscard, gnu::noinline]] bool admit_shares(const Costs& costs, Nanos now);
    [[nodiscard, gnu::noinline]] Nanos wait_for_shares(const Costs& costs, Nanos now) const;

    LimiterShares* shares_ = nullptr;
};
static_assert(sizeof(Limiter) == 64);

}  // namespace weir
