// token_bucket.h - a token bucket with debt as one point in time: when it will be full again.
// Source: Pulsar 4.4 (passes iff level >= min(cost, capacity), then pays in full) in the form of GCRA (ITU-T
// I.371). Units: costs in tokens (32 bit), time in Nanos. Threads: one owner.
//
// The bucket stores no level and no time of the last refill, but the moment at which it will be full again. A
// payment moves this moment by its tokens at the bucket's rate; while the moment lies in the past the bucket
// is full. Nothing has to be refilled, and an idle bucket costs nothing. A cost above the capacity passes
// when the bucket is full, and leaves it in debt. Time may wrap (rate_profile.h): a bucket that nothing was
// asked of for 3.4 years is the first that would take the past for the future.
//
// Example: 5,000 tokens per second, capacity 5,000. Requests of 9,000 tokens pass at 0 s, which makes it full
// again at 1.8 s, then at 1.8, 3.6 and 5.4 s.
#pragma once

#include <algorithm>
#include <cstdint>

#include "vswitch/qos/buckets/rate_profile.h"

namespace weir {

class TokenBucket {
  public:
    /// Starts full.
    TokenBucket() : TokenBucket(unlimited_profile()) {}
    explicit TokenBucket(const BucketProfile& profile) : profile_(profile) {}
    /// As another one is at this moment.
    TokenBucket(const BucketProfile& profile, FineTime full_at) : profile_(profile), full_at_(full_at) {}

    /// Level >= min(cost, capacity). A cost of 0 always passes; a parked bucket passes nothing else.
    [[nodiscard]] bool can_pay(std::uint32_t cost, Nanos now) const {
        return affords(price(cost), to_fine(now));
    }

    /// Takes `cost` tokens; may leave debt.
    void pay(std::uint32_t cost, Nanos now) { charge(price(cost), to_fine(now)); }

    /// Puts back `cost` tokens that were taken and not used, until the bucket is full at most. Not for a
    /// parked bucket, which never paid.
    void give_back(std::uint32_t cost) {
        if (!profile_.parked())
            full_at_ -= price(cost);
    }

    /// Takes `cost` tokens as far as that leaves no more than one capacity of debt: for service that was not
    /// earned here but must not count twice. Nothing happens to a parked bucket.
    void pay_bounded(std::uint32_t cost, Nanos now) {
        if (profile_.parked())
            return;
        const FineTime t = to_fine(now);
        full_at_ = later(full_at_, earlier(later(full_at_, t) + price(cost), t + 2 * profile_.burst_time));
    }

    /// The earliest moment at which can_pay(cost) holds (0 if it always did); kNever when parked.
    [[nodiscard]] Nanos ready_at(std::uint32_t cost, Nanos now) const {
        const FineTime needed = price(cost);
        if (needed == 0)
            return 0;
        if (profile_.parked())
            return kNever;
        return to_nanos(full_at_ + std::min(needed, profile_.burst_time) - profile_.burst_time, now);
    }

    /// How long until can_pay(cost) would hold after `ahead` tokens have been paid; kNever when parked.
    [[nodiscard]] Nanos wait_behind(std::uint32_t ahead, std::uint32_t cost, Nanos now) const {
        if (profile_.parked())
            return cost == 0 ? 0 : kNever;
        const FineTime payable =
            later(full_at_, to_fine(now)) + price(ahead) + std::min(price(cost), profile_.burst_time);
        const FineTime have = to_fine(now) + profile_.burst_time;
        return is_after(payable, have) ? to_nanos(payable - have, 0) : 0;
    }

    /// The level is not below minus `debt` (time at this bucket's rate).
    [[nodiscard]] bool debt_within(Nanos debt, Nanos now) const {
        return !profile_.parked() && !is_after(full_at_, to_fine(now) + to_fine(debt) + profile_.burst_time);
    }
    /// The earliest moment at which debt_within(debt) holds; kNever when parked.
    [[nodiscard]] Nanos debt_within_at(Nanos debt, Nanos now) const {
        return profile_.parked() ? kNever : to_nanos(full_at_ - to_fine(debt) - profile_.burst_time, now);
    }

    /// Tokens in the bucket, negative in debt; INT64_MAX when unlimited. Divides: not for the data path.
    [[nodiscard]] std::int64_t level(Nanos now) const;

    /// Keeps the level in tokens (debt included), clamped to the new capacity. Divides: per change, not per
    /// packet.
    void set_profile(const BucketProfile& profile, Nanos now);
    [[nodiscard]] const BucketProfile& profile() const { return profile_; }

    // The two halves of can_pay and pay, for callers that hold several buckets and price a cost once.
    [[nodiscard]] FineTime price(std::uint32_t cost) const { return profile_.price(cost); }
    [[nodiscard]] bool affords(FineTime price, FineTime now) const {
        return price == 0 || (!profile_.parked() && !is_after(full_at_ + std::min(price, profile_.burst_time),
                                                              now + profile_.burst_time));
    }
    /// A price that is afforded.
    void take(FineTime price, FineTime now) { full_at_ = begin(now) + price; }
    /// Any price. Many that were not afforded add up to no more debt than is earned in 208 days.
    void charge(FineTime price, FineTime now) {
        take(price, now);
        if (is_after(full_at_, now + kAheadMax / 2) && !profile_.parked()) [[unlikely]]
            full_at_ = now + kAheadMax / 2;
    }
    [[nodiscard]] FineTime full_at() const { return full_at_; }
    /// Prices costs by the profile from now on, and pays none: a share of a common bucket does
    /// (common_bucket.h).
    void close(const BucketProfile& profile) {
        profile_ = {.time_per_token = profile.time_per_token, .burst_time = 0};
        full_at_ = kParkedOrigin;
    }

  private:
    // Levels between two profiles: 1/65536 token.
    static constexpr unsigned kLevelBits = 16;

    // While parked no time passes: full_at_ is this origin plus the debt, one tick per token.
    static constexpr FineTime kParkedOrigin = 0;

    [[nodiscard]] static FineTime origin(const BucketProfile& profile, Nanos now) {
        return profile.parked() ? kParkedOrigin : to_fine(now);
    }
    [[nodiscard]] FineTime begin(FineTime now) const {
        return profile_.parked() ? full_at_ : later(full_at_, now);
    }
    [[nodiscard]] SignedWide fine_level(Nanos now) const;

    BucketProfile profile_;
    FineTime full_at_ = 0;
};

}  // namespace weir
