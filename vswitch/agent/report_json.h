// report_json.h - the switch's reports as JSON. docs/operations.md has the keys, which are a contract.
// Source: docs/design.md 5.3; docs/design.md 5.6. Units: in the keys. Threads: any (pure).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "vswitch/agent/switch_control.h"

namespace weir {

/// Version of requests, replies and reports.
inline constexpr int kSchemaVersion = 1;

[[nodiscard]] nlohmann::json status_json(const SwitchReport& report);
[[nodiscard]] nlohmann::json vnic_json(const VnicReport& vnic);
/// null without an uplink
[[nodiscard]] nlohmann::json uplink_json(const SwitchReport& report);
[[nodiscard]] nlohmann::json vnics_json(const SwitchReport& report);
/// Only reasons that occurred.
[[nodiscard]] nlohmann::json drops_json(const SwitchReport& report);
/// Service flows. @param vnic null: of all vNICs
[[nodiscard]] nlohmann::json flows_json(const SwitchReport& report, const VnicReport* vnic);
/// One vNIC, the uplink, the service flows of all vNICs to its appliances, and the other vNICs' use of the
/// uplink.
[[nodiscard]] nlohmann::json why_json(const SwitchReport& report, const VnicReport& vnic);

}  // namespace weir
