// switch_control.h - interface of the running switch to its agent: reports, samples and changes.
// Source: docs/design.md 2. Units: in the field names; counters since the start.
// Threads: report() by the agent and DPDK's telemetry thread, all others by the agent; never by a worker.
//
// The implementation, the topology, serializes all calls but turns() by a mutex. A call that needs workers
// posts commands and returns when they are carried out, after one or two iterations. When a worker does not
// answer within 5 s, the call throws HostError, and a part of its change may hold. Arguments are copied, and
// results are copies, but for SwitchReport::config.
//
// The order of the calls in a tick of the agent and its link to the controller, every 10 ms:
//   control.tick();
//   for (const UsageReport& usage : control.take_usage())
//       session.add_usage(usage);
//   session.add_samples(control.sample_flows(), now);   // peers: those of the last set_rates()
//   if (session.update_rates(rates)) {
//       control.set_rates(rates);
//       control.set_windows(session.windows());
//   }
//   control.note_controller(state);                     // for the next report()
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/config/vnic_promise.h"
#include "common/cores.h"
#include "common/error.h"
#include "common/types.h"
#include "common/wire/records.h"
#include "vswitch/agent/history/switch_history.h"
#include "vswitch/base/capture.h"
#include "vswitch/base/stats.h"
#include "vswitch/config/config.h"

