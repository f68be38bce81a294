// candidates.cc - least squares of the relative errors, by the few combinations in which a shape can lie.
#include "ctrl/calibrate/fit/candidates.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace weir::calibrate {
namespace {

using Points = std::span<const CostPoint>;

std::uint32_t whole_tokens(double tokens, std::uint32_t at_least) {
    return static_cast<std::uint32_t>(std::clamp<double>(std::round(tokens), at_least, kCurveTokensMax));
}

// Tokens per byte as whole numbers: the shortest stride that errs by less than a thousandth.
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

// Least squares of (base + slope * x) / tokens - 1, neither below 0. `x` instead of the size.
Line nearest_line(Points points, const std::function<double(std::uint64_t)>& x, bool with_base = true) {
    double bb = 0, bs = 0, ss = 0, b = 0, s = 0;
    for (const CostPoint& point : points) {
        const double u = 1 / point.tokens;
        const double v = x(point.size) / point.tokens;
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

CurveFit judged(Shape shape, std::size_t parameters, Points points) {
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

Shape line_shape(Line line) {
    const CostCurve::Price price = price_of(line.slope);
    return {.kind = Shape::Kind::kLinear, .base = whole_tokens(line.base, 1), .price = price};
}

void add_lines(std::vector<CurveFit>& fits, Points points) {
    const Line flat = nearest_line(points, [](std::uint64_t) { return 0.0; });
    fits.push_back(judged(line_shape(flat), 1, points));
    if (points.size() > 1)
        fits.push_back(judged(line_shape(nearest_line_by_size(points, true)), 2, points));
}

// Flat over the first sizes, a line, with or without a base, through the others: for every border.
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
            keep_best(best, judged({.kind = Shape::Kind::kMinimum,
                                    .base = whole_tokens(line.base, 0),
                                    .minimum = minimum,
                                    .price = price_of(line.slope)},
                                   parameters, points));
        }
        if (std::isfinite(best.rms))
            fits.push_back(best);
    }
}

// Widths of a step that could be seen: powers of two and what lies between two sizes.
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
                    return size <= until ? 0.0 : static_cast<double>((size - until + every - 1) / every);
                });
                if (line.slope < 0.5)
                    continue;
                keep_best(best, judged({.kind = Shape::Kind::kSteps,
                                        .base = whole_tokens(line.base, 1),
                                        .until = until,
                                        .price = {whole_tokens(line.slope, 1), every}},
                                       parameters, points));
            }
        if (std::isfinite(best.rms))
            fits.push_back(best);
    }
}

// The fewest of the points such that straight lines through them are near enough to the others.
Shape fewest_points(const std::vector<CostPoint>& points, double tolerance) {
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
    Shape shape{.kind = Shape::Kind::kPoints};
    for (std::size_t at = points.size() - 1;; at = before[at]) {
        shape.points.push_back({points[at].size, whole_tokens(points[at].tokens, 1)});
        if (at == 0)
            break;
    }
    std::reverse(shape.points.begin(), shape.points.end());
    return shape;
}

}  // namespace

std::vector<CostPoint> growing(Points points) {
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

std::vector<CurveFit> candidates(Points points, double tolerance) {
    std::vector<CurveFit> fits;
    add_lines(fits, points);
    add_minimum(fits, points);
    add_steps(fits, points);
    const std::vector<CostPoint> grown = growing(points);
    // Half of it is for the lines; the rest for what pooling and whole tokens take.
    for (const double allowed : {tolerance / 2, 0.0}) {
        const Shape shape = fewest_points(grown, allowed);
        fits.push_back(judged(shape, 2 * shape.points.size(), points));
    }
    return fits;
}

}  // namespace weir::calibrate
