// usage.h - what a vNIC was promised and got in one period, for the bill; and up to when it is on it.
// Source: SoftBW 4.2; byte by byte in docs/protocol.md. Units: Unix nanoseconds, bytes, bytes per second.
// Threads: any (values).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/guarantee.h"
#include "common/wire/header.h"

namespace weir::wire {

inline constexpr std::size_t kUsageBytes = 40;
inline constexpr std::size_t kBilledBytes = 8;

struct Usage {
    std::uint32_t vnic = 0;  ///< its endpoint
    GuaranteeKind guarantee = GuaranteeKind::kBestEffort;
    std::uint64_t began = 0;
    std::uint64_t ended = 0;
    std::uint64_t promised = 0;   ///< per second
    std::uint64_t delivered = 0;  ///< in the period
    bool operator==(const Usage&) const = default;
};

/// Appends the record to the body.
void encode(const Usage& record, Bytes& body);
/// Decodes a body of whole records. Records that cannot be (of a guarantee that there is not, that end before
/// they begin, or beyond 2^62) are left out. @return how many were
std::size_t decode(std::span<const std::uint8_t> body, std::vector<Usage>& records);

/// The body of a BILLED: what ended no later need not be said again.
[[nodiscard]] Bytes encode_billed(std::uint64_t through);
[[nodiscard]] std::uint64_t decode_billed(std::span<const std::uint8_t> body);

}  // namespace weir::wire
