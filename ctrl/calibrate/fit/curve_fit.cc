// curve_fit.cc - for each shape the numbers with the smallest error, and the choice among the shapes.
#include "ctrl/calibrate/fit/curve_fit.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "common/units.h"

namespace weir::calibrate {
namespace {

using Points = std::span<const CostPoint>;

std::uint32_t whole_tokens(double tokens, std::uint32_t at_least) {
    return static_cast<std::uint32_t>(std::clamp<double>(std::round(tokens), at_least, kCurveTokensMax));
}

/// Tokens per byte as whole numbers, for the smallest power of two of bytes that errs by less than 0.1%.
CostCurve::Price price_of(double per_byte) {
    constexpr double kError = 1e-3;
    CostCurve::Price price{0, 1};
    for (std::uint64_t bytes = 1; bytes <= kCurveStrideMax; bytes *= 2) {
        const double tokens = per_byte * static_cast<double>(bytes);
        if (tokens > kCurveTokensMax)
            break;
        price = {whole_tokens(tokens, 0), bytes};
        if (std::abs(price.tokens - tokens) <= kError * tokens)
            break;
    }
    return price.tokens == 0 ? CostCurve::Price{0, 1} : price;
}

struct Line {
    double base = 0;
    double slope = 0;
};

/// Least squares of (base + slope * x(size)) / tokens - 1, with base and slope of at least 0.
Line nearest_line(Points points, const std::function<double(std::uint64_t)>& x, bool with_base = true) {
    double bb = 0, bs = 0, ss = 0, b = 0, s = 0;  // sums of the normal equations
    for (const CostPoint& point : points) {
        const double u = 1 / point.tokens;              // of the base
        const double v = x(point.size) / point.tokens;  // of the slope
        bb += u * u, bs += u * v, ss += v * v, b += u, s += v;
    }
    const double determinant = bb * ss - bs * bs;
    Line line{0, ss > 0 ? s / ss : 0};
    if (with_base && determinant > 1e-12 * bb * ss)
        line = {(b * ss - s * bs) / determinant, (s * bb - b * bs) / determinant};
    if (with_base && (line.slope < 0 || ss == 0))
        line = {b / bb, 0};
    if (line.base < 0)
        line = {0, s / ss};
    return line;
}

Line nearest_line_by_size(Points points, bool with_base) {
    return nearest_line(
        points, [](std::uint64_t size) { return static_cast<double>(size); }, with_base);
}

CurveFit with_errors(CostShape shape, std::size_t parameters, Points points) {
    CurveFit fit{std::move(shape), parameters, 0, 0};
    const CostCurve curve = fit.shape.curve();
    for (const CostPoint& point : points) {
        const double error = std::abs(curve.at(point.size) / point.tokens - 1);
        fit.worst = std::max(fit.worst, error);
        fit.rms += error * error / static_cast<double>(points.size());
    }
    fit.rms = std::sqrt(fit.rms);
    return fit;
}

void keep_best(CurveFit& best, const CurveFit& other) {
    if (other.rms < best.rms)
        best = other;
}
const CurveFit kNone{{}, 0, 0, std::numeric_limits<double>::infinity()};

CostShape line_shape(Line line) {
    const CostCurve::Price price = price_of(line.slope);
    return {.kind = CostShape::Kind::kLinear, .base = whole_tokens(line.base, 1), .price = price};
}

void add_lines(std::vector<CurveFit>& fits, Points points) {
    const Line flat = nearest_line(points, [](std::uint64_t) { return 0.0; });
    fits.push_back(with_errors(line_shape(flat), 1, points));
    if (points.size() > 1)
        fits.push_back(with_errors(line_shape(nearest_line_by_size(points, true)), 2, points));
}

/// Flat over the first sizes and a line through the others, with or without a base: every split is tried.
void add_minimum(std::vector<CurveFit>& fits, Points points) {
    for (const bool with_base : {false, true}) {
        const std::size_t parameters = with_base ? 3 : 2;
        CurveFit best = kNone;
        for (std::size_t flat = 1; flat < points.size() && points.size() > parameters; ++flat) {
            const Line level = nearest_line(points.first(flat), [](std::uint64_t) { return 0.0; });
            const Line line = nearest_line_by_size(points.subspan(flat), with_base);
            const std::uint32_t minimum = whole_tokens(level.base, 1);
            if (line.base > minimum)
                continue;
            keep_best(best, with_errors({.kind = CostShape::Kind::kMinimum,
                                         .base = whole_tokens(line.base, 0),
                                         .minimum = minimum,
                                         .price = price_of(line.slope)},
                                        parameters, points));
        }
        if (std::isfinite(best.rms))
            fits.push_back(best);
    }
}

/// Candidates for the width of a step: powers of two, and differences of neighboring sizes.
std::vector<std::uint64_t> step_widths(Points points) {
    std::vector<std::uint64_t> widths;
    const std::uint64_t largest = points.back().size;
    for (std::uint64_t width = 512; width <= std::min(largest, kCurveStrideMax); width *= 2)
        widths.push_back(width);
    for (std::size_t i = 1; i < points.size(); ++i)
        if (points[i].size - points[i - 1].size <= kCurveStrideMax)
            widths.push_back(points[i].size - points[i - 1].size);
    return widths;
}

void add_steps(std::vector<CurveFit>& fits, Points points) {
    std::vector<std::uint64_t> begins{0};
    for (const CostPoint& point : points.first(points.size() - 1))
        begins.push_back(point.size);
    for (const std::size_t parameters : {3U, 4U}) {
        CurveFit best = kNone;
        if (points.size() <= parameters)
            break;
        for (const std::uint64_t until : parameters == 3 ? std::vector<std::uint64_t>{0} : begins)
            for (const std::uint64_t every : step_widths(points)) {
                const Line line = nearest_line(points, [&](std::uint64_t size) {
                    const std::uint64_t steps = size <= until ? 0 : (size - until + every - 1) / every;
                    return static_cast<double>(steps);
                });
                if (line.slope < 0.5)
                    continue;
                keep_best(best, with_errors({.kind = CostShape::Kind::kSteps,
                                             .base = whole_tokens(line.base, 1),
                                             .until = until,
                                             .price = {whole_tokens(line.slope, 1), every}},
                                            parameters, points));
            }
        if (std::isfinite(best.rms))
            fits.push_back(best);
    }
}

/// The fewest points whose connecting lines are within `tolerance` of the others: shortest path over the
/// points by dynamic programming, where an edge skips points that its line is near enough to.
CostShape fewest_points(const std::vector<CostPoint>& points, double tolerance) {
    const auto bridges = [&](std::size_t from, std::size_t to) {
        const double run = static_cast<double>(points[to].size - points[from].size);
        for (std::size_t i = from + 1; i < to; ++i) {
            const double part = static_cast<double>(points[i].size - points[from].size) / run;
            const double line = points[from].tokens + part * (points[to].tokens - points[from].tokens);
            if (std::abs(line / points[i].tokens - 1) > tolerance)
                return false;
        }
        return true;
    };
    std::vector<std::size_t> hops(points.size(), SIZE_MAX), before(points.size(), 0);
    hops[0] = 0;
    for (std::size_t to = 1; to < points.size(); ++to)
        for (std::size_t from = 0; from < to; ++from)
            if (hops[from] + 1 < hops[to] && bridges(from, to))
                hops[to] = hops[from] + 1, before[to] = from;
    CostShape shape{.kind = CostShape::Kind::kPoints};
    for (std::size_t at = points.size() - 1;; at = before[at]) {
        shape.points.push_back({points[at].size, whole_tokens(points[at].tokens, 1)});
        if (at == 0)
            break;
    }
    std::reverse(shape.points.begin(), shape.points.end());
    return shape;
}

/// All shapes with their errors. Shapes with more numbers than points are left out, but for points.
std::vector<CurveFit> candidates(Points points, double tolerance) {
    std::vector<CurveFit> fits;
    add_lines(fits, points);
    add_minimum(fits, points);
    add_steps(fits, points);
    const std::vector<CostPoint> grown = monotone(points);
    // Half of the tolerance is left for the errors of pooling and of rounding to whole tokens.
    for (const double allowed : {tolerance / 2, 0.0}) {
        const CostShape shape = fewest_points(grown, allowed);
        fits.push_back(with_errors(shape, 2 * shape.points.size(), points));
    }
    return fits;
}

std::string tokens_text(std::uint32_t tokens) {
    return std::to_string(tokens) + (tokens == 1 ? " token" : " tokens");
}

std::string price_text(CostCurve::Price price) {
    return tokens_text(price.tokens) + " per " + format_size(price.bytes);
}

}  // namespace

std::vector<CostPoint> monotone(std::span<const CostPoint> points) {
    struct Pool {
        double log_sum;
        std::size_t count;
        [[nodiscard]] double mean() const { return log_sum / static_cast<double>(count); }
    };
    std::vector<Pool> pools;
    for (const CostPoint& point : points) {
        pools.push_back({std::log(point.tokens), 1});
        while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
            const Pool last = pools.back();
            pools.pop_back();
            pools.back().log_sum += last.log_sum;
            pools.back().count += last.count;
        }
    }
    std::vector<CostPoint> grown(points.begin(), points.end());
    std::size_t at = 0;
    for (const Pool& pool : pools)
        for (std::size_t i = 0; i < pool.count; ++i)
            grown[at++].tokens = std::exp(pool.mean());
    return grown;
}

std::optional<CostFall> largest_fall(std::span<const CostPoint> points, double tolerance) {
    std::optional<CostFall> worst;
    // Against the dearest before, not the neighbor: a slow fall is a fall.
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
        const bool near_a = a.worst <= tolerance;
        if (near_a != (b.worst <= tolerance))
            return near_a;
        if (near_a && a.parameters != b.parameters)
            return a.parameters < b.parameters;
        return a.rms < b.rms;
    };
    return *std::min_element(all.begin(), all.end(), better);
}

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
