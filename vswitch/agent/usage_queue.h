// usage_queue.h - periods of vNICs that the controller has not put on the bill yet; said again until it has,
// which counts them once all the same. Source: SoftBW 4.2; docs/protocol.md. Units: Unix nanoseconds; Nanos
// of any clock that only rises. Threads: agent.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include "common/clock.h"
#include "common/wire/usage.h"

namespace weir {

struct UsageSample {
    std::string vnic{};
    wire::Usage usage{};  ///< its `vnic` is not set yet
};

class UsageQueue {
  public:
    /// Periods that wait at most: with 100 vNICs ten minutes without a controller. Then the oldest are lost.
    static constexpr std::size_t kMost = 60'000;
    /// Records of a message; the rest of the same moment comes with it.
    static constexpr std::size_t kPerMessage = 4'096;
    static constexpr Nanos kAgain = 3 * kNanosPerSec;

    /// In the order of their ends.
    void add(const UsageSample& sample);
    /// What is due: what waits, when the last message was answered or is too long ago. Of vNICs that the
    /// controller does not have nothing is said. @return a body, empty when nothing is due
    [[nodiscard]] wire::Bytes say(const std::map<std::string, std::uint32_t, std::less<>>& ids, Nanos now);
    /// The controller has all that ended by then.
    void billed(std::uint64_t through);
    /// A new session: what was said in the old one may not have been heard.
    void start_over() { said_at_ = 0; }

    [[nodiscard]] std::size_t waiting() const { return samples_.size(); }
    [[nodiscard]] std::uint64_t lost() const { return lost_; }

  private:
    std::deque<UsageSample> samples_;
    Nanos said_at_ = 0;  // of the message that was not answered yet; 0 = none
    std::uint64_t lost_ = 0;
};

}  // namespace weir
