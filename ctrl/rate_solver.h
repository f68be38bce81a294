// rate_solver.h - the solver of weir-ctrl: demands by Pulsar's eq. 6, smoothed, and appliances' capacities by
// its search; the provider's mechanism over the cluster's resources, and what nobody wants yet as room to
// grow. Source: Pulsar 4.1 to 4.3. Threads: one owner. Keeps its working memory.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "ctrl/alloc/mechanism.h"
#include "ctrl/appliance_estimates.h"
#include "ctrl/cluster.h"
#include "ctrl/solver.h"

namespace weir {

class RateSolver final : public Solver {
  public:
    explicit RateSolver(const ClusterConfig& config);
    [[nodiscard]] std::vector<wire::FlowAllocation> solve(const Cluster& cluster, const DemandTable& demands,
                                                          bool whole) override;

    [[nodiscard]] const ApplianceEstimates& appliances() const { return appliances_; }

  private:
    /// A flow's smoothed demand, by part.
    struct Smoothed {
        wire::FlowKey flow;
        std::array<double, wire::kParts> tokens;
    };

    void smooth(const DemandTable& demands, bool whole);
    void set_capacity(const Cluster& cluster);
    void set_problem(const Cluster& cluster, const DemandTable& demands);
    void put_demand(const std::array<double, wire::kParts>& tokens);
    void set_tree(const Cluster& cluster);
    [[nodiscard]] std::vector<double> room(const Cluster& cluster) const;
    void put_rates(const std::vector<double>& room, std::vector<wire::FlowAllocation>& out) const;

    double seconds_;  // of an interval
    ApplianceEstimates appliances_;
    std::vector<Smoothed> smoothed_;  // in the order of flows
    std::vector<Smoothed> smoothed_next_;
    std::unique_ptr<alloc::Mechanism> mechanism_;
    alloc::DemandMatrix demand_;
    alloc::ShareTree tree_;
    alloc::Allocation allocation_;
    std::vector<double> weights_;
    std::vector<double> capacity_;
    std::vector<wire::FlowKey> flows_;
    std::vector<wire::Part> parts_;  // per entry of the matrix
    std::vector<PathStep> path_;
};

}  // namespace weir
