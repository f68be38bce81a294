// topology.h - puts the switch together from its configuration, and keeps it so while vNICs come, change and
// go. The only place that knows all parts. Source: design sections 2 and 3. Threads: main (the agent) and
// DPDK's telemetry thread, serialised by a mutex that no worker ever takes.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "vswitch/agent/switch_control.h"
#include "vswitch/config/appliance_costs.h"
#include "vswitch/config/config.h"
#include "vswitch/datapath/inbox.h"
#include "vswitch/datapath/worker.h"
#include "vswitch/datapath/worker_thread.h"
#include "vswitch/eal.h"
#include "vswitch/ports/flow_offload.h"
#include "vswitch/ports/nic_port.h"
#include "vswitch/ports/quiescence.h"
#include "vswitch/ports/vhost_driver.h"
#include "vswitch/qos/guarantees/guarantee_meter.h"
#include "vswitch/topology/tunnels.h"

namespace weir {

class Topology final : public SwitchControl {
  public:
    /// Builds ports and workers and starts to forward. @throws HostError naming the part and the mend
    /// @param costs one for each of config.appliances
    /// @param tunnels one for each of config.tunnels
    Topology(Eal& eal, const SwitchConfig& config, const std::vector<ApplianceCosts>& costs,
             const std::vector<TunnelParts>& tunnels);
    /// Stops the workers, takes rules and sockets back.
    ~Topology() override;

    [[nodiscard]] SwitchReport report() override;
    [[nodiscard]] SwitchConfig config() const override;
    void add_vnic(const VnicConfig& vnic) override;
    void change_vnic(const VnicConfig& vnic) override;
    void remove_vnic(const std::string& name) override;
    [[nodiscard]] std::vector<FlowSample> sample_flows() override;
    void set_rates(const FlowRates& rates) override;
    void set_windows(const HostWindows& windows) override;
    [[nodiscard]] std::vector<UsageReport> take_usage() override;
    void set_billing_period(Nanos period) override;
    void note_controller(const ControllerReport& controller) override;
    void tick() override;

  private:
    /// Rates that the controller allocates to one vNIC.
    struct Rates {
        std::map<std::uint16_t, FlowTokens> requests;  ///< by appliance
        std::map<std::uint64_t, std::uint64_t> peers;  ///< by MAC address
    };

    /// A vNIC and what it owns; destroyed when no worker knows it any more.
    struct Vnic {
        VnicConfig config;
        std::unique_ptr<NicDevice> device;  // when it is a DPDK device
        std::unique_ptr<Port> port;
        std::unique_ptr<VnicPath> path;
        Steering steering;
        VnicProfile profile;  // as last sent to the worker
        VnicStats snapshot;   // as last received
        std::vector<RequestPath::Reading> requests;
        Rates rates;
        std::vector<PeerRule> peer_rules;  // as last sent to the worker
        std::vector<PeerReading> peers;
        std::optional<GuaranteeMeter> guarantee;       // in what the last period left of it
        std::optional<GuaranteeMeter::Period> billed;  // of the bill, as far as it has come
    };

    void build_uplink();
    void build_workers(const std::vector<TunnelParts>& tunnels);
    void start_workers();
    void stop_workers();
    std::unique_ptr<Vnic> make_vnic(const VnicConfig& config, VnicId id, WorkerId owner);
    void add(const VnicConfig& config);
    void remove(VnicId id);
    [[nodiscard]] VnicId find(const std::string& name) const;
    [[nodiscard]] WorkerId pick_worker(const VnicConfig& config) const;
    std::uint64_t post(WorkerId worker, const WorkerCommand& command);
    void await(WorkerId worker, std::uint64_t number);
    void tell(WorkerId worker, const WorkerCommand& command);
    void tell_all(const WorkerCommand& command);
    /// For each vNIC: what is to be posted to its owner. All is posted before any answer is waited for.
    /// @param send returns the number of the last command that it posted, or 0
    void tell_owners(const std::function<std::uint64_t(VnicId, Vnic&)>& send);
    void relay_news();
    void take_snapshots();
    /// Ends the period of every guarantee; those that vary get their next rate.
    void turn_guarantees(Nanos now);
    /// @param ends the bill's period ends with this one, as it does too when the promise changes: so reports
    /// stand in the order of their ends, which is how the controller says what it has
    void note_usage(Vnic& vnic, const std::optional<GuaranteeMeter::Period>& period, bool ends);
    void close_usage(Vnic& vnic);
    [[nodiscard]] bool bill_ends(Nanos now) const;
    VnicReport report_vnic(VnicId id) const;
    /// What the controller lets the vNIC use; a vNIC that comes again has it at once.
    [[nodiscard]] Rates rates_of(const std::string& vnic) const;
    void reserve_in_window(const std::string& vnic, VnicApplianceConfig& part) const;
    /// The configuration's limits, the controller's rates below them, and the guarantee as it is now.
    [[nodiscard]] VnicProfile profile_of(const VnicConfig& config, const Vnic& vnic) const;
    /// To the vNIC's owner, without waiting for its answer. @return the command's number
    std::uint64_t post_profile(VnicId id, const VnicConfig& config);
    std::uint64_t post_peer_rates(VnicId id, std::map<std::uint64_t, std::uint64_t> rates);

    Eal& eal_;
    SwitchConfig config_;  // vnics are kept in vnics_
    mutable std::mutex mutex_;
    Quiescence quiescence_;
    std::unique_ptr<NicDevice> uplink_;
    std::unique_ptr<FlowSteering> steering_;
    std::unique_ptr<LinkShare> out_share_;
    std::unique_ptr<LinkShare> in_share_;
    std::vector<std::unique_ptr<Inbox>> inboxes_;
    std::vector<Appliance> appliances_;  // as in config_
    std::unique_ptr<Tunnels> tunnels_;   // outlives the workers
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<std::unique_ptr<WorkerThread>> threads_;
    std::vector<WorkerSnapshot> worker_snapshots_;
    std::array<std::unique_ptr<Vnic>, limits::kVnicsMax> vnics_;
    std::unique_ptr<VhostDriver> vhost_;
    Nanos link_polled_ = 0;
    Nanos guarantees_turned_ = 0;
    Nanos billing_period_ = kNanosPerSec;
    std::deque<UsageReport> usage_;
    std::uint64_t unix_origin_ = 0;  // of our clock
    std::optional<ControllerReport> controller_;
    FlowRates controller_rates_;
    HostWindows controller_windows_;
};

}  // namespace weir
