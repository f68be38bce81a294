// overcommit.h - model of how often an over-committed link fails its promises.
// Source: SoftBW 2.2; docs/algorithms.md 6.4
// Units: parts of 1.
// Threads: any (pure).
//
// n equal VMs with independent, exponentially distributed demands share a link. When exactly the link is
// promised they use the part `utilisation` of it on average; `ratio` times the link is promised. The link
// fails while the sum of the demands exceeds it, with probability e^-k * sum of k^j / j! for j = 0 to n - 1,
// where k = n / (utilisation * ratio).
//
// Example: 16 VMs at utilisation 0.15 with 4 times the link promised fail 1.0 % of the time.
#pragma once

#include <cstdint>

namespace weir::billing {

/// The most VMs that the model accepts.
inline constexpr std::uint32_t kVmsMax = 100'000;

/// Probability that the VMs together want more than the link.
/// @param vms         1 to kVmsMax
/// @param utilisation of the link, were exactly the link promised
/// @param ratio       promised rate over the link's rate
[[nodiscard]] double failure_probability(std::uint32_t vms, double utilisation, double ratio);

/// The largest ratio whose failure probability is within `bound`, at most `ratio_max`.
[[nodiscard]] double ratio_within(std::uint32_t vms, double utilisation, double bound, double ratio_max);

}  // namespace weir::billing
