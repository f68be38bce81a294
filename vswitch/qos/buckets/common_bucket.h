// common_bucket.h - a token bucket of which several workers spend, each from a share that it borrows.
// Source: docs/design.md 2; docs/algorithms.md 2.5. Units: fine time (rate_profile.h) at the bucket's rate,
// as in token_bucket.h. Threads: CommonBucket: each worker with an index of its own, set_profile() and
// level() by the first; BucketShare: its worker.
//
// The common bucket is one word, the moment at which it will be full again, in steps of 1/64 ns, and a worker
// borrows by one compare-and-swap on it: the price that it lacks, and if that is less than 20 us of the rate,
// these beyond, which pay for its next bursts. So of a rate of 10 Gbit/s a worker borrows 25,000 bytes at a
// time. No token is spent twice, and at most 20 us of the rate lie unused with each worker: 0.02 % of the
// rate of 100 ms.
//
// A worker that finds too little waits, and takes a place. Others that come later leave the tokens of
// earlier places in the bucket, so that a worker whose turns happen to come first cannot take all. A place
// that is not used ends 100 us after the tokens were there: its worker may have no more frames.
//
// Example: workers 0 and 1 want bursts of 20 us each from an empty bucket. Worker 0 waits, and its tokens are
// there after 20 us; worker 1 waits behind it, until 40 us. When worker 0 comes again at 20 us, it takes its
// 20 us and waits for its next ones behind worker 1, until 60 us.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "vswitch/base/limits.h"
#include "vswitch/qos/buckets/token_bucket.h"

namespace weir {

class CommonBucket {
  public:
    /// Starts full, unlimited.
    CommonBucket() = default;

    /// As TokenBucket::set_profile(). Shares that were borrowed at the rate before are void.
    void set_profile(const BucketProfile& profile, Nanos now);
    /// As TokenBucket::level(), without the workers' shares.
    [[nodiscard]] std::int64_t level(Nanos now) const;

    /// lend() would give the price.
    [[nodiscard]] bool can_lend(std::size_t worker, FineTime price, FineTime now);
    /// Takes the price, and more up to kBatch if it is there: one atomic operation if no other worker
    /// interferes. @param exact_price not 0  @return time at the bucket's rate; 0: it cannot pay
    [[nodiscard]] FineTime lend(std::size_t worker, FineTime exact_price, FineTime now);
    /// Takes the price; may leave debt.
    void take(FineTime price, FineTime now);
    /// As TokenBucket::pay_bounded().
    void take_bounded(FineTime price, FineTime now);
    /// The worker waits for the price, and takes a place unless it has one. @return when it will be there;
    /// kNever: it is parked
    [[nodiscard]] Nanos wait(std::size_t worker, FineTime price, Nanos now);

    /// Lent beyond a price: 20 us.
    static constexpr FineTime kBatch = to_fine(20'000);

  private:
    /// Of a worker that waits. Its worker writes it, before it sets its bit in `waiting_`.
    struct Place {
        std::atomic<std::uint32_t> number{0};  ///< lower ones came earlier
        std::atomic<FineTime> price{0};
        std::atomic<FineTime> until{0};
    };
    [[nodiscard]] FineTime before(std::size_t worker, FineTime now);
    void leave_place(std::size_t worker);

    /// The one word says, too, whether the bucket is parked, by its lowest bit: that and the rest can never
    /// be of two profiles. Of a parked bucket the rest is twice TokenBucket's.
    static constexpr FineTime kParkedBit = 1;
    [[nodiscard]] static FineTime word_of(const TokenBucket& bucket) {
        return bucket.profile().parked() ? bucket.full_at() << 1 | kParkedBit
                                         : bucket.full_at() & ~kParkedBit;
    }
    [[nodiscard]] static FineTime full_at_of(FineTime word) {
        return (word & kParkedBit) != 0 ? word >> 1 : word;
    }
    [[nodiscard]] static bool is_parked(FineTime word) { return (word & kParkedBit) != 0; }
    [[nodiscard]] static FineTime paid(FineTime word, FineTime price, FineTime now);
    [[nodiscard]] static FineTime even(FineTime price) { return (price + 1) & ~kParkedBit; }

    alignas(64) std::atomic<FineTime> word_{0};
    std::atomic<FineTime> burst_time_{unlimited_profile().burst_time};
    std::atomic<std::uint32_t> waiting_{0};  // bit n: worker n has a place
    std::atomic<std::uint32_t> last_place_{0};
    BucketProfile profile_ = unlimited_profile();  // the first worker's
    alignas(64) std::array<Place, limits::kWorkersMax> places_;
    static_assert(limits::kWorkersMax <= 32, "a bit of waiting_ for each worker");
};

/// Tokens that one worker has borrowed and not spent.
class BucketShare {
  public:
    /// @param common outlives this  @param worker an index of its own; 0 leads
    BucketShare(CommonBucket& common, std::size_t worker) : common_(common), worker_(worker) {}

    [[nodiscard]] bool affords(FineTime price, FineTime now) const {
        return credit_ >= price || common_.can_lend(worker_, price - credit_, now);
    }
    /// Borrows until the share has the price. @return false: it is not there
    [[nodiscard]] bool borrow(FineTime price, FineTime now) {
        if (credit_ >= price) [[likely]]
            return true;
        const FineTime lent = common_.lend(worker_, price - credit_, now);
        credit_ += lent;
        return lent != 0;
    }
    /// Of a price that was borrowed.
    void spend(FineTime price) { credit_ -= price; }
    /// Takes the price, borrowed if it is there; may leave debt.
    void take(FineTime price, FineTime now) {
        if (borrow(price, now))
            return spend(price);
        common_.take(price - credit_, now);
        credit_ = 0;
    }
    void take_bounded(FineTime price, FineTime now) {
        if (borrow(price, now))
            return spend(price);
        common_.take_bounded(price - credit_, now);
        credit_ = 0;
    }
    /// Of a price that was taken and not used.
    void give_back(FineTime price) { credit_ += price; }
    /// As CommonBucket::wait().
    [[nodiscard]] Nanos wait(FineTime price, Nanos now) {
        return credit_ >= price ? 0 : common_.wait(worker_, price - credit_, now);
    }
    /// The worker with index 0 changes the common bucket, too.
    void set_profile(const BucketProfile& profile, Nanos now) {
        if (worker_ == 0)
            common_.set_profile(profile, now);
        credit_ = 0;
    }
    /// Of the common bucket. By the worker with index 0.
    [[nodiscard]] std::int64_t level(Nanos now) const { return common_.level(now); }

  private:
    CommonBucket& common_;
    std::size_t worker_;
    FineTime credit_ = 0;
};

}  // namespace weir
