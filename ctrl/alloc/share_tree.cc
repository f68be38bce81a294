// share_tree.cc - simplification of a tree of weights.
//
// Nodes are visited from the last to the first, so that everything below a node is simple before it.
#include "ctrl/alloc/share_tree.h"

namespace weir::alloc {
namespace {

/// The children of a node that remain: how many, and the last of each sort.
struct Children {
    std::uint32_t nodes = 0;
    std::uint32_t flows = 0;
    std::uint32_t node = kNone;
    std::uint32_t flow = kNone;
};

class Simplifier {
  public:
    Simplifier(ShareTree& tree, std::vector<double>& weights, const std::vector<std::uint8_t>& takes_part)
        : tree_(tree), weights_(weights), children_(tree.parent.size() + 1), removed_(tree.parent.size(), 0) {
        for (std::uint32_t flow = 0; flow < takes_part.size(); ++flow)
            if (takes_part[flow])
                add_flow(flow, tree_.node_of_flow[flow]);
    }

    void run() {
        for (auto node = static_cast<std::uint32_t>(tree_.parent.size()); node-- > 0;)
            simplify_node(node);
        while (root().nodes == 1 && root().flows == 0)
            dissolve(root().node);
        renumber();
    }

  private:
    Children& root() { return children_.back(); }
    Children& children(std::uint32_t node) { return node == kNone ? root() : children_[node]; }

    void add_flow(std::uint32_t flow, std::uint32_t node) {
        ++children(node).flows;
        children(node).flow = flow;
    }
    void add_node(std::uint32_t child, std::uint32_t node) {
        ++children(node).nodes;
        children(node).node = child;
    }

    void simplify_node(std::uint32_t node) {
        const Children& own = children_[node];
        const std::uint32_t parent = tree_.parent[node];
        if (own.nodes + own.flows > 1) {
            add_node(node, parent);
            return;
        }
        removed_[node] = 1;
        if (own.flows == 1) {
            tree_.node_of_flow[own.flow] = parent;
            weights_[own.flow] = tree_.weight[node];
            add_flow(own.flow, parent);
        } else if (own.nodes == 1) {
            tree_.parent[own.node] = parent;
            tree_.weight[own.node] = tree_.weight[node];
            add_node(own.node, parent);
        }
    }

    /// Removes the root's only child; its children become the root's.
    void dissolve(std::uint32_t node) {
        removed_[node] = 1;
        root() = {};
        for (std::uint32_t child = node + 1; child < tree_.parent.size(); ++child) {
            if (removed_[child] || tree_.parent[child] != node)
                continue;
            tree_.parent[child] = kNone;
            add_node(child, kNone);
        }
        for (std::uint32_t flow = 0; flow < tree_.node_of_flow.size(); ++flow) {
            if (tree_.node_of_flow[flow] != node)
                continue;
            tree_.node_of_flow[flow] = kNone;
            add_flow(flow, kNone);
        }
    }

    void renumber() {
        std::vector<std::uint32_t> number(removed_.size(), kNone);
        std::uint32_t next = 0;
        for (std::uint32_t node = 0; node < removed_.size(); ++node) {
            if (removed_[node])
                continue;
            number[node] = next;
            const std::uint32_t parent = tree_.parent[node];
            tree_.parent[next] = parent == kNone ? kNone : number[parent];
            tree_.weight[next] = tree_.weight[node];
            ++next;
        }
        tree_.parent.resize(next);
        tree_.weight.resize(next);
        for (std::uint32_t& node : tree_.node_of_flow)
            node = node == kNone ? kNone : number[node];
    }

    ShareTree& tree_;
    std::vector<double>& weights_;
    std::vector<Children> children_;  // per node, the root's last
    std::vector<std::uint8_t> removed_;
};

}  // namespace

void simplify(ShareTree& tree, std::vector<double>& weights, const std::vector<std::uint8_t>& takes_part) {
    Simplifier(tree, weights, takes_part).run();
}

}  // namespace weir::alloc
