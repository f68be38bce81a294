// bytes.h - everything else: bytes of which no header is looked for. Threads: any (pure).
#pragma once

#include "cost_functions/tracker/protocol.h"

namespace weir {

extern const Protocol kBytesProtocol;

}  // namespace weir
