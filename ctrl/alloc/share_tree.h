// share_tree.h - hierarchy of weights: nodes below one root, flows as leaves.
// Source: H-DRF (SoCC'13); docs/algorithms.md 8.2
// Threads: any (values).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ctrl/alloc/mechanism.h"

namespace weir::alloc {

struct ShareTree {
    /// Per node its parent, which has a smaller number; kNone: the root.
    std::vector<std::uint32_t> parent;
    std::vector<double> weight;
    /// Per flow the node that it stands below; kNone: the root.
    std::vector<std::uint32_t> node_of_flow;

    /// Whether a node has another node as its parent.
    [[nodiscard]] bool is_deep() const {
        return std::ranges::any_of(parent, [](std::uint32_t one) { return one != kNone; });
    }
};

/// Takes nodes out of the tree that change no allocation: a node without flows below it, a node with one
/// child (the child takes its place and its weight), and the only child of the root.
/// @param weights of the flows; a flow that takes the place of a node gets the node's weight
/// @param takes_part per flow whether it counts as a child; a flow that does not keeps its node, or comes
/// below the root when the node is taken out
void simplify(ShareTree& tree, std::vector<double>& weights, const std::vector<std::uint8_t>& takes_part);

}  // namespace weir::alloc
