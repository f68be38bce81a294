// controller.h - who is there, what they said, and what they are told: the epoch loop without clock and
// sockets. Source: design sections 2, 5 and 7, algorithms 10; docs/protocol.md. Units: Nanos of any clock
// that only rises. Threads: one owner. Never throws on input.
//
// A message is believed when it is whole, of this epoch, of the session that its peer opened, newer than the
// last, and speaks of flows from vNICs of its own host. Anything else changes nothing and is counted under a
// reason.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/wire/channel.h"
#include "common/wire/messages.h"
#include "ctrl/daemon/admission.h"
#include "ctrl/daemon/cluster.h"
#include "ctrl/daemon/solver.h"
#include "ctrl/store/store.h"

namespace weir {

/// Who a message came from.
struct Peer {
    std::string route;  ///< where answers go
    std::string host;   ///< whose key it showed; empty = a plain connection of this machine
};

struct Outgoing {
    std::string route;
    wire::HeaderBytes header;
    wire::Bytes body;
};

/// What was not believed, by reason; and what was.
struct ControllerCounters {
    std::array<std::uint64_t, wire::kMalformedReasons> malformed{};
    std::uint64_t bad_json = 0;    ///< HELLO
    std::uint64_t wrong_type = 0;  ///< what only a controller says
    std::uint64_t stale = 0;
    std::uint64_t foreign = 0;        ///< of another session, epoch or peer
    std::uint64_t refused_hosts = 0;  ///< HELLO of a host that is not in the file, is another's, or is taken
    std::uint64_t refused_vnics = 0;  ///< in a HELLO: not in the file, of another host or tenant, or taken
    std::uint64_t refused_records = 0;  ///< NaN, negative, too large, twice
    std::uint64_t foreign_flows = 0;    ///< records of flows that the peer or the tenant has no part in
    std::uint64_t messages = 0;
    std::uint64_t records = 0;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    std::uint64_t records_out = 0;
    std::uint64_t solves = 0;
    std::uint64_t early_solves = 0;  ///< between intervals
};

class Controller {
  public:
    /// Intervals for which an allocation, and a switch's word, count.
    static constexpr std::uint32_t kValidity = 3;

    /// Begins an epoch. @param config, solver, store outlive the controller
    Controller(const ClusterConfig& config, Solver& solver, Store& store, std::int64_t unix_time);
    ~Controller();
    Controller(const Controller&) = delete;
    Controller& operator=(const Controller&) = delete;

    void receive(const Peer& peer, std::span<const std::uint8_t> header, std::span<const std::uint8_t> body,
                 Nanos now);
    /// An interval has passed: forgets who is silent, solves, tells everybody, stores.
    void tick(Nanos now, std::int64_t unix_time);
    /// A demand has changed so much that the next tick is too late.
    [[nodiscard]] bool early_wanted() const { return early_wanted_; }
    /// Solves and tells, between two ticks.
    void solve_early(Nanos now);
    /// What is to be sent, oldest first.
    [[nodiscard]] std::vector<Outgoing> take_outgoing();

    [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
    [[nodiscard]] std::uint32_t interval() const { return interval_; }
    [[nodiscard]] const ControllerCounters& counters() const { return counters_; }
    /// For `weirctl status`.
    [[nodiscard]] nlohmann::json status(Nanos now) const;
    [[nodiscard]] nlohmann::json audit(std::size_t most);
    /// For `weirctl pool show`.
    [[nodiscard]] nlohmann::json pools() const;
    /// Changes a pool from the next interval on, and for later lives. @return what is wrong; then nothing is
    /// changed
    [[nodiscard]] Faults set_pool(const PoolChange& change);
    /// The file it runs by, where the vNICs are, and what they were measured to use for a day and more: what
    /// `weirctl apply --dry-run` compares with.
    [[nodiscard]] nlohmann::json running();
    /// For `weirctl bill`. @param verify also walks through all of the bill
    [[nodiscard]] nlohmann::json bill(const BillSpan& span, bool verify);

  private:
    struct Session;

    void hello(const Peer& peer, const wire::Header& header, std::span<const std::uint8_t> body, Nanos now);
    [[nodiscard]] std::string why_refused(const Peer& peer, const wire::Hello& hello, Nanos now) const;
    void open(const Peer& peer, const wire::Header& header, const wire::Hello& hello, Nanos now);
    void place_vnics(Session& session, const wire::Hello& hello, Nanos now);
    [[nodiscard]] std::string why_not_placed(HostIndex host, const wire::HelloVnic& vnic,
                                             const ClusterEnd* end, Nanos now);
    void demand(Session& session, const wire::Header& header, std::span<const std::uint8_t> body);
    void usage(Session& session, std::span<const std::uint8_t> body);
    void note_change(const wire::FlowDemand* before, const wire::FlowDemand& now);
    void drop_demands(const Session& session);
    void drop_demands_of(std::uint32_t vnic);
    void expire(Nanos now);
    void solve(bool whole);
    void tell(Session& session, bool even_nothing);
    void send(Session& session, wire::Header header, wire::Bytes body);
    void answer(const Peer& peer, wire::Header header, wire::Bytes body);
    void send_tables(Session& session);
    void send_moved();
    void save();
    void restore_pools();
    void save_use();
    void note(const char* kind, const std::string& text);
    [[nodiscard]] bool alive(const Session& session, Nanos now) const;

    const ClusterConfig& config_;
    Solver& solver_;
    Store& store_;
    std::int64_t unix_time_;
    std::uint64_t epoch_;
    std::uint32_t interval_ = 0;
    Cluster cluster_;
    billing::UseTable use_;
    Admission admission_;
    std::vector<std::unique_ptr<Session>> sessions_;  // by host; null = never came
    std::map<std::string, HostIndex, std::less<>> routes_;
    std::map<std::string, StoredAllocation> stored_;  // of the last life, until the host is solved for
    DemandTable demands_;
    std::map<std::string, std::uint64_t> notes_;  // how often each refusal was written down
    std::vector<Outgoing> outgoing_;
    bool early_wanted_ = false;
    std::set<TenantIndex> moved_;  // tenants whose vNICs came, went or changed since TABLES were sent
    ControllerCounters counters_;
    // Working memory.
    std::vector<wire::FlowDemand> records_;
    std::vector<wire::FlowAllocation> changes_;
    std::vector<PathStep> path_;
};

}  // namespace weir
