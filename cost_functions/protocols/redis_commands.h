// redis_commands.h - what Redis's commands ask for. Source: Redis 7's command list. Threads: any (pure).
#pragma once

#include "cost_functions/tracker/protocol.h"

namespace weir::redis {

struct Command {
    Operation operation = Operation::kControl;
    bool answered = true;
    std::uint8_t words_per_key = 0;  ///< all arguments are keys, with so many words each; 0: there is one key
};

/// By its name in any case; one that is not known is kControl.
Command command(Bytes name);
/// The same by up to eight letters, the first in the lowest byte.
Command command(std::uint64_t name);

}  // namespace weir::redis
