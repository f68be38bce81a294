// vdc_view.h - the tenants of the cluster file as virtual datacenters: what each reserved, and which of it a
// flow uses. Source: Pulsar 2.2, 4.1. Units: tokens of an interval. Threads: one owner.
#pragma once

#include <array>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "ctrl/alloc/vdc.h"
#include "ctrl/daemon/cluster.h"

namespace weir {

/// The mechanism of this name; nullptr: there is none.
[[nodiscard]] const alloc::MechanismEntry* entry_of(Mechanism mechanism);

class VdcView {
  public:
    /// @param config outlives the view @param seconds of an interval
    VdcView(const ClusterConfig& config, double seconds);

    /// What tenants weigh may follow where their vNICs are.
    void set_weights(const Cluster& cluster);
    [[nodiscard]] std::span<const alloc::VdcTenant> tenants() const { return tenants_; }
    [[nodiscard]] std::span<const alloc::VirtualResource> resources() const { return resources_; }

    /// Adds the flow's row: what it wants of its tenant's own resources.
    ///
    /// A flow between vNICs has what both reserved, or nothing. One to an appliance has the tenant's part of
    /// it, and of a vNIC without a reservation whatever the links give: who reserves tokens means to get at
    /// them.
    void put(const Cluster& cluster, wire::FlowKey flow, const std::array<double, wire::kParts>& tokens,
             alloc::DemandMatrix& inside) const;

  private:
    struct VnicColumns {
        std::uint32_t out;
        std::uint32_t in;
        bool reserved;
    };
    std::uint32_t add(double reserved, double limit);

    const ClusterConfig& config_;
    std::vector<alloc::VdcTenant> tenants_;
    std::vector<alloc::VirtualResource> resources_;
    std::vector<std::vector<VnicColumns>> vnics_;                // by tenant and vNIC
    std::vector<std::map<std::uint32_t, std::uint32_t>> parts_;  // by tenant, then appliance
};

}  // namespace weir
