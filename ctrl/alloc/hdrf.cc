// hdrf.cc - hierarchical DRF (SoCC'13) for tenants and their flows, exact in the fluid limit of its quanta.
//
// The quantum rule: from the root down to the child that is not blocked and has the least share per weight;
// an inner share is the largest over resources that are not full. In the limit all tenants rise at one share
// per weight (group_rise.h), and each tenant's flows at a level of their own.
//
// A deeper tree goes to the quanta themselves (quantum_tree.h).
#include "ctrl/alloc/group_levels.h"
#include "ctrl/alloc/group_rise.h"
#include "ctrl/alloc/leftover.h"
#include "ctrl/alloc/quantum_tree.h"
#include "ctrl/alloc/registry.h"
#include "ctrl/alloc/share_tree.h"

namespace weir::alloc {
namespace {

class Hdrf final : public Mechanism {
  public:
    void allocate(const Problem& given, Allocation& out) override {
        out.reset(given);
        plant(given, out);
        const Problem problem{given.demand, weights_, given.capacity, given.share_base, &tree_};
        if (tree_.is_deep()) {
            quanta_.allocate(problem, out);
            left_out_.clear();
            for (std::uint32_t flow = 0; flow < problem.demand.flows(); ++flow)
                if (out.fill[flow] < 1)
                    left_out_.push_back(flow);
        } else {
            group();
            groups_.build(problem, group_of_flow_, group_weight_, out);
            rise_.run(problem, groups_, group_weight_, out);
        }
        if (!left_out_.empty())
            leftover_.give(problem, left_out_, out);
        out.settle(problem);
    }

  private:
    /// The tree of those who have a weight, as simple as it can be.
    void plant(const Problem& problem, Allocation& out) {
        const std::uint32_t flows = problem.demand.flows();
        tree_ = problem.tree == nullptr ? ShareTree{} : *problem.tree;
        tree_.node_of_flow.resize(flows, kNone);
        weights_.assign(problem.weights.begin(), problem.weights.end());
        // A node below a weightless one is weightless.
        for (std::size_t n = 0; n < tree_.parent.size(); ++n)
            if (tree_.parent[n] != kNone && tree_.weight[tree_.parent[n]] <= 0)
                tree_.weight[n] = 0;
        takes_part_.assign(flows, 0);
        left_out_.clear();
        for (std::uint32_t flow = 0; flow < flows; ++flow) {
            const std::uint32_t node = tree_.node_of_flow[flow];
            if (problem.demand.begin(flow) == problem.demand.begin(flow + 1))
                continue;
            takes_part_[flow] = weights_[flow] > 0 && (node == kNone || tree_.weight[node] > 0);
            if (takes_part_[flow])
                continue;
            left_out_.push_back(flow);
            weights_[flow] = 0;
            out.fill[flow] = 0;
        }
        simplify(tree_, weights_, takes_part_);
    }

    /// Tenants, and a group of its own for every flow below the root.
    void group() {
        group_weight_ = tree_.weight;
        group_of_flow_ = tree_.node_of_flow;
        for (std::uint32_t flow = 0; flow < takes_part_.size(); ++flow) {
            if (!takes_part_[flow]) {
                group_of_flow_[flow] = kNone;
            } else if (group_of_flow_[flow] == kNone) {
                // Alone in its group, the weight is the group's or its own, which comes to the same.
                group_of_flow_[flow] = static_cast<std::uint32_t>(group_weight_.size());
                group_weight_.push_back(weights_[flow]);
                weights_[flow] = 1;
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
    std::vector<std::uint32_t> left_out_;  // flows that get what is left in the end
    std::vector<std::uint32_t> group_of_flow_;
    std::vector<double> group_weight_;
};

}  // namespace

std::unique_ptr<Mechanism> make_hdrf() {
    return std::make_unique<Hdrf>();
}

}  // namespace weir::alloc
