// cluster_headroom.cc - the headroom of links, and the floors of flows.
// Source: Pulsar 5 (headroom of 2 to 5 %, default rates for new flows).
//
// The controller may learn of a new flow only one interval after its first packet. Until then the flow uses
// its floor, a rate that its ends have reserved, or else a part of the headroom, which is link capacity that
// is not allocated. Example: an uplink of 10 Gbit/s with 3 % headroom allocates 9.7 Gbit/s. Ten vNICs on the
// host have 30 Mbit/s of the rest each; if a vNIC's tenant has four vNICs, its flow to each of its three
// peers has a floor of 10 Mbit/s. DemandEstimates::new_flow_reserve keeps back capacity of appliances.
#include <algorithm>

#include "common/units.h"
#include "ctrl/daemon/cluster.h"

namespace weir {

double Cluster::allocatable_bytes(std::uint64_t link_bps) const {
    return static_cast<double>(link_bps) * ((1 - config_.headroom) / kBitsPerByte);
}

/// Tokens per second that a vNIC has reserved at an appliance: in its pools, else its part, by weight, of
/// what its tenant reserved.
double Cluster::reserved_tokens(const ClusterEnd& vnic, std::uint32_t appliance) const {
    const TenantConfig& tenant = config_.tenants[vnic.tenant];
    const TenantVnicConfig& config = tenant.vnics[vnic.index];
    if (const auto pooled = pooled_.find(appliance); pooled != pooled_.end()) {
        const auto reserved = pooled->second.find(config.name);
        return reserved == pooled->second.end() ? 0 : reserved->second;
    }
    return static_cast<double>(part_of(vnic.tenant, appliance)->reservation_tokens) * config.weight /
           tenant_weights_[vnic.tenant];
}

/// The reservation, or the vNIC's part of the headroom if that is more.
std::uint64_t Cluster::floor_tokens(wire::FlowKey flow) const {
    const std::uint32_t appliance = ends_.at(flow.destination).index;
    const double headroom = static_cast<double>(config_.appliances[appliance].capacity_min) *
                            config_.headroom / static_cast<double>(users_[appliance]);
    return static_cast<std::uint64_t>(
        std::max({reserved_tokens(ends_.at(flow.source), appliance), headroom, 1.0}));
}

/// What a vNIC has for one peer when all vNICs of its tenant are its peers, so that floors never add up to
/// more than its reservation, or its part of the headroom of the host's link.
double Cluster::peer_floor(const ClusterEnd& vnic) const {
    const auto& vnics = config_.tenants[vnic.tenant].vnics;
    double bits = static_cast<double>(vnics[vnic.index].reservation_bps);
    if (vnic.host != kNowhere)
        bits =
            std::max(bits, static_cast<double>(config_.hosts[vnic.host].uplink_bps) * config_.headroom /
                               static_cast<double>(std::max<std::size_t>(host_vnics_[vnic.host].size(), 1)));
    return bits / kBitsPerByte / static_cast<double>(std::max<std::size_t>(vnics.size(), 2) - 1);
}

std::uint64_t Cluster::floor_bytes(wire::FlowKey flow) const {
    const double both = std::min(peer_floor(ends_.at(flow.source)), peer_floor(ends_.at(flow.destination)));
    return static_cast<std::uint64_t>(std::max(both, 1.0));
}

}  // namespace weir
