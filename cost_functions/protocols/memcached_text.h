// memcached_text.h - memcached's text commands, classic and meta: lines, and data of a length that the line
// says. Source: doc/protocol.txt of memcached 1.6. Threads: any (pure).
#pragma once

#include "cost_functions/tracker/protocol.h"

namespace weir::memcached {

Parsed text_request(Bytes bytes, ParserState& state);
Parsed text_response(Bytes bytes, ParserState& state);
bool text_request_begins(Bytes bytes);
bool text_response_begins(Bytes bytes);

}  // namespace weir::memcached
