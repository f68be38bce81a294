// topology.h - the running switch: built from its configuration, and changed while vNICs come, change and go.
// Source: docs/design.md 2 and 3. Threads: main (the agent) and DPDK's telemetry thread, serialized by a
// mutex that no worker takes.
//
// Parts: topology.cc constructs and destroys, posts commands to workers, and has the agent's tick;
// topology_vnics.cc adds, changes and removes vNICs; topology_allocations.cc is for the controller: flow
// samples out, rates, windows and refusals in; topology_promises.cc puts its promises to vNICs in the place
// of the file's values; topology_learned.cc keeps guests' assigned addresses over a restart and over a vNIC's
// removal; topology_report.cc takes snapshots for reports, guarantee periods and usage; topology_captures.cc
// copies frames for captures; topology_history.cc takes samples and notes events; topology_moves.cc gives
// vNICs to other workers; topology_spread.cc has those that several workers poll.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "vswitch/agent/learned_file.h"
#include "vswitch/agent/switch_control.h"
#include "vswitch/config/config.h"
#include "vswitch/config/config_files.h"
#include "vswitch/datapath/frame/inbox.h"
#include "vswitch/datapath/loop/mac_relay.h"
#include "vswitch/datapath/loop/stepped_worker.h"
#include "vswitch/datapath/loop/worker.h"
#include "vswitch/datapath/loop/worker_thread.h"
#include "vswitch/ports/eal.h"
#include "vswitch/ports/flow_offload.h"
#include "vswitch/ports/nic_port.h"
#include "vswitch/ports/notifier.h"
#include "vswitch/ports/quiescence.h"
#include "vswitch/ports/signal_relay.h"
#include "vswitch/ports/vhost_driver.h"
#include "vswitch/qos/guarantees/guarantee_meter.h"
#include "vswitch/topology/tunnels.h"

namespace weir {

class Topology final : public SwitchControl {
  public:
    /// Builds ports and workers, starts the workers and adds the configuration's vNICs.
    /// @throws HostError that names the part that failed and how to mend it
    Topology(Eal& eal, const SwitchConfig& config, const ConfigFiles& files);
    /// Stops the workers, then removes flow rules and sockets.
    ~Topology() override;

    [[nodiscard]] SwitchReport report() override;
    [[nodiscard]] SwitchConfig config() const override;
    void add_vnic(const VnicConfig& vnic) override;
    void change_vnic(const VnicConfig& vnic) override;
    void remove_vnic(const std::string& name) override;
    [[nodiscard]] std::vector<VnicConfig> recently_removed() override;
    [[nodiscard]] std::vector<FlowSample> sample_flows() override;
    [[nodiscard]] std::vector<PeerPair> take_destinations() override;
    void set_rates(const FlowRates& rates) override;
    void set_windows(const HostWindows& windows) override;
    void set_refusals(const Refusals& refusals) override;
    void set_promises(const VnicPromises& promises) override;
    [[nodiscard]] VnicPromises promises() const override;
    [[nodiscard]] std::vector<UsageReport> take_usage() override;
    void set_billing_period(Nanos period) override;
    [[nodiscard]] std::uint64_t start_capture(const CaptureOrder& order) override;
    [[nodiscard]] CapturedFrames take_captured(std::uint64_t number) override;
    void stop_capture(std::uint64_t number) override;
    void note_controller(const ControllerReport& controller) override;
    void tick() override;
    void sample() override;
    void finish_sample() override;
    [[nodiscard]] const SwitchHistory& history() const override { return *history_; }
    [[nodiscard]] Moment moment() const override;
    void turns(std::uint64_t count, Nanos span) override;

  private:
    /// Rates that the controller allocates to one vNIC.
    struct Rates {
        std::map<std::uint16_t, FlowTokens> requests;  ///< by appliance
        std::map<std::uint64_t, std::uint64_t> peers;  ///< by MAC address
    };

    /// A fault as the log names it: once, and again after some time.
    struct NamedFault {
        std::string text;
        Nanos at = 0;
    };

