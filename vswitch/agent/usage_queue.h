// usage_queue.h - usage reports that wait until the controller has stored them for the bill.
// Source: SoftBW 4.2; docs/protocol.md. Units: Unix nanoseconds; Nanos of a monotonic clock. Threads: agent.
//
// The oldest reports are sent in a message, and again every 3 s until BILLED acknowledges them. The
// controller bills each period once, however often its report arrives, so repeated messages are harmless.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "common/clock.h"
#include "common/wire/records.h"
#include "vswitch/agent/switch_control.h"

namespace weir {

class UsageQueue {
  public:
    /// Reports that wait at most: with 100 vNICs and periods of 1 s, ten minutes without a controller. Then
    /// the oldest are lost.
    static constexpr std::size_t kReportsMax = 60'000;
    /// Records of a message; further ones that end at the same time are sent with them.
    static constexpr std::size_t kRecordsPerMessage = 4'096;
    /// Time that a message may stay unanswered before it is sent again.
    static constexpr Nanos kResendAfter = 3 * kNanosPerSec;

    /// In the order of the periods' ends. One with values that a message cannot have is given up.
    void add(const UsageReport& usage);
    /// Body of the USAGE message that is due: the oldest reports, once the message before is answered or was
    /// sent kResendAfter ago. Reports of vNICs without an id are skipped and, with those that they ended
    /// with, given up. @return empty when nothing is due
    [[nodiscard]] wire::Bytes next_message(const std::map<std::string, std::uint32_t, std::less<>>& ids,
                                           Nanos now);
    /// The controller has stored all periods that ended at `through` or before, or has refused them for good.
    void on_billed(std::uint64_t through);
    /// In a new session the last message is due at once: the old session's may be lost.
    void resend() { sent_at_ = 0; }

    [[nodiscard]] std::size_t waiting() const { return reports_.size(); }
    /// vNICs whose reports wait.
    [[nodiscard]] std::set<std::string> vnics() const;
    /// Reports that were given up: of vNICs without an id, with impossible values, and the oldest when the
    /// queue was full.
    struct Unbilled {
        std::uint64_t periods = 0;
        std::uint64_t bytes = 0;  ///< delivered in these periods
    };
    [[nodiscard]] const Unbilled& unbilled() const { return unbilled_; }

  private:
    struct Waiting {
        UsageReport report;
        bool sent = false;
    };

    void give_up(const UsageReport& report);

    std::deque<Waiting> reports_;
    Unbilled unbilled_;
    Nanos sent_at_ = 0;  ///< when the unanswered message was sent; 0 = there is none
};

}  // namespace weir
