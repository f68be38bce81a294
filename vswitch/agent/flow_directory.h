// flow_directory.h - the flows of the switch by the ids that the controller assigned to their ends.
// Source: docs/protocol.md. Units: Nanos of a monotonic clock. Threads: agent.
//
// HELLO lists the switch's vNICs and appliances; each pair of both is a service flow. TABLES assigns ids to
// both, and lists vNICs of other hosts: a vNIC of the same tenant and VLAN is a peer, and the traffic to it,
// which uses links between hosts, is a flow too.
//
// With TABLES by need, only pairs that talk are flows: of 3 vNICs with 2 appliances and 500 peers in the
// tenant, of which each vNIC sends to 4, there are 18 flows. The directory has the addresses to ask for. When
// a new session begins, it keeps the peers of the one before until the controller has answered several times
// that they are gone: rates of flows do not end because a controller was restarted.
//
// Without, every pair of a vNIC and a peer is a flow.
//
// TABLES also state the rates of the flows while the controller is silent: of a service flow as its
// guarantee, of a pair of vNICs as the smaller of their floors. A vNIC with 10 Mbit/s for each peer sends 4
// Mbit/s to one that has 4 Mbit/s for each. TABLES count until the next ones: a HELLO with other vNICs
// changes no rate of the vNICs that stay.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/wire/messages.h"
#include "vswitch/agent/demand_sampler.h"
#include "vswitch/agent/peer_asks.h"

namespace weir {

class FlowDirectory {
  public:
    using Ids = std::map<std::string, std::uint32_t, std::less<>>;

    /// Sets the switch's own vNICs and appliances. Peers stay as in the last TABLES, so that a vNIC that
    /// comes or leaves lifts no other vNIC's rates. Another host begins without TABLES.
    void set_hello(const wire::Hello& hello);
    /// A session begins. @param by_need both sides have wire::capability::kTablesByNeed
    void begin_session(bool by_need, Nanos now);
    void set_tables(const wire::Tables& tables);
    void change_tables(const wire::Tables& changes, Nanos now);
    /// All endpoints and guarantees that count at present.
    [[nodiscard]] wire::Tables tables() const;
    /// Addresses that vNICs sent to over the wire, and that are no flow's. @return whether there are new
    /// flows
    bool note_destinations(std::span<const PeerPair> destinations, Nanos now);
    /// Addresses for the next ASK, at most `most`; they count as asked.
    [[nodiscard]] std::vector<wire::PeerAddress> due_asks(Nanos now, std::size_t most);

    [[nodiscard]] const wire::Hello& hello() const { return hello_; }
    /// All flows whose ends have ids.
    [[nodiscard]] const FlowKeys& keys() const { return keys_; }
    [[nodiscard]] const Ids& vnic_ids() const { return vnic_ids_; }
    /// @param appliance index into the switch's list
    [[nodiscard]] std::optional<std::uint32_t> appliance_id(std::uint16_t appliance) const;
    /// Rates of the service flow while the controller is silent; null = TABLES has no guarantee for it.
    [[nodiscard]] const wire::FlowAllocation* guarantee(wire::FlowKey key) const;
    /// Bytes per second of the pair of vNICs while the controller is silent; kNoStatement = TABLES lack a
    /// floor.
    [[nodiscard]] std::uint64_t pair_floor(wire::FlowKey key) const;
    /// The controller's promises to vNICs of this host, by the vNIC's name.
    [[nodiscard]] std::map<std::string, VnicPromise> promises() const;
    /// Frames' destinations, and peers of whole TABLES, for which there was no room among the flows.
    [[nodiscard]] std::uint64_t left_out() const { return destinations_left_out_ + peers_left_out_; }

  private:
    /// A peer is found by its tenant, VLAN and MAC address.
    using Address = std::tuple<std::string, std::uint16_t, std::string>;

    [[nodiscard]] const wire::Endpoint* endpoint(std::uint32_t id) const;
    [[nodiscard]] const wire::Endpoint* own(std::string_view vnic) const;
    [[nodiscard]] bool is_peer(const wire::Endpoint& end) const;
    [[nodiscard]] const wire::Endpoint* peer_of(const PeerPair& pair) const;
    void find_flows();
    void add_request_flows();
    void add_talking_peers();
    void add_all_peers();

    wire::Hello hello_;
    bool by_need_ = false;
    std::map<std::uint32_t, wire::Endpoint> endpoints_;  // by id
    std::set<std::uint32_t> kept_;  // of these: from an earlier session, not confirmed in this one
    std::map<wire::FlowKey, wire::FlowAllocation> guarantees_;
    PeerAsks asks_;
    std::uint64_t destinations_left_out_ = 0;
    std::uint64_t peers_left_out_ = 0;  // of the present table
    // Found from the above.
    Ids vnic_ids_;
    Ids appliance_ids_;
    std::map<Address, std::uint32_t> peers_;  // ids
    FlowKeys keys_;
};

}  // namespace weir
