// bill.h - one line of a bill: what a vNIC was promised and got in one period, what that costs, and how lines
// hang together, so that none can be altered or taken out unseen. Source: SoftBW 4.2.
// Units: bytes, bytes per second, Unix nanoseconds; money in that of p0. Threads: any (pure).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ctrl/billing/digest.h"
#include "ctrl/billing/price.h"

namespace weir::billing {

struct Record {
    std::string vnic{};
    std::string tenant{};
    GuaranteeKind guarantee = GuaranteeKind::kBestEffort;
    std::int64_t began = 0;
    std::int64_t ended = 0;
    std::uint64_t promised = 0;   ///< bytes per second
    std::uint64_t delivered = 0;  ///< bytes, in the period
    bool operator==(const Record&) const = default;
};

/// What a record is against the end of the last one of its vNIC.
enum class Place : std::uint8_t {
    kNext,
    kRepeated,   ///< it, or a later one, is on the bill already
    kBackwards,  ///< it ends before it begins
    kOverlaps,   ///< part of it is on the bill already
};
[[nodiscard]] Place place_of(const Record& record, std::int64_t last_ended);

/// p0 is for 1 Mbit/s over a second; prices.link is in Mbit/s.
[[nodiscard]] Charge charge_of(const Prices& prices, const Record& record);

/// What stands on the bill, as text; money to the last bit.
[[nodiscard]] std::string line_of(std::int64_t number, const Record& record, double charge);
/// The hash of a line and of all before it.
[[nodiscard]] Sha256 chain(const Sha256& before, std::string_view line);

}  // namespace weir::billing
