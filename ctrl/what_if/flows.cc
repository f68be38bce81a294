// flows.cc - resources, trees and flows from JSON, and vectors back.
#include "ctrl/what_if/flows.h"

#include <algorithm>

#include "ctrl/pools/pool_tree.h"

namespace weir::what_if {

using nlohmann::json;

namespace {

/// A node as it is written.
struct NodeField {
    std::string parent;  // empty: the root
    double weight = 1;
};

std::vector<NodeField> read_nodes(ObjectReader& reader, Tree& tree, Faults& faults) {
    std::vector<NodeField> fields;
    for_objects(reader, "tree", false, faults, [&](ObjectReader& object) {
        tree.names.add(object);
        NodeField& node = fields.emplace_back();
        const json* parent = object.take("parent");
        if (parent != nullptr && !parent->is_null())
            object.read_text("parent", node.parent);
        read_weight(object, "weight", node.weight);
    });
    return fields;
}

/// Numbers of the parents. An unknown name is a fault; "root" is the root.
std::vector<std::uint32_t> find_parents(const std::vector<NodeField>& fields, const Tree& tree,
                                        Faults& faults) {
    std::vector<std::uint32_t> parents;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const auto parent = tree.names.find(fields[i].parent);
        if (!parent && !fields[i].parent.empty() && fields[i].parent != "root")
            faults.push_back({"tree[" + std::to_string(i) + "].parent", show(fields[i].parent),
                              tree.names.list(), "unknown name"});
        parents.push_back(parent.value_or(alloc::kNone));
    }
    return parents;
}

/// Numbers the nodes, parents first. Parents that lead in a circle are a fault.
void number_nodes(const std::vector<NodeField>& fields, const std::vector<std::uint32_t>& parents, Tree& tree,
                  Faults& faults) {
    tree.node.assign(fields.size(), alloc::kNone);
    for (const std::uint32_t at : pools::parents_first(parents)) {
        tree.node[at] = static_cast<std::uint32_t>(tree.nodes.parent.size());
        tree.nodes.parent.push_back(parents[at] == alloc::kNone ? alloc::kNone : tree.node[parents[at]]);
        tree.nodes.weight.push_back(fields[at].weight);
    }
    const auto circle = std::ranges::find(tree.node, alloc::kNone) - tree.node.begin();
    if (const auto at = static_cast<std::size_t>(circle); at < fields.size())
        faults.push_back({"tree[" + std::to_string(at) + "].parent", show(fields[at].parent),
                          "a node whose parents lead to the root", "its parents lead back to itself"});
}

}  // namespace

Resources read_resources(ObjectReader& reader, Faults& faults) {
    Resources resources;
    for_objects(reader, "resources", true, faults, [&](ObjectReader& object) {
        resources.names.add(object);
        double capacity = 0;
        require_number(object, "capacity", capacity, kTokenBounds);
        resources.capacity.push_back(capacity);
    });
    return resources;
}

Tree read_tree(ObjectReader& reader, Faults& faults) {
    Tree tree;
    const std::vector<NodeField> fields = read_nodes(reader, tree, faults);
    number_nodes(fields, find_parents(fields, tree, faults), tree, faults);
    return tree;
}

Flows read_flows(ObjectReader& reader, const Resources& resources, Names& tenants, Faults& faults) {
    Flows flows;
    const bool adds_tenants = tenants.size() == 0;
    for_objects(reader, "flows", true, faults, [&](ObjectReader& object) {
        flows.names.add(object);
        double weight = 1;
        read_weight(object, "weight", weight);
        flows.weight.push_back(weight);
        std::string tenant;
        if (!adds_tenants)
            flows.tenant.push_back(read_name(object, "tenant", tenants).value_or(alloc::kNone));
        else
            flows.tenant.push_back(object.read_text("tenant", tenant) ? tenants.add(tenant) : alloc::kNone);
        std::vector<std::uint32_t>& named = flows.named.emplace_back();
        for (const Amount& amount : read_amounts(object, "demand", resources.names, true, faults)) {
            flows.demand.put(amount.number, amount.value);
            named.push_back(amount.number);
        }
        flows.demand.end_flow();
    });
    return flows;
}

json resources_json(const Resources& resources, std::span<const double> used) {
    json list = json::array();
    for (std::uint32_t j = 0; j < resources.names.size(); ++j)
        list.push_back({{"id", resources.names[j]}, {"capacity", resources.capacity[j]}, {"used", used[j]}});
    return list;
}

json amounts_json(const Flows& flows, std::uint32_t flow, std::span<const double> tokens,
                  const Resources& resources) {
    json amounts = json::object();
    for (const std::uint32_t resource : flows.named[flow])
        amounts[resources.names[resource]] = 0.0;
    for (const std::uint32_t k : flows.demand.row(flow))
        amounts[resources.names[flows.demand.resource()[k]]] = tokens[k];
    return amounts;
}

}  // namespace weir::what_if
