// pool.h - weirctl pool show|set|reset: the controller's pools as trees.
// Units: tokens per second. Threads: any (pure functions).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "ctrl/cli/table.h"

namespace weir::cli {

/// @param appliance whose pools are shown; empty = of all appliances
[[nodiscard]] std::string pools_text(const nlohmann::json& reply, const std::string& appliance,
                                     const Terminal& terminal);

}  // namespace weir::cli
