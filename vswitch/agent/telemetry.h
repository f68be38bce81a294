// telemetry.h - the counters under DPDK telemetry: /weir/status, /weir/vnics, /weir/vnic,NAME, /weir/drops.
// Source: DPDK telemetry guide; works with dpdk-telemetry.py. Threads: built by main; answers on DPDK's own
// thread.
#pragma once

#include "vswitch/agent/switch_control.h"

namespace weir {

/// Registers the commands; DPDK has no way to take them back, so destruction only disconnects them.
class Telemetry {
  public:
    explicit Telemetry(SwitchControl& control);
    ~Telemetry();
    Telemetry(const Telemetry&) = delete;
    Telemetry& operator=(const Telemetry&) = delete;
};

}  // namespace weir
