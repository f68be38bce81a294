// report_json.h - reports as the JSON that people's programs read; names are a contract (docs/operations.md).
// Threads: any (pure).
#pragma once

#include <nlohmann/json.hpp>

#include "vswitch/agent/switch_control.h"

namespace weir {

inline constexpr int kSchemaVersion = 1;

[[nodiscard]] nlohmann::json status_json(const SwitchReport& report);
[[nodiscard]] nlohmann::json vnic_json(const VnicReport& vnic);
/// null without one
[[nodiscard]] nlohmann::json uplink_json(const SwitchReport& report);
[[nodiscard]] nlohmann::json vnics_json(const SwitchReport& report);
/// Only reasons that occurred.
[[nodiscard]] nlohmann::json drops_json(const SwitchReport& report);

}  // namespace weir
