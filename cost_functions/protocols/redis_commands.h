// redis_commands.h - operation, keys and reply of every Redis command, by its name.
// Source: RESP3. Threads: any (pure).
#pragma once

#include "cost_functions/tracker/protocol.h"

namespace weir::redis {

struct Command {
    Operation operation = Operation::kControl;  ///< also of unknown commands
    bool answered = true;                       ///< gets a reply that is no push
    std::uint8_t words_per_key = 0;  ///< when all arguments are keys: 1, or 2 with values; 0: one key
};

/// Looks up a name, in upper or lower case. Unknown names give a default Command.
[[nodiscard]] Command command(Bytes name);
/// The same for a name of at most eight letters, packed with its first letter in the lowest byte.
[[nodiscard]] Command command(std::uint64_t name);

}  // namespace weir::redis
