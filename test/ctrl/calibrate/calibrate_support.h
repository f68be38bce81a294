// calibrate_support.h - measurements of appliances whose costs are known. Threads: tests only.
#pragma once

#include <cmath>
#include <functional>
#include <vector>

#include "ctrl/calibrate/fit/table_fit.h"
#include "test/support/catch.h"
#include "test/support/random.h"

namespace weir::calibrate::test {

using Cost = std::function<double(double)>;  // seconds of the appliance for so many bytes
inline constexpr double kHeader = 16;        // bytes that the switch counts besides

/// A number between -1 and 1.
inline double spread(testing::Random32& random) {
    return static_cast<double>(random()) / 2147483648.0 - 1;
}

/// Powers of two.
inline std::vector<std::uint64_t> sizes_between(std::uint64_t first, std::uint64_t last) {
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t size = first; size <= last; size *= 2)
        sizes.push_back(size);
    return sizes;
}
inline const std::vector<std::uint64_t> kSizes = sizes_between(512, 1 << 20);

/// Rounds of an appliance whose requests of `operation` take cost(bytes as counted), each with an error up to
/// `noise`.
inline std::vector<Measured> measure(Operation operation, const std::vector<std::uint64_t>& sizes,
                                     const Cost& cost, double noise = 0, std::uint32_t seed = 1,
                                     std::size_t rounds = 5) {
    testing::Random32 random(seed);
    std::vector<Measured> all;
    for (const std::uint64_t size : sizes) {
        Measured one{.operation = operation, .payload = size, .request_bytes = 28, .response_bytes = 16};
        const auto whole = size + static_cast<std::uint64_t>(kHeader);
        (operation == Operation::kRead ? one.response_bytes : one.request_bytes) = whole;
        one.outstanding = 16;
        for (std::size_t round = 0; round < rounds; ++round)
            one.rates.push_back((1 + noise * spread(random)) / cost(static_cast<double>(whole)));
        all.push_back(one);
    }
    return all;
}

inline std::vector<CostPoint> points_of(const std::vector<std::uint64_t>& sizes, const Cost& tokens) {
    std::vector<CostPoint> points;
    for (const std::uint64_t size : sizes)
        points.push_back({size, tokens(static_cast<double>(size))});
    return points;
}

}  // namespace weir::calibrate::test
