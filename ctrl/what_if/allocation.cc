// allocation.cc - what-if kind `allocation`: flows that share resources by one mechanism.
// Source: Pulsar 4.1; docs/design.md 5.4
// Units: tokens in the control interval.
#include <chrono>

#include "ctrl/alloc/registry.h"
#include "ctrl/what_if/fields.h"
#include "ctrl/what_if/registry.h"

namespace weir::what_if {

using nlohmann::json;

namespace {

/// Sets the node of every flow, that of its tenant. Without a tree, tenants are nodes below the root.
void set_nodes(const Flows& flows, const Names& tenants, Tree& tree) {
    if (tree.names.size() == 0) {
        for (std::uint32_t tenant = 0; tenant < tenants.size(); ++tenant)
            tree.node.push_back(tenant);
        tree.nodes.parent.assign(tenants.size(), alloc::kNone);
        tree.nodes.weight.assign(tenants.size(), 1.0);
    }
    for (const std::uint32_t tenant : flows.tenant)
        tree.nodes.node_of_flow.push_back(tenant == alloc::kNone ? alloc::kNone : tree.node[tenant]);
}

}  // namespace

json solve_allocation(ObjectReader& problem, Faults& faults) {
    const auto* mechanism = require_entry<alloc::MechanismEntry>(problem, "mechanism", alloc::kMechanisms);
    const Resources resources = read_resources(problem, faults);
    Tree tree = read_tree(problem, faults);
    Names tenants = tree.names;
    const Flows flows = read_flows(problem, resources, tenants, faults);
    if (!faults.empty() || mechanism == nullptr)
        return {};
    set_nodes(flows, tenants, tree);
    alloc::Allocation allocation;
    const auto start = std::chrono::steady_clock::now();
    mechanism->make()->allocate({.demand = flows.demand,
                                 .weights = flows.weight,
                                 .capacity = resources.capacity,
                                 .share_base = {},
                                 .tree = &tree.nodes},
                                allocation);
    const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;

    json answer{{"flows", json::array()},
                {"resources", resources_json(resources, allocation.used)},
                {"solve_us", spent.count()}};
    for (std::uint32_t flow = 0; flow < flows.names.size(); ++flow) {
        const std::uint32_t bottleneck = allocation.bottleneck[flow];
        answer["flows"].push_back(
            {{"id", flows.names[flow]},
             {"fill", allocation.fill[flow]},
             {"allocation", amounts_json(flows, flow, allocation.tokens, resources)},
             {"bottleneck", bottleneck == alloc::kNone ? json() : json(resources.names[bottleneck])}});
    }
    return answer;
}

}  // namespace weir::what_if
