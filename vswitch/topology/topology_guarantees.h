// topology_guarantees.h - a vNIC's guarantee between its configuration and what it is now. Threads: any.
#pragma once

#include "vswitch/agent/switch_control.h"
#include "vswitch/qos/guarantees/guarantee_meter.h"

namespace weir {

[[nodiscard]] Promise promise_of(const VnicConfig& config);
/// The configuration with the rate of its guarantee as it is now.
[[nodiscard]] VnicConfig as_guaranteed_now(const VnicConfig& config, const GuaranteeMeter& meter);
[[nodiscard]] GuaranteeReport guarantee_report(const GuaranteeMeter& meter);

}  // namespace weir
