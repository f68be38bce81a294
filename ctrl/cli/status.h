// status.h - weirctl status, drops and audit: replies of a switch or a controller as text.
// Threads: any (pure functions).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "ctrl/cli/table.h"

namespace weir::cli {

/// Whether `status` came from a controller; otherwise it came from a switch.
[[nodiscard]] bool is_controller(const nlohmann::json& status);
[[nodiscard]] std::string switch_text(const nlohmann::json& status, const Terminal& terminal);
[[nodiscard]] std::string controller_text(const nlohmann::json& status, const Terminal& terminal);

[[nodiscard]] std::string drops_text(const nlohmann::json& drops, const Terminal& terminal);
[[nodiscard]] std::string audit_text(const nlohmann::json& audit, const Terminal& terminal);

/// How the NIC finds a vNIC's worker: "hardware", or "software (net_tap has no rules)".
[[nodiscard]] std::string steering_text(const nlohmann::json& vnic);
/// "1 d 2 h", "3 min 4 s", "5 s".
[[nodiscard]] std::string uptime_text(double seconds);
/// Drops by reason, the largest count first: "no_such_mac 12, vm_ring_full 3"; empty without drops.
[[nodiscard]] std::string reasons_text(const nlohmann::json& reasons);

}  // namespace weir::cli
