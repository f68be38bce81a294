// curve_fit.cc - shapes as JSON, as curves and in words; which of the candidates is taken.
#include "ctrl/calibrate/fit/curve_fit.h"

#include <algorithm>
#include <cassert>

#include "common/units.h"
#include "ctrl/calibrate/fit/candidates.h"

namespace weir::calibrate {
namespace {

using nlohmann::json;

std::string price_text(CostCurve::Price price) {
    return std::to_string(price.tokens) + (price.tokens == 1 ? " token for " : " tokens for ") +
           format_size(price.bytes);
}

}  // namespace

CostCurve Shape::curve() const {
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

json Shape::json() const {
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

std::string Shape::text() const {
    const auto with_base = [this] { return base == 0 ? "" : std::to_string(base) + " and "; };
    switch (kind) {
        case Kind::kMinimum:
            return "minimum: " + std::to_string(minimum) + " at least, " + with_base() + price_text(price);
        case Kind::kSteps:
            return "steps: " + std::to_string(base) + " up to " + format_size(until) + ", then " +
                   price_text(price) + " begun";
        case Kind::kPoints:
            return "points: lines through " + std::to_string(points.size()) + " of the sizes measured";
        case Kind::kLinear:
            break;
    }
    if (price.tokens == 0)
        return "linear: " + std::to_string(base) + " whatever the size";
    return "linear: " + with_base() + price_text(price);
}

std::optional<Falling> falling(std::span<const CostPoint> points, double tolerance) {
    std::optional<Falling> worst;
    // Against the dearest before: a slow fall is one as well.
    for (std::size_t i = 0, dearest = 0; i < points.size(); ++i) {
        if (points[i].tokens > points[dearest].tokens)
            dearest = i;
        const double part = 1 - points[i].tokens / points[dearest].tokens;
        if (part > tolerance && part > (worst ? worst->part : 0))
            worst = {points[dearest].size, points[i].size, part};
    }
    return worst;
}

CurveFit fit_curve(std::span<const CostPoint> points, double tolerance) {
    assert(!points.empty() && points.size() <= kCurvePointsMax);
    const std::vector<CurveFit> all = candidates(points, tolerance);
    const auto better = [tolerance](const CurveFit& a, const CurveFit& b) {
        const bool good_a = a.worst <= tolerance;
        if (good_a != (b.worst <= tolerance))
            return good_a;
        if (good_a && a.parameters != b.parameters)
            return a.parameters < b.parameters;
        return a.rms < b.rms;
    };
    return *std::min_element(all.begin(), all.end(), better);
}

}  // namespace weir::calibrate
