// cost_table.h - (operation, size each way) -> tokens: what a service's price list says.
// Source: Pulsar 3.2, Libra (algorithms 1.11). Units: payload bytes, tokens. Threads: any (immutable once
// built); tokens() is for poll threads: no division, no allocation, no float.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/clock.h"
#include "cost_functions/cost_curve.h"
#include "cost_functions/request.h"

namespace weir {

/// Which size of a request its price goes by.
enum class CountedSize : std::uint8_t { kRequest, kResponse, kLarger, kSum };
inline constexpr std::array<std::string_view, 4> kCountedSizeNames{"request", "response", "larger", "sum"};

/// How a request comes after the ones before it.
enum class Access : std::uint8_t {
    kPlain,
    kSequential,  ///< begins where the last one ended
    kRepeat       ///< of a place that was asked for a short while ago
};

/// What repeats are and how many places are remembered for it.
struct RepeatRule {
    Nanos window = 0;            ///< since the place was last asked for
    std::uint32_t capacity = 0;  ///< places
    unsigned block_bits = 0;     ///< places that differ in these low bits only are one
};

class CostTable {
  public:
    /// What an operation costs. A price for an access that is not there is the plain one.
    struct Row {
        CountedSize counted = CountedSize::kSum;
        std::uint32_t key_tokens = 0;  ///< for each key after the first
        CostCurve plain;
        std::optional<CostCurve> sequential;
        std::optional<CostCurve> repeat;
    };
    struct Facts {
        std::string name;
        std::string unit;    ///< what a token is
        std::string source;  ///< where the numbers come from
        std::optional<RepeatRule> repeat;
    };

    /// A token a byte, both ways, whatever the operation: what is charged where nothing better is known.
    CostTable() = default;
    CostTable(Facts facts, std::array<Row, kOperations> rows)
        : facts_(std::move(facts)), rows_(std::move(rows)) {}

    [[nodiscard]] std::uint32_t tokens(Operation operation, std::uint32_t request_bytes,
                                       std::uint32_t response_bytes) const noexcept {
        const Row& row = rows_[static_cast<std::size_t>(operation)];
        return row.plain.at(counted(row.counted, request_bytes, response_bytes));
    }
    /// Never more than without `access`.
    [[nodiscard]] std::uint32_t tokens(Operation operation, std::uint32_t request_bytes,
                                       std::uint32_t response_bytes, Access access) const noexcept {
        const Row& row = rows_[static_cast<std::size_t>(operation)];
        const std::uint64_t size = counted(row.counted, request_bytes, response_bytes);
        const std::uint32_t plain = row.plain.at(size);
        const std::optional<CostCurve>& other = access == Access::kRepeat ? row.repeat : row.sequential;
        return access == Access::kPlain || !other ? plain : std::min(plain, other->at(size));
    }

    [[nodiscard]] const Row& row(Operation operation) const {
        return rows_[static_cast<std::size_t>(operation)];
    }
    [[nodiscard]] const Facts& facts() const { return facts_; }

    [[nodiscard]] static std::uint64_t counted(CountedSize which, std::uint64_t request_bytes,
                                               std::uint64_t response_bytes) noexcept {
        switch (which) {
            case CountedSize::kRequest:
                return request_bytes;
            case CountedSize::kResponse:
                return response_bytes;
            case CountedSize::kLarger:
                return std::max(request_bytes, response_bytes);
            case CountedSize::kSum:
                break;
        }
        return request_bytes + response_bytes;
    }

  private:
    Facts facts_;
    std::array<Row, kOperations> rows_;
};

}  // namespace weir
