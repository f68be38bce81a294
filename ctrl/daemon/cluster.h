// cluster.h - endpoints of flows, resources, paths between them, and the tenants' reservations.
// Source: Pulsar 4.1, 5
// Units: tokens (at links: bytes) per second. Threads: one owner.
//
// All is built once from the cluster file, except for the hosts of vNICs, which the switches' HELLO messages
// report (place_vnic, remove_vnic). Ids of endpoints come from the store and last over restarts; indices are
// positions in the file and last as long as this object. A link is two resources, an appliance one.
//
// The controller may learn of a new flow only one interval after its first packet. Until then the flow uses
// its floor, a rate that its ends have reserved, or else a part of the headroom, which is link capacity that
// is not allocated. Example: an uplink of 10 Gbit/s with 3 % headroom allocates 9.7 Gbit/s. Ten vNICs on the
// host have 30 Mbit/s of the rest each; if a vNIC's tenant has four vNICs, its flow to each of its three
// peers has a floor of 10 Mbit/s. DemandEstimates::new_flow_reserve keeps back capacity of appliances.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "common/wire/messages.h"
#include "ctrl/config/cluster_config.h"
#include "ctrl/pools/pool_layout.h"

namespace weir {

using HostIndex = std::uint32_t;
using TenantIndex = std::uint32_t;
using ResourceIndex = std::uint32_t;
/// As an index: none.
inline constexpr std::uint32_t kNowhere = UINT32_MAX;

/// A source or destination of flows: a vNIC of a tenant, or an appliance.
struct ClusterEnd {
    std::uint32_t id = 0;
    bool is_appliance = false;
    std::uint32_t index = 0;        ///< among the file's appliances; of a vNIC, among its tenant's vNICs
    TenantIndex tenant = kNowhere;  ///< of a vNIC
    HostIndex host = kNowhere;      ///< where it is now
    std::string mac{};              ///< of a vNIC, as its switch reported it
    std::uint16_t vlan = 0;
    bool states_tenant = false;  ///< its switch serves it for this tenant alone
};

struct ClusterResource {
    enum class Kind : std::uint8_t { kHostOut, kHostIn, kRackOut, kRackIn, kTokens, kLinkIn, kLinkOut };
    Kind kind;
    std::uint32_t index;  ///< of the host, rack or appliance
    double capacity;      ///< of a link: less the headroom; of an appliance: its capacity_min
};

/// Planned and reserved capacity of a host's link, each way, in bytes per second.
struct LinkPlan {
    double planned = 0;
    double reserved = 0;   ///< by the vNICs that are on the host
    double kept_part = 1;  ///< of each of these reservations; below 1 only while they do not fit
};

/// The cut in words, for operators.
[[nodiscard]] std::string cut_text(const LinkPlan& plan);

/// One resource that a part of a flow uses.
struct PathStep {
    ResourceIndex resource;
    wire::Part part;
};

class Cluster {
  public:
    using IdOf = std::function<std::uint32_t(std::string_view kind, std::string_view name)>;

    /// @param config outlives the cluster
    /// @param id_of  the lasting id of an endpoint; kind is "vnic" or "appliance"
    Cluster(const ClusterConfig& config, const IdOf& id_of);

    [[nodiscard]] const ClusterConfig& config() const { return config_; }
    [[nodiscard]] const std::vector<ClusterResource>& resources() const { return resources_; }

