// share_tree.h - who shares with whom: nodes below one root, flows as their leaves.
// Threads: any (values).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ctrl/alloc/demand_matrix.h"

namespace weir::alloc {

struct ShareTree {
    /// Per node; a parent stands before its children, and kNone means the root.
    std::vector<std::uint32_t> parent;
    std::vector<double> weight;
    /// The node that each flow hangs below; kNone means the root.
    std::vector<std::uint32_t> node_of_flow;

    /// Whether nodes hang below nodes.
    [[nodiscard]] bool is_deep() const;
};

/// The same tree without what changes nothing: a node with nobody below it, a node with one child (which
/// takes its place and its weight), a root of one node.
/// @param weights  of the flows; those that take a node's place get its weight
/// @param takes_part  flows that count; the others stay where they are, or come to the root
void simplify(ShareTree& tree, std::vector<double>& weights, const std::vector<std::uint8_t>& takes_part);

}  // namespace weir::alloc