    /// Of a vNIC that is spread, on another worker than its home.
    struct Member {
        std::unique_ptr<VnicPath> path;
        VnicReading snapshot{};
        VnicSample sample{};  // as last received
        std::uint64_t last_command = 0;
    };

    /// A vNIC with the objects that it owns; destroyed once no worker uses it.
    struct Vnic {
        VnicConfig config;
        // Its far side: a device and its queue, or else a guest at a vhost-user socket.
        std::unique_ptr<NicDevice> device;
        std::unique_ptr<NicPort> queue;
        std::unique_ptr<VhostPort> vhost;
        Port* port = nullptr;            // of these, the one that its owner polls
        std::unique_ptr<Spread> spread;  // null: one worker polls it
        std::unique_ptr<VnicPath> path;
        std::vector<Member> members;
        Steering steering;
        VnicProfile profile;   // as last posted to the owner
        VnicReading snapshot;  // as last received
        std::vector<RequestPath::Reading> requests;
        Rates rates;
        std::vector<PeerAllocation> peer_allocations;  // as last posted to the owner
        std::vector<PeerReading> peers;
        std::optional<GuaranteeMeter> guarantee;
        std::optional<GuaranteeMeter::Period> billed;  // the billing period that has not ended
        bool unknown_named = false;                    // that its guest has no assigned address
        NamedFault link_named;
        NamedFault ring_fault;
        NamedFault front_end_fault;
        VnicRefusal refusal;                               // by the controller
        std::vector<PromiseDifference> differences_named;  // between its promise and its file
        std::uint64_t last_command = 0;  // of the owner: until it is done, values that it refers to must stay
        bool profile_due = false;        // the last one was not posted: its owner did not answer
        VnicTrack* track = nullptr;      // its history, once all workers have it
        bool was_up = false;             // when events were noted last
        std::uint64_t cycles_balanced = 0;  // of the snapshot at the last look of the balancer
    };

    /// The last look of the balancer.
    struct Balanced {
        Nanos at = 0;
        std::vector<std::uint64_t> workers;  ///< their busy cycles
    };

    /// A removed vNIC, which may be added again.
    struct Removed {
        VnicConfig config;
        Nanos at = 0;
    };

    /// Copies of frames for an operator.
    struct RunningCapture {
        VnicId vnic = kNoVnic;                          // kNoVnic: of the uplink
        std::string name;                               // for the log
        std::vector<std::unique_ptr<Capture>> workers;  // by worker
        std::vector<std::uint64_t> stopped;             // by worker: the command that ends it
        std::string ended;                              // why; empty: it runs
        std::uint64_t unix_ns = 0;                      // when it began
        TickConverter ticks{kNanosPerSec, 0};           // time since then, of the TSC
        Nanos read = 0;                                 // when frames were taken last
    };

    /// The samples of one worker's vNICs. While a command is not done the worker writes into them.
    struct Sampling {
        VnicSamples samples;
        std::uint64_t command = 0;  // that may not be done; 0: there is none
        std::vector<VnicId> vnics;  // all that it owns
        std::size_t next = 0;       // of them, with which the next command begins
    };

    // topology.cc
    void build_uplink();
    void name_far_workers() const;
    void name_lost_places() const;
    void build_workers(const ConfigFiles& files);
    [[nodiscard]] Wakeups* wakeups_of(WorkerId worker);
    void start_workers();
    void watch_links(Nanos now);
    /// @param vnic the one that has the device; null: it is the uplink
    void watch_link(NicDevice& device, const Vnic* vnic, NamedFault& named, Nanos now);
    void stop_workers();
    [[nodiscard]] Nanos now() const { return eal_.now(); }
    /// Hands a command to a worker. @return its number, for await() @throws HostError as await()
    std::uint64_t post(WorkerId worker, const WorkerCommand& command);
    /// @throws HostError when the worker does not carry out the command within 5 s
    void await(WorkerId worker, std::uint64_t number);
    /// post() to the vNIC's owner, of a command that refers to members of the vNIC.
    std::uint64_t post_to_owner(Vnic& vnic, const WorkerCommand& command);
    /// Returns when no command refers to members of the vNIC. @throws HostError as await()
    void await_owner(const Vnic& vnic);
    void run_on_all(const WorkerCommand& command);
    /// Lets each vNIC post commands to its owner, then waits for all of them.
    /// @param post_commands returns the number of the last command that it posted, or 0
    void run_on_owners(const std::function<std::uint64_t(VnicId, Vnic&)>& post_commands);

