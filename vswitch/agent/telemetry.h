// telemetry.h - what the switch answers under DPDK telemetry: /weir/status, /weir/vnics, /weir/vnic,NAME,
// /weir/drops. Threads: built by main; the answers run on DPDK's telemetry thread.
#pragma once

#include "vswitch/agent/switch_control.h"
#include "vswitch/telemetry_command.h"

namespace weir {

/// The answers refer to `control`, which must outlive them.
[[nodiscard]] TelemetryCommands telemetry_commands(SwitchControl& control);

}  // namespace weir
