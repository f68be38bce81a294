// cluster.h - the cluster as the solver sees it: ends of flows, resources, which of them a flow uses, and
// what each tenant was promised of them. Source: Pulsar 4.1 (a link is two resources, an appliance one).
// Units: tokens (at links: bytes) per second. Threads: one owner.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/wire/messages.h"
#include "ctrl/config/config.h"

namespace weir {

using HostIndex = std::uint32_t;
using TenantIndex = std::uint32_t;
using ResourceIndex = std::uint32_t;
inline constexpr std::uint32_t kNowhere = UINT32_MAX;

/// One end of flows: a vNIC of a tenant, or an appliance.
struct ClusterEnd {
    std::uint32_t id = 0;
    bool appliance = false;
    std::uint32_t index = 0;  ///< into the file's appliances; of a vNIC, into its tenant's
    TenantIndex tenant = kNowhere;
    HostIndex host = kNowhere;  ///< where it is now; a vNIC's switch says so
    std::string mac{};          ///< as its switch says
    std::uint16_t vlan = 0;
};

struct ClusterResource {
    enum class Kind : std::uint8_t { kHostOut, kHostIn, kRackOut, kRackIn, kTokens, kLinkIn, kLinkOut };
    Kind kind;
    std::uint32_t index;  ///< of the host, rack or appliance
    double capacity;      ///< links: less the headroom; appliances: what surely is there
};

/// One resource that a part of a flow uses.
struct PathStep {
    ResourceIndex resource;
    wire::Part part;
};

class Cluster {
  public:
    using IdOf = std::function<std::uint32_t(std::string_view kind, std::string_view name)>;

    /// @param config outlives the cluster
    /// @param id_of  gives every end its number for ever
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
    [[nodiscard]] const std::set<std::uint32_t>& vnics_of(HostIndex host) const { return host_vnics_[host]; }

    /// The largest part of any resource that the tenant has reserved, at least a ten-thousandth: what it
    /// weighs by when guarantees count.
    [[nodiscard]] double guaranteed_share(TenantIndex tenant) const;

    // A vNIC comes to a host with what its switch says of it, and leaves it.
    void put_vnic(std::uint32_t id, HostIndex host, const std::string& mac, std::uint16_t vlan);
    void take_vnic(std::uint32_t id);

    /// Whether the file allows the flow: within a tenant, or from a tenant to an appliance that it has.
    [[nodiscard]] bool allows(wire::FlowKey flow) const;
    /// Replaces `out` by the resources of an allowed flow whose ends have their places; between VMs of one
    /// host none.
    void path_of(wire::FlowKey flow, std::vector<PathStep>& out) const;

    /// Tokens per second that an allowed flow to an appliance may use whatever happens.
    [[nodiscard]] std::uint64_t silent_tokens(wire::FlowKey flow) const {
        return silent_tokens(ends_.at(flow.source), ends_.at(flow.destination));
    }
    /// Bytes per second that an allowed flow between VMs is never held below: of what both ends reserved, or
    /// of their links' headroom for who is new, the part of one peer among all.
    [[nodiscard]] std::uint64_t least_bytes(wire::FlowKey flow) const;
    /// What the host's switch has to know: the ends that its vNICs may talk to, and what they may use in
    /// silence.
    [[nodiscard]] wire::Tables tables_of(HostIndex host) const;

  private:
    void add_resources();
    ResourceIndex add(ClusterResource::Kind kind, std::uint32_t index, double capacity);
    void add_ends(const IdOf& id_of);
    void way(HostIndex from, HostIndex to, wire::Part part, std::vector<PathStep>& out) const;
    /// A tenant's part of an appliance.
    struct Part {
        std::uint32_t appliance;
        const TenantApplianceConfig* config;
    };
    [[nodiscard]] const TenantApplianceConfig* part_of(TenantIndex tenant, std::uint32_t appliance) const;
    [[nodiscard]] std::uint64_t silent_tokens(const ClusterEnd& vnic, const ClusterEnd& appliance) const;
    [[nodiscard]] wire::Endpoint endpoint_of(const ClusterEnd& end) const;

    const ClusterConfig& config_;
    std::vector<ClusterResource> resources_;
    std::vector<ResourceIndex> host_out_;  // by host, the way out; the way in follows it
    std::vector<ResourceIndex> rack_out_;  // by rack, likewise
    std::vector<ResourceIndex> tokens_;    // by appliance; link in and out follow it where it has a link
    std::vector<std::uint32_t> host_rack_;
    std::vector<HostIndex> appliance_host_;
    std::map<std::string, HostIndex, std::less<>> hosts_;
    std::map<std::uint32_t, ClusterEnd> ends_;
    std::map<std::string, std::uint32_t, std::less<>> vnics_;  // by name
    std::vector<std::uint32_t> appliance_ends_;                // by appliance
    std::vector<std::vector<std::uint32_t>> tenant_vnics_;     // ids
    std::vector<std::vector<Part>> tenant_parts_;
    std::vector<double> tenant_weights_;               // of its vNICs together
    std::vector<std::set<std::uint32_t>> host_vnics_;  // ids
    std::vector<std::uint64_t> users_;                 // vNICs that may use an appliance
    /// By appliance that pools divide: what is reserved there by vNIC.
    std::map<std::uint32_t, std::unordered_map<std::string, double>> pooled_;
};

}  // namespace weir
