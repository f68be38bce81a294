// guarantee.h - what kinds of bandwidth a vNIC can be promised, and billed for. Source: SoftBW 4.1. Units:
// any one unit. Threads: any.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/clock.h"

namespace weir {

/// How long a period of the bill is when nobody says otherwise, and at least; and at most.
inline constexpr Nanos kBillingPeriod = kNanosPerSec;
inline constexpr Nanos kBillingPeriodMax = 3'600 * kNanosPerSec;

enum class GuaranteeKind : std::uint8_t {
    kStrict,      ///< a rate B
    kDynamic,     ///< a size S within a time T
    kFairness,    ///< a fair part of what the others leave
    kBestEffort,  ///< nothing; it costs nothing
};

/// What is to be promised now so that the rest of S is sent in the rest of T.
/// @param left what is still to be sent of S, @param time_left what is still there of T
/// @param owed how much of S was not sent because there was no room, though it was there to be sent
/// @return s' / t', above S / T for what is owed only; 0 when all is sent or the time is over (then it is
/// fairness)
[[nodiscard]] inline double dynamic_rate(double size, double time, double left, double time_left,
                                         double owed = 0) {
    if (left <= 0 || time_left <= 0 || time <= 0)
        return 0;
    return std::min(left / time_left, size / time + owed / time_left);
}

}  // namespace weir
