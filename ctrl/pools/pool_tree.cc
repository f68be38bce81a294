// pool_tree.cc - nodes are added, and put in order of their parents.
#include "ctrl/pools/pool_tree.h"

#include <cassert>

namespace weir::pools {

NodeIndex PoolTree::add(NodeIndex parent, const Controls& controls) {
    const NodeIndex node = size();
    assert(parent < node || node == kRoot);
    parents_.push_back(parent);
    controls_.push_back(controls);
    children_.push_back(0);
    if (node != kRoot)
        ++children_[parent];
    return node;
}

void PoolTree::order(Order& out) const {
    out.begin.assign(size() + std::size_t{1}, 0);
    for (NodeIndex node = 0; node < size(); ++node)
        out.begin[node + 1] = out.begin[node] + children_[node];
    out.nodes.resize(size() - std::size_t{1});
    // begin[n] runs to begin[n + 1] while n's children are put, and is then moved back.
    for (NodeIndex node = 1; node < size(); ++node)
        out.nodes[out.begin[parents_[node]]++] = node;
    for (NodeIndex node = size(); node > 0; --node)
        out.begin[node] = out.begin[node - 1];
    out.begin[0] = 0;
}

}  // namespace weir::pools
