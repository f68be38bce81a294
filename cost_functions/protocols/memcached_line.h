// memcached_line.h - what memcached's text requests and responses share. Source: doc/protocol.txt of
// memcached 1.6. Threads: any (pure).
#pragma once

#include "cost_functions/protocols/fields.h"
#include "cost_functions/protocols/text.h"

namespace weir::memcached {

inline constexpr std::uint32_t kDataEnd = 2;  ///< CRLF behind data
/// Pairs mn with MN, which close the quiet ones before; opaques are hashes, which have other low bits.
inline constexpr std::uint64_t kNoOpCookie = 2;

/// What a parser remembers of a line that is longer than a header may be; none else.
enum Phase : std::uint8_t { kLine, kKeys, kRestOfLine };

inline std::uint32_t size_of(Bytes bytes) {
    return static_cast<std::uint32_t>(bytes.size());
}

/// Only an empty line begins with a control character: TLS and its like are known at once.
inline bool may_begin(std::uint8_t first) {
    return first >= ' ' || first == '\r' || first == '\n';
}

struct MetaFlags {
    bool quiet = false;
    bool appends = false;
    std::uint64_t cookie = 0;
};

/// The flags among the words that are left.
inline MetaFlags meta_flags(text::Words& words) {
    MetaFlags flags;
    for (Bytes flag = words.next(); !flag.empty(); flag = words.next()) {
        if (flag[0] == 'q')
            flags.quiet = true;
        else if (flag[0] == 'O')
            flags.cookie = text::hash(flag);
        else if (flag[0] == 'M' && flag.size() > 1)
            flags.appends = (flag[1] | 0x20) == 'a' || (flag[1] | 0x20) == 'p';
    }
    return flags;
}

/// A part of a message whose bytes are counted in the state.
inline Parsed part_of(ParserState& state, std::size_t bytes) {
    if (state.bytes > kMessageMax)
        return out_of_step();
    state.bytes += static_cast<std::uint32_t>(bytes);
    return a_part(static_cast<std::uint32_t>(bytes));
}

}  // namespace weir::memcached
