// memcached.h - memcached, whichever of its protocols a client speaks: the first byte of a message tells.
// Source: algorithms 8, doc/protocol.txt and protocol_binary.h of memcached 1.6. Threads: any (pure).
#pragma once

#include "cost_functions/tracker/protocol.h"

namespace weir {

/// A request's `place` is a hash of its first key; a get with a line of more than 512 bytes has none. Misses
/// are no failures, errors are.
extern const Protocol kMemcachedProtocol;

}  // namespace weir
