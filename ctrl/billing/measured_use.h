// measured_use.h - how much of its promise a vNIC used, second by second, and how often a link fails by that:
// what replaces the model of ctrl/billing/overcommit once there is a day of it.
// Source: SoftBW 2.2 asks for the distribution of the sum; algorithms 1.10. Units: parts of the promise,
// seconds. Threads: any (values, pure).
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace weir::billing {

/// Time by the part of its promise that a vNIC used. More than the promise is nobody's promise: it counts as
/// all of it.
class MeasuredUse {
  public:
    /// Nothing used, then 64 parts of the same width.
    static constexpr std::size_t kBins = 65;
    using Bins = std::array<double, kBins>;  ///< seconds
    /// From so much on it stands for the vNIC.
    static constexpr double kEnough = 86'400;
    /// Beyond so much the older half counts half.
    static constexpr double kMost = 4 * kEnough;

    MeasuredUse() = default;
    explicit MeasuredUse(const Bins& bins);

    /// @param used of what was promised, from 0 on
    void add(double used, double seconds);
    void add(const MeasuredUse& other);
    [[nodiscard]] double seconds() const { return seconds_; }
    [[nodiscard]] bool enough() const { return seconds_ >= kEnough; }
    [[nodiscard]] const Bins& bins() const { return bins_; }
    /// The part that a bin stands for: its middle.
    [[nodiscard]] static double part_of(std::size_t bin) {
        return bin == 0 ? 0 : (static_cast<double>(bin) - 0.5) / static_cast<double>(kBins - 1);
    }

  private:
    Bins bins_{};
    double seconds_ = 0;
};

/// One of those that share a link.
struct PromisedUse {
    const MeasuredUse* use = nullptr;  ///< with some time in it
    double promised = 0;
};

/// The probability that those together use more of their promises than the link has, were they independent of
/// each other.
/// @param capacity above 0, in the unit of the promises
[[nodiscard]] double failure_probability(double capacity, std::span<const PromisedUse> parts);

}  // namespace weir::billing