namespace weir {

/// A service flow: requests of a vNIC to one appliance.
struct RequestFlowReport {
    std::uint16_t appliance = 0;  ///< index into the configuration's
    RequestFlowStats stats;
};

/// The present guarantee of a vNIC.
struct GuaranteeReport {
    GuaranteeKind kind = GuaranteeKind::kFairness;  ///< kFairness as well once a dynamic guarantee has ended
    std::uint64_t rate_bps = 0;                     ///< guaranteed; of a dynamic guarantee the present rate
    std::uint64_t left_bytes = 0;                   ///< that a dynamic guarantee still has to deliver
    Nanos time_left = 0;                            ///< until a dynamic guarantee's deadline
};

/// An address that the guest may use because it was assigned to it.
struct LearnedReport {
    std::string address;
    const char* from = "";      ///< dhcp, dhcpv6 or router
    std::optional<Nanos> left;  ///< absent: without an end
};

/// The link of an ethernet device.
struct DeviceLinkReport {
    std::string fault;              ///< why there is no link, with the remedy; empty: there is one
    std::uint64_t losses = 0;       ///< times that the link went
    std::uint64_t send_errors = 0;  ///< frames that the device took and could not send
};

/// Why the controller refuses a vNIC.
struct VnicRefusal {
    std::string why{};        ///< empty: it does not
    bool is_unknown = false;  ///< it does not know it
    bool operator==(const VnicRefusal&) const = default;
};
/// By the vNIC's name.
using Refusals = std::map<std::string, VnicRefusal>;
[[nodiscard]] inline OnRefused service_of(const VnicRefusal& refusal, const ControllerConfig& config) {
    return refusal.is_unknown ? config.on_unknown : config.on_refused;
}

/// The controller's promises to vNICs of this switch.
struct VnicPromises {
    bool is_kept = false;  ///< of an earlier run of the switch: no controller has confirmed them since
    std::map<std::string, VnicPromise> by_vnic{};  ///< by the vNIC's name
    bool operator==(const VnicPromises&) const = default;
};

/// Where a vNIC's guarantee, reservation, limit and shares come from.
struct VnicPromiseReport {
    const char* from = "file";                     ///< controller, kept (of an earlier run), file
    std::vector<PromiseDifference> differences{};  ///< values that the file states besides
};

struct VnicReport {
    VnicId id = 0;
    WorkerId worker = 0;
    std::vector<WorkerId> workers;             ///< that poll its queue pairs, `worker` first
    VnicConfig config;                         ///< in force: the file's, with the controller's promise
    std::optional<VnicPromiseReport> promise;  ///< absent: the switch has no controller
    bool up = false;
    Steering steering;
    std::vector<std::string> features;
    std::uint64_t ring_errors = 0;
    std::uint64_t straight = 0;   ///< frames to it that were copied out of their senders' memory
    std::string ring_fault;       ///< why a ring is stopped; empty: none is
    std::string socket_fault;     ///< why no front-end can come to the socket; empty: one can
    std::string front_end_fault;  ///< why the last front-end was disconnected; empty: none was
    VnicRefusal refusal;          ///< by the controller
    DeviceLinkReport link;        ///< of its device; with a socket as if all were well
    VnicReading stats;
    GuaranteeReport guarantee;
    Nanos queue_delay_p50 = 0;
    Nanos queue_delay_p99 = 0;
    Nanos queue_delay_max = 0;
    std::vector<RequestFlowReport> request_flows;
    std::vector<LearnedReport> learned;
};

/// Guaranteed and delivered bytes of a vNIC in one billing period that has ended. Periods without traffic are
/// not reported.
struct UsageReport {
    std::string vnic{};
    wire::Usage usage{};  ///< without the vNIC's id; Unix time by the clock of the switch's start, which
                          ///< never goes back
};

struct WorkerReport {
    WorkerId id = 0;
    unsigned core = 0;
    NumaNode node;  ///< of the core, and of the buffers that the worker takes
    unsigned vnics = 0;
    WorkerSnapshot snapshot;
};

/// Keys and counters of an ESP tunnel.
struct TunnelReport {
    std::string name;
    std::uint16_t config = 0;  ///< index into the configuration's
    std::string device;        ///< the crypto device
    bool up = false;           ///< both ends have keys
    std::uint64_t sessions = 0;
    Nanos key_age = 0;
    Nanos silence = 0;             ///< since the last message of the other end; 0 = none yet
    std::uint64_t forged = 0;      ///< messages made without the key
    std::uint64_t mismatched = 0;  ///< messages of another algorithm or version
    TunnelStats stats;
};

struct UplinkReport {
    std::string driver;
    bool up = false;
    DeviceLinkReport link;
};

/// Messages of the link to the controller.
struct ControllerLinkCounters {
    std::uint64_t malformed = 0;        ///< messages with a wrong header or body
    std::uint64_t stale = 0;            ///< messages that were repeated or overtaken
    std::uint64_t foreign = 0;          ///< messages of another session or epoch
    std::uint64_t refused_records = 0;  ///< records of accepted messages
    std::uint64_t allocations = 0;      ///< accepted
    std::uint64_t demands = 0;          ///< sent
    std::uint64_t asks = 0;             ///< sent
};

/// The controller's last promises, of which guarantees hold while it is away.
struct PromiseReport {
    std::int64_t confirmed = 0;  ///< Unix seconds: there was a session last; 0 = never
    std::int64_t age = 0;        ///< seconds since
    bool of_file = false;        ///< of an earlier run of the switch
    bool in_force = false;       ///< instead of an allocation
};

/// The link to the controller.
struct ControllerReport {
    std::string state;      ///< connecting, refused, welcomed, connected, silent
    std::string refusal{};  ///< the controller's reason
    std::string fault{};    ///< why there is no connection; empty: none is known
    std::string ignored{};  ///< why the switch ignores the controller that answers; empty: it does not
    std::string cluster{};
    std::uint64_t epoch = 0;
    std::uint64_t interval = 0;
    std::uint64_t flows = 0;  ///< with rates or guarantees
    ControllerLinkCounters counters;
    std::uint64_t unsent = 0;            ///< messages lost because the socket's queue was full
    std::uint64_t unbilled_periods = 0;  ///< billing periods of vNICs that the controller does not know
    std::uint64_t unbilled_bytes = 0;    ///< delivered in them
    PromiseReport promises{};
    std::uint64_t peers_left_out = 0;  ///< without rates, because there are too many
};

/// One flow by the switch's own names: a vNIC's requests to an appliance, or its traffic over the wire to a
/// peer, another vNIC of its tenant.
struct LocalFlow {
    std::string vnic{};
    std::uint16_t appliance = 0;  ///< index into the configuration's; without meaning for traffic to a peer
    std::string peer{};           ///< MAC address of the peer; empty for requests
    auto operator<=>(const LocalFlow&) const = default;
};

/// A vNIC, and an address over the wire to which it sends.
struct PeerPair {
    std::string vnic{};
    std::string mac{};
    auto operator<=>(const PeerPair&) const = default;
};

/// By part of the flow's path: accounted bytes at wire::kThere and kBack, the appliance's tokens at kTokens.
using FlowTokens = std::array<std::uint64_t, wire::kParts>;

/// Counters since the service flow began, or since set_rates() first named the peer; queued and outstanding
/// tokens now.
struct FlowSample {
    LocalFlow flow;
    FlowTokens used{};
    FlowTokens queued{};
    std::uint64_t refused = 0;  ///< bytes to a peer that were dropped because its rate held them back
    std::uint64_t outstanding_tokens = 0;
    std::uint64_t outstanding = 0;  ///< requests
    std::uint64_t responses = 0;
    std::array<Nanos, kRequestHolds> blocked_ns{};          ///< time that each held requests back
    std::array<wire::Blocked, kRequestHolds> blocked_by{};  ///< whose limit holds there now
};

/// Rates of flows, per second; wire::kNoStatement where the controller sets none. Rates of service flows are
/// clamped to 1..10^12 tokens and to 125..5*10^10 bytes; of traffic to a peer only kThere is used.
using FlowRates = std::map<LocalFlow, FlowTokens>;

/// One vNIC's part of the host's window at an appliance.
struct WindowPart {
    std::uint64_t tokens = 0;  ///< reserved, per second
    std::uint64_t shares = 0;  ///< 0: as configured
    bool operator==(const WindowPart&) const = default;
};

/// Windows and reservations at appliances whose latency the controller holds; others are as configured.
struct HostWindows {
    std::map<std::uint16_t, std::uint64_t> tokens{};  ///< window of this host, by appliance
    std::map<LocalFlow, WindowPart> reservations{};
    bool operator==(const HostWindows&) const = default;
};

/// For this long a removed vNIC counts as one that changes its port: the controller is not informed, and the
/// vNIC keeps its rates when it is added again.
inline constexpr Nanos kVnicAbsenceMax = 2 * kNanosPerSec;

/// Name of all tenants beyond limits::kTenantsMax - 1.
inline constexpr const char* kOtherTenants = "(others)";
/// Frames of one tenant's VMs that VMs of another, or of the same, on this host have got.
struct TenantTrafficReport {
    std::string from;
    std::string to;
    std::uint64_t bytes = 0;
};

struct SwitchReport {
    const SwitchConfig* config = nullptr;  ///< the switch's own, valid while it lives; without vNICs
    std::uint64_t uptime_ns = 0;
    bool stepped = false;  ///< the clock: time moves by commands alone
    std::uint64_t tsc_hz = 0;
    std::uint64_t buffers = 0;       ///< of the pool of each NUMA node that has workers
    std::uint64_t buffers_free = 0;  ///< of the pool with the fewest
    std::vector<WorkerReport> workers;
    std::vector<VnicReport> vnics;
    std::optional<UplinkReport> uplink;
    std::optional<ControllerReport> controller;
    std::vector<TunnelReport> tunnels;
    std::vector<TenantTrafficReport> tenant_traffic;  ///< pairs with traffic

