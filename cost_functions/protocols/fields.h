// fields.h - what the parsers of binary protocols share: fields out of bytes, and verdicts.
// Threads: any (pure).
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cost_functions/tracker/protocol.h"

namespace weir {

constexpr std::uint8_t swap_bytes(std::uint8_t value) {
    return value;
}
constexpr std::uint16_t swap_bytes(std::uint16_t value) {
    return __builtin_bswap16(value);
}
constexpr std::uint32_t swap_bytes(std::uint32_t value) {
    return __builtin_bswap32(value);
}
constexpr std::uint64_t swap_bytes(std::uint64_t value) {
    return __builtin_bswap64(value);
}

/// The caller has made sure that the field is there.
template <std::unsigned_integral T>
T native_field(Bytes bytes, std::size_t at) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}
template <std::unsigned_integral T>
T big_endian(Bytes bytes, std::size_t at) {
    const T value = native_field<T>(bytes, at);
    return std::endian::native == std::endian::big ? value : swap_bytes(value);
}
template <std::unsigned_integral T>
T little_endian(Bytes bytes, std::size_t at) {
    const T value = native_field<T>(bytes, at);
    return std::endian::native == std::endian::little ? value : swap_bytes(value);
}

constexpr bool has_only(std::uint32_t flags, std::uint32_t allowed) {
    return (flags & ~allowed) == 0;
}

/// Rows by their key, which is below Keys, for a look-up without a search; where there is none, a row of
/// default values.
template <std::size_t Keys, typename Row, std::size_t Count, typename Key>
consteval std::array<Row, Keys> by_key(const Row (&rows)[Count], Key Row::*key) {
    std::array<Row, Keys> table{};
    for (const Row& row : rows)
        table[row.*key] = row;
    return table;
}

inline Parsed a_part(std::uint32_t length) {
    return {.verdict = Parsed::Verdict::kPart, .length = length};
}
inline Parsed need_more(std::uint32_t length) {
    return {.verdict = Parsed::Verdict::kMore, .length = length};
}
inline Parsed out_of_step() {
    return {};
}
inline Parsed a_request(std::uint32_t length, const Request& request) {
    return {.verdict = Parsed::Verdict::kRequest, .length = length, .request = request};
}
inline Parsed a_response(std::uint32_t length, const Response& response) {
    return {.verdict = Parsed::Verdict::kResponse, .length = length, .response = response};
}

}  // namespace weir
