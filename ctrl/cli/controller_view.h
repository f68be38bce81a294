// controller_view.h - the controller's `status` and `audit` as text.
// Pure: JSON in (the command socket's `data`), text out; missing members print as "-". Threads: any.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "ctrl/cli/terminal.h"

namespace weir::cli {

/// Whether a `status` is a controller's and not a switch's.
[[nodiscard]] bool is_controller(const nlohmann::json& status);
[[nodiscard]] std::string controller_text(const nlohmann::json& status, const Terminal& terminal);
[[nodiscard]] std::string audit_text(const nlohmann::json& audit, const Terminal& terminal);

}  // namespace weir::cli
