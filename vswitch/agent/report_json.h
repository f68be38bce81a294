// report_json.h - the switch's reports as JSON. docs/operations.md has the keys, which are a contract.
// Source: docs/design.md 5.3; docs/design.md 5.6. Units: in the keys. Threads: any (pure).
//
// The agent calls these for weirctl's requests, DPDK's telemetry thread for its commands. Each reads one
// result of SwitchControl::report(), whose `config` is not null, and returns a new value that refers to
// nothing; none throws on such a report. Time and size grow with the number of vNICs or service flows in the
// result. Counters begin at 0 with the vNIC or the switch; rates are in bit/s (`*_bps`), times in ns (`*_ns`)
// or s (`*_s`); null is no value, such as no limit or no fault.
//
//   const SwitchReport report = control.report();
//   const VnicReport& vnic = report.vnics.at(0);   // an element, not a copy: compared by pointer
//   const nlohmann::json data = why_json(report, vnic);
//   reply = {{"schema", kSchemaVersion}, {"ok", true}, {"data", data}};
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "vswitch/agent/switch_control.h"

namespace weir {

/// Version of requests, replies and reports: the switch refuses a request with another one.
inline constexpr int kSchemaVersion = 1;

/// The host, its workers, uplink, tunnels and link to the controller; of vNICs name, id, worker, state and
/// steering.
[[nodiscard]] nlohmann::json status_json(const SwitchReport& report);
/// Configuration, state and all counters of one vNIC, without its service flows.
[[nodiscard]] nlohmann::json vnic_json(const VnicReport& vnic);
/// Sums over all workers; null without an uplink.
[[nodiscard]] nlohmann::json uplink_json(const SwitchReport& report);
/// {"vnics": [vnic_json() of each]}
[[nodiscard]] nlohmann::json vnics_json(const SwitchReport& report);
/// Dropped packets by reason, of vNICs, uplink, tunnels and handoffs between workers. Only reasons that
/// occurred.
[[nodiscard]] nlohmann::json drops_json(const SwitchReport& report);
/// Service flows, and the appliances. @param vnic an element of report.vnics; null: of all vNICs
[[nodiscard]] nlohmann::json flows_json(const SwitchReport& report, const VnicReport* vnic);
/// One vNIC, the uplink, the service flows of all vNICs to its appliances, and the other vNICs' use of the
/// uplink, in bytes. @param vnic an element of report.vnics
[[nodiscard]] nlohmann::json why_json(const SwitchReport& report, const VnicReport& vnic);

}  // namespace weir
