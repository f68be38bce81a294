// estimate.h - the middle of repeated measurements, and how sure it is. No distribution is assumed: the
// interval is between two of the values themselves. Source: order statistics (binomial). Threads: any (pure).
#pragma once

#include <cstddef>
#include <vector>

namespace weir::calibrate {

/// Intervals hold the true median at least this often; fewer values than kRepeatsMin have none.
inline constexpr double kConfidence = 0.9;
inline constexpr std::size_t kRepeatsMin = 5;

struct Estimate {
    double median = 0;
    double low = 0;
    double high = 0;
    double confidence = 0;  ///< that the true median lies within low..high

    /// Half of the interval, as a part of the median.
    [[nodiscard]] double noise() const { return median > 0 ? (high - low) / 2 / median : 1; }
};

/// Of at least one value. The interval is the narrowest one with at least kConfidence that leaves out as many
/// values below as above, or all values when there are too few.
[[nodiscard]] Estimate estimate(std::vector<double> values);

}  // namespace weir::calibrate
