// cost_shape.cc - the four kinds of shape, one case each.
#include "ctrl/calibrate/fit/cost_shape.h"

#include "common/units.h"

namespace weir::calibrate {
namespace {

std::string tokens_text(std::uint32_t tokens) {
    return std::to_string(tokens) + (tokens == 1 ? " token" : " tokens");
}

std::string price_text(CostCurve::Price price) {
    return tokens_text(price.tokens) + " per " + format_size(price.bytes);
}

}  // namespace

CostCurve CostShape::curve() const {
    switch (kind) {
        case Kind::kMinimum:
            return CostCurve::minimum(minimum, base, price);
        case Kind::kSteps:
            return CostCurve::steps(base, until, price);
        case Kind::kPoints:
            return CostCurve::points(points);
        case Kind::kLinear:
            break;
    }
    return CostCurve::linear(base, price);
}

nlohmann::json CostShape::json() const {
    switch (kind) {
        case Kind::kMinimum:
            return {{"shape", "minimum"},
                    {"minimum", minimum},
                    {"base", base},
                    {"tokens", price.tokens},
                    {"per", format_size(price.bytes)}};
        case Kind::kSteps:
            return {{"shape", "steps"},
                    {"base", base},
                    {"until", format_size(until)},
                    {"tokens", price.tokens},
                    {"every", format_size(price.bytes)}};
        case Kind::kPoints: {
            nlohmann::json list = nlohmann::json::array();
            for (const CostCurve::Point& point : points)
                list.push_back({format_size(point.size), point.tokens});
            return {{"shape", "points"}, {"points", std::move(list)}};
        }
        case Kind::kLinear:
            break;
    }
    return {{"shape", "linear"}, {"base", base}, {"tokens", price.tokens}, {"per", format_size(price.bytes)}};
}

std::string CostShape::text() const {
    const std::string line = (base == 0 ? "" : tokens_text(base) + " + ") + price_text(price);
    switch (kind) {
        case Kind::kMinimum:
            return "minimum: at least " + tokens_text(minimum) + ", else " + line;
        case Kind::kSteps:
            return "steps: " + tokens_text(base) + " up to " + format_size(until) + ", then " +
                   price_text(price) + " begun";
        case Kind::kPoints:
            return "points: straight lines through " + std::to_string(points.size()) + " measured sizes";
        case Kind::kLinear:
            break;
    }
    return "linear: " + (price.tokens == 0 ? tokens_text(base) + " at any size" : line);
}

}  // namespace weir::calibrate
