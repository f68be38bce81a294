// curve_fit.h - shapes of a cost table, and the simplest that is near enough to every measured cost.
// Source: Libra (EuroSys'14); docs/algorithms.md 12.2
// Units: bytes, tokens. Threads: any (values, pure functions).
//
// For each shape the numbers with the least squares of relative errors are found: a request of 1 KiB that is
// priced 10% too high is as wrong as one of 1 MiB. Of the shapes whose largest error is within the tolerance
// the one with the fewest numbers is taken. Example: costs of 8192 tokens up to 8 KiB, then one per byte, fit
// a minimum (two numbers) exactly, a line (two numbers) by far not, and points (four numbers) as well. A
// fitted cost never falls with size and is never 0.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cost_functions/cost_curve.h"

namespace weir::calibrate {

/// One shape of a cost table with its numbers: as a curve, as JSON, in words.
struct CostShape {
    enum class Kind : std::uint8_t {
        kLinear,   ///< base + price by size; flat when the price is 0 tokens
        kMinimum,  ///< the larger of `minimum` and the line
        kSteps,    ///< base up to `until` bytes, then price.tokens for every price.bytes begun
        kPoints,   ///< straight lines through `points`
    };

    Kind kind = Kind::kLinear;
    std::uint32_t base = 0;
    std::uint32_t minimum = 0;
    std::uint64_t until = 0;
    CostCurve::Price price{0, 1};
    std::vector<CostCurve::Point> points{};

    [[nodiscard]] CostCurve curve() const;
    /// Members of a row of a cost table: "shape" and its numbers.
    [[nodiscard]] nlohmann::json json() const;
    /// "minimum: at least 8192 tokens, else 1 token per 1B"
    [[nodiscard]] std::string text() const;
};

/// A measured cost: a request of `size` bytes, as the switch counts them, costs `tokens`.
struct CostPoint {
    std::uint64_t size = 0;
    double tokens = 0;
};

struct CurveFit {
    CostShape shape;
    std::size_t parameters = 0;  ///< numbers that were fitted
    double worst = 0;            ///< largest relative error at a measured size
    double rms = 0;              ///< root mean square of the relative errors
};

/// A size that costs less than a smaller one.
struct CostFall {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    double part = 0;  ///< by how much `to` is cheaper, as part of the cost of `from`
};
/// The largest fall against the dearest smaller size, if it exceeds `tolerance`.
[[nodiscard]] std::optional<CostFall> largest_fall(std::span<const CostPoint> points, double tolerance);

/// The same sizes with tokens that never fall: neighbors that do are pooled to their geometric mean.
[[nodiscard]] std::vector<CostPoint> monotone(std::span<const CostPoint> points);

/// @param points 1..kCurvePointsMax by growing size, tokens >= 1
/// @param tolerance largest relative error
/// @return when no shape is within the tolerance, the one with the smallest `rms`
[[nodiscard]] CurveFit fit_curve(std::span<const CostPoint> points, double tolerance);

}  // namespace weir::calibrate
