// rate_solver.h - the solver of weir-ctrl: demands by Pulsar's eq. 6, the provider's mechanism over the
// cluster's resources, and what nobody wants yet as room to grow. Source: Pulsar 4.1, 4.2. Threads: one
// owner. Keeps its working memory.
#pragma once

#include <memory>
#include <vector>

#include "ctrl/alloc/mechanism.h"
#include "ctrl/cluster.h"
#include "ctrl/solver.h"

namespace weir {

class RateSolver final : public Solver {
  public:
    explicit RateSolver(const ClusterConfig& config);
    [[nodiscard]] std::vector<wire::FlowAllocation> solve(const Cluster& cluster, const DemandTable& demands,
                                                          bool whole) override;

  private:
    void set_problem(const Cluster& cluster, const DemandTable& demands);
    void set_tree(const Cluster& cluster);
    [[nodiscard]] std::vector<double> room(const Cluster& cluster) const;
    void put_rates(const std::vector<double>& room, std::vector<wire::FlowAllocation>& out) const;

    double seconds_;  // of an interval
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
