// cost_table.h - price list of an appliance: tokens by operation and by size of request and response.
// Source: Pulsar 3.2; Libra (EuroSys'14) 4; docs/algorithms.md 5.2. Units: payload bytes, tokens.
// Threads: any (immutable once built); tokens() is for poll threads: no division, no allocation, no float.
//
// Each operation has a row: a curve, and the size that the curve goes by. Example: a table whose row for
// writes counts the request, at 10 tokens plus 1 for every 512 bytes, charges 18 for a write of 4096 bytes.
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

/// The size that a price depends on.
enum class CountedSize : std::uint8_t { kRequest, kResponse, kLarger, kSum };
inline constexpr std::array<std::string_view, 4> kCountedSizeNames{"request", "response", "larger", "sum"};

/// Definition of repeats, and the number of places that are remembered.
struct RepeatRule {
    Nanos window = 0;            ///< most time since the last request of the place
    std::uint32_t capacity = 0;  ///< places
    unsigned block_bits = 0;     ///< places that differ only in so many low bits count as one
};

class CostTable {
  public:
    /// Prices of an operation. An access without a price of its own has the plain one.
    struct Row {
        CountedSize counted = CountedSize::kSum;
        std::uint32_t key_tokens = 0;  ///< for each key after the first
        CostCurve plain;
        std::optional<CostCurve> sequential;
        std::optional<CostCurve> repeat;
    };
    struct Facts {
        std::string name;
        std::string unit;    ///< meaning of a token
        std::string source;  ///< origin of the numbers
        std::optional<RepeatRule> repeat;
    };

    /// One token for each byte of request and response, for every operation: the table of appliances without
    /// one.
    CostTable() = default;
    CostTable(Facts facts, std::array<Row, kOperations> rows)
        : facts_(std::move(facts)), rows_(std::move(rows)) {}

    [[nodiscard]] std::uint32_t tokens(Operation operation, std::uint32_t request_bytes,
                                       std::uint32_t response_bytes) const noexcept {
        const Row& row = rows_[static_cast<std::size_t>(operation)];
        return row.plain.at(counted(row.counted, request_bytes, response_bytes));
    }
    /// At most the price without `access`.
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
