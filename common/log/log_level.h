// log_level.h - the command log.level of both programs: from which level on their messages are logged.
// Source: docs/operations.md. Units: none. Threads: any.
//
// info is the level of a start: changes, faults, states. debug adds each command and each message between
// switch and controller; warning and error leave out the lower ones. The level lasts until the program ends.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "common/config/config_reader.h"

namespace weir {

/// Sets the level that `args` states under "level", if it states one.
/// @param faults those of `args`; with one, nothing is set
/// @return {"level": "info", "before": "debug"}
[[nodiscard]] nlohmann::json log_level(ObjectReader& args, const Faults& faults);

}  // namespace weir
