// allocation_problem.h - flows, demands, tenants and capacities of one interval, as matrices.
// Source: Pulsar 2.2, 4.1; docs/algorithms.md 8.4
// Units: tokens (at links: bytes) of one interval. Threads: one owner. Keeps its working memory.
//
// Every flow is a row in two matrices. The physical one has a column for each link direction and each
// appliance of the cluster. The virtual one has a column for everything that a tenant reserved: each
// direction of a vNIC, and the tenant's part of each appliance. ctrl/alloc divides the virtual columns within
// each tenant (local), then the rest of the physical ones among tenants (global).
//
// Example: a flow of tenant A from vNIC a1 on host h1 to an appliance behind host h2 has the physical columns
// h1 out, h2 in, appliance, h2 out, h1 in, and the virtual columns a1 out, a1 in, A's part of the appliance.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "ctrl/alloc/vdc.h"
#include "ctrl/daemon/cluster.h"
#include "ctrl/daemon/estimates.h"

namespace weir {

class AllocationProblem {
  public:
    /// Lowest rate that a flow is allocated, tokens per second: at a rate of 0 a flow could show no demand.
    static constexpr double kRateMin = 1;

    /// @param config outlives this @param seconds of an interval
    AllocationProblem(const ClusterConfig& config, double seconds);

    /// Starts a new problem without flows. @param appliance_tokens capacity of each appliance in the interval
    void begin(const Cluster& cluster, std::span<const double> appliance_tokens);
    /// Adds a flow, unless it uses no resource (its ends are on one host, or one has no host). A demand that
    /// exceeds the whole capacity of a resource on the path is reduced to it, all parts alike: eq. 6 gives
    /// such values for a long queue beside few outstanding requests.
    void add_flow(const Cluster& cluster, wire::FlowKey flow, PartTokens demand);

    [[nodiscard]] alloc::VdcProblem view() const;
    [[nodiscard]] const std::vector<wire::FlowKey>& flows() const { return flows_; }
    /// Rates per second of a flow, from the allocation of view(). @param index into flows()
    [[nodiscard]] wire::FlowAllocation rates_of(const Cluster& cluster, std::uint32_t index,
                                                const alloc::VdcAllocation& allocation) const;

  private:
    struct VnicColumns {
        std::uint32_t out;
        std::uint32_t in;
        bool is_reserved;
    };
    std::uint32_t add_virtual(double reserved, double limit);
    void add_virtual_row(const ClusterEnd& source, const ClusterEnd& destination, const PartTokens& demand);
    [[nodiscard]] PartTokens widening_of(const Cluster& cluster, std::uint32_t index,
                                         const alloc::VdcAllocation& allocation) const;

    const ClusterConfig& config_;
    double seconds_;
    // The tenants as virtual datacenters: built once, except for their weights.
    std::vector<alloc::VdcTenant> tenants_;
    std::vector<alloc::VirtualResource> virtual_resources_;
    std::vector<std::vector<VnicColumns>> vnic_columns_;                     // by tenant and vNIC
    std::vector<std::map<std::uint32_t, std::uint32_t>> appliance_columns_;  // by tenant, then appliance
    // The interval's problem.
    std::vector<double> capacity_;  // by physical resource
    std::vector<wire::FlowKey> flows_;
    std::vector<TenantIndex> tenant_;  // by flow, as the next
    std::vector<double> weights_;
    alloc::DemandMatrix physical_;
    alloc::DemandMatrix virtual_;
    std::vector<wire::Part> parts_;  // by entry of physical_
    std::vector<PathStep> path_;
};

}  // namespace weir
