// time_to_send.h - a guarantee as the moment from which on its next packet is due.
// Source: SoftBW 5.1 (time-to-send, deviation within tau_max), mClock (reservation tag). Units: bytes, Nanos,
// fine time. Threads: one owner.
//
// A class with a guarantee of G bytes per second is due while its time-to-send has come. A packet of b bytes
// moves this time by b / G. Idle time earns credit for at most tau_max, and packets that leave by spare
// capacity cost at most tau_max. Example: 1 byte per ns, tau_max 4,000 ns. After a long pause a packet of
// 1,000 bytes leaves at 1,000,000 ns. The time-to-send would be far in the past; it becomes 996,000 ns, so
// that five more packets are due at once.
#pragma once

#include <algorithm>

#include "vswitch/qos/buckets/rate_profile.h"

namespace weir {

/// Eq. 4 to 6 in one variable. The paper's accumulated deviation is now - at(), its clamp tau_max the time in
/// which the reservation's burst is earned; each departure moves the time-to-send by size / B, so that bytes
/// sent above the guarantee are paid back exactly.
class TimeToSend {
  public:
    /// The rest of a wait is kept as bytes, which another rate earns in another time.
    /// @param guarantee of no rate: never comes
    void set_profile(const BucketProfile& guarantee, Nanos now) {
        const FineTime t = to_fine(now);
        if (is_after(at_, t) && !never() && profile_.time_per_token != 0) {
            const Wide ahead = Wide{at_ - t} * guarantee.time_per_token / profile_.time_per_token;
            at_ = t + static_cast<FineTime>(std::min<Wide>(ahead, kPriceMax));
        }
        profile_ = guarantee;
    }
    /// The next packet is due now, without credit of the time before.
    void begin(Nanos now) { at_ = to_fine(now); }
    [[nodiscard]] const BucketProfile& profile() const { return profile_; }
    [[nodiscard]] bool never() const { return profile_.parked(); }
    [[nodiscard]] bool has_come(Nanos now) const { return !is_after(at_, to_fine(now)) && !never(); }
    [[nodiscard]] Nanos at(Nanos now) const { return to_nanos(at_, now); }
    [[nodiscard]] FineTime fine() const { return at_; }
    /// A packet that was due leaves. Idle time earns no more than tau_max.
    void depart_due(std::uint32_t bytes, Nanos now) {
        at_ = later(at_ + profile_.price(bytes), earliest(now));
    }
    /// A packet leaves that need not have been due: use of spare capacity costs no more than tau_max.
    void depart(std::uint32_t bytes, Nanos now) {
        const FineTime latest = later(at_, to_fine(now) + profile_.burst_time);
        at_ = later(earlier(at_ + profile_.price(bytes), latest), earliest(now));
    }

  private:
    [[nodiscard]] FineTime earliest(Nanos now) const { return to_fine(now) - profile_.burst_time; }

    BucketProfile profile_ = make_profile(0, 0);
    FineTime at_ = 0;
};

}  // namespace weir
