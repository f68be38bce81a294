// quantum_tree.h - H-DRF as it is told (SoCC'13): a tree of any depth, one quantum at a time to the child
// that is not blocked and has the least share per weight, from the root down. An inner node's share is that
// of its children together, those that are not blocked scaled down to the least of them, over resources that
// are not full.
//
// One quantum costs a walk over the nodes above its leaf and their children: this is for trees of three
// levels and more and of moderate size, and says in tests what the faster solver for two levels must come to.
// Threads: one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ctrl/alloc/mechanism.h"

namespace weir::alloc {

class QuantumTree {
  public:
    /// @param part of its demand that one quantum of a flow is, per flow. Flows of weight 0, their own or
    /// above them, get nothing. `problem` outlives what is done with it.
    void begin(const Problem& problem, std::span<const double> part);
    /// Gives one quantum. @return to whom; kNone when everybody is blocked
    std::uint32_t grant();
    /// A quantum comes back: a task has ended.
    void take_back(std::uint32_t flow);
    [[nodiscard]] std::uint32_t granted(std::uint32_t flow) const { return granted_[flow]; }

    /// All quanta, the more the fewer flows there are. Sets `fill`; what is smaller than a quantum is left.
    void allocate(const Problem& problem, Allocation& out);

  private:
    struct Child {
        bool leaf;
        std::uint32_t number;  // of the flow or the node
    };
    /// An inner node; the last one is the root.
    struct Node {
        double weight = 1;
        double share = 0;
        bool blocked = false;
        std::uint32_t parent = kNone;
        std::vector<Child> children;
        std::vector<std::uint32_t> resources;  // below it, ascending
        std::vector<double> vec;               // its part of each
    };

    void build_nodes(const Problem& problem);
    void refresh_all();
    void refresh(Node& node);
    void refresh_upwards(std::uint32_t flow);
    [[nodiscard]] bool leaf_blocked(std::uint32_t flow) const;
    [[nodiscard]] bool is_full(std::uint32_t resource) const;
    [[nodiscard]] double key(const Child& child) const;
    [[nodiscard]] bool blocked(const Child& child) const;
    void add_part(const Child& child, double scale);
    /// @return whether a resource became full or ceased to be
    bool pay(std::uint32_t flow, double quanta);

    const Problem* problem_ = nullptr;
    std::vector<double> part_;
    std::vector<std::uint32_t> granted_;
    std::vector<double> leaf_share_;  // of one quantum
    std::vector<std::uint8_t> takes_part_;
    std::vector<double> left_;
    std::vector<double> largest_;  // per resource: a quantum of it
    std::vector<std::uint8_t> full_;
    std::vector<double> base_;
    std::vector<Node> nodes_;
    std::vector<std::uint32_t> above_;  // per flow: its node
    std::vector<double> sum_;           // per resource, while one node is refreshed
};

}  // namespace weir::alloc
