// table_views.h - the part of the cluster that each switch needs: its own vNICs, their appliances, and the
// peers that its vNICs send to.
// Source: docs/protocol.md. Units: Nanos of any clock that only rises. Threads: one owner.
//
// A switch asks for the addresses that its vNICs send to. It is answered with vNICs of the same tenant alone,
// and is informed of these from then on: when one moves, the switches that see it get a message, and the
// others none. A peer that no vNIC of the host had a flow to for ten minutes is removed from the view. An
// address that no vNIC has is remembered: when a vNIC comes to it, the switches that asked are informed.
//
// Example: a tenant has 5,000 vNICs on 2,000 hosts, and 3 of these hosts send to vNIC a7. When a7 moves, its
// old and its new host get their own vNICs anew, the 3 hosts one endpoint each, and 1,995 nothing.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "common/clock.h"
#include "common/wire/messages.h"
#include "ctrl/daemon/cluster.h"
#include "ctrl/daemon/demand_table.h"
#include "ctrl/daemon/renumbering.h"

namespace weir {

class TableViews {
  public:
    /// Time without a flow to it after which a peer leaves the view, and time between two looks.
    static constexpr Nanos kIdle = 600 * kNanosPerSec;
    static constexpr Nanos kLookPeriod = 60 * kNanosPerSec;
    /// Peers of one host: twice the flows to peers that a switch tracks.
    static constexpr std::size_t kPeersMax = 8'192;
    /// Addresses without a vNIC that are remembered of one host: of 16 vNICs with the most that a switch asks
    /// for. Longer than the 32 s after which it asks again.
    static constexpr std::size_t kSoughtMax = 1'024;
    static constexpr Nanos kSoughtFor = 70 * kNanosPerSec;

    /// @param cluster outlives this
    explicit TableViews(const Cluster& cluster)
        : cluster_(cluster),
          peers_(cluster.config().hosts.size()),
          sought_of_(cluster.config().hosts.size()) {}

    /// The vNIC has left `before` for `now`, or changed its address. Called after the cluster was changed.
    void on_moved(std::uint32_t vnic, HostIndex before, HostIndex now);
    /// The whole view. The host counts as informed of its own vNICs.
    /// @param appliances ids of those that the switch tracks, ordered
    [[nodiscard]] wire::Tables whole(HostIndex host, std::span<const std::uint32_t> appliances);
    /// The same, while the host is informed of nothing.
    [[nodiscard]] wire::Tables view(HostIndex host, std::span<const std::uint32_t> appliances) const;
    /// Peers by address, which come into the view. All that are not vNICs of the asking vNIC's tenant, on
    /// another host, are `unknown`, and remembered for kSoughtFor.
    [[nodiscard]] wire::Tables answer(HostIndex host, std::span<const wire::PeerAddress> asked, Nanos now);
    /// Removes idle peers from all views, and old addresses, once in kLookPeriod. @param flows of all hosts
    void remove_idle(const FlowDemands& flows, Nanos now);

    struct Updates {
        std::set<HostIndex> whole;                  ///< hosts whose own vNICs are others now
        std::map<HostIndex, wire::Tables> changes;  ///< of the other hosts
    };
    /// Changes since the last call.
    [[nodiscard]] Updates take_updates();
    /// Takes over the peers and addresses of views of another configuration, as far as this one has them. Of
    /// vNICs that are gone no switch is informed by take_updates(); see change_between().
    void take_over(const TableViews& before, const Renumbering& places);
    [[nodiscard]] std::size_t peers_of(HostIndex host) const { return peers_[host].size(); }
    [[nodiscard]] std::size_t sought_of(HostIndex host) const { return sought_of_[host]; }

  private:
    struct Address {
        TenantIndex tenant = kNowhere;
        std::uint16_t vlan = 0;
        std::string mac;
        auto operator<=>(const Address&) const = default;
    };

    [[nodiscard]] std::set<TenantIndex> tenants_on(HostIndex host) const;
    [[nodiscard]] wire::Endpoint endpoint(std::uint32_t id) const;
    bool see(HostIndex host, std::uint32_t peer, Nanos now);
    void forget(HostIndex host, std::uint32_t peer);
    void forget_foreign(HostIndex host);
    void seek(HostIndex host, Address address, Nanos now);
    void find_sought(const ClusterEnd& vnic);
    void remove_old_sought(Nanos now);

    const Cluster& cluster_;
    std::vector<std::unordered_map<std::uint32_t, Nanos>> peers_;     // by host, id: when used last
    std::unordered_map<std::uint32_t, std::set<HostIndex>> seen_by_;  // hosts by peer
    std::set<std::uint32_t> moved_;                                   // since the last take_updates()
    std::set<HostIndex> own_changed_;                                 // likewise
    std::map<HostIndex, std::vector<std::uint32_t>> removed_;         // likewise
    std::map<Address, std::map<HostIndex, Nanos>> sought_;            // and when each host asked last
    std::vector<std::size_t> sought_of_;                              // addresses by host
    Nanos look_at_ = 0;
};

/// TABLES with which a switch that has `before` gets `now`: the endpoints and guarantees that differ.
/// @param before, now ordered by id and flow
/// @return nothing: only the whole table can say it, as a guarantee between two known ends is gone
[[nodiscard]] std::optional<wire::Tables> change_between(const wire::Tables& before, const wire::Tables& now);

}  // namespace weir
