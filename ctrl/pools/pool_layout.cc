// pool_layout.cc - checks of the pools of the cluster file, and their tree.
#include "ctrl/pools/pool_layout.h"

#include <algorithm>
#include <set>

#include "common/units.h"
#include "ctrl/pools/division.h"

namespace weir {
namespace {

using pools::kRoot;
using pools::NodeIndex;

constexpr std::uint32_t kDefaultShares = 100;

std::string at(std::size_t index) {
    return "pools[" + std::to_string(index) + ']';
}

std::vector<std::uint32_t> parents_of(const std::vector<PoolConfig>& pools) {
    std::map<std::string_view, std::uint32_t> numbers;
    for (std::uint32_t i = 0; i < pools.size(); ++i)
        numbers.emplace(pools[i].name, i);
    std::vector<std::uint32_t> parents;
    for (const PoolConfig& each : pools) {
        const auto found = numbers.find(each.parent);
        parents.push_back(each.parent.empty() || found == numbers.end() ? kNoPool : found->second);
    }
    return parents;
}

template <typename Config>
pools::Controls controls_of(const Config& config, std::uint64_t reservation) {
    return {.reservation = static_cast<double>(reservation),
            .limit = config.limit_tokens ? static_cast<double>(*config.limit_tokens) : pools::kNoLimit,
            .shares = static_cast<double>(config.shares)};
}

std::string rate_text(double tokens) {
    return format_quantity(Quantity::kTokenRate, static_cast<std::uint64_t>(tokens));
}

}  // namespace

std::vector<std::uint64_t> pool_reservations(const std::vector<PoolConfig>& pools) {
    const std::vector<std::uint32_t> parents = parents_of(pools);
    std::vector<std::uint32_t> order = pools::parents_first(parents);
    std::vector<std::uint64_t> below(pools.size());
    std::vector<std::uint64_t> own(pools.size());
    for (std::size_t i = 0; i < pools.size(); ++i)
        for (const PoolVnicConfig& vnic : pools[i].vnics)
            below[i] += vnic.reservation_tokens;
    for (; !order.empty(); order.pop_back()) {
        const std::uint32_t pool = order.back();
        own[pool] = pools[pool].reservation_tokens.value_or(below[pool]);
        if (parents[pool] != kNoPool)
            below[parents[pool]] += own[pool];
    }
    return own;
}

std::vector<std::uint32_t> pool_tops(const std::vector<PoolConfig>& pools) {
    const std::vector<std::uint32_t> parents = parents_of(pools);
    std::vector<std::uint32_t> tops(pools.size(), kNoPool);
    for (const std::uint32_t pool : pools::parents_first(parents))
        tops[pool] = parents[pool] != kNoPool     ? tops[parents[pool]]
                     : pools[pool].parent.empty() ? pool
                                                  : kNoPool;
    return tops;
}

void check_pool_tree(const std::vector<PoolConfig>& pools, Faults& faults) {
    const std::vector<std::uint32_t> parents = parents_of(pools);
    const std::vector<std::uint32_t> tops = pool_tops(pools);
    const std::vector<std::uint64_t> own = pool_reservations(pools);
    std::vector<std::uint64_t> below(pools.size());
    std::set<std::string> seen;
    for (std::size_t i = 0; i < pools.size(); ++i) {
        if (!pools[i].name.empty() && !seen.insert(pools[i].name).second)
            faults.push_back(
                {at(i) + ".name", '"' + pools[i].name + '"', "each once", "another pool has this name"});
        if (parents[i] == kNoPool && !pools[i].parent.empty())
            faults.push_back({at(i) + ".parent", '"' + pools[i].parent + '"',
                              "the name of an entry of \"pools\"", "there is no such entry"});
        else if (tops[i] == kNoPool)
            faults.push_back({at(i) + ".parent", '"' + pools[i].parent + '"',
                              "a pool whose parents lead to one without a parent",
                              "its parents lead in a circle, or to an unknown pool"});
        for (const PoolVnicConfig& vnic : pools[i].vnics)
            below[i] += vnic.reservation_tokens;
        if (parents[i] != kNoPool)
            below[parents[i]] += own[i];
    }
    for (std::size_t i = 0; i < pools.size(); ++i)
        if (pools[i].reservation_tokens && below[i] > *pools[i].reservation_tokens)
            faults.push_back(
                {at(i) + ".reservation", rate_text(static_cast<double>(own[i])),
                 "at least the sum of the reservations in it, " + rate_text(static_cast<double>(below[i])),
                 "reservations beyond the parent's cannot be kept"});
}

PoolLayout::PoolLayout(const std::vector<PoolConfig>& pools, const std::string& appliance, double capacity)
    : tree_({.reservation = capacity, .limit = pools::kNoLimit, .shares = kDefaultShares}),
      names_{{appliance, false}} {
    pools_.emplace(appliance, kRoot);
    const std::vector<std::uint32_t> parents = parents_of(pools);
    const std::vector<std::uint32_t> tops = pool_tops(pools);
    const std::vector<std::uint64_t> own = pool_reservations(pools);
    std::vector<NodeIndex> nodes(pools.size(), kRoot);
    for (const std::uint32_t i : pools::parents_first(parents)) {
        if (tops[i] == kNoPool || pools[tops[i]].appliance != appliance)
            continue;
        const NodeIndex parent = parents[i] == kNoPool ? kRoot : nodes[parents[i]];
        nodes[i] = add(parent, controls_of(pools[i], own[i]), pools[i].name, false);
        for (const PoolVnicConfig& vnic : pools[i].vnics)
            add(nodes[i], controls_of(vnic, vnic.reservation_tokens), vnic.name, true);
    }
}

NodeIndex PoolLayout::add(NodeIndex parent, const pools::Controls& controls, const std::string& name,
                          bool vnic) {
    const NodeIndex node = tree_.add(parent, controls);
    names_.push_back({name, vnic});
    (vnic ? vnics_ : pools_).emplace(name, node);
    return node;
}

NodeIndex PoolLayout::add_vnic(const std::string& name) {
    const auto found = find(name, true);
    return found ? *found
                 : add(kRoot, {.reservation = 0, .limit = pools::kNoLimit, .shares = kDefaultShares}, name,
                       true);
}

std::optional<NodeIndex> PoolLayout::find(std::string_view name, bool vnic) const {
    const auto& names = vnic ? vnics_ : pools_;
    const auto found = names.find(name);
    return found == names.end() ? std::nullopt : std::optional(found->second);
}

Faults PoolLayout::set(NodeIndex node, const pools::Controls& controls) {
    Faults faults;
    if (controls.limit < controls.reservation)
        faults.push_back({"limit", rate_text(controls.limit),
                          "at least the reservation, " + rate_text(controls.reservation),
                          "a limit below the reservation breaks the promise"});
    double below = 0;
    double beside = 0;
    const NodeIndex parent = tree_.parent(node);
    for (NodeIndex each = 1; each < tree_.size(); ++each) {
        below += tree_.parent(each) == node ? tree_.controls(each).reservation : 0;
        beside += tree_.parent(each) == parent && each != node ? tree_.controls(each).reservation : 0;
    }
    const double most = tree_.controls(parent).reservation - beside;
    if (controls.reservation < below)
        faults.push_back({"reservation", rate_text(controls.reservation),
                          "at least the sum of the reservations in it, " + rate_text(below),
                          "reservations beyond the parent's cannot be kept"});
    else if (node != kRoot && controls.reservation > std::max(most, tree_.controls(node).reservation))
        faults.push_back({"reservation", rate_text(controls.reservation),
                          "at most " + rate_text(std::max(most, 0.0)) + ", the rest of the reservation of " +
                              names_[parent].text,
                          "reservations beyond the parent's cannot be kept"});
    if (faults.empty())
        tree_.set(node, controls);
    return faults;
}

std::set<std::string> pooled_appliances(const std::vector<PoolConfig>& pools) {
    std::set<std::string> names;
    for (const PoolConfig& pool : pools)
        if (pool.parent.empty())
            names.insert(pool.appliance);
    return names;
}

std::unordered_map<std::string, PoolPart> parts_in_pools(const std::vector<PoolConfig>& pools,
                                                         const std::string& appliance) {
    const PoolLayout layout(pools, appliance, 0);
    double reserved = 0;
    std::vector<double> wanted(layout.tree().size(), pools::kAbsent);
    for (NodeIndex node = 1; node < layout.tree().size(); ++node) {
        reserved += layout.tree().parent(node) == kRoot ? layout.tree().controls(node).reservation : 0;
        if (layout.name(node).vnic)
            wanted[node] = pools::kNoLimit;
    }
    pools::Division division;
    pools::Divider().divide(layout.tree(), wanted, reserved, division);
    std::unordered_map<std::string, PoolPart> out;
    for (NodeIndex node = 1; node < layout.tree().size(); ++node)
        if (layout.name(node).vnic)
            out.emplace(layout.name(node).text, PoolPart{division.entitlement[node], division.limit[node]});
    return out;
}

}  // namespace weir
