// curve_fit.h - the simplest shape of a cost table that says what was measured, within a bound.
// Source: shapes of Pulsar Fig. 6, points as in Libra (algorithms 1.11). Units: bytes, tokens. Threads: any
// (pure).
//
// Errors are relative: a request of 1 KiB that costs a tenth too much is as wrong as one of 1 MiB. What is
// fitted never falls with size and never costs nothing.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cost_functions/cost_curve.h"

namespace weir::calibrate {

/// What was measured: a request of `size` (as the switch counts it) costs `tokens`.
struct CostPoint {
    std::uint64_t size = 0;
    double tokens = 0;
};

/// One shape with whole numbers, as a cost table has it.
struct Shape {
    enum class Kind : std::uint8_t { kLinear, kMinimum, kSteps, kPoints };

    Kind kind = Kind::kLinear;
    std::uint32_t base = 0;                  ///< kLinear, kMinimum, kSteps
    std::uint32_t minimum = 0;               ///< kMinimum
    std::uint64_t until = 0;                 ///< kSteps
    CostCurve::Price price{0, 1};            ///< kLinear, kMinimum, kSteps
    std::vector<CostCurve::Point> points{};  ///< kPoints

    [[nodiscard]] CostCurve curve() const;
    /// As the members of a row of a cost table.
    [[nodiscard]] nlohmann::json json() const;
    /// "8192 at least, 1 token for 1B"
    [[nodiscard]] std::string text() const;
};

struct CurveFit {
    Shape shape;
    std::size_t parameters = 0;  ///< numbers that had to be found
    double worst = 0;            ///< largest relative error at a measured size
    double rms = 0;
};

/// Sizes at which more bytes cost less, beyond what pooling neighbours may explain.
struct Falling {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    double part = 0;  ///< of the cost of `from` that `to` saves
};
/// The largest fall between two neighbours that is more than `tolerance`; none if costs grow.
[[nodiscard]] std::optional<Falling> falling(std::span<const CostPoint> points, double tolerance);

/// @param points 1..kCurvePointsMax of growing size, tokens >= 1
/// @param tolerance the relative error allowed at every point
/// @return of the shapes within the tolerance the one of the fewest numbers, of two such the more exact one;
/// if none is, the most exact
[[nodiscard]] CurveFit fit_curve(std::span<const CostPoint> points, double tolerance);

}  // namespace weir::calibrate