    // Sums over all workers.
    [[nodiscard]] UplinkStats uplink_stats() const {
        UplinkStats sum;
        for (const WorkerReport& worker : workers)
            sum.add(worker.snapshot.uplink);
        return sum;
    }
    [[nodiscard]] FeedbackStats feedback_stats() const {
        FeedbackStats sum;
        for (const WorkerReport& worker : workers)
            sum.add(worker.snapshot.feedback);
        return sum;
    }
};

/// Frames that a capture has copied since the last call.
struct CapturedFrames {
    struct Frame {
        std::uint64_t unix_ns = 0;
        std::string vnic{};  ///< empty: none, or not known
        CaptureRecord record;
        std::vector<std::byte> bytes{};  ///< the first ones of the frame
    };
    std::vector<Frame> frames{};
    std::uint64_t missed = 0;  ///< frames that fitted and were not copied, since the begin
    std::string ended{};       ///< why it copies no more; empty: it does
};

class SwitchControl {
  public:
    virtual ~SwitchControl() = default;

    /// A copy of every counter: those of one vNIC, or of one worker, are of one moment between two
    /// iterations. @throws HostError when a worker does not answer
    [[nodiscard]] virtual SwitchReport report() = 0;
    /// As the file and weirctl have it: without the controller's promises.
    [[nodiscard]] virtual SwitchConfig config() const = 0;
    /// @param vnic the result of parse_vnic() against config(): it is not checked again
    /// @throws HostError when the host refuses (device, socket, 1,024 vNICs, no service flow left); the
    /// running state is then as before
    virtual void add_vnic(const VnicConfig& vnic) = 0;
    /// @param vnic likewise the result of config.h's change_vnic() @throws HostError when no vNIC has its
    /// name
    virtual void change_vnic(const VnicConfig& vnic) = 0;
    /// Drops its waiting frames; the name is free then. @throws HostError when no vNIC has it
    virtual void remove_vnic(const std::string& name) = 0;
    /// vNICs that were removed less than kVnicAbsenceMax ago and are not added again.
    [[nodiscard]] virtual std::vector<VnicConfig> recently_removed() { return {}; }
    /// Counters of all service flows, and of the traffic to all peers in the last set_rates().
    /// @throws HostError as report()
    [[nodiscard]] virtual std::vector<FlowSample> sample_flows() = 0;
    /// Some addresses over the wire that vNICs sent to since the last call, and that have no rate. One that
    /// is left out comes again with its next frames. @throws HostError as report()
    [[nodiscard]] virtual std::vector<PeerPair> take_destinations() { return {}; }
    /// Replaces all rates that the controller allocates. The configuration's limits hold besides, and alone
    /// for flows without a rate. A vNIC that is added later gets those of its service flows at once, those
    /// to peers with the next call. @throws HostError as report()
    virtual void set_rates(const FlowRates& rates) = 0;
    /// Replaces all windows that the controller allocates; appliances without a configured window ignore
    /// them, and those that it does not name have the configured one. @throws HostError as report()
    virtual void set_windows(const HostWindows& /*windows*/) {}
    /// Replaces the vNICs that the controller refuses. They are held, or served as best effort (`on_refused`,
    /// `on_unknown`). @throws HostError as report()
    virtual void set_refusals(const Refusals& /*refusals*/) {}
    /// Replaces the controller's promises. A vNIC without one has its file's values, and so has one that is
    /// added before its promise comes. @throws HostError as report()
    virtual void set_promises(const VnicPromises& /*promises*/) {}
    /// Those of the last set_promises().
    [[nodiscard]] virtual VnicPromises promises() const { return {}; }
    /// Periods that ended since the last call, in the order of their ends; the oldest are lost when more than
    /// 4,096 wait.
    [[nodiscard]] virtual std::vector<UsageReport> take_usage() = 0;
    /// Length of these periods, in ns, at least 1 s; 1 s until the first call.
    virtual void set_billing_period(Nanos /*period*/) {}
    /// Begins to copy frames. The capture ends with stop_capture(), with its vNIC, and when no frames
    /// were taken for 10 s. @return its number
    /// @throws HostError when there is no such vNIC or uplink, too many captures run, or as report()
    virtual std::uint64_t start_capture(const CaptureOrder& order) = 0;
    /// The oldest frames, at most 192 KiB. @throws HostError when there is no capture of this number
    [[nodiscard]] virtual CapturedFrames take_captured(std::uint64_t capture) = 0;
    /// @throws HostError likewise
    virtual void stop_capture(std::uint64_t capture) = 0;
    /// Sets the part of report() about the controller.
    virtual void note_controller(const ControllerReport& controller) = 0;
    /// Every 10 ms: link states, MAC updates between workers, tunnels, guarantee periods. May wait for
    /// workers, and throws nothing when one does not answer.
    virtual void tick() = 0;
    /// Every millisecond: takes the samples of vNICs that workers have made since the last call, and asks for
    /// the next ones. Waits for no worker that polls: samples come late then.
    virtual void sample() {}
    /// On a stepped clock: takes the samples of the last sample() when all workers have made them.
    virtual void finish_sample() {}
    /// The past of vNICs, and events.
    [[nodiscard]] virtual const SwitchHistory& history() const = 0;
    /// The same moment on the clock of history(), and as Unix time in ns.
    struct Moment {
        Nanos now = 0;
        std::uint64_t unix_now = 0;
        /// Unix time in ns.
        [[nodiscard]] std::uint64_t unix_of(Nanos time) const { return unix_now - now + time; }
    };
    [[nodiscard]] virtual Moment moment() const = 0;
    /// On a stepped clock: so many poll turns of every worker, before each of which the clock moves by
    /// `span`, in ns; returns when they are over. Without one it does nothing.
    virtual void turns(std::uint64_t /*count*/, Nanos /*span*/) {}
};

}  // namespace weir
