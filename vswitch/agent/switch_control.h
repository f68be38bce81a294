// switch_control.h - what the agent can see and do: reports out, changes in. Implemented by the topology.
// Units: in the field names; counters since start. Threads: any but workers; calls are serialised by the
// callee.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/ids.h"
#include "vswitch/agent/window_part.h"
#include "vswitch/config/config.h"
#include "vswitch/stats.h"

namespace weir {

/// What a vNIC asks of one appliance.
struct RequestFlowReport {
    std::uint16_t appliance = 0;  ///< index into the configuration's
    RequestFlowStats stats;
};

/// What a vNIC is promised now.
struct GuaranteeReport {
    GuaranteeKind kind = GuaranteeKind::kFairness;  ///< fairness too once a dynamic guarantee is over
    std::uint64_t rate_bps = 0;                     ///< of a dynamic guarantee what is left of it now
    std::uint64_t left_bytes = 0;                   ///< of a dynamic guarantee
    Nanos time_left = 0;                            ///< of a dynamic guarantee
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
    GuaranteeReport guarantee;
    Nanos queue_delay_p50 = 0;
    Nanos queue_delay_p99 = 0;
    Nanos queue_delay_max = 0;
    std::vector<RequestFlowReport> request_flows;
};

/// What a vNIC was promised and got in a period that has ended; nothing is said of one without traffic.
struct UsageReport {
    std::string vnic;
    GuaranteeKind kind = GuaranteeKind::kFairness;
    std::uint64_t began = 0;  ///< Unix nanoseconds by the clock of the switch's start, which never goes back
    std::uint64_t ended = 0;
    std::uint64_t promised = 0;   ///< bytes per second
    std::uint64_t delivered = 0;  ///< bytes
};

struct WorkerReport {
    WorkerId id = 0;
    unsigned core = 0;
    unsigned vnics = 0;
    WorkerSnapshot snapshot;
};

/// An ESP tunnel: its keys, and what went through it.
struct TunnelReport {
    std::string name;
    std::uint16_t config = 0;  ///< index into the configuration's
    std::string device;        ///< the crypto device
    bool up = false;           ///< keys are agreed on
    std::uint64_t sessions = 0;
    Nanos key_age = 0;
    Nanos silence = 0;  ///< since the other end was last heard of; 0 before
    std::uint8_t peer_workers = 0;
    std::uint64_t forged = 0;      ///< messages that were not of the other end
    std::uint64_t mismatched = 0;  ///< messages that tell of another algorithm or version
    TunnelStats stats;
};

struct UplinkReport {
    std::string driver;
    bool up = false;
};

/// The link to the controller.
struct ControllerReport {
    std::string state;    ///< connecting, refused, welcomed, connected, silent
    std::string refusal;  ///< what the controller said
    std::string cluster;
    std::uint64_t epoch = 0;
    std::uint64_t interval = 0;
    std::uint64_t flows = 0;  ///< that it sets rates of
    std::uint64_t demands = 0;
    std::uint64_t allocations = 0;
    std::uint64_t malformed = 0;
    std::uint64_t stale = 0;
    std::uint64_t foreign = 0;
    std::uint64_t refused_records = 0;
    std::uint64_t unsent = 0;  ///< messages that the connection had no room for
};

/// What one vNIC asks of one appliance, for the controller.
struct RequestSample {
    std::string vnic;
    RequestFlowReport flow;
};

/// What it may use, per second, by PathResource; UINT64_MAX: the controller says nothing.
using RequestRates = std::array<std::uint64_t, kPathResources>;
/// By the vNIC's name, then by index into the configuration's appliances.
using RequestRatesByVnic = std::map<std::string, std::map<std::uint16_t, RequestRates>>;

/// What this host may have outstanding at appliances, and what of that is for whom; by index into the
/// configuration's appliances. What is not named is as configured.
struct RequestWindows {
    std::map<std::uint16_t, std::uint64_t> tokens;
    std::map<std::string, std::map<std::uint16_t, WindowPart>> reservations;  ///< by vNIC
    bool operator==(const RequestWindows&) const = default;
};
/// What a vNIC sends over the wire to another of its tenant.
struct PeerSample {
    std::string vnic;
    PeerReading peer;
};
/// Bytes per second that it may send there (UINT64_MAX: it is only counted), by the vNIC's name and the
/// other's MacAddress::bits.
using PeerRates = std::map<std::string, std::map<std::uint64_t, std::uint64_t>>;

struct SwitchReport {
    const SwitchConfig* config = nullptr;
    std::uint64_t uptime_ns = 0;
    std::uint64_t tsc_hz = 0;
    std::uint32_t buffers = 0;
    std::uint32_t buffers_free = 0;
    std::vector<WorkerReport> workers;
    std::vector<VnicReport> vnics;
    std::optional<UplinkReport> uplink;
    std::optional<ControllerReport> controller;
    std::vector<TunnelReport> tunnels;
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
    /// The tallies of all request flows; latencies as far as they are cheap. @throws HostError as report()
    [[nodiscard]] virtual std::vector<RequestSample> sample_requests() = 0;
    /// What the controller lets flows use, under the limits of the configuration, which hold alone for what
    /// is not named. @throws HostError as report()
    virtual void set_request_rates(const RequestRatesByVnic& rates) = 0;
    /// What has ended since the last call, in that order; what nobody takes is forgotten, the oldest first.
    [[nodiscard]] virtual std::vector<UsageReport> take_usage() = 0;
    /// How long a period of these is; 1 s until the controller says so.
    virtual void set_billing_period(Nanos /*period*/) {}
    /// What the controller holds appliances' latencies by, at those that have a window.
    virtual void set_request_windows(const RequestWindows& /*windows*/) {}
    /// The tallies of all that set_peer_rates() named. @throws HostError as report()
    [[nodiscard]] virtual std::vector<PeerSample> sample_peers() = 0;
    /// The controller's word on traffic between VMs over the wire, all of it. @throws HostError as report()
    virtual void set_peer_rates(const PeerRates& rates) = 0;
    /// What report() says of the controller from now on.
    virtual void note_controller(const ControllerReport& controller) = 0;
    /// The agent's tick: link state, addresses that one worker learned and the others should know.
    virtual void tick() = 0;
};

}  // namespace weir
