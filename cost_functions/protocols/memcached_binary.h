// memcached_binary.h - memcached's binary protocol: a header of 24 bytes each way, opcodes and opaques pair
// them. Source: protocol_binary.h of memcached. Threads: any (pure).
#pragma once

#include "cost_functions/tracker/protocol.h"

namespace weir::memcached {

inline constexpr std::uint8_t kRequestMagic = 0x80;
inline constexpr std::uint8_t kResponseMagic = 0x81;

Parsed binary_request(Bytes bytes, ParserState& state);
Parsed binary_response(Bytes bytes, ParserState& state);
bool binary_request_begins(Bytes bytes);
bool binary_response_begins(Bytes bytes);

}  // namespace weir::memcached
