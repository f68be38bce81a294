// memcached_text.h - memcached's text messages, classic and meta: lines, some followed by data of a stated
// length.
// Source: memcached protocol.txt. Units: bytes. Threads: any (pure).
#pragma once

#include "cost_functions/protocols/binary.h"
#include "cost_functions/protocols/text.h"

namespace weir::memcached {

Parsed text_request(Bytes bytes, ParserState& state);
Parsed text_response(Bytes bytes, ParserState& state);
bool text_request_begins(Bytes bytes);
bool text_response_begins(Bytes bytes);

inline constexpr std::uint32_t kDataEnd = 2;  ///< CRLF behind data
/// Pairs a request mn with its response MN, which also ends all quiet requests before it. Other cookies are
/// hashes of opaques, whose lowest bit is set.
inline constexpr std::uint64_t kNoOpCookie = 2;

/// ParserState::phase: at the start of a line, or within a line that is longer than a header may be.
enum Phase : std::uint8_t { kLine, kKeys, kRestOfLine };

inline std::uint32_t size_of(Bytes bytes) {
    return static_cast<std::uint32_t>(bytes.size());
}

/// Only an empty line begins with a control character; TLS and other foreign bytes are recognized by that.
inline bool may_begin(std::uint8_t first) {
    return first >= ' ' || first == '\r' || first == '\n';
}

struct MetaFlags {
    bool quiet = false;
    bool appends = false;
    std::uint64_t cookie = 0;
};

/// Reads the flags of a meta command or response from the remaining words of its line.
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

/// Bytes of a message that continues; `state` counts them.
inline Parsed part_of(ParserState& state, std::size_t bytes) {
    if (state.bytes > kMessageMax)
        return out_of_step();
    state.bytes += static_cast<std::uint32_t>(bytes);
    return a_part(static_cast<std::uint32_t>(bytes));
}

}  // namespace weir::memcached
