// candidates.h - for each shape of a cost table the one that is nearest to what was measured. curve_fit.h
// chooses among them. Units: bytes, tokens. Threads: any (pure).
#pragma once

#include <span>
#include <vector>

#include "ctrl/calibrate/fit/curve_fit.h"

namespace weir::calibrate {

/// The same points with tokens that never fall: neighbours that do are pooled (their geometric mean).
[[nodiscard]] std::vector<CostPoint> growing(std::span<const CostPoint> points);

/// All shapes worth a look, with their errors at the points. A shape with more numbers than were measured is
/// left out, but for points, which are always possible.
[[nodiscard]] std::vector<CurveFit> candidates(std::span<const CostPoint> points, double tolerance);

}  // namespace weir::calibrate
