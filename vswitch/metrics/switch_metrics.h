// switch_metrics.h - a report of the switch as metrics. docs/metrics.md has all families.
// Source: OpenMetrics 1.0; docs/design.md 5. Units: bytes, seconds, as docs/operations.md counts them.
// Threads: any (pure).
//
// Families are those of `weirctl status`, `vnic show`, `drops` and `flow list`, in base units. Labels are
// names of vNICs, tenants, appliances, workers and tunnels, and words of fixed lists: never an address and
// never a flow of the network, so that the number of series is that of the configuration.
#pragma once

#include "common/metrics/exposition.h"
#include "vswitch/agent/switch_control.h"

namespace weir {

/// @param report of SwitchControl::report(): its `config` is not null
void write_switch_metrics(const SwitchReport& report, metrics::Exposition& page);

/// Its parts.
void write_host_metrics(const SwitchReport& report, metrics::Exposition& page);
void write_vnic_metrics(const SwitchReport& report, metrics::Exposition& page);
void write_request_metrics(const SwitchReport& report, metrics::Exposition& page);

}  // namespace weir
