// telemetry.h - answers under DPDK's telemetry socket, given as JSON.
// Source: DPDK telemetry guide; works with dpdk-telemetry.py. Threads: built by main; answers run on DPDK's
// own thread.
#pragma once

#include "vswitch/telemetry_command.h"

namespace weir {

/// Registers the commands; DPDK has no way to take them back, so destruction only disconnects them. One per
/// process.
class TelemetryEndpoint {
  public:
    explicit TelemetryEndpoint(TelemetryCommands commands);
    ~TelemetryEndpoint();
    TelemetryEndpoint(const TelemetryEndpoint&) = delete;
    TelemetryEndpoint& operator=(const TelemetryEndpoint&) = delete;
};

}  // namespace weir
