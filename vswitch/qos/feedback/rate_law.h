// rate_law.h - how an advertised rate follows the load that was measured under it.
// Source: EyeQ 3.4; docs/algorithms.md 4.2. Units: tokens (accounted bytes) per second; load is the received
// rate divided by the vNIC's part of the link. Threads: any (pure).
//
// One rate holds for all senders to a vNIC, however many there are: it is multiplied by a factor once per
// period until the load is 1. Example: four senders at 9 Gbit/s each to a vNIC with a part of 9 Gbit/s are a
// load of 4. The linear law with a gain of 0.5 has the factor 1 - 0.5 * (4 - 1) = -0.5, which counts as 0;
// the logarithmic law has the factor 4^-0.5 = 0.5 and needs five periods to come within 5 % of 2.25 Gbit/s.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "vswitch/qos/feedback/registry.h"

namespace weir {

struct RateLaw {
    double (*factor)(double gain, double load);  ///< of the rate, for load >= 0
    double gain;                                 ///< 0..1
    /// The receiver also uses the bytes that each sender sent; false: the law alone, and a split without
    /// demand, as in EyeQ.
    bool knows_senders;
};

#define WEIR_DECLARE_RATE_LAW(name, summary) RateLaw make_##name();
WEIR_RATE_LAWS(WEIR_DECLARE_RATE_LAW)
#undef WEIR_DECLARE_RATE_LAW

/// @param entry of kRateLaws
[[nodiscard]] inline RateLaw make_rate_law(const RateLawEntry& entry) {
#define WEIR_RATE_LAW_MAKER(name, summary) make_##name,
    constexpr std::array kMakers{WEIR_RATE_LAWS(WEIR_RATE_LAW_MAKER)};
#undef WEIR_RATE_LAW_MAKER
    return kMakers[static_cast<std::size_t>(&entry - kRateLaws.data())]();
}

struct RateLawProfile {
    RateLaw law = make_rate_law(kRateLaws.front());
    std::uint64_t rate_min = 1;  ///< bounds of the advertised rate
    std::uint64_t rate_max = 1;
};

/// Most that a rate is multiplied by in one period.
inline constexpr double kRateGrowthMax = 2.0;

/// Rate of the next period. @param load 0 or more
[[nodiscard]] inline std::uint64_t next_rate(const RateLawProfile& profile, std::uint64_t rate, double load) {
    const double factor = std::clamp(profile.law.factor(profile.law.gain, load), 0.0, kRateGrowthMax);
    const double next = static_cast<double>(rate) * factor;
    return std::clamp(static_cast<std::uint64_t>(std::llround(std::min(next, 0x1p62))), profile.rate_min,
                      profile.rate_max);
}

}  // namespace weir