    [[nodiscard]] HostIndex find_host(std::string_view name) const;
    [[nodiscard]] const ClusterEnd* find_end(std::uint32_t id) const;
    [[nodiscard]] const ClusterEnd* find_vnic(std::string_view name) const;
    [[nodiscard]] const std::string& name_of(const ClusterEnd& end) const;
    [[nodiscard]] std::uint32_t appliance_id(std::uint32_t appliance) const {
        return appliance_ends_[appliance];
    }
    /// The vNIC of the tenant that has this address on some host now; nullptr: none. Of several (a fault of
    /// the VMs), the one with the lowest id.
    [[nodiscard]] const ClusterEnd* find_peer(TenantIndex tenant, const std::string& mac,
                                              std::uint16_t vlan) const;
    /// Ids of the appliances of which the tenant has a part.
    [[nodiscard]] std::vector<std::uint32_t> appliances_of(TenantIndex tenant) const;
    /// @param with_floor also a vNIC's floor to one peer
    [[nodiscard]] wire::Endpoint endpoint_of(const ClusterEnd& end, bool with_floor) const;
    /// Ids of all vNICs, ordered.
    [[nodiscard]] std::vector<std::uint32_t> vnics() const;
    /// Ids of the vNICs that are on the host now.
    [[nodiscard]] const std::set<std::uint32_t>& vnics_of(HostIndex host) const { return host_vnics_[host]; }

    /// The largest part of any resource that the tenant reserved, at least 0.0001; the tenant's weight where
    /// `global.weights` is "guarantees".
    [[nodiscard]] double guaranteed_share(TenantIndex tenant) const;

    /// Plans the host's link with no more than its switch may promise. @param bps 0 = the switch states none
    void set_uplink(HostIndex host, std::uint64_t bps);
    /// Bytes per second that are planned of the host's link, each way.
    [[nodiscard]] double uplink_bytes(HostIndex host) const { return resources_[host_out_[host]].capacity; }

    /// The link's reservations are cut while they do not fit the planned capacity: all by one ratio, planned
    /// by reserved. They fit if no more than is planned can be used at once: a tenant's vNICs on the host
    /// send no more than its others may receive, unless it has appliances. Over-commitment that the file
    /// allows is no reason for a cut.
    [[nodiscard]] const LinkPlan& link_plan(HostIndex host) const { return link_plans_[host]; }
    /// Of the reservations of a vNIC that is on this host, or nowhere.
    [[nodiscard]] double kept_part(HostIndex host) const {
        return host == kNowhere ? 1 : link_plans_[host].kept_part;
    }
    [[nodiscard]] bool has_cuts() const;
    [[nodiscard]] const ClusterEnd& vnic(TenantIndex tenant, std::uint32_t index) const {
        return end_of(tenant_vnics_[tenant][index]);
    }

    void place_vnic(std::uint32_t id, HostIndex host, const std::string& mac, std::uint16_t vlan,
                    bool states_tenant = false);
    void remove_vnic(std::uint32_t id);

    /// Whether the file allows the flow: within a tenant, or from a tenant to an appliance that it has.
    [[nodiscard]] bool allows(wire::FlowKey flow) const;
    /// Sets `out` to the resources of an allowed flow; none within a host, or while one end has no host.
    void path_of(wire::FlowKey flow, std::vector<PathStep>& out) const;

    // Floors: rates that an allowed flow may use at any demand and in any state of the controller. Those of
    // all flows of a vNIC, and of a tenant at an appliance, add up to no more than its limit, or 1 for each
    // flow.

    /// Tokens per second of a flow to an appliance, at least 1.
    [[nodiscard]] std::uint64_t floor_tokens(wire::FlowKey flow) const;
    /// Bytes per second of a flow between vNICs, at least 1.
    [[nodiscard]] std::uint64_t floor_bytes(wire::FlowKey flow) const;
    /// Flows of a placed vNIC that reservations guarantee: to appliances where it has tokens. Floors of
    /// others are parts of the headroom.
    [[nodiscard]] std::vector<wire::FlowKey> reserved_requests(std::uint32_t vnic) const;
    /// Calls visit(FlowKey) for each of those to vNICs on other hosts, where both ends reserved bandwidth,
    /// until it returns false: a large tenant has more pairs than a solve may have flows.
    template <class Visit>
    void visit_reserved_pairs(std::uint32_t vnic, Visit&& visit) const {
        const ClusterEnd& source = end_of(vnic);
        const auto& vnics = config_.tenants[source.tenant].vnics;
        if (vnics[source.index].reservation_bps == 0)
            return;
        for (HostIndex host = 0; host < host_vnics_.size(); ++host) {
            if (host == source.host || !host_reserved_[host].contains(source.tenant))
                continue;
            for (const std::uint32_t peer : host_vnics_[host]) {
                const ClusterEnd& end = end_of(peer);
                if (end.tenant == source.tenant && vnics[end.index].reservation_bps != 0 &&
                    !visit(wire::FlowKey{vnic, peer}))
                    return;
            }
        }
    }
    /// TABLES for the host's switch: all endpoints of its tenants, and floors of its flows to appliances.
    /// @param with_floors  also each vNIC's floor to one peer: of a pair the smaller one is floor_bytes()
    [[nodiscard]] wire::Tables tables_of(HostIndex host, bool with_floors) const;
    /// The vNIC's rate to the appliance while the controller is silent.
    [[nodiscard]] wire::FlowAllocation guarantee_of(wire::FlowKey flow) const;

