// quantum_tree.h - H-DRF by its definition: a tree of any depth, one quantum at a time.
// Source: H-DRF (SoCC'13); docs/algorithms.md 8.2
// Units: a quantum is a part of a flow's demand; a share is a part of a resource. Threads: one owner.
//
// Each quantum goes from the root down, always to the child that is not blocked and has the least share per
// weight. A flow is blocked when it has its demand or one more quantum does not fit into a resource; a node,
// when all its children are. A flow's share is its dominant share. A node's share sums its children and is
// the largest over the resources that are not full; before the sum, the children that are not blocked are
// scaled down to the least of their shares, so that a child's large share does not starve its siblings.
//
// Example: 10 CPU, 10 GPU, quanta of 1. n1 wants GPU; n2 has children n21 (CPU) and n22 (GPU). The quanta go
// round n1, n21, n22 until the GPU is full at 5 and 5; then n21 gets the other 5 CPU. Without scaling, n2
// would have n21's share, and n1 would get all of the GPU.
//
// A quantum costs a walk over the nodes above its flow and their children. That is fit for moderate trees of
// three levels and more; for two levels it is the reference that tests compare the exact solver with.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ctrl/alloc/mechanism.h"

namespace weir::alloc {

class QuantumTree {
  public:
    /// Starts with nothing granted. Flows of weight 0, their own or of a node above them, get nothing.
    /// @param problem outlives the object's use
    /// @param part per flow: the part of its demand that is one quantum
    void begin(const Problem& problem, std::span<const double> part);
    /// Grants one quantum. @return the flow; kNone when all are blocked
    std::uint32_t grant();
    /// Takes one quantum back, as when a task ends.
    void take_back(std::uint32_t flow);
    [[nodiscard]] std::uint32_t granted(std::uint32_t flow) const { return granted_[flow]; }

    /// Grants all quanta and sets `fill`; less than one quantum of each flow is left over. A quantum is 1/64
    /// to 1/4096 of a demand, the smaller the fewer flows there are.
    void allocate(const Problem& problem, Allocation& out);

  private:
    struct Child {
        bool is_flow;
        std::uint32_t number;  // of the flow or the node
    };
    /// An inner node; the last one is the root.
    struct Node {
        double weight = 1;
        double share = 0;
        bool blocked = false;
        std::uint32_t parent = kNone;
        std::vector<Child> children;
        std::vector<std::uint32_t> resources;  // that flows below it use, ascending
        std::vector<double> parts;             // its part of each, scaled
    };

    void build_nodes(const Problem& problem);
    void refresh_all();
    void refresh(Node& node);
    void refresh_upwards(std::uint32_t flow);
    [[nodiscard]] bool is_blocked(std::uint32_t flow) const;
    [[nodiscard]] bool is_blocked(const Child& child) const;
    [[nodiscard]] bool is_full(std::uint32_t resource) const;
    [[nodiscard]] double share_per_weight(const Child& child) const;
    void add_parts(const Child& child, double scale);
    /// Takes `quanta` of a flow from its resources. @return whether a resource became full or had been
    bool charge(std::uint32_t flow, double quanta);

    const Problem* problem_ = nullptr;
    std::vector<double> part_;
    std::vector<std::uint32_t> granted_;  // quanta per flow
    std::vector<double> quantum_share_;   // per flow: dominant share of one quantum
    std::vector<std::uint8_t> takes_part_;
    std::vector<double> left_;         // per resource
    std::vector<double> quantum_max_;  // per resource: tokens of the largest quantum
    std::vector<std::uint8_t> full_;
    std::vector<double> base_;  // per resource: denominator of shares
    std::vector<Node> nodes_;
    std::vector<std::uint32_t> node_of_flow_;
    std::vector<double> sum_;  // per resource, of the node that is refreshed
};

}  // namespace weir::alloc
