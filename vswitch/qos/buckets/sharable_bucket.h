// sharable_bucket.h - one token bucket, of its own or shared with other workers.
// Source: docs/algorithms.md 2.5. Units: as TokenBucket. Threads: one owner.
#pragma once

#include "vswitch/qos/buckets/common_bucket.h"
#include "vswitch/qos/buckets/token_bucket.h"

namespace weir {

class SharableBucket {
  public:
    SharableBucket() = default;
    explicit SharableBucket(const BucketProfile& profile) : own_(profile) {}

    /// @param share outlives this, or the next call; null: a bucket of its own again. set_profile() follows
    void share(BucketShare* share) {
        if (share == nullptr && share_ != nullptr)
            own_ = TokenBucket();
        share_ = share;
    }

    // See TokenBucket.

    [[nodiscard]] bool can_pay(std::uint32_t cost, Nanos now) const {
        return own_.can_pay(cost, now) ||
               (share_ != nullptr && share_->affords(own_.price(cost), to_fine(now)));
    }
    void pay(std::uint32_t cost, Nanos now) {
        if (share_ == nullptr) [[likely]]
            own_.pay(cost, now);
        else
            share_->take(own_.price(cost), to_fine(now));
    }
    void pay_bounded(std::uint32_t cost, Nanos now) {
        if (share_ == nullptr) [[likely]]
            own_.pay_bounded(cost, now);
        else
            share_->take_bounded(own_.price(cost), to_fine(now));
    }
    void give_back(std::uint32_t cost) {
        if (share_ == nullptr) [[likely]]
            own_.give_back(cost);
        else
            share_->give_back(own_.price(cost));
    }
    [[nodiscard]] FineTime price(std::uint32_t cost) const { return own_.price(cost); }
    [[nodiscard]] const BucketProfile& profile() const { return own_.profile(); }
    void set_profile(const BucketProfile& profile, Nanos now) {
        if (share_ == nullptr)
            return own_.set_profile(profile, now);
        own_.close(profile);
        share_->set_profile(profile, now);
    }

  private:
    TokenBucket own_;
    BucketShare* share_ = nullptr;
};

}  // namespace weir
