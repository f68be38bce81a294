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

#include <array>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ctrl/alloc/vdc.h"
#include "ctrl/daemon/cluster.h"
#include "ctrl/daemon/estimates.h"
#include "ctrl/daemon/rate_limits.h"

namespace weir {

class AllocationProblem {
  public:
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
    using FlowParts = std::array<PartRate, wire::kParts>;
    /// Rates per second of a flow's parts, from the allocation of view(), without floors. Their limits are
    /// numbers of limits(). @param index into flows()
    [[nodiscard]] FlowParts parts_of(const Cluster& cluster, std::uint32_t index,
                                     const alloc::VdcAllocation& allocation);
    /// The flow's demand for the part, per second; 0: it has none. @param index into flows()
    [[nodiscard]] double demand_of(std::uint32_t index, wire::Part part) const;
    /// "vNIC a1", or "tenant A at appliance disk": of a virtual resource. It searches all tenants.
    [[nodiscard]] std::string owner_of(std::uint32_t resource) const;
    /// Per second: of both directions of each vNIC, and of each tenant's part of each appliance.
    [[nodiscard]] std::span<const double> limits() const { return limits_; }
    /// Whether the tenant has a limit at the appliance. @param appliance of which it has a part
    [[nodiscard]] bool has_limit(TenantIndex tenant, std::uint32_t appliance) const;

  private:
    struct VnicColumns {
        std::uint32_t out;
        std::uint32_t in;
        bool is_reserved;
        // Of a vNIC with a limit and no reservation: its flows to appliances count against the limit, and do
        // not divide the reservation of 0.
        std::uint32_t bound_out = alloc::kNone;
        std::uint32_t bound_in = alloc::kNone;
    };
    std::uint32_t add_virtual(double reserved, double limit);
    void cut_reservations(const Cluster& cluster);
    void put_way(std::uint32_t column, std::uint32_t bound, double tokens);
    void set_limits(const ClusterEnd& source, const ClusterEnd& destination, FlowParts& parts) const;
    [[nodiscard]] double most_of(const PartRate& part) const;
    void add_virtual_row(const ClusterEnd& source, const ClusterEnd& destination, const PartTokens& demand);
    [[nodiscard]] PartTokens widening_of(const Cluster& cluster, std::uint32_t index,
                                         const alloc::VdcAllocation& allocation) const;

    const ClusterConfig& config_;
    double seconds_;
    // The tenants as virtual datacenters: built once, except for their weights.
    std::vector<alloc::VdcTenant> tenants_;
    std::vector<alloc::VirtualResource> virtual_resources_;
    std::vector<double> limits_;                          // of virtual_resources_, per second
    std::vector<std::vector<VnicColumns>> vnic_columns_;  // by tenant and vNIC
    std::vector<std::map<std::uint32_t, std::uint32_t>> appliance_columns_;  // by tenant, then appliance
    bool has_cuts_ = false;  // some of virtual_resources_ are less than the file's
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
