// pool_view.h - the controller's `pool.show` as a tree.
// Pure: JSON in, text out; missing members print as "-". Threads: any.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "ctrl/cli/terminal.h"

namespace weir::cli {

/// @param appliance empty = all
[[nodiscard]] std::string pools_text(const nlohmann::json& shown, const std::string& appliance,
                                     const Terminal& terminal);

}  // namespace weir::cli
