// bill.h - line of a bill, its charge, and the hash chain that shows an altered or missing line.
// Source: SoftBW 4.2; FIPS 180-4
// Units: bytes, bytes per second, Unix nanoseconds; money in that of p0.
// Threads: any (pure); never on a poll thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "ctrl/billing/price.h"

namespace weir::billing {

/// One vNIC in one billing period.
struct Record {
    std::string vnic{};
    std::string tenant{};
    GuaranteeKind guarantee_kind = GuaranteeKind::kBestEffort;
    std::int64_t began = 0;
    std::int64_t ended = 0;
    std::uint64_t promised = 0;   ///< bytes per second
    std::uint64_t delivered = 0;  ///< bytes, in the period
    bool operator==(const Record&) const = default;
};

/// @param prices p0 is for 1 Mbit/s over a second, link is in Mbit/s
[[nodiscard]] Charge charge_of(const Prices& prices, const Record& record);

using Sha256 = std::array<std::uint8_t, 32>;

[[nodiscard]] Sha256 sha256(std::string_view text);
/// 64 hexadecimal digits.
[[nodiscard]] std::string to_hex(const Sha256& hash);

/// Text of a bill's line, with the charge to its last bit.
[[nodiscard]] std::string line_of(std::int64_t number, const Record& record, double charge);
/// Hash of a line and of all lines before it.
[[nodiscard]] Sha256 chain(const Sha256& before, std::string_view line);

}  // namespace weir::billing
