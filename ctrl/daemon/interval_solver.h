// interval_solver.h - the rates of all flows, computed from their demands once an interval.
// Source: Pulsar 4.1 to 4.3; docs/algorithms.md 7, 8, 9
// Units: demands in tokens of one interval, rates in tokens (at links: bytes) per second.
// Threads: one owner.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "ctrl/daemon/allocation_problem.h"
#include "ctrl/daemon/cluster.h"
#include "ctrl/daemon/demand_table.h"
#include "ctrl/daemon/estimates.h"
#include "ctrl/daemon/pool_rates.h"

namespace weir {

/// What the controller needs of a solver. Tests have simpler ones than IntervalSolver.
class Solver {
  public:
    virtual ~Solver() = default;
    /// @param interval_ended false between intervals, after a large change of demand: a part of an interval
    /// moves no average and no estimate of a capacity
    /// @return rates ordered by flow, for each flow that has a path in the cluster
    [[nodiscard]] virtual std::vector<wire::FlowAllocation> solve(const Cluster& cluster,
                                                                  const FlowDemands& demands,
                                                                  bool interval_ended) = 0;
    /// Windows of the last solve(), ordered by host and flow: tokens that a host may have outstanding at an
    /// appliance, and reservations in them, both in the form that common/wire/records.h defines.
    using Window = PoolRates::Window;
    [[nodiscard]] virtual std::vector<Window> windows(const Cluster& /*cluster*/) const { return {}; }
    /// The appliances' capacity estimates for `weirctl status`: a list of objects.
    [[nodiscard]] virtual nlohmann::json describe_appliances() const;
    /// The pools that it divides appliances by; nullptr: none.
    [[nodiscard]] virtual PoolRates* pools() { return nullptr; }
};

/// The solver of weir-ctrl, five steps an interval: estimate demands and capacities; divide pooled appliances
/// among their pools; build the allocation problem; allocate, first each tenant's reservations by its own
/// mechanism, then the rest by the provider's, then unwanted capacity as room to grow; raise rates to the
/// floors, as far as the limits of vNICs and tenants allow.
class IntervalSolver final : public Solver {
  public:
    /// @param config outlives this
    explicit IntervalSolver(const ClusterConfig& config);

    [[nodiscard]] std::vector<wire::FlowAllocation> solve(const Cluster& cluster, const FlowDemands& demands,
                                                          bool interval_ended) override;
    [[nodiscard]] std::vector<Window> windows(const Cluster& cluster) const override {
        return pools_.windows(cluster);
    }
    [[nodiscard]] nlohmann::json describe_appliances() const override;
    [[nodiscard]] PoolRates* pools() override { return &pools_; }
    [[nodiscard]] const CapacityEstimates& capacities() const { return capacities_; }

  private:
    void divide_pools(const Cluster& cluster, const FlowDemands& demands, bool interval_ended);
    void set_problem(const Cluster& cluster);
    [[nodiscard]] bool is_pooled(const Cluster& cluster, wire::FlowKey flow) const {
        const ClusterEnd& end = *cluster.find_end(flow.destination);
        return end.is_appliance && pools_.divides(end.index);
    }
    void add_parts(const Cluster& cluster, std::uint32_t index);
    [[nodiscard]] std::vector<wire::FlowAllocation> rates_within_limits(const Cluster& cluster);

    const ClusterConfig& config_;
    double seconds_;  // of an interval
    DemandEstimates demands_;
    CapacityEstimates capacities_;
    PoolRates pools_;
    AllocationProblem problem_;
    alloc::VdcAllocator allocator_;
    alloc::VdcAllocation allocation_;
    RateLimits limits_;
    std::vector<wire::FlowAllocation> stated_;  // by flow of the problem: 0 in the parts that have a rate
    std::vector<double> appliance_tokens_;
};

}  // namespace weir
