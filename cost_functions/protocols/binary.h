// binary.h - parts shared by the parsers of binary protocols: fields, verdicts, tables by opcode, block
// sizes.
// Units: bytes. Threads: any (pure). The caller has made sure that the bytes it names are there.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "common/byte_order.h"
#include "cost_functions/tracker/protocol.h"

namespace weir {

template <std::unsigned_integral T>
T big_endian(Bytes bytes, std::size_t at) {
    return load_big<T>(bytes.data() + at);
}
template <std::unsigned_integral T>
T little_endian(Bytes bytes, std::size_t at) {
    return load_little<T>(bytes.data() + at);
}

constexpr bool has_only(std::uint32_t flags, std::uint32_t allowed) {
    return (flags & ~allowed) == 0;
}

/// Rows indexed by their key, which is below Keys, so that a look-up needs no search. Keys without a row get
/// a row of default values.
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

// The block size of a device is learned from commands that carry both a number of blocks and a number of
// bytes, and kept in ParserState::extra as a logarithm; 0 until the first such command. Blocks whose data
// include protection information are slightly larger than a power of two, so the logarithm is rounded down.
inline void learn_block_size(ParserState& state, std::uint32_t blocks, std::uint32_t bytes) {
    constexpr int kShiftMin = 9;
    if (blocks == 0)
        return;
    int shift = std::countl_zero(blocks) - std::countl_zero(bytes);
    if (shift > 0 && std::uint64_t{blocks} << shift > bytes)
        --shift;
    if (shift >= kShiftMin)
        state.extra = static_cast<std::uint16_t>(shift);
}
inline int block_shift(const ParserState& state) {
    constexpr int kAssumed = 9;
    return state.extra == 0 ? kAssumed : std::min<int>(state.extra, 31);
}
inline std::uint64_t block_offset(const ParserState& state, std::uint64_t block) {
    return block << block_shift(state);
}
inline std::uint32_t block_span(const ParserState& state, std::uint64_t blocks) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(UINT32_MAX, blocks << block_shift(state)));
}

}  // namespace weir
