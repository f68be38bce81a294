// message_pace.h - how many vhost-user messages the front-ends of one vNIC may send in a time.
// Source: ITU-T I.371 (GCRA). Units: messages; ns. Threads: one owner.
//
// The vhost library serves all guests on one thread, where a message takes 20 us and more, and many a message
// waits for a turn of the guest's worker. A guest that starts needs a few hundred messages, and one that runs
// a few in a minute. A front-end that sends more than the burst waits in its socket; no other front-end does.
//
// Example: 2,000 messages at once. The first 1,024 pass, then one each millisecond: the last after 0.98 s.
#pragma once

#include <algorithm>
#include <chrono>

namespace weir {

class MessagePace {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr int kBurst = 1024;
    static constexpr std::chrono::milliseconds kGap{1};

    /// When the next message may pass; it may lie in the past.
    [[nodiscard]] Clock::time_point next() const { return full_at_ - (kBurst - 1) * kGap; }
    [[nodiscard]] bool may_pass(Clock::time_point now) const { return next() <= now; }
    void passed(Clock::time_point now) { full_at_ = std::max(full_at_, now) + kGap; }

  private:
    Clock::time_point full_at_{};  ///< when a whole burst may pass again
};

}  // namespace weir
