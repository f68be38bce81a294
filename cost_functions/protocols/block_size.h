// block_size.h - the size of a device's blocks, learned from commands that say both blocks and bytes.
// Threads: any (pure).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "cost_functions/tracker/protocol.h"

namespace weir {

/// In ParserState::extra: the logarithm, 0 as long as none was seen. Blocks with protection information among
/// the data are a little larger than a power of two.
inline void learn_block_size(ParserState& state, std::uint32_t blocks, std::uint32_t bytes) {
    constexpr int kSmallest = 9;
    if (blocks == 0)
        return;
    int shift = std::countl_zero(blocks) - std::countl_zero(bytes);
    if (shift > 0 && std::uint64_t{blocks} << shift > bytes)
        --shift;
    if (shift >= kSmallest)
        state.extra = static_cast<std::uint16_t>(shift);
}
inline int block_shift(const ParserState& state) {
    constexpr int kUnknown = 9;
    return state.extra == 0 ? kUnknown : std::min<int>(state.extra, 31);
}
inline std::uint64_t block_offset(const ParserState& state, std::uint64_t block) {
    return block << block_shift(state);
}
inline std::uint32_t block_span(const ParserState& state, std::uint64_t blocks) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(UINT32_MAX, blocks << block_shift(state)));
}

}  // namespace weir
