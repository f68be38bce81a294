// status_view.h - the switch's `status` and `drops` as text.
// Pure: JSON in (the command socket's `data`), text out; missing members print as "-". Threads: any.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "ctrl/cli/terminal.h"

namespace weir::cli {

[[nodiscard]] std::string status_text(const nlohmann::json& status, const Terminal& terminal);
[[nodiscard]] std::string drops_text(const nlohmann::json& drops, const Terminal& terminal);

/// How frames find a vNIC's worker: "hardware", or "software (why)"
[[nodiscard]] std::string steering_text(const nlohmann::json& vnic);
/// "1 d 2 h", "3 min 4 s", "5 s"
[[nodiscard]] std::string uptime_text(double seconds);
/// "no_such_mac 12, vm_ring_full 3", the largest first; empty when there are none
[[nodiscard]] std::string reasons_text(const nlohmann::json& reasons);
/// A ratio as "42.1%", or "-"
[[nodiscard]] std::string percent_text(double percent);
/// A whole number, or "-"
[[nodiscard]] std::string whole_text(double number);
/// A finite number with one decimal, or "-"
[[nodiscard]] std::string decimal_text(double number);

}  // namespace weir::cli
