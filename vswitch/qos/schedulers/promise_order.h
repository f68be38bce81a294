// promise_order.h - which promised ring is polled next, when a core cannot keep all promises at once.
// Source: SFQ (SIGCOMM'96), in time of each vNIC's own promise; docs/algorithms.md 3.5. Units: FineTime.
// Threads: one owner (the worker).
//
// The buckets of the promises decide which rings may be polled (packet_promise.h, encryption_promise.h).
// While the core keeps all of them, that is enough. When it cannot, all buckets stay full, and turns of one
// poll each would give a promise of 1 as much as a promise of 100. Here each vNIC has the time for which
// its promise was served: a poll adds the time in which the promise earns the price of the poll. A ring is
// polled while its time is not above the level, and the level follows the least time of those that want to
// be polled. So promises that do not fit are all cut by the same ratio, and none waits longer than its own
// bucket would let it wait.
//
// Example: two rings that are never empty were promised 200 and 100 Mtokens/s; a poll costs 50,000 tokens,
// 250 us of the first promise and 500 us of the second. The first is polled twice as often.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vswitch/qos/buckets/rate_profile.h"

namespace weir {

class PromiseOrder {
  public:
    /// @param slots_max slots are 0 .. slots_max-1
    explicit PromiseOrder(std::size_t slots_max) : served_(slots_max) {}

    /// The slot begins as one that was not served for a while; walks over nothing.
    void add(std::size_t slot) { served_[slot] = level_; }

    /// Asked of rings whose promise can pay.
    [[nodiscard]] bool may_poll(std::size_t slot) {
        if (!is_after(served_[slot], level_))
            return true;
        note(served_[slot]);
        return false;
    }
    /// @param time in which the promise earns the price of a poll of its ring
    void charge(std::size_t slot, FineTime time) {
        served_[slot] = later(served_[slot], level_) + time;
        note(served_[slot]);
    }
    /// Every promised ring was asked once.
    void end_round() {
        if (any_)
            level_ = later(level_, next_);
        any_ = false;
    }

  private:
    void note(FineTime served) {
        next_ = any_ ? earlier(next_, served) : served;
        any_ = true;
    }

    std::vector<FineTime> served_;
    FineTime level_ = 0;
    FineTime next_ = 0;  ///< least time of the rings that were polled or refused in this round
    bool any_ = false;   ///< there were some
};

}  // namespace weir
