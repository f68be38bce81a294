// guarantee.h - the kinds of guaranteed bandwidth, and the rate of a dynamic guarantee over time.
// Source: SoftBW 4.1; docs/algorithms.md 6.2. Units: any one unit of size and of time. Threads: any.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/clock.h"

namespace weir {

/// Default and least length of a billing period, and the most.
inline constexpr Nanos kBillingPeriod = kNanosPerSec;
inline constexpr Nanos kBillingPeriodMax = 3'600 * kNanosPerSec;

enum class GuaranteeKind : std::uint8_t {
    kStrict,      ///< a rate B
    kDynamic,     ///< a size S within a time T
    kFairness,    ///< a share of the capacity that strict and dynamic guarantees leave
    kBestEffort,  ///< nothing is guaranteed or billed
};

/// Rate of a dynamic guarantee from now on, so that the rest of its size is sent in the rest of its time:
/// left / time_left, but more than size / time only as far as bytes are owed. 0 when either has run out; the
/// guarantee is fairness from then on. Example: 100 GB in 100 s; after 50 s, 60 GB are left. A vNIC that was
/// idle meanwhile (owed 0) keeps 1 GB/s; if 5 GB of the delay are owed, it gets 1 + 5 / 50 = 1.1 GB/s.
/// @param left       of the size, not sent yet
/// @param time_left  of the time
/// @param owed       part of `left` that waited to be sent but found no room
[[nodiscard]] inline double dynamic_rate(double size, double time, double left, double time_left,
                                         double owed = 0) {
    if (left <= 0 || time_left <= 0 || time <= 0)
        return 0;
    return std::min(left / time_left, size / time + owed / time_left);
}

}  // namespace weir
