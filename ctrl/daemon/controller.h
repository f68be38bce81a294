// controller.h - the controller of one cluster: messages of switches in, rates out, once an interval.
// Source: Pulsar 4.1; docs/design.md 4, 7; docs/protocol.md
// Units: Nanos of any clock that only rises; Unix seconds where a parameter says so.
// Threads: one owner. Never throws on input.
//
// A message counts when it is well formed, belongs to the session that its peer opened in this epoch, is
// newer than the one before, and names only flows of vNICs on the peer's own host. All others are counted by
// reason and change nothing.
//
// An epoch is one start of a controller; the store gives it a number above all earlier ones, so that switches
// ignore a controller that was replaced. An interval is one tick(): sessions expire, the solver turns the
// demands into rates, every switch gets the rates that changed, and the store keeps them for the next epoch.
// A demand that changes much between two ticks is solved for at once (solve_early); averages and estimates
// stay.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/wire/messages.h"
#include "ctrl/daemon/kept_demands.h"
#include "ctrl/daemon/sessions.h"
#include "ctrl/daemon/side_work.h"
#include "ctrl/daemon/usage_desk.h"
#include "ctrl/daemon/world.h"
#include "ctrl/store/deferred_writes.h"
#include "ctrl/store/store.h"

namespace weir {

struct ControllerCounters {
    std::array<std::uint64_t, wire::kMalformedReasons> malformed{};  ///< messages, by reason
    std::uint64_t bad_json = 0;                                      ///< HELLO messages whose JSON has faults
    std::uint64_t wrong_type = 0;       ///< messages of a type that only a controller sends
    std::uint64_t stale = 0;            ///< messages that were repeated or overtaken
    std::uint64_t foreign = 0;          ///< messages of another session, epoch or peer
    std::uint64_t refused_hosts = 0;    ///< HELLO messages that were refused
    std::uint64_t refused_vnics = 0;    ///< vNICs of accepted HELLO messages that were refused
    std::uint64_t refused_records = 0;  ///< records with values that cannot be, or of a flow that came twice
    std::uint64_t foreign_flows = 0;    ///< records of flows that the host or the tenant may not have
    std::uint64_t surplus_flows = 0;    ///< records of pairs beyond those that a host may state
    std::uint64_t messages = 0;         ///< received
    std::uint64_t records = 0;          ///< that counted
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    std::uint64_t records_out = 0;
    std::uint64_t solves = 0;
    std::uint64_t early_solves = 0;   ///< solves between two ticks
    std::uint64_t tables = 0;         ///< messages of TABLES sent
    std::uint64_t tables_bytes = 0;   ///< in them
    std::uint64_t asked = 0;          ///< addresses that were answered
    std::uint64_t asked_unknown = 0;  ///< of these: no vNIC of the tenant was on another host
    std::uint64_t asked_late = 0;     ///< too many in one interval: the switch asks again
};

/// Sends a message at once, after all that take_outgoing() has. @return false: its connection is gone
using Reach = std::function<bool(const Outgoing&)>;

/// The parts of the command `status` that describe the loop around the controller: an object.
using LoopReport = std::function<nlohmann::json()>;

/// Moves a stepped clock by a span, with all that becomes due in it. @return its time
using StepTime = std::function<Nanos(Nanos span)>;

/// Where a command came from.
struct CommandOrigin {
    std::string peer{};        ///< for the audit trail: "uid 0, process 1234"; empty = not known
    std::uint64_t ticket = 0;  ///< a reply may come later under this number; 0 = it is needed at once
    bool may_change = true;    ///< false: it came by `control_read_socket`
};

struct ControllerReading;
struct HostReading;

class Controller {
  public:
    /// Begins an epoch. @param store outlives the controller
    Controller(const ClusterConfig& config, MakeSolver make, Store& store, std::int64_t unix_time);
    /// With a solver that outlives the controller and is the same for every configuration.
    Controller(const ClusterConfig& config, Solver& solver, Store& store, std::int64_t unix_time);
    Controller(const Controller&) = delete;
    Controller& operator=(const Controller&) = delete;

    /// From now on a thread writes to the store, and no interval waits for the disk.
    void write_beside() { writes_.start(); }

