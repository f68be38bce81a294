// nbd.h - network block device: negotiation, then requests and replies that pair by cookie.
// Source: doc/proto.md of the NBD project, with its extension "extended headers". Threads: any (pure).
#pragma once

#include "cost_functions/tracker/protocol.h"

namespace weir {

/// A request's `place` is its offset. The reply to an option pairs by the option's number.
extern const Protocol kNbdProtocol;

}  // namespace weir
