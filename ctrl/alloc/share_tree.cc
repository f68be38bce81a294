// share_tree.cc - from the last node to the first, so that what is below a node has been simplified.
#include "ctrl/alloc/share_tree.h"

#include <algorithm>

namespace weir::alloc {
namespace {

/// What hangs below a node.
struct Below {
    std::uint32_t nodes = 0;
    std::uint32_t flows = 0;
    std::uint32_t node = kNone;  // one of them
    std::uint32_t flow = kNone;
};

class Simplifier {
  public:
    Simplifier(ShareTree& tree, std::vector<double>& weights, const std::vector<std::uint8_t>& takes_part)
        : tree_(tree), weights_(weights), below_(tree.parent.size() + 1), gone_(tree.parent.size(), 0) {
        for (std::uint32_t flow = 0; flow < takes_part.size(); ++flow)
            if (takes_part[flow])
                hang_flow(flow, tree_.node_of_flow[flow]);
    }

    void run() {
        for (auto node = static_cast<std::uint32_t>(tree_.parent.size()); node-- > 0;)
            place(node);
        while (root().nodes == 1 && root().flows == 0)
            dissolve(root().node);
        renumber();
    }

  private:
    Below& root() { return below_.back(); }
    Below& below(std::uint32_t node) { return node == kNone ? root() : below_[node]; }

    void hang_flow(std::uint32_t flow, std::uint32_t node) {
        ++below(node).flows;
        below(node).flow = flow;
    }
    void hang_node(std::uint32_t child, std::uint32_t node) {
        ++below(node).nodes;
        below(node).node = child;
    }

    void place(std::uint32_t node) {
        const Below& own = below_[node];
        const std::uint32_t parent = tree_.parent[node];
        if (own.nodes + own.flows > 1) {
            hang_node(node, parent);
            return;
        }
        gone_[node] = 1;
        if (own.flows == 1) {
            tree_.node_of_flow[own.flow] = parent;
            weights_[own.flow] = tree_.weight[node];
            hang_flow(own.flow, parent);
        } else if (own.nodes == 1) {
            tree_.parent[own.node] = parent;
            tree_.weight[own.node] = tree_.weight[node];
            hang_node(own.node, parent);
        }
    }

    /// The root's only child: what is below it comes to the root.
    void dissolve(std::uint32_t node) {
        gone_[node] = 1;
        root() = {};
        for (std::uint32_t child = node + 1; child < tree_.parent.size(); ++child) {
            if (gone_[child] || tree_.parent[child] != node)
                continue;
            tree_.parent[child] = kNone;
            hang_node(child, kNone);
        }
        for (std::uint32_t flow = 0; flow < tree_.node_of_flow.size(); ++flow) {
            if (tree_.node_of_flow[flow] != node)
                continue;
            tree_.node_of_flow[flow] = kNone;
            hang_flow(flow, kNone);
        }
    }

    void renumber() {
        std::vector<std::uint32_t> number(gone_.size(), kNone);
        std::uint32_t next = 0;
        for (std::uint32_t node = 0; node < gone_.size(); ++node) {
            if (gone_[node])
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
    std::vector<Below> below_;  // per node, then the root's
    std::vector<std::uint8_t> gone_;
};

}  // namespace

bool ShareTree::is_deep() const {
    return std::any_of(parent.begin(), parent.end(), [](std::uint32_t one) { return one != kNone; });
}

void simplify(ShareTree& tree, std::vector<double>& weights, const std::vector<std::uint8_t>& takes_part) {
    Simplifier(tree, weights, takes_part).run();
}

}  // namespace weir::alloc
