// hdrf.cc - allocation mechanism: hierarchical dominant resource fairness among tenants and their flows.
// Source: H-DRF (SoCC'13); Pulsar 4.1; docs/algorithms.md 8.2
// Units: tokens in the control interval. Threads: one owner.
//
// H-DRF gives quantum after quantum (quantum_tree.h): from the root down, always to the child that is not
// blocked and has the least share per weight. The share of an inner node is the largest that it has of any
// resource that is not full. For tenants with flows (two levels) the answer is exact in the limit of small
// quanta: all tenants rise at one share per weight (group_rise.h), each tenant's flows at one level of its
// own (group_levels.h). A deeper tree is solved with quanta of 1/64 to 1/4096 of a flow's demand; DRF
// then divides the remainders that are smaller than a quantum, and the rest of the capacities among flows of
// weight 0.
//
// Example: 10 CPU, 10 GPU; tenant A has a flow that wants 10 GPU; tenant B has one that wants 10 CPU and one
// that wants 10 GPU. All rise to share 0.5, where the GPU is full: A has 5, and B has 5 GPU. B's CPU flow
// rises on to its 10 CPU, which takes nothing from A.
#include <algorithm>

#include "ctrl/alloc/group_levels.h"
#include "ctrl/alloc/group_rise.h"
#include "ctrl/alloc/quantum_tree.h"
#include "ctrl/alloc/registry.h"
#include "ctrl/alloc/share_tree.h"

namespace weir::alloc {
namespace {

/// Divides the rest of the capacities after a mechanism, by DRF.
class Leftover {
  public:
    /// Raises the fill of `flows` towards 1. A weight of 0 counts as 1.
    void divide(const Problem& problem, std::span<const std::uint32_t> flows, Allocation& out) {
        const DemandMatrix& demand = problem.demand;
        out.settle(problem);
        capacity_.resize(problem.capacity.size());
        for (std::size_t j = 0; j < capacity_.size(); ++j)
            capacity_[j] = std::max(0.0, problem.capacity[j] - out.used[j]);
        demand_.clear();
        weights_.clear();
        for (const std::uint32_t flow : flows) {
            for (const std::uint32_t k : demand.row(flow))
                demand_.put(demand.resource()[k], demand.tokens()[k] * (1 - out.fill[flow]));
            demand_.end_flow();
            weights_.push_back(problem.weights[flow] > 0 ? problem.weights[flow] : 1);
        }
        drf_->allocate({.demand = demand_,
                        .weights = weights_,
                        .capacity = capacity_,
                        .share_base = problem.share_base.empty() ? problem.capacity : problem.share_base},
                       found_);
        for (std::uint32_t i = 0; i < flows.size(); ++i) {
            out.fill[flows[i]] += (1 - out.fill[flows[i]]) * found_.fill[i];
            out.bottleneck[flows[i]] = found_.bottleneck[i];
        }
    }

  private:
    std::unique_ptr<Mechanism> drf_ = make_drf();
    DemandMatrix demand_;
    std::vector<double> weights_;
    std::vector<double> capacity_;
    Allocation found_;
};

class Hdrf final : public Mechanism {
  public:
    void allocate(const Problem& given, Allocation& out) override {
        out.reset(given);
        set_tree(given, out);
        const Problem problem{given.demand, weights_, given.capacity, given.share_base, &tree_};
        if (tree_.is_deep()) {
            quanta_.allocate(problem, out);
            leftover_flows_.clear();
            for (std::uint32_t flow = 0; flow < problem.demand.flows(); ++flow)
                if (out.fill[flow] < 1)
                    leftover_flows_.push_back(flow);
        } else {
            set_groups();
            groups_.build(problem, group_of_flow_, group_weight_, out);
            rise_.run(problem, groups_, group_weight_, out);
        }
        if (!leftover_flows_.empty())
            leftover_.divide(problem, leftover_flows_, out);
        out.settle(problem);
    }

  private:
    /// Sets the simplest tree of the flows that have a weight, their own and above them.
    void set_tree(const Problem& problem, Allocation& out) {
        const std::uint32_t flows = problem.demand.flows();
        tree_ = problem.tree == nullptr ? ShareTree{} : *problem.tree;
        tree_.node_of_flow.resize(flows, kNone);
        weights_.assign(problem.weights.begin(), problem.weights.end());
        // A node below a node of weight 0 counts as one of weight 0.
        for (std::size_t n = 0; n < tree_.parent.size(); ++n)
            if (tree_.parent[n] != kNone && tree_.weight[tree_.parent[n]] <= 0)
                tree_.weight[n] = 0;
        takes_part_.assign(flows, 0);
        leftover_flows_.clear();
        for (std::uint32_t flow = 0; flow < flows; ++flow) {
            const std::uint32_t node = tree_.node_of_flow[flow];
            if (problem.demand.row(flow).empty())
                continue;
            takes_part_[flow] = weights_[flow] > 0 && (node == kNone || tree_.weight[node] > 0);
            if (takes_part_[flow])
                continue;
            leftover_flows_.push_back(flow);
            weights_[flow] = 0;
            out.fill[flow] = 0;
        }
        simplify(tree_, weights_, takes_part_);
    }

    /// Makes a group of every tenant, and one of every flow that stands below the root.
    void set_groups() {
        group_weight_ = tree_.weight;
        group_of_flow_ = tree_.node_of_flow;
        for (std::uint32_t flow = 0; flow < takes_part_.size(); ++flow) {
            if (!takes_part_[flow]) {
                group_of_flow_[flow] = kNone;
            } else if (group_of_flow_[flow] == kNone) {
                group_of_flow_[flow] = static_cast<std::uint32_t>(group_weight_.size());
                group_weight_.push_back(weights_[flow]);
                weights_[flow] = 1;  // inside its group, where it is alone
            }
        }
    }

    GroupLevels groups_;
    GroupRise rise_;
    QuantumTree quanta_;
    Leftover leftover_;
    ShareTree tree_;
    std::vector<double> weights_;
    std::vector<std::uint8_t> takes_part_;
    std::vector<std::uint32_t> leftover_flows_;  // flows that share the rest of the capacities
    std::vector<std::uint32_t> group_of_flow_;
    std::vector<double> group_weight_;
};

}  // namespace

std::unique_ptr<Mechanism> make_hdrf() {
    return std::make_unique<Hdrf>();
}

}  // namespace weir::alloc
