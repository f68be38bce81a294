// overcommit.h - how often an over-committed link fails its promises: by SoftBW's model, and by measured use.
// Source: SoftBW 2.2; docs/algorithms.md 6.4
// Units: parts of 1, of a link or a promise; seconds; bytes, bytes per second and Unix nanoseconds in bills.
// Threads: one at a time.
//
// The model: n equal VMs with independent, exponentially distributed demands share a link. When exactly the
// link is promised they use the part `utilization` of it on average; `ratio` times the link is promised. The
// link fails while the sum of the demands exceeds it, with probability e^-k * sum of k^j / j! for j = 0 to n
// - 1, where k = n / (utilization * ratio). Example: 16 VMs at utilization 0.15 with 4 times the link
// promised fail 1.0 % of the time.
//
// Measured use replaces the model where a day of billing periods has been seen: each vNIC has a histogram of
// the part of its promise that it used, and the histograms of the vNICs on a link, taken as independent, give
// the distribution of their sum. Example: two vNICs with promises of 60 on a link of 100, each idle half of
// the time and at its whole promise the other half, fail 25 % of the time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ctrl/billing/bill.h"

namespace weir::billing {

/// The most VMs that the model accepts.
inline constexpr std::uint32_t kVmsMax = 100'000;

/// Probability that the VMs together want more than the link.
/// @param vms         1 to kVmsMax
/// @param utilization of the link, were exactly the link promised
/// @param ratio       promised rate over the link's rate
[[nodiscard]] double failure_probability(std::uint32_t vms, double utilization, double ratio);

/// The largest ratio whose failure probability is within `bound`, at most `ratio_max`.
[[nodiscard]] double ratio_within(std::uint32_t vms, double utilization, double bound, double ratio_max);

/// Histogram of a vNIC's use, as time per part of its promise. Use beyond the promise counts as all of it,
/// because the excess was not promised.
class MeasuredUse {
  public:
    /// The first bin is no use, the other 64 are of equal width.
    static constexpr std::size_t kBins = 65;
    using Bins = std::array<double, kBins>;  ///< seconds
    /// Seconds after which the histogram stands for the vNIC.
    static constexpr double kSecondsEnough = 86'400;
    /// Beyond these seconds all bins are halved, so that old time counts less and less.
    static constexpr double kSecondsMost = 4 * kSecondsEnough;

    MeasuredUse() = default;
    explicit MeasuredUse(const Bins& bins);

    /// @param used part of the promise, from 0 on
    void add(double used, double seconds);
    void add(const MeasuredUse& other);
    [[nodiscard]] double seconds() const { return seconds_; }
    [[nodiscard]] bool is_enough() const { return seconds_ >= kSecondsEnough; }
    [[nodiscard]] const Bins& bins() const { return bins_; }
    /// The middle of a bin.
    [[nodiscard]] static double part_of(std::size_t bin) {
        return bin == 0 ? 0 : (static_cast<double>(bin) - 0.5) / static_cast<double>(kBins - 1);
    }

  private:
    Bins bins_{};
    double seconds_ = 0;
};

/// A promise on a link, and its use.
struct PromisedUse {
    const MeasuredUse* use = nullptr;  ///< with seconds() above 0
    double promised = 0;
};

/// Probability that the sum of the used promises exceeds the capacity.
/// @param capacity above 0, in the unit of the promises
[[nodiscard]] double failure_probability(double capacity, std::span<const PromisedUse> parts);

/// A vNIC on a link, and its reservation there, in the unit of the link's capacity.
struct Sharer {
    std::string_view vnic;
    double promised = 0;
};

/// The use of every vNIC, from the periods of the bill.
class UseTable {
  public:
    using Uses = std::map<std::string, MeasuredUse, std::less<>>;
    /// Nanoseconds; the mean of a longer period does not show the use of its seconds.
    static constexpr std::int64_t kPeriodMost = 2'000'000'000;
    /// Nanoseconds; bounds idle time when a clock was set forward.
    static constexpr std::int64_t kIdleMost = 86'400'000'000'000;

    UseTable() = default;
    explicit UseTable(Uses measured) : uses_(std::move(measured)) {}

    /// Adds a period, and the time since the vNIC's last one as idle: periods without traffic are not billed.
    /// @param since time from which no report of the vNIC's host was lost; earlier time is not idle
    void add(const Record& record, std::int64_t since);
    [[nodiscard]] const Uses& all() const { return uses_; }

    /// Probability that the sharers use more of their promises than the link has. A vNIC without a day of
    /// measurement counts as the average of the others.
    /// @param need the sharers' joint need of the link, at most the sum of their promises
    /// @return nothing when no vNIC has a day of measurement
    [[nodiscard]] std::optional<double> failure(double need, double have,
                                                std::span<const Sharer> sharers) const;

  private:
    [[nodiscard]] const MeasuredUse& common() const;

    Uses uses_;
    std::map<std::string, std::int64_t, std::less<>> ended_;  // by vNIC: the end of its last period
    mutable std::optional<MeasuredUse> common_;  // sum of those with a day; none: to be summed anew
};

}  // namespace weir::billing
