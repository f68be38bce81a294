// rate_law.h - how an advertised rate follows what was measured under it: one multiplication per period.
// Source: EyeQ 3.4 (linear law); log law R *= (C/y)^a, which needs no clamp and whose stability with constant
// senders is global: a < 2 sin(pi / (2 (2d+1))) for feedback delayed by d periods (0.445 for d = 3).
// Units: tokens (accounted bytes) per second. Threads: any (pure).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace weir {

enum class RateLaw : std::uint8_t { kLog, kLinear };

struct RateLawProfile {
    RateLaw law = RateLaw::kLog;
    double gain = 0.25;          ///< a, 0..1: calm with feedback delayed by up to three periods
    std::uint64_t rate_min = 1;  ///< never advertised less
    std::uint64_t rate_max = 1;  ///< nor more
};

/// A silent endpoint's rate does not more than double in one period.
inline constexpr double kRateGrowthMax = 2.0;
/// Less than this part of the capacity counts as this part.
inline constexpr double kLoadMin = 1.0 / 256;

/// @param load received / capacity, 0 or more
[[nodiscard]] inline double rate_factor(const RateLawProfile& profile, double load) {
    const double factor = profile.law == RateLaw::kLog ? std::pow(std::max(load, kLoadMin), -profile.gain)
                                                       : 1.0 - profile.gain * (load - 1.0);
    return std::clamp(factor, 0.0, kRateGrowthMax);
}

/// The rate of the next period.
[[nodiscard]] inline std::uint64_t next_rate(const RateLawProfile& profile, std::uint64_t rate, double load) {
    const double next = static_cast<double>(rate) * rate_factor(profile, load);
    return std::clamp(static_cast<std::uint64_t>(std::llround(std::min(next, 0x1p62))), profile.rate_min,
                      profile.rate_max);
}

}  // namespace weir
