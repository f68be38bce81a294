// overcommit.h - how often a link fails its promises when more is promised than it has.
// Source: SoftBW 2.2 (eq. 1, 2): n equal VMs, independent exponential demands. Units: parts of 1.
// Threads: any (pure).
#pragma once

#include <cstdint>

namespace weir::billing {

/// The largest number of VMs that the model is asked for.
inline constexpr std::uint32_t kVmsMax = 100'000;

/// The probability that the VMs together want more than the link.
/// @param vms         n, 1 to kVmsMax
/// @param utilisation rho: of the link, were exactly the link promised
/// @param ratio       delta: what is promised against what the link has
[[nodiscard]] double failure_probability(std::uint32_t vms, double utilisation, double ratio);

/// The largest ratio whose failure probability is within `bound`, at most `ratio_max`.
[[nodiscard]] double ratio_within(std::uint32_t vms, double utilisation, double bound, double ratio_max);

}  // namespace weir::billing
