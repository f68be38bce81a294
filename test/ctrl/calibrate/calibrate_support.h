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
inline std::vector<Measurement> measure(Operation operation, const std::vector<std::uint64_t>& sizes,
                                        const Cost& cost, double noise = 0, std::uint32_t seed = 1,
                                        std::size_t rounds = 5) {
    testing::Random32 random(seed);
    std::vector<Measurement> all;
    for (const std::uint64_t size : sizes) {
        Measurement one{.operation = operation, .payload = size, .request_bytes = 28, .response_bytes = 16};
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

/// Five sizes of reads from an NBD server.
inline Calibration stored_calibration() {
    Calibration calibration{"nbd at 10.0.0.3:10809", "2026-11-21", {}};
    calibration.measurements =
        measure(Operation::kRead, sizes_between(4096, 65536), [](double s) { return 1e-4 + s * 1e-8; });
    calibration.measurements[1].half_rates = {5000.5};
    calibration.measurements[1].generator = 0.25;
    return calibration;
}

}  // namespace weir::calibrate::test
