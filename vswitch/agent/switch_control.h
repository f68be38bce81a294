// switch_control.h - what the agent can see and do: reports out, changes in. Implemented by the topology.
// Units: in the field names; counters since start. Threads: any but workers; calls are serialised by the
// callee.
#pragma once

#include <string>
#include <vector>

#include "common/error.h"
#include "common/ids.h"
#include "vswitch/config.h"
#include "vswitch/stats.h"

namespace weir {

/// What a vNIC asks of one appliance.
struct RequestFlowReport {
    std::uint16_t appliance = 0;  ///< index into the configuration's
    RequestFlowStats stats;
};

struct VnicReport {
    VnicId id = 0;
    WorkerId worker = 0;
    VnicConfig config;
    bool up = false;
    Steering steering;
    std::vector<std::string> features;
    std::uint64_t ring_errors = 0;
    VnicStats stats;
    Nanos queue_delay_p50 = 0;
    Nanos queue_delay_p99 = 0;
    Nanos queue_delay_max = 0;
    std::vector<RequestFlowReport> request_flows;
};

struct WorkerReport {
    WorkerId id = 0;
    unsigned core = 0;
    unsigned vnics = 0;
    WorkerSnapshot snapshot;
};

struct UplinkReport {
    std::string driver;
    bool up = false;
};

struct SwitchReport {
    const SwitchConfig* config = nullptr;
    std::uint64_t uptime_ns = 0;
    std::uint64_t tsc_hz = 0;
    std::uint32_t buffers = 0;
    std::uint32_t buffers_free = 0;
    std::vector<WorkerReport> workers;
    std::vector<VnicReport> vnics;
    std::optional<UplinkReport> uplink;
};

class SwitchControl {
  public:
    virtual ~SwitchControl() = default;

    /// A consistent copy of every counter. @throws HostError when a worker does not answer
    [[nodiscard]] virtual SwitchReport report() = 0;
    [[nodiscard]] virtual SwitchConfig config() const = 0;
    /// @throws HostError when the host refuses; the running state is then as before
    virtual void add_vnic(const VnicConfig& vnic) = 0;
    virtual void change_vnic(const VnicConfig& vnic) = 0;
    virtual void remove_vnic(const std::string& name) = 0;
    /// The agent's tick: link state, addresses that one worker learned and the others should know.
    virtual void tick() = 0;
};

}  // namespace weir
