// quantum_tree.cc - quanta of H-DRF, with a share kept per inner node.
//
// A grant refreshes the shares of the nodes above its flow, and all shares when a resource becomes full or
// ceases to be full.
#include "ctrl/alloc/quantum_tree.h"

#include <algorithm>

#include "ctrl/alloc/share_tree.h"

namespace weir::alloc {
namespace {

constexpr double kQuantaError = 1e-9;  // relative error of a sum of quanta

}  // namespace

void QuantumTree::begin(const Problem& problem, std::span<const double> part) {
    const DemandMatrix& demand = problem.demand;
    problem_ = &problem;
    const auto base = problem.share_base.empty() ? problem.capacity : problem.share_base;
    base_.assign(base.begin(), base.end());
    part_.assign(part.begin(), part.end());
    granted_.assign(demand.flows(), 0);
    left_.assign(problem.capacity.begin(), problem.capacity.end());
    sum_.assign(left_.size(), 0.0);
    quantum_share_.assign(demand.flows(), 0.0);
    quantum_max_.assign(left_.size(), kTokensLeast);
    for (std::uint32_t flow = 0; flow < demand.flows(); ++flow) {
        for (const std::uint32_t k : demand.row(flow)) {
            const std::uint32_t j = demand.resource()[k];
            const double quantum = part_[flow] * demand.tokens()[k];
            quantum_share_[flow] = std::max(quantum_share_[flow], quantum / std::max(base_[j], kTokensLeast));
            quantum_max_[j] = std::max(quantum_max_[j], quantum);
        }
    }
    full_.resize(left_.size());
    for (std::uint32_t j = 0; j < left_.size(); ++j)
        full_[j] = is_full(j);
    build_nodes(problem);
    refresh_all();
}

void QuantumTree::build_nodes(const Problem& problem) {
    const DemandMatrix& demand = problem.demand;
    const ShareTree* tree = problem.tree;
    const auto inner = static_cast<std::uint32_t>(tree == nullptr ? 0 : tree->parent.size());
    nodes_.assign(inner + 1, {});
    node_of_flow_.assign(demand.flows(), inner);
    takes_part_.assign(demand.flows(), 0);
    for (std::uint32_t n = 0; n < inner; ++n) {
        nodes_[n].parent = tree->parent[n] == kNone ? inner : tree->parent[n];
        nodes_[n].weight = tree->weight[n];
    }
    std::vector<std::uint8_t> linked(inner + 1, 0);
    linked[inner] = 1;
    for (std::uint32_t flow = 0; flow < demand.flows(); ++flow) {
        if (tree != nullptr && tree->node_of_flow[flow] != kNone)
            node_of_flow_[flow] = tree->node_of_flow[flow];
        bool has_weight = problem.weights[flow] > 0;
        for (std::uint32_t n = node_of_flow_[flow]; n != kNone; n = nodes_[n].parent)
            has_weight &= nodes_[n].weight > 0;
        takes_part_[flow] = has_weight && !demand.row(flow).empty();
        if (!takes_part_[flow])
            continue;
        nodes_[node_of_flow_[flow]].children.push_back({true, flow});
        // Children are in the order of their first flows.
        for (std::uint32_t n = node_of_flow_[flow]; !linked[n]; n = nodes_[n].parent) {
            linked[n] = 1;
            nodes_[nodes_[n].parent].children.push_back({false, n});
        }
        for (std::uint32_t n = node_of_flow_[flow]; n != kNone; n = nodes_[n].parent)
            for (const std::uint32_t k : demand.row(flow))
                nodes_[n].resources.push_back(demand.resource()[k]);
    }
    for (Node& node : nodes_) {
        std::sort(node.resources.begin(), node.resources.end());
        node.resources.erase(std::unique(node.resources.begin(), node.resources.end()), node.resources.end());
        node.parts.assign(node.resources.size(), 0.0);
    }
}

// From the last node to the first: a node has a greater number than its parent. The root is last.
void QuantumTree::refresh_all() {
    for (std::size_t n = nodes_.size() - 1; n-- > 0;)
        refresh(nodes_[n]);
    refresh(nodes_.back());
}

void QuantumTree::refresh_upwards(std::uint32_t flow) {
    for (std::uint32_t n = node_of_flow_[flow]; n != kNone; n = nodes_[n].parent)
        refresh(nodes_[n]);
}

bool QuantumTree::is_blocked(std::uint32_t flow) const {
    const DemandMatrix& demand = problem_->demand;
    if ((granted_[flow] + 1) * part_[flow] > 1 + kQuantaError)
        return true;
    for (const std::uint32_t k : demand.row(flow)) {
        const std::uint32_t j = demand.resource()[k];
        if (left_[j] < part_[flow] * demand.tokens()[k] * (1 - kQuantaError))
            return true;
    }
    return false;
}

bool QuantumTree::is_blocked(const Child& child) const {
    return child.is_flow ? is_blocked(child.number) : nodes_[child.number].blocked;
}

double QuantumTree::share_per_weight(const Child& child) const {
    if (child.is_flow)
        return granted_[child.number] * quantum_share_[child.number] / problem_->weights[child.number];
    return nodes_[child.number].share / nodes_[child.number].weight;
}

void QuantumTree::add_parts(const Child& child, double scale) {
    if (!child.is_flow) {
        const Node& node = nodes_[child.number];
        for (std::size_t i = 0; i < node.parts.size(); ++i)
            sum_[node.resources[i]] += scale * node.parts[i];
        return;
    }
    const DemandMatrix& demand = problem_->demand;
    const double fill = scale * granted_[child.number] * part_[child.number];
    for (const std::uint32_t k : demand.row(child.number))
        sum_[demand.resource()[k]] +=
            fill * demand.tokens()[k] / std::max(base_[demand.resource()[k]], kTokensLeast);
}

void QuantumTree::refresh(Node& node) {
    double least = kInfinite;
    node.blocked = true;
    for (const Child& child : node.children) {
        if (is_blocked(child))
            continue;
        node.blocked = false;
        least = std::min(least, share_per_weight(child));
    }
    for (const Child& child : node.children) {
        const double own = share_per_weight(child);
        if (is_blocked(child))
            add_parts(child, 1);
        else if (own > 0)
            add_parts(child, least / own);
    }
    node.share = 0;
    for (std::size_t i = 0; i < node.parts.size(); ++i) {
        double& sum = sum_[node.resources[i]];
        node.parts[i] = sum;
        sum = 0;
        if (!full_[node.resources[i]])
            node.share = std::max(node.share, node.parts[i]);
    }
}

bool QuantumTree::charge(std::uint32_t flow, double quanta) {
    const DemandMatrix& demand = problem_->demand;
    bool changed = false;
    for (const std::uint32_t k : demand.row(flow)) {
        const std::uint32_t j = demand.resource()[k];
        left_[j] -= quanta * part_[flow] * demand.tokens()[k];
        const bool full = is_full(j);
        changed |= full != (full_[j] != 0);
        full_[j] = full;
    }
    return changed;
}

// A resource counts as full once the largest quantum no longer fits; else its rest would distort shares.
bool QuantumTree::is_full(std::uint32_t resource) const {
    return left_[resource] < quantum_max_[resource] * (1 - kQuantaError);
}

std::uint32_t QuantumTree::grant() {
    if (nodes_.back().blocked)
        return kNone;
    Child at{false, static_cast<std::uint32_t>(nodes_.size() - 1)};
    while (!at.is_flow) {
        const Child* best = nullptr;
        for (const Child& child : nodes_[at.number].children)
            if (!is_blocked(child) && (best == nullptr || share_per_weight(child) < share_per_weight(*best)))
                best = &child;
        // A quantum of another flow has left less of a resource than this node's flows need: the node is
        // blocked, which shows when it is refreshed.
        if (best == nullptr) {
            refresh_all();
            return grant();
        }
        at = *best;
    }
    ++granted_[at.number];
    if (charge(at.number, 1))
        refresh_all();
    else
        refresh_upwards(at.number);
    return at.number;
}

void QuantumTree::take_back(std::uint32_t flow) {
    --granted_[flow];
    charge(flow, -1);
    refresh_all();
}

void QuantumTree::allocate(const Problem& problem, Allocation& out) {
    const double quanta = std::clamp(65536.0 / std::max(problem.demand.flows(), 1U), 64.0, 4096.0);
    const std::vector<double> part(problem.demand.flows(), 1 / quanta);
    begin(problem, part);
    while (grant() != kNone) {
    }
    for (std::uint32_t flow = 0; flow < problem.demand.flows(); ++flow)
        if (!problem.demand.row(flow).empty())
            out.fill[flow] = std::min(1.0, granted_[flow] * part[flow]);
}

}  // namespace weir::alloc