  private:
    /// A tenant's part of an appliance.
    struct Part {
        std::uint32_t appliance;
        const TenantApplianceConfig* config;
    };
    void add_resources();
    ResourceIndex add(ClusterResource::Kind kind, std::uint32_t index, double capacity);
    void add_ends(const IdOf& id_of);
    void add_links(HostIndex from, HostIndex to, wire::Part part, std::vector<PathStep>& out) const;
    [[nodiscard]] const TenantApplianceConfig* part_of(TenantIndex tenant, std::uint32_t appliance) const;
    [[nodiscard]] const ClusterEnd& end_of(std::uint32_t id) const { return ends_[index_.at(id)]; }
    [[nodiscard]] double allocatable_bytes(std::uint64_t link_bps) const;
    [[nodiscard]] PoolPart part_tokens(const ClusterEnd& vnic, std::uint32_t appliance) const;
    [[nodiscard]] double peer_floor(const ClusterEnd& vnic) const;
    void reserve(const ClusterEnd& vnic, HostIndex host, bool is_there);
    void plan_link(HostIndex host);
    [[nodiscard]] double planned_part(HostIndex host) const;

    const ClusterConfig& config_;
    std::vector<ClusterResource> resources_;
    std::vector<ResourceIndex> host_out_;  // by host; its kHostIn is the next one
    std::vector<ResourceIndex> rack_out_;  // by rack; likewise
    std::vector<ResourceIndex> tokens_;    // by appliance; its kLinkIn and kLinkOut, if any, are the next two
    std::vector<std::uint32_t> host_rack_;
    std::map<std::string, HostIndex, std::less<>> hosts_;
    std::vector<ClusterEnd> ends_;                             // ordered by id
    std::unordered_map<std::uint32_t, std::uint32_t> index_;   // into ends_, by id
    std::map<std::string, std::uint32_t, std::less<>> vnics_;  // ids by name
    /// Ids of the vNICs on hosts, by tenant, VLAN and address.
    std::map<std::tuple<TenantIndex, std::uint16_t, std::string>, std::set<std::uint32_t>> addresses_;
    std::vector<std::uint32_t> appliance_ends_;             // ids by appliance
    std::vector<std::vector<std::uint32_t>> tenant_vnics_;  // ids by tenant
    std::vector<std::vector<Part>> tenant_parts_;
    std::vector<double> tenant_weights_;               // sums over the tenant's vNICs
    std::vector<std::set<std::uint32_t>> host_vnics_;  // ids by host, of vNICs that are there now
    std::vector<LinkPlan> link_plans_;                 // by host
    std::vector<std::map<TenantIndex, std::uint64_t>> host_reserved_;  // bit/s, by host
    std::vector<std::uint64_t> tenant_reserved_;                       // bit/s of all its vNICs
    std::vector<std::uint64_t> users_;                                 // by appliance: vNICs that may use it
    /// By appliance that pools divide: each vNIC's part of it.
    std::map<std::uint32_t, std::unordered_map<std::string, PoolPart>> pooled_;
};

}  // namespace weir
