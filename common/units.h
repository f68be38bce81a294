// units.h - parser and printer of quantities with units: 10Gbit, 50MB, 2Mpps, 64KiB, 200us, 5%, 16ktokens.
// Source: docs/design.md 5.1. Threads: any (pure functions); never used on a poll thread.
//
// All arithmetic is exact: format_quantity() prints a text that parse_quantity() reads as the same value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

inline constexpr std::uint64_t kBitsPerByte = 8;

/// The kinds of quantities, each with the unit of parsed values.
enum class Quantity {
    kBitRate,     ///< bit/s; `50MB` and `50MB/s` are megabytes per second, that is 400,000,000
    kPacketRate,  ///< packet/s
    kSize,        ///< bytes; KiB is 1024, kB is 1000
    kDuration,    ///< nanoseconds
    kPercent,     ///< parts per million: `5%` is 50,000
    kTokens,      ///< tokens of an appliance; its cost table defines a token
    kTokenRate,   ///< token/s; `800tokens` and `800tokens/s`
    kCycleRate,   ///< cycle/s of a core; `50Mcycles` and `50Mcycles/s`
};

/// A value, or one phrase that names the fault.
struct ParsedQuantity {
    std::uint64_t value = 0;
    std::string_view fault;
    [[nodiscard]] bool ok() const { return fault.empty(); }
};

/// Parses a number followed by its unit, with at most one blank between them. Units are case sensitive, since
/// M and m, B and bit differ. A bare number, a sign, an exponent, an unknown unit, a fraction of the smallest
/// unit, and a value beyond 64 bits are faults.
[[nodiscard]] ParsedQuantity parse_quantity(Quantity quantity, std::string_view text);

/// Prints exactly, in the form that parse_quantity reads: 10Gbit, 1.5Mpps, 64KiB, 200us, 12.5%.
[[nodiscard]] std::string format_quantity(Quantity quantity, std::uint64_t value);

/// The units that are accepted, and an example: "bit, kbit, Mbit, ... such as 10Gbit".
[[nodiscard]] std::string units_of(Quantity quantity);

[[nodiscard]] inline std::string format_rate(std::uint64_t bits_per_sec) {
    return format_quantity(Quantity::kBitRate, bits_per_sec);
}
[[nodiscard]] inline std::string format_packet_rate(std::uint64_t packets_per_sec) {
    return format_quantity(Quantity::kPacketRate, packets_per_sec);
}
[[nodiscard]] inline std::string format_size(std::uint64_t bytes) {
    return format_quantity(Quantity::kSize, bytes);
}
[[nodiscard]] inline std::string format_duration(std::uint64_t nanos) {
    return format_quantity(Quantity::kDuration, nanos);
}

// For tables: three significant digits, a space, the unit. Not meant to be parsed.
[[nodiscard]] std::string human_rate(double bits_per_sec);            ///< 9.42 Gbit/s
[[nodiscard]] std::string human_packet_rate(double packets_per_sec);  ///< 1.2 Mpps
[[nodiscard]] std::string human_token_rate(double tokens_per_sec);    ///< 12.3 ktokens/s
[[nodiscard]] std::string human_cycle_rate(double cycles_per_sec);    ///< 12.3 Mcycles/s
[[nodiscard]] std::string human_duration(double nanos);               ///< 1.8 us
[[nodiscard]] std::string human_count(double count);                  ///< 12.3 M; below 1000 as it is

}  // namespace weir
