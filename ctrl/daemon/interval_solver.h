// interval_solver.h - the rates of all flows, computed from their demands once an interval.
// Source: Pulsar 4.1 to 4.3; docs/algorithms.md 7, 8, 9
// Units: demands in tokens of one interval, rates in tokens (at links: bytes) per second.
// Threads: one owner.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ctrl/daemon/allocation_problem.h"
#include "ctrl/daemon/cluster.h"
#include "ctrl/daemon/demand_table.h"
#include "ctrl/daemon/estimates.h"
#include "ctrl/daemon/pool_rates.h"
#include "ctrl/daemon/shortages.h"

namespace weir {

/// The controller's interface to a solver; tests have simpler solvers than IntervalSolver. The controller
/// calls it on its own thread: windows() right after each solve(), describe_appliances() and pools() at any
/// time. No call reports an error, and none keeps a reference to its arguments.
///
/// Example:
///     IntervalSolver solver(config);
///     rates = solver.solve(cluster, table.flows(), true);   // an interval has ended
///     windows = solver.windows(cluster);                    // before a vNIC comes or leaves
///     rates = solver.solve(cluster, table.flows(), false);  // table.has_large_change(), within an interval
class Solver {
  public:
    virtual ~Solver() = default;
    /// @param cluster the same one in every call, built from the solver's configuration: the solver keeps ids
    /// @param demands of all hosts, each 0 to wire::kTokensMax; only flows that cluster.allows()
    /// @param interval_ended false between intervals, after a large change of demand: a part of an interval
    /// moves no average, no estimate of a capacity and no appliance's window
    /// @return rates of at least 1, ordered by flow, at most one record each; wire::kNoStatement for a part
    /// without a resource or a demand. No record for a flow without a path (Cluster::path_of) and, from
    /// IntervalSolver, for one without demand, unless pools divide its appliance
    [[nodiscard]] virtual std::vector<wire::FlowAllocation> solve(const Cluster& cluster,
                                                                  const FlowDemands& demands,
                                                                  bool interval_ended) = 0;
    /// Windows of the last solve(), ordered by host and flow; none before it. Tokens that a host may have
    /// outstanding at an appliance with a `latency` (source wire::kWholeHost), and reservations in them
    /// (destination | wire::kReserved): the records of common/wire/records.h.
    using Window = PoolRates::Window;
    [[nodiscard]] virtual std::vector<Window> windows(const Cluster& /*cluster*/) const { return {}; }
    /// The problem of the last solve() and its allocation; nothing: this solver has none.
    [[nodiscard]] virtual std::optional<Solution> solution() const { return std::nullopt; }
    /// The vNIC, or the tenant at an appliance, of a virtual resource of the solution: "vNIC a1".
    [[nodiscard]] virtual std::string owner_of(std::uint32_t /*virtual_resource*/) const { return {}; }
    /// The appliances' capacity estimates for `weirctl status`, in the order of the file: a list of objects
    /// {"name", "phase", "estimate", "allocate", "window": [min, max]}, amounts in tokens/s.
    [[nodiscard]] virtual nlohmann::json describe_appliances() const;
    /// The pools that it divides appliances by, owned by the solver; nullptr: it has none. Settings that
    /// change between two calls of solve() are in force from the second on.
    [[nodiscard]] virtual PoolRates* pools() { return nullptr; }
    /// Takes over averages, searches and settings of pools from the solver of another configuration.
    /// @return a sentence for each setting of a pool that was dropped
    [[nodiscard]] virtual std::vector<std::string> take_over(Solver& before, const Renumbering& places);
};

/// The solver of weir-ctrl, five steps an interval: estimate demands and capacities; divide pooled appliances
/// among their pools; build the allocation problem; allocate, first each tenant's reservations by its own
/// mechanism, then the rest by the provider's, then unwanted capacity as room to grow; raise rates to the
/// floors, as far as the limits of vNICs and tenants allow.
class IntervalSolver final : public Solver {
  public:
    /// @param config outlives this; accepted by parse_cluster()
    explicit IntervalSolver(const ClusterConfig& config);

    [[nodiscard]] std::vector<wire::FlowAllocation> solve(const Cluster& cluster, const FlowDemands& demands,
                                                          bool interval_ended) override;
    [[nodiscard]] std::vector<Window> windows(const Cluster& cluster) const override {
        return pools_.windows(cluster);
    }
    [[nodiscard]] std::optional<Solution> solution() const override;
    [[nodiscard]] std::string owner_of(std::uint32_t virtual_resource) const override {
        return problem_.owner_of(virtual_resource);
    }
    [[nodiscard]] nlohmann::json describe_appliances() const override;
    [[nodiscard]] PoolRates* pools() override { return &pools_; }
    [[nodiscard]] std::vector<std::string> take_over(Solver& before, const Renumbering& places) override;
    /// For tests and benches; they change with each solve().
    [[nodiscard]] const CapacityEstimates& capacities() const { return capacities_; }
    [[nodiscard]] const DemandEstimates& demands() const { return demands_; }

  private:
    void divide_pools(const Cluster& cluster, const FlowDemands& demands, bool interval_ended);
    void set_problem(const Cluster& cluster);
    [[nodiscard]] bool is_pooled(const Cluster& cluster, wire::FlowKey flow) const {
        const ClusterEnd& end = *cluster.find_end(flow.destination);
        return end.is_appliance && pools_.divides(end.index);
    }
    [[nodiscard]] double demand_factor(const Cluster& cluster, const DemandEstimates::Flow& estimated) const;
    void add_parts(const Cluster& cluster, std::uint32_t index);
    [[nodiscard]] std::vector<wire::FlowAllocation> rates_within_limits(const Cluster& cluster);

    const ClusterConfig& config_;
    double seconds_;  // of an interval
    DemandEstimates demands_;
    CapacityEstimates capacities_;
    PoolRates pools_;
    AllocationProblem problem_;
    bool is_solved_ = false;
    alloc::VdcAllocator allocator_;
    alloc::VdcAllocation allocation_;
    RateLimits limits_;
    std::vector<double>
        own_limited_;  // by flow of the problem: tokens/s that an own limit lets through; 0: none holds it
    std::vector<wire::FlowAllocation> stated_;  // by flow of the problem: 0 in the parts that have a rate
    std::vector<double> appliance_tokens_;
};

}  // namespace weir
