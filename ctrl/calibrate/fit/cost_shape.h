// cost_shape.h - one shape of a cost table with its numbers: as a curve, as JSON, in words.
// Source: Pulsar Fig. 6; Libra (EuroSys'14). Units: bytes, tokens. Threads: any (values, pure functions).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cost_functions/cost_curve.h"

namespace weir::calibrate {

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

}  // namespace weir::calibrate
