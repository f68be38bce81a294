// division.cc - sums upwards, four divisions downwards.
#include "ctrl/pools/division.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace weir::pools {
namespace {

double limit_of(const Controls& controls) {
    return std::max(controls.limit, controls.reservation);
}

}  // namespace

void Divider::sum_demands(const PoolTree& tree, std::span<const double> demands,
                          std::vector<double>& demand) const {
    assert(demands.size() == tree.size());
    demand.assign(tree.size(), kAbsent);
    for (NodeIndex node = tree.size(); node-- > 0;) {
        if (tree.is_leaf(node))
            demand[node] = demands[node];
        if (demand[node] < 0)
            continue;
        const Controls& own = tree.controls(node);
        demand[node] = std::clamp(demand[node], own.reservation, limit_of(own));
        if (node == kRoot)
            break;
        double& above = demand[tree.parent(node)];
        above = std::max(above, 0.0) + demand[node];
    }
}

void Divider::divide_down(const PoolTree& tree, const std::vector<double>& demand,
                          std::vector<double>& part) {
    for (NodeIndex node = 0; node < tree.size(); ++node) {
        const std::span<const NodeIndex> children = order_.of(node);
        if (children.empty())
            continue;
        double wanted = 0;
        for (const NodeIndex child : children)
            wanted += std::max(demand[child], 0.0);
        const bool scarce = wanted >= part[node];
        claims_.clear();
        for (const NodeIndex child : children) {
            const Controls& own = tree.controls(child);
            RealClaim& claim = claims_.emplace_back();
            claim.shares = own.shares;
            if (demand[child] < 0) {
                claim.demand = 0;
                continue;
            }
            claim.reservation = scarce ? own.reservation : std::max(own.reservation, demand[child]);
            claim.limit = scarce ? std::min(limit_of(own), demand[child]) : limit_of(own);
        }
        parts_.resize(children.size());
        if (std::isfinite(part[node]))
            (void)water_fill(part[node], claims_, parts_);
        for (std::size_t i = 0; i < children.size(); ++i)
            part[children[i]] = std::isfinite(part[node]) ? parts_[i]
                                : demand[children[i]] < 0 ? 0
                                                          : limit_of(tree.controls(children[i]));
    }
}

void Divider::divide_shares_down(const PoolTree& tree, const std::vector<double>& demand,
                                 std::vector<double>& part) const {
    for (NodeIndex node = 0; node < tree.size(); ++node) {
        double sum = 0;
        for (const NodeIndex child : order_.of(node))
            sum += demand[child] < 0 ? 0 : tree.controls(child).shares;
        for (const NodeIndex child : order_.of(node))
            part[child] =
                demand[child] < 0 || sum <= 0 ? 0 : part[node] * (tree.controls(child).shares / sum);
    }
}

void Divider::divide(const PoolTree& tree, std::span<const double> demands, double capacity, Division& out) {
    assert(std::isfinite(capacity));
    tree.order(order_);
    sum_demands(tree, demands, out.demand);
    const Controls& root = tree.controls(kRoot);
    const bool is_used = out.demand[kRoot] >= 0;
    for (std::vector<double>* part : {&out.reservation, &out.limit, &out.shares, &out.entitlement})
        part->assign(tree.size(), 0);
    out.reservation[kRoot] = root.reservation;
    out.limit[kRoot] = limit_of(root);
    out.shares[kRoot] = root.shares;
    out.entitlement[kRoot] = is_used ? std::min(capacity, limit_of(root)) : 0;
    divide_down(tree, out.demand, out.reservation);
    divide_down(tree, out.demand, out.limit);
    divide_shares_down(tree, out.demand, out.shares);
    divide_down(tree, out.demand, out.entitlement);
    out.unassigned = capacity;
    for (NodeIndex node = 0; node < tree.size(); ++node)
        out.unassigned -= tree.is_leaf(node) ? out.entitlement[node] : 0;
    out.unassigned = std::max(out.unassigned, 0.0);
}

std::vector<double> host_windows(const Division& division, const PoolTree& tree,
                                 std::span<const std::uint32_t> host_of, std::uint32_t hosts, double window,
                                 double capacity) {
    std::vector<double> windows(hosts, 0.0);
    if (capacity <= 0)
        return windows;
    for (NodeIndex node = 0; node < tree.size(); ++node)
        if (tree.is_leaf(node) && host_of[node] < hosts)
            windows[host_of[node]] += window * (division.entitlement[node] / capacity);
    return windows;
}

}  // namespace weir::pools
