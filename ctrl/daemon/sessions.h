// sessions.h - the connected switches: one session for each host of the cluster file.
// Source: docs/design.md 7; docs/protocol.md
// Units: Nanos of any clock that only rises. Threads: one owner.
//
// A session begins with a HELLO and carries the number that the switch chose for it. It is alive while
// messages arrive, and silent after kValidity intervals without one: with the default interval of 1 s, a
// switch that was killed is silent 3 s later. A silent session keeps its rates, for the switch that returns,
// and nothing else.
//
// Of two switches with one name and key (a cloned machine), the one that came first stays as long as its
// session is alive, and the other one is refused: else each would end the other's session again and again.
// The same program on a new connection is known by its session's number, which it counts up from a random
// one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/wire/channel.h"
#include "common/wire/messages.h"
#include "ctrl/daemon/cluster.h"
#include "ctrl/daemon/renumbering.h"

namespace weir {

/// The sender of a message.
struct Peer {
    std::string route;  ///< where answers go
    std::string host;   ///< the host whose CURVE key the connection showed; empty = a plain connection (ipc)
    std::string address{};  ///< of its machine; empty = not known, or this one (ipc)
};

/// A message to a switch.
struct Outgoing {
    std::string route;
    wire::HeaderBytes header;
    wire::Bytes body;
};

/// Connections admitted and denied, messages refused and not sent: counted by Server, reported by the command
/// `status`.
struct ConnectionCounters {
    std::uint64_t denied = 0;       ///< connections without a key of the cluster file
    std::uint64_t admitted = 0;     ///< connections that showed a host's key
    std::uint64_t surplus = 0;      ///< connections and messages beyond those that a key may have
    std::uint64_t unfinished = 0;   ///< connections over tcp whose messages did not end
    std::uint64_t ended = 0;        ///< connections of this machine that broke a rule, or were too many
    std::uint64_t odd_frames = 0;   ///< messages that are not two parts
    std::uint64_t unreachable = 0;  ///< messages to switches that had disconnected
    std::uint64_t full = 0;         ///< messages to switches whose queue was full
    std::uint64_t faults = 0;       ///< messages that ZeroMQ failed to receive or send
};

/// A vNIC of a HELLO that has no place on the host.
struct Refusal {
    wire::HelloVnic vnic;
    std::string why;
    bool is_final = false;  ///< by the cluster file, which does not change; other vNICs are tried again
};

/// Which refused vNICs of one HELLO are listed and audited: the first 100, and of those that the cluster file
/// does not have the first 5. All of them are refused.
class RefusalList {
  public:
    /// Asked once for each, in the order of the HELLO.
    [[nodiscard]] bool takes(bool is_known) {
        if (listed_ >= kListed || (!is_known && unknown_ >= kUnknownListed))
            return false;
        ++listed_;
        unknown_ += is_known ? 0 : 1;
        return true;
    }

  private:
    static constexpr unsigned kListed = 100;
    static constexpr unsigned kUnknownListed = 5;
    unsigned listed_ = 0;
    unsigned unknown_ = 0;
};

struct Session {
    HostIndex host = 0;
    std::string route;
    bool is_authenticated = false;  ///< its connection showed the host's key
    bool is_silent = false;
    std::string address;  ///< Peer::address
    std::uint32_t number = 0;
    std::string version;  ///< of weir-switch
    wire::Capabilities capabilities;
    std::uint64_t uplink_bps = 0;  ///< that the switch may promise; 0 = it states none
    Nanos last_message = 0;
    std::int64_t since = 0;  ///< Unix nanoseconds: all usage from then on was received
    wire::MessageFilter filter;
    wire::Sequencer sequencer;
    wire::TableSender<wire::FlowAllocation> sender;
    std::vector<wire::FlowAllocation> rates;  ///< ordered by flow
    /// The host's demands are known: a DEMAND arrived in this session, or in one before without a silence
    /// since. Until then the rates are those of the session before, or of the stored epoch.
    bool has_demands = false;
    bool is_unsaved = false;                    ///< rates were sent that the store does not have yet
    bool tables_due = false;                    ///< its refusals changed
    std::int64_t revision = 0;                  ///< of the specification that the switch has confirmed
    std::int64_t adopted_at = -1;               ///< interval of the last adoption, or the one before it began
    bool states_surplus = false;                ///< it stated more pairs than a host may, which was audited
    bool demands_due = false;                   ///< flows are allowed that were not: a whole DEMAND is needed
    bool is_first = false;                      ///< its HELLO is the host's first: the vNICs in it are there
    std::vector<Refusal> refused_vnics;         ///< in the order of the HELLO
    std::map<std::string, VnicPromise> stated;  ///< wire::HelloVnic::stated, by the vNIC's name
    std::vector<std::string> unbilled;          ///< wire::Hello::unbilled
    bool tables_by_need = false;                ///< wire::capability::kTablesByNeed
    std::vector<std::string> tracked;           ///< names of the appliances that the switch tracks
    std::vector<std::uint32_t> appliances;      ///< ids of those that the cluster file has, ordered
    std::uint32_t asked = 0;                    ///< addresses that were answered in this interval
    std::uint64_t endpoints_left_out = 0;  ///< of the last TABLES: too many for a switch of an older version
};

class Sessions {
  public:
    /// Intervals for which an allocation is valid, and after which a switch without a message is silent.
    static constexpr std::uint32_t kValidity = 3;

    /// @param config outlives this
    explicit Sessions(const ClusterConfig& config) : config_(&config), by_host_(config.hosts.size()) {}

    /// Moves the sessions to another configuration. @return those of hosts that it does not have
    [[nodiscard]] std::vector<std::unique_ptr<Session>> adopt(const ClusterConfig& config,
                                                              const Renumbering& places);

    [[nodiscard]] Session* of_host(HostIndex host) const { return by_host_[host].get(); }
    /// The session that this peer opened under this number; nullptr: none.
    [[nodiscard]] Session* of_peer(const Peer& peer, std::uint32_t number);
    [[nodiscard]] bool is_alive(HostIndex host, Nanos now) const;
    /// All sessions, by host; nullptr: the host has sent no HELLO yet.
    [[nodiscard]] std::span<const std::unique_ptr<Session>> all() const { return by_host_; }
    /// Those that are not silent, in the order of hosts.
    [[nodiscard]] std::vector<Session*> active() const;

    /// The reason why the peer may not be this host, independent of other switches; empty: it may.
    [[nodiscard]] std::string why_refused(const Peer& peer, HostIndex host, const std::string& name) const;
    /// The live session of another program under this host's name; nullptr: there is none. An authenticated
    /// peer replaces a plain one.
    [[nodiscard]] Session* rival(const Peer& peer, HostIndex host, std::uint32_t number, Nanos now) const;
    /// The host's session for a HELLO of the peer: the same one when the peer repeats its HELLO, else a new
    /// one that keeps the rates of the one before; the caller sets its `filter` and `sequencer`.
    struct Opened {
        Session& session;
        bool is_new;
    };
    Opened open(const Peer& peer, HostIndex host, std::uint32_t number, Nanos now);
    /// Marks sessions silent whose last message is kValidity intervals old. @return those that it marked
    [[nodiscard]] std::vector<Session*> expire(Nanos now);
    /// Makes the session silent at once: its connection is gone.
    void end(Session& session);

  private:
    /// A plain connection may have sent HELLO for another host since.
    void forget_route(const Session& session);

    const ClusterConfig* config_;
    std::vector<std::unique_ptr<Session>> by_host_;
    std::map<std::string, HostIndex, std::less<>> routes_;
};

}  // namespace weir
