// drain_rate.h - the rate at which a VM takes frames from the wire while such frames wait for it, to be
// advertised to their senders. Source: EyeQ 3.2; docs/algorithms.md 4.7. Units: accounted bytes; bytes per
// second; ns. Threads: one owner.
//
// A receiver's part of the downlink is the rate that the link may carry, not the rate at which the VM empties
// its ring. While frames of the wire wait, the VM takes all that it can: the bytes of them that it took in a
// period are its rate, and a little less is advertised, so that the queue drains. When none waits any more
// the rate is raised by an eighth per period: senders that slow down need not be slow for long, and the queue
// shows when it was too much.
//
// Example: a VM takes 1 Gbit/s behind a wire of 10. In the first period of 200 us 25 KB of 250 leave, and
// 31/32 of 1 Gbit/s are advertised. Once the queue is gone that becomes 1.09, the queue grows by 9 % of a
// period, which is 2 KB, and the rate falls again.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/clock.h"
#include "common/types.h"

namespace weir {

class DrainRate {
  public:
    static constexpr std::uint64_t kFree = UINT64_MAX;
    static constexpr Nanos kPeriod = 200'000;

    /// Bytes of the wire that the ring has taken.
    void took(std::uint32_t bytes) { bytes_ += bytes; }
    /// To be called from the first frame of the wire that waits until rate() is kFree again.
    /// @param waits frames of the wire wait now  @param line_rate above which the rate is no bound any more
    void update(bool waits, std::uint64_t line_rate, Nanos now) {
        if (began_ == 0) {
            began_ = now;
            bytes_ = 0;
        }
        const Nanos span = now - began_;
        if (span < kPeriod)
            return;
        const auto took = static_cast<std::uint64_t>(Wide{bytes_} * kNanosPerSec / span);
        if (waits)
            rate_ = std::max<std::uint64_t>(took - took / 32, 1);
        else if (rate_ == kFree || rate_ + rate_ / 8 >= line_rate)
            rate_ = kFree;
        else
            rate_ += rate_ / 8 + 1;
        bytes_ = 0;
        began_ = rate_ == kFree ? 0 : now;
    }
    /// Of all senders on the wire together; kFree: no bound.
    [[nodiscard]] std::uint64_t rate() const { return rate_; }
    [[nodiscard]] bool idle() const { return began_ == 0; }

  private:
    Nanos began_ = 0;  ///< of the period; 0: none
    std::uint64_t bytes_ = 0;
    std::uint64_t rate_ = kFree;
};

}  // namespace weir
