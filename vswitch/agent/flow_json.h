// flow_json.h - the requests of vNICs to appliances, and what held a vNIC back, as the JSON that people's
// programs read; names are a contract (docs/operations.md). Threads: any (pure).
#pragma once

#include <nlohmann/json.hpp>

#include "vswitch/agent/switch_control.h"

namespace weir {

/// The flows of requests of one vNIC, or of all.
/// @param vnic nullptr: all
[[nodiscard]] nlohmann::json flows_json(const SwitchReport& report, const VnicReport* vnic);
/// All that says what holds this vNIC back, and who else uses the same.
[[nodiscard]] nlohmann::json why_json(const SwitchReport& report, const VnicReport& vnic);

}  // namespace weir
