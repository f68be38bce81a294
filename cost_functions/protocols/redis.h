// redis.h - Redis: RESP2 and RESP3, requests as arrays of bulk strings or inline.
// Source: the RESP specification, Redis 7. Threads: any (pure).
#pragma once

#include "cost_functions/tracker/protocol.h"

namespace weir {

/// A request's `place` is a hash of its first key (its length and first 128 bytes); a request whose arguments
/// do not begin within 512 bytes has none. Pushes belong to no request. Subscriptions are not waited for:
/// their replies are pushes.
extern const Protocol kRedisProtocol;

}  // namespace weir