    void on_message(const Peer& peer, std::span<const std::uint8_t> header,
                    std::span<const std::uint8_t> body, Nanos now);
    /// Of two switches with one name, `reach` shows whether the first is still connected. Without `reach` a
    /// switch counts as connected until its session is silent.
    void set_reach(Reach reach) { reach_ = std::move(reach); }
    void set_loop_report(LoopReport report) { loop_report_ = std::move(report); }
    /// Ends an interval. @param unix_time seconds, for audit entries
    void tick(Nanos now, std::int64_t unix_time);
    /// Whether a demand changed so much that solve_early() should run before the next tick.
    [[nodiscard]] bool early_solve_due() const { return world_->demands.has_large_change(); }
    void solve_early(Nanos now);
    /// The change of a demand is left to the next tick, because its peer caused too many early solves.
    void wait_for_tick() { world_->demands.clear_change(); }
    /// Messages to send, oldest first; the caller sends them.
    [[nodiscard]] std::vector<Outgoing> take_outgoing();
    /// Replies to commands that were answered later.
    [[nodiscard]] std::vector<SideWork::Reply> take_replies(Nanos now);

    /// Another configuration, with all vNICs at their places.
    struct Next {
        std::shared_ptr<World> world;
        Renumbering places;
        std::vector<Displaced> displaced;  ///< vNICs for which it has no place
    };
    /// Plans it; nothing changes. @param id_of as of Cluster
    [[nodiscard]] Next plan(ClusterConfig config, const Cluster::IdOf& id_of) const;
    /// Goes on with it, between two ticks: the next one solves for it, and each switch gets the changes of
    /// its TABLES. `next` was planned since the last message.
    void adopt(Next next, Nanos now);

