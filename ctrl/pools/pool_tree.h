// pool_tree.h - tree of pools within pools, with VMs as leaves and the settings of each node.
// Source: SRP 2.1; docs/algorithms.md 9.2
// Units: tokens/s. Threads: any (values).
//
// A pool is a part of an appliance that several VMs, on any hosts, have together; it may be divided into
// pools. A child's reservation is within its parent's, and a child's shares count among its siblings only.
// Example: an appliance of 3,000 has a pool with a reservation of 1,500 and 1,000 shares, and two VMs with
// 2,000 and 1,000 shares. All are busy: the pool gets 1,500, the VMs 1,000 and 500. The pool's own VMs divide
// the 1,500.
#pragma once

#include <cassert>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace weir::pools {

using NodeIndex = std::uint32_t;
inline constexpr NodeIndex kRoot = 0;
inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// The operator's settings of a node: not negative, and finite but for kNoLimit.
struct Controls {
    double reservation = 0;
    double limit = kNoLimit;  ///< below the reservation it counts as the reservation
    double shares = 1;        ///< 0: the node gets its reservation and no more

    bool operator==(const Controls&) const = default;
};

class PoolTree {
  public:
    explicit PoolTree(const Controls& root = {}) { add(kRoot, root); }

    /// @param parent an existing node, so no tree has a cycle
    NodeIndex add(NodeIndex parent, const Controls& controls) {
        const NodeIndex node = size();
        assert(parent < node || node == kRoot);
        parents_.push_back(parent);
        controls_.push_back(controls);
        children_.push_back(0);
        if (node != kRoot)
            ++children_[parent];
        return node;
    }
    void set(NodeIndex node, const Controls& controls) { controls_[node] = controls; }

    [[nodiscard]] NodeIndex size() const { return static_cast<NodeIndex>(controls_.size()); }
    /// Less than the node itself; the root's parent is the root.
    [[nodiscard]] NodeIndex parent(NodeIndex node) const { return parents_[node]; }
    [[nodiscard]] const Controls& controls(NodeIndex node) const { return controls_[node]; }
    [[nodiscard]] bool is_leaf(NodeIndex node) const { return children_[node] == 0; }

    /// The children of all nodes, each node's together, in the order in which they were added. Those of n
    /// stand from begin[n] to begin[n + 1].
    struct Order {
        std::vector<std::uint32_t> begin;
        std::vector<NodeIndex> nodes;

        [[nodiscard]] std::span<const NodeIndex> of(NodeIndex node) const {
            return std::span(nodes).subspan(begin[node], begin[node + 1] - begin[node]);
        }
    };
    void order(Order& out) const {
        out.begin.assign(size() + std::size_t{1}, 0);
        for (NodeIndex node = 0; node < size(); ++node)
            out.begin[node + 1] = out.begin[node] + children_[node];
        out.nodes.resize(size() - std::size_t{1});
        // begin[n] moves to begin[n + 1] while n's children are put, and is moved back afterwards.
        for (NodeIndex node = 1; node < size(); ++node)
            out.nodes[out.begin[parents_[node]]++] = node;
        for (NodeIndex node = size(); node > 0; --node)
            out.begin[node] = out.begin[node - 1];
        out.begin[0] = 0;
    }

  private:
    std::vector<NodeIndex> parents_;
    std::vector<Controls> controls_;
    std::vector<std::uint32_t> children_;
};

inline constexpr std::uint32_t kNoParent = UINT32_MAX;
/// An order in which nodes can be added: their numbers, parents before children. Nodes whose parents lead in
/// a circle are left out.
/// @param parents per node; kNoParent: it has none
[[nodiscard]] inline std::vector<std::uint32_t> parents_first(const std::vector<std::uint32_t>& parents) {
    enum class Mark : std::uint8_t { kNone, kPlaced, kInCircle };
    std::vector<std::uint32_t> order;
    std::vector<Mark> marks(parents.size(), Mark::kNone);
    std::vector<std::uint32_t> path;
    for (std::uint32_t start = 0; start < parents.size(); ++start) {
        path.clear();
        std::uint32_t node = start;
        for (; node != kNoParent && marks[node] == Mark::kNone && path.size() <= parents.size();
             node = parents[node])
            path.push_back(node);
        const bool ends = node == kNoParent || marks[node] == Mark::kPlaced;
        for (; !path.empty(); path.pop_back()) {
            marks[path.back()] = ends ? Mark::kPlaced : Mark::kInCircle;
            if (ends)
                order.push_back(path.back());
        }
    }
    return order;
}

}  // namespace weir::pools