    // topology_vnics.cc
    [[nodiscard]] VnicId find(const std::string& name) const;
    [[nodiscard]] WorkerId pick_worker(const VnicConfig& config) const;
    std::unique_ptr<Vnic> make_vnic(const VnicConfig& config, std::span<const VnicId> ids, WorkerId owner);
    void add(const VnicConfig& config);
    void remove(VnicId id);
    void forget_removed();
    /// A new tenant gets the next place, or the last one, which all others share.
    [[nodiscard]] TenantSlot tenant_slot(const std::string& tenant);
    /// The configuration's limits, the guarantee's current rate, and the controller's rates below both.
    [[nodiscard]] VnicProfile profile_of(const VnicConfig& config, const Vnic& vnic) const;
    /// @return number of the command
    std::uint64_t post_profile(VnicId id, const VnicConfig& config);
    void post_due_profiles();
    void free_generation(VnicId id);

    // topology_spread.cc
    [[nodiscard]] std::vector<VnicId> free_ids(std::size_t count) const;
    [[nodiscard]] Vnic* vnic_of(VnicId id);
    [[nodiscard]] WorkerId worker_of_member(WorkerId home, std::size_t n) const;
    void make_members(Vnic& vnic, std::span<const VnicId> ids);
    void remove_members(Vnic& vnic);
    void post_to_members(Vnic& vnic, const std::function<WorkerCommand(Member&)>& command_for);
    void await_members(const Vnic& vnic);
    void add_members(Vnic& vnic);
    [[nodiscard]] static bool keep_sample(Vnic& vnic, const VnicSample& sample);
    [[nodiscard]] static VnicSample with_members(const Vnic& vnic, VnicSample sample);

    // topology_promises.cc
    [[nodiscard]] const VnicPromise* controller_promise(const std::string& vnic) const;
    /// The values in force of a vNIC with this configuration.
    [[nodiscard]] VnicConfig in_force(const VnicConfig& file) const;
    [[nodiscard]] VnicPromiseReport report_promise(const VnicConfig& file) const;
    /// Begins the guarantee of the values in force anew if it is another one, after take_snapshots().
    void change_guarantee(Vnic& vnic, const VnicConfig& file);
    void name_differences(Vnic& vnic) const;

    // topology_allocations.cc
    /// By name, so that a vNIC that is removed and added again keeps its rates.
    [[nodiscard]] Rates rates_of(const std::string& vnic) const;
    void bound_by_controller(VnicConfig& vnic, const Rates& rates) const;
    void log_refusal(const Vnic& vnic);
    std::uint64_t post_peer_rates(VnicId id, std::map<std::uint64_t, std::uint64_t> rates);

    // topology_captures.cc
    [[nodiscard]] RunningCapture& capture_of(std::uint64_t number);
    void end_capture(RunningCapture& capture, const std::string& why);
    void forget_capture(std::uint64_t number);
    void end_captures_of(VnicId vnic);
    void tick_captures(Nanos now);

    // topology_learned.cc
    void read_learned();
    /// Gives the guard of a vNIC that no worker has yet the addresses that the same vNIC had learned.
    void restore_learned(Vnic& vnic);
    /// The vNIC with the learned addresses of its snapshot that have not ended; without addresses if it is no
    /// client.
    [[nodiscard]] LearnedVnic learned_of(const Vnic& vnic) const;
    [[nodiscard]] bool taken_by_another(const Vnic& vnic, const IpAddress& address) const;
    void write_learned();
    void name_unknown_guests();

    // topology_history.cc
    void begin_history(VnicId id);
    void end_history(VnicId id);
    void ask_samples(WorkerId worker);
    void take_samples(WorkerId worker);
    void take_all_samples();
    void note_states(Nanos now);
    void note_drops(Nanos now);