    /// The configuration in force, and the revision that it is of.
    [[nodiscard]] const ClusterConfig& config() const { return world_->config; }
    [[nodiscard]] std::int64_t revision() const { return revision_; }
    [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
    [[nodiscard]] std::uint32_t interval() const { return interval_; }
    [[nodiscard]] std::size_t connected_hosts() const { return sessions_.active().size(); }
    [[nodiscard]] const ControllerCounters& counters() const { return counters_; }

    /// One command of weirctl (controller_commands.cc). Never throws on input.
    /// @param step empty: time is real, and `clock.step` is refused
    /// @return {"schema":1,"ok":true,"data":...} or {"schema":1,"ok":false,"faults":[...]}; empty: the reply
    /// comes by take_replies(), because it takes long
    [[nodiscard]] std::string on_command(std::string_view request, const ConnectionCounters& connections,
                                         Nanos now, const StepTime& step = {},
                                         const CommandOrigin& origin = {});
    /// The data of the commands `status` (without its connections) and `running`.
    [[nodiscard]] nlohmann::json status(Nanos now) const;
    [[nodiscard]] nlohmann::json running() const;
    /// For metrics (controller_reading.cc).
    [[nodiscard]] ControllerReading read(const ConnectionCounters& connections, Nanos now) const;

  private:
    class Commands;

    [[nodiscard]] HostReading read_host(HostIndex host, Nanos now) const;
    void on_hello(const Peer& peer, const wire::Header& header, std::span<const std::uint8_t> body,
                  Nanos now);
    void open_session(const Peer& peer, const wire::Header& header, const wire::Hello& hello, Nanos now);
    void fall_back_to_floors(Session& session);
    void expire_stored_rates();
    void answer_version(const Peer& peer, std::span<const std::uint8_t> header);
    void send_refusal(const Peer& peer, std::uint32_t session, const std::string& why);
    void on_demand(Session& session, const wire::Header& header, std::span<const std::uint8_t> body);
    [[nodiscard]] std::int64_t unix_nanos(Nanos now) const;
    void on_usage(const Session& session, std::span<const std::uint8_t> body, Nanos now);
    void on_ask(Session& session, std::span<const std::uint8_t> body, Nanos now);
    void send_billed();
    void set_removed_vnics(std::vector<RemovedVnic> vnics);
    void add_billed_vnics(const Session& session, wire::Tables& tables) const;

    // controller_specification.cc
    struct Proposal;
    [[nodiscard]] bool check(Proposal& proposal, Nanos now, Faults& faults);
    void build(Proposal& proposal) const;
    void finish_apply(Proposal& proposal, Nanos now, Faults& faults);
    void describe_effect(Proposal& proposal, Faults& faults) const;
    void describe_displaced(const Next& next, nlohmann::json& data, Faults& faults) const;

    // controller_adoption.cc
    [[nodiscard]] std::shared_ptr<World> build_world(ClusterConfig config, const Cluster::IdOf& id_of,
                                                     const Placement& placement) const;
    [[nodiscard]] Next finish_plan(Next next) const;
    [[nodiscard]] Placement placement_for(const ClusterConfig& config, const Renumbering& places) const;
    void adopt_sessions(const ClusterConfig& before, const Renumbering& places, Nanos now);
    void adopt_kept(const Renumbering& places);
    void refuse_displaced(const Displaced& vnic, const Renumbering& places);
    void judge_refusals(Session& session);
    [[nodiscard]] wire::Tables view_of(const Session& session) const;
    void send_difference(Session& session, const wire::Tables& before);

    // controller_placement.cc
    void place_vnics(Session& session, const wire::Hello& hello, Nanos now);
    [[nodiscard]] std::string place_vnic(Session& session, const wire::HelloVnic& vnic, Nanos now);
    void note_taken(const ClusterEnd& vnic, HostIndex by);
    void remove_vnic(std::uint32_t id);
    [[nodiscard]] std::string why_taken(HostIndex by) const;
    [[nodiscard]] std::string why_drained(const Session& session, const ClusterEnd& end) const;
    [[nodiscard]] nlohmann::json drained_vnics(HostIndex host) const;
    [[nodiscard]] std::string why_not_now(HostIndex host, const ClusterEnd& end, Nanos now);
    void retry_refused_vnics(Nanos now);
    void retry_refused_vnics(Session& session, Nanos now);

    [[nodiscard]] std::string why_rival(const Peer& peer, const wire::Header& header,
                                        const wire::Hello& hello, Nanos now);
    void expire_sessions(Nanos now);
    void lose(const Session& session, Nanos now);
    void end_kept(HostIndex host);
    void expire_kept(Nanos now);
    void solve(bool interval_ended);
    void send_rates(Session& session, bool even_without_changes);
    void send_json(Session& session, wire::Type type, const std::string& text);
    // controller_tables.cc
    void note_capabilities(Session& session, const wire::Hello& hello);
    void find_appliances(Session& session) const;
    void note_moved(const ClusterEnd& vnic, HostIndex before, HostIndex now);
    void note_link(HostIndex host);
    void add_refusals(const Session& session, wire::Tables& tables) const;
    void send_tables(Session& session);
    void send_tables(Session& session, wire::Tables tables);
    void send_changed_tables(Nanos now);
    void send_whole_tables_of_changed_tenants();
    void send(const std::string& route, const wire::Header& header, wire::Bytes body);

    void save();
    void restore_pools();
    /// Adds an audit entry when the same thing happens for the 1st, 2nd, 4th, 8th ... time.
    /// @param peer that caused it, as DeferredWrites counts; empty: the controller itself
    /// @return whether it happened for the first time
    bool audit(const char* kind, const std::string& text, const std::string& peer = {});

    Store& store_;
    DeferredWrites writes_;
    std::int64_t unix_time_;
    Nanos ticked_at_ = kNever;  // when unix_time_ was read
    std::uint64_t epoch_;
    std::uint32_t interval_ = 0;
    billing::UseTable use_;
    MakeSolver make_solver_;
    std::shared_ptr<World> world_;
    std::int64_t revision_;  // of the store's specification
    Sessions sessions_;
    std::map<std::string, StoredAllocation> stored_;  // by host: the last rates of earlier epochs
    /// Guarantees that are kept for a silent host.
    struct Kept {
        Nanos until = 0;
        std::size_t idle_pairs = 0;
    };
    std::map<HostIndex, Kept> kept_;
    std::size_t idle_pairs_left_ = kIdlePairsMax;
    std::map<std::string, std::uint64_t> audited_;  // by "kind: text": how often it happened
    /// Their vNICs came, left or changed since TABLES were sent; for switches without
    /// wire::capability::kTablesByNeed.
    std::set<TenantIndex> changed_tenants_;
    bool refusals_may_end_ = false;                         // a vNIC was placed or left, or a host was lost
    std::set<std::string, std::less<>> answered_versions_;  // routes of peers of another header version
    std::vector<Outgoing> outgoing_;
    Reach reach_;
    LoopReport loop_report_;
    ControllerCounters counters_;
    UsageDesk usage_desk_;
    std::atomic<bool> is_verifying_{false};  // the bill: one job at a time
    SideWork side_work_;                     // views of the bill, and backups
    SideWork change_work_;                   // changes of the specification, which wait for none of these
    // Working memory.
    std::vector<wire::FlowDemand> records_;
    std::vector<wire::FlowAllocation> changes_;
};

}  // namespace weir
