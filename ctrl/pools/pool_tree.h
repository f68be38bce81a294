// pool_tree.h - pools within pools, with VMs as leaves: what each was promised.
// Source: SRP 2.1. Units: tokens/s. Threads: any (values).
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace weir::pools {

using NodeIndex = std::uint32_t;
inline constexpr NodeIndex kRoot = 0;
inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// What somebody has set: finite but for kNoLimit, not negative.
struct Controls {
    double reservation = 0;
    double limit = kNoLimit;  ///< below the reservation it counts as the reservation
    double shares = 1;        ///< 0: the reservation and no more

    bool operator==(const Controls&) const = default;
};

class PoolTree {
  public:
    explicit PoolTree(const Controls& root = {}) { add(kRoot, root); }

    /// Below a node that is there; so no tree has a cycle.
    NodeIndex add(NodeIndex parent, const Controls& controls);
    void set(NodeIndex node, const Controls& controls) { controls_[node] = controls; }

    [[nodiscard]] NodeIndex size() const { return static_cast<NodeIndex>(controls_.size()); }
    /// Less than the node itself; the root's is the root.
    [[nodiscard]] NodeIndex parent(NodeIndex node) const { return parents_[node]; }
    [[nodiscard]] const Controls& controls(NodeIndex node) const { return controls_[node]; }
    [[nodiscard]] bool is_leaf(NodeIndex node) const { return children_[node] == 0; }
    [[nodiscard]] std::uint32_t children(NodeIndex node) const { return children_[node]; }

    /// The children of all nodes, those of one behind another: those of n are from begin[n] up to
    /// begin[n + 1].
    struct Order {
        std::vector<std::uint32_t> begin;
        std::vector<NodeIndex> nodes;

        [[nodiscard]] std::span<const NodeIndex> of(NodeIndex node) const {
            return std::span(nodes).subspan(begin[node], begin[node + 1] - begin[node]);
        }
    };
    /// In the order in which they were added.
    void order(Order& out) const;

  private:
    std::vector<NodeIndex> parents_;
    std::vector<Controls> controls_;
    std::vector<std::uint32_t> children_;
};

}  // namespace weir::pools
