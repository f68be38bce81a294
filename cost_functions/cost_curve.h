// cost_curve.h - what sizes cost: pieces of straight lines and stairs, compiled for evaluation without
// division. Source: the shapes of Pulsar Fig. 6; tables of measured points as in Libra (algorithms 1.11).
// Units: bytes and tokens. Threads: any (immutable once built); at() is for poll threads.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/wide.h"

namespace weir {

/// Bounds of what a curve may be built of; the results saturate at 32 bits.
inline constexpr std::uint32_t kCurveTokensMax = 1'000'000'000;
inline constexpr std::uint64_t kCurveSizeMax = 1ULL << 32;
inline constexpr std::uint64_t kCurveStrideMax = 1ULL << 29;  // bytes that a price may be for
inline constexpr std::size_t kCurvePointsMax = 64;

class CostCurve {
  public:
    /// `tokens` for `bytes` bytes, 1..kCurveStrideMax.
    struct Price {
        std::uint32_t tokens = 1;
        std::uint64_t bytes = 1;
    };
    struct Point {
        std::uint64_t size;
        std::uint32_t tokens;
    };

    /// A token a byte.
    CostCurve() : CostCurve(linear(0, {})) {}
    static CostCurve linear(std::uint32_t base, Price price);
    /// The larger of `minimum` and the line.
    static CostCurve minimum(std::uint32_t minimum, std::uint32_t base, Price price);
    /// `base` up to and including `until` bytes, then `step.tokens` for every `step.bytes` begun.
    static CostCurve steps(std::uint32_t base, std::uint64_t until, Price step);
    /// Straight lines through 1..kCurvePointsMax points of growing size; flat before the first. After the
    /// last one at the price `beyond`, or else as steep as between the last two, but not downwards.
    static CostCurve points(std::span<const Point> points, const std::optional<Price>& beyond = std::nullopt);

    /// Tokens for `size` < 2^34, rounded to the nearest (halves either way); exact where a piece begins. The
    /// line of a piece never passes the beginning of the next, so what is built of growing points grows.
    [[nodiscard]] std::uint32_t at(std::uint64_t size) const noexcept {
        const Piece* piece = pieces_.data() + first_[static_cast<std::size_t>(std::bit_width(size))];
        while (size >= piece[1].from)
            ++piece;
        const auto strides =
            static_cast<std::uint64_t>((Wide{size - piece->from} * piece->per_stride) >> 63U);
        const SignedWide tokens = (SignedWide{strides} * piece->slope + piece->base) >> kFractionBits;
        return static_cast<std::uint32_t>(std::clamp(tokens, SignedWide{0}, SignedWide{UINT32_MAX}));
    }

    /// The sizes at which something changes: where each piece begins.
    [[nodiscard]] std::vector<std::uint64_t> corners() const;

  private:
    static constexpr unsigned kFractionBits = 32;
    static constexpr std::int64_t kHalf = 1LL << (kFractionBits - 1);  // in every base: results are rounded
    static constexpr std::uint64_t kEveryByte = 1ULL << 63;

    /// From `from` on: base + slope * floor((size - from) / stride), both 32.32 fixed point.
    struct Piece {
        std::uint64_t from;
        std::int64_t base;
        std::int64_t slope;
        std::uint64_t per_stride;  // 2^63 / stride, rounded up: exact for what fits 34 bits
    };

    explicit CostCurve(std::vector<Piece> pieces);
    /// Tokens as a base: 32.32 and a half.
    static std::int64_t base_of(std::uint32_t tokens) {
        return (std::int64_t{tokens} << kFractionBits) + kHalf;
    }
    static Piece line(std::uint64_t from, std::int64_t base, Price price);

    std::vector<Piece> pieces_;           // and one behind the last that no size reaches
    std::array<std::uint8_t, 65> first_;  // by bit width: no size of this width lies before this piece
};

}  // namespace weir