    // topology_moves.cc
    /// How long the frames of a vNIC may take to leave its worker, when an operator asks.
    static constexpr Nanos kLeaveMax = 500'000'000;
    /// @throws HostError: the vNIC stays
    void move(VnicId id, WorkerId to, Nanos patience);
    void balance(Nanos now);
    [[nodiscard]] std::optional<Nanos> give(Vnic& vnic, WorkerId to, Nanos patience);
    /// The worker as a guest's port needs it.
    [[nodiscard]] VhostPort::Server server_of(WorkerId worker);
    void serve(Vnic& vnic, WorkerId owner);

    // topology_report.cc
    void take_snapshots();
    [[nodiscard]] std::vector<TenantTrafficReport> report_tenants() const;
    [[nodiscard]] VnicReport report_vnic(VnicId id) const;
    void end_guarantee_periods(Nanos now);
    void name_faults(Nanos now);
    /// @param ends the billing period ends with `period`; also when the guarantee changes, so that reports
    /// are in the order of their ends, by which the controller acknowledges them
    void record_usage(Vnic& vnic, const std::optional<GuaranteeMeter::Period>& period, bool ends);
    void close_usage(Vnic& vnic);
    [[nodiscard]] bool billing_period_ends(Nanos now) const;

    Eal& eal_;
    SwitchConfig config_;  // without vNICs: vnics_ has them
    mutable std::mutex mutex_;
    Quiescence quiescence_;
    std::unique_ptr<NicDevice> uplink_;
    NamedFault uplink_named_;
    std::unique_ptr<FlowSteering> steering_;
    std::unique_ptr<LinkShare> out_share_;
    std::unique_ptr<LinkShare> in_share_;
    std::vector<std::unique_ptr<Inbox>> inboxes_;
    std::vector<std::unique_ptr<Notifier>> notifiers_;  // by worker
    SignalRelay relay_;
    std::vector<Appliance> appliances_;  // by index as in config_
    std::unique_ptr<Tunnels> tunnels_;   // outlives the workers
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<std::unique_ptr<WorkerThread>> threads_;   // while time is real
    std::vector<std::unique_ptr<SteppedWorker>> stepped_;  // on a stepped clock
    std::vector<WorkerSnapshot> worker_snapshots_;
    MacRelay mac_relay_;
    std::array<std::unique_ptr<Vnic>, limits::kVnicsMax> vnics_;
    std::array<VnicId, limits::kVnicsMax> homes_;  // of members that are no home, by id; else kNoVnic
    std::array<VnicGeneration, limits::kVnicsMax>
        generations_{};                       // of the vNIC that has the id, or gets it next
    std::map<std::string, Removed> removed_;  // by the vNIC's name
    std::vector<std::string> tenants_;        // by place; the last place has no name
    LearnedFile learned_file_;
    std::map<std::string, LearnedVnic>
        left_;                          // addresses of vNICs that are not here, by name; times as now()
    std::vector<LearnedVnic> written_;  // in the file, likewise
    std::string learned_fault_;         // of the file, as last logged
    std::unique_ptr<VhostDriver> vhost_;
    Nanos link_polled_ = 0;
    Balanced balanced_;
    Nanos guarantees_ended_ = 0;  // end of the last guarantee period
    Nanos billing_period_ = kNanosPerSec;
    std::deque<UsageReport> usage_;
    std::uint64_t unix_origin_ = 0;  // Unix time, ns, when now() was 0
    std::optional<SwitchHistory> history_;
    std::vector<std::unique_ptr<Sampling>> samplings_;  // by worker
    std::optional<ControllerReport> controller_;
    FlowRates controller_rates_;
    std::vector<DestinationSample::Taken> destinations_;  // by worker, as last taken
    HostWindows controller_windows_;
    Refusals refusals_;
    VnicPromises promises_;
    std::map<std::uint64_t, RunningCapture> captures_;  // by number
    std::vector<RunningCapture> ended_captures_;        // workers may still know their rings
    std::uint64_t last_capture_ = 0;
};

}  // namespace weir
