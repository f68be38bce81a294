// cost_curve.h - curve from the size of a request to tokens: pieces of straight lines and stairs, compiled
// for evaluation without division.
// Source: Pulsar Fig. 6; Libra (EuroSys'14) 4; docs/algorithms.md 5.2. Units: bytes and tokens.
// Threads: any (immutable once built); at() is for poll threads.
//
// A piece is valid from a size on: tokens = base + slope * floor((size - from) / stride). A line has stride
// 1, a stair the width of its step; the division by it is a multiplication by 2^63 / stride. An array that is
// indexed by the number of bits of the size gives the piece to start at, so that few comparisons find the
// right one. Example: "1 token up to 4096 bytes, then 1 for every 4096 begun" has the pieces [0: 1] and
// [4097: 2, then 1 for each 4096]. A size of 10,000 has 14 bits; it is in the second piece: 2 + floor(5903 /
// 4096) = 3 tokens.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/types.h"

namespace weir {

/// Bounds of the values that a curve is built of. Results saturate at 32 bits.
inline constexpr std::uint32_t kCurveTokensMax = 1'000'000'000;
inline constexpr std::uint64_t kCurveSizeMax = 1ULL << 32;
inline constexpr std::uint64_t kCurveStrideMax = 1ULL << 29;  // of Price::bytes
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

    /// One token for each byte.
    CostCurve() : CostCurve(linear(0, {})) {}
    static CostCurve linear(std::uint32_t base, Price price);
    /// The larger of `minimum` and the line base + price * size.
    static CostCurve minimum(std::uint32_t minimum, std::uint32_t base, Price price);
    /// `base` up to and including `until` bytes, then `step.tokens` for every `step.bytes` begun.
    static CostCurve steps(std::uint32_t base, std::uint64_t until, Price step);
    /// Straight lines through 1..kCurvePointsMax points of growing size, constant before the first. Behind
    /// the last point the price is `beyond`; without it the curve rises as between the last two, or stays
    /// constant if it falls there.
    static CostCurve points(std::span<const Point> points, const std::optional<Price>& beyond = std::nullopt);

    /// Tokens for `size` < 2^34, rounded to the nearest (halves either way); exact where a piece begins. The
    /// line of a piece never passes the beginning of the next, so a curve of growing points never falls.
    [[nodiscard]] std::uint32_t at(std::uint64_t size) const noexcept {
        const Piece* piece = pieces_.data() + first_[static_cast<std::size_t>(std::bit_width(size))];
        while (size >= piece[1].from)
            ++piece;
        const auto strides =
            static_cast<std::uint64_t>((Wide{size - piece->from} * piece->per_stride) >> 63U);
        const SignedWide tokens = (SignedWide{strides} * piece->slope + piece->base) >> kFractionBits;
        return static_cast<std::uint32_t>(std::clamp(tokens, SignedWide{0}, SignedWide{UINT32_MAX}));
    }

    /// The sizes at which the pieces begin.
    [[nodiscard]] std::vector<std::uint64_t> corners() const;

  private:
    static constexpr unsigned kFractionBits = 32;
    static constexpr std::uint64_t kEveryByte = 1ULL << 63;

    /// From `from` on: base + slope * floor((size - from) / stride), both 32.32 fixed point.
    struct Piece {
        std::uint64_t from;
        std::int64_t base;
        std::int64_t slope;
        std::uint64_t per_stride;  // 2^63 / stride, rounded up: exact for sizes below 2^34
    };

    explicit CostCurve(std::vector<Piece> pieces);
    /// Tokens as a base: 32.32 fixed point plus a half, so that truncation rounds.
    static std::int64_t base_of(std::uint32_t tokens) {
        return (std::int64_t{tokens} << kFractionBits) + (1LL << (kFractionBits - 1));
    }
    static Piece line(std::uint64_t from, std::int64_t base, Price price);

    std::vector<Piece> pieces_;           // ended by one that no size reaches
    std::array<std::uint8_t, 65> first_;  // by bit width: sizes of this width begin in this piece
};

}  // namespace weir
