// periodic_limit.h - rate limit of one VM, set anew every period: the scheme that SoftBW compares itself
// with. Source: SoftBW 2.3; SoftBW 6.2; SoftBW 7; ElasticSwitch (SIGCOMM'13) Units: bytes/s; periods.
// Source: SoftBW 2.3, 6.2, 7; ElasticSwitch (SIGCOMM'13); docs/algorithms.md 13.1.
// Threads: one.
//
// The limit is the larger of the guarantee and of a rate that grows as TCP-Cubic's window does; after
// congestion it rests. SoftBW gives neither the curve nor its constants: both are chosen here, and
// bench/papers/rate_limits.py tries many.
#pragma once

#include <cstdint>

#include "common/clock.h"

namespace weir::sim {

/// The event that counts as congestion.
enum class CongestionSignal : std::uint8_t {
    kLoss,   ///< a packet found the NIC's queue full and was dropped
    kQueue,  ///< one found PeriodicLimitSpec::queue waiting there
};

struct PeriodicLimitSpec {
    Nanos period = 15'000'000;
    CongestionSignal signal = CongestionSignal::kLoss;
    std::uint32_t queue = 20;   ///< packets; DCTCP marks from 20 at 1 Gbit/s
    double decrease = 0.3;      ///< of the rate, at a congestion
    std::uint32_t regain = 20;  ///< periods until the rate is back at its value before the congestion
    double ceiling = 1;         ///< of the link: no limit is above it
};

class PeriodicLimit {
  public:
    /// @param guarantee, ceiling bytes/s; the limit begins with the guarantee
    PeriodicLimit(const PeriodicLimitSpec& spec, std::uint64_t guarantee, std::uint64_t ceiling);

    /// A period has ended. @param congested by the signal @param limited the VM would have sent more
    void update(bool congested, bool limited);
    [[nodiscard]] std::uint64_t rate() const;

  private:
    double decrease_;
    double regain_;
    double guarantee_;
    double ceiling_;
    double rate_;
    double origin_ = 0;  // rate before the last congestion; 0 = there was none yet
    unsigned age_ = 0;   // periods of growth since then
    unsigned rest_ = 0;  // periods without growth that are left
};

}  // namespace weir::sim
