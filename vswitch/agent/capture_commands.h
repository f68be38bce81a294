// capture_commands.h - the commands capture.start, capture.read and capture.stop.
// Source: docs/operations.md. Threads: agent.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "common/error.h"
#include "vswitch/agent/switch_control.h"

namespace weir {

/// {"vnic": "vm1"} or {"uplink": true}, with "drops", "reason", "first", "every", "snap" and "filter":
/// [[code, if_true, if_false, value], ...] as libpcap compiles it for Ethernet. @return {"capture": number}
/// @param faults of the arguments; with one nothing has begun  @throws HostError as SwitchControl
[[nodiscard]] nlohmann::json capture_start(SwitchControl& control, const nlohmann::json& args,
                                           Faults& faults);
/// {"capture": number}: the frames since the last call, each with `unix_ns`, `length`, `vnic`, `direction`,
/// `verdict`, `reason`, `queue_delay_ns` and its first bytes in base64 as `bytes`.
[[nodiscard]] nlohmann::json capture_read(SwitchControl& control, const nlohmann::json& args, Faults& faults);
/// {"capture": number}
[[nodiscard]] nlohmann::json capture_stop(SwitchControl& control, const nlohmann::json& args, Faults& faults);

}  // namespace weir
