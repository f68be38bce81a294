// cost_curve.cc - compilation of lines, minima, steps and points to pieces; all divisions are here.
#include "cost_functions/cost_curve.h"

#include <cassert>

namespace weir {

CostCurve::CostCurve(std::vector<Piece> pieces) : pieces_(std::move(pieces)), first_{} {
    std::size_t piece = 0;
    for (std::size_t width = 0; width < first_.size(); ++width) {
        const std::uint64_t smallest = width == 0 ? 0 : 1ULL << (width - 1);
        while (piece + 1 < pieces_.size() && pieces_[piece + 1].from <= smallest)
            ++piece;
        first_[width] = static_cast<std::uint8_t>(piece);
    }
    pieces_.push_back({UINT64_MAX, 0, 0, 0});
}

CostCurve::Piece CostCurve::line(std::uint64_t from, std::int64_t base, Price price) {
    assert(price.bytes >= 1 && price.bytes <= kCurveStrideMax);
    const std::uint64_t slope = (std::uint64_t{price.tokens} << kFractionBits) / price.bytes;
    return {from, base, static_cast<std::int64_t>(slope), kEveryByte};
}

CostCurve CostCurve::linear(std::uint32_t base, Price price) {
    return CostCurve({line(0, base_of(base), price)});
}

CostCurve CostCurve::minimum(std::uint32_t minimum, std::uint32_t base, Price price) {
    if (minimum <= base)
        return linear(base, price);
    const Piece flat = line(0, base_of(minimum), {0, 1});
    if (price.tokens == 0)
        return CostCurve({flat});
    // The first size at which the line is not below the minimum.
    const auto missing = Wide{minimum - base} * price.bytes;
    const auto knee = static_cast<std::uint64_t>((missing + price.tokens - 1) / price.tokens);
    const Wide rise = ((Wide{knee} * price.tokens) << kFractionBits) / price.bytes;
    return CostCurve({flat, line(knee, base_of(base) + static_cast<std::int64_t>(rise), price)});
}

CostCurve CostCurve::steps(std::uint32_t base, std::uint64_t until, Price step) {
    assert(step.bytes >= 1 && step.bytes <= kCurveStrideMax);
    const std::int64_t rise = std::int64_t{step.tokens} << kFractionBits;
    const std::uint64_t per_stride = (kEveryByte + step.bytes - 1) / step.bytes;
    return CostCurve({line(0, base_of(base), {0, 1}), {until + 1, base_of(base) + rise, rise, per_stride}});
}

CostCurve CostCurve::points(std::span<const Point> points, const std::optional<Price>& beyond) {
    assert(!points.empty() && points.size() <= kCurvePointsMax);
    std::vector<Piece> pieces;
    if (points.front().size > 0)
        pieces.push_back(line(0, base_of(points.front().tokens), {0, 1}));
    std::int64_t slope = 0;
    for (std::size_t i = 0; i + 1 < points.size(); ++i) {
        assert(points[i + 1].size > points[i].size);
        const auto run = static_cast<std::int64_t>(points[i + 1].size - points[i].size);
        const std::int64_t rise = std::int64_t{points[i + 1].tokens} - points[i].tokens;
        slope = (rise * (1LL << kFractionBits)) / run;
        pieces.push_back({points[i].size, base_of(points[i].tokens), slope, kEveryByte});
    }
    Piece last = line(points.back().size, base_of(points.back().tokens), beyond.value_or(Price{0, 1}));
    if (!beyond)
        last.slope = std::max<std::int64_t>(slope, 0);
    pieces.push_back(last);
    return CostCurve(std::move(pieces));
}

std::vector<std::uint64_t> CostCurve::corners() const {
    std::vector<std::uint64_t> sizes;
    for (std::size_t i = 0; i + 1 < pieces_.size(); ++i)
        sizes.push_back(pieces_[i].from);
    return sizes;
}

}  // namespace weir
