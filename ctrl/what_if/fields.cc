// fields.cc - typed reads, with the same messages in every kind of problem.
#include "ctrl/what_if/fields.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "ctrl/pools/pool_tree.h"

namespace weir::what_if {
namespace {

using nlohmann::json;

std::string text_of(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", value);
    return text;
}

std::string text_of(Bounds bounds) {
    return "a number, " + text_of(bounds.min) + " to " + text_of(bounds.max);
}

constexpr const char* kIdAllowed = "a name, such as \"a\"";

/// Why a value is not a number within the bounds; null: it is.
const char* flaw(const json& value, Bounds bounds) {
    if (!value.is_number())
        return "wrong type";
    const auto number = value.get<double>();
    if (std::isnan(number) || number < bounds.min || number > bounds.max)
        return "out of range";
    return nullptr;
}

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

std::string show(const std::string& text) {
    return show_value(json(text));
}

bool read_number(ObjectReader& reader, std::string_view key, double& out, Bounds bounds) {
    const json* value = reader.take(key);
    if (value == nullptr)
        return false;
    if (const char* wrong = flaw(*value, bounds)) {
        reader.fault(key, text_of(bounds), wrong);
        return false;
    }
    out = value->get<double>();
    return true;
}

bool require_number(ObjectReader& reader, std::string_view key, double& out, Bounds bounds) {
    require(reader, key, text_of(bounds).c_str());
    return read_number(reader, key, out, bounds);
}

bool read_weight(ObjectReader& reader, std::string_view key, double& out) {
    double weight = 0;
    if (!read_number(reader, key, weight, kWeightBounds))
        return false;
    if (weight > 0 && weight < kWeightLeast) {
        reader.fault(key, "0, or " + text_of({kWeightLeast, kWeightBounds.max}), "out of range");
        return false;
    }
    out = weight;
    return true;
}

double read_demand(ObjectReader& reader, std::string_view key) {
    double demand = pools::kNoLimit;
    if (const json* value = reader.take(key); value != nullptr && !value->is_null())
        read_number(reader, key, demand, kTokenBounds);
    return demand;
}

pools::Controls read_controls(ObjectReader& reader) {
    pools::Controls own;
    read_number(reader, "reservation", own.reservation, kTokenBounds);
    own.limit = read_demand(reader, "limit");
    if (own.limit < own.reservation)
        reader.fault("limit", "at least the reservation", "a limit below the reservation breaks the promise");
    read_weight(reader, "shares", own.shares);
    return own;
}

void require_objects(ObjectReader& reader, std::string_view key) {
    const std::string allowed = "a list of at most " + std::to_string(kListMost) + kObjects;
    require(reader, key, allowed.c_str());
    if (const json* list = reader.take(key); list != nullptr && list->is_array() && list->empty())
        reader.fault(key, allowed, "the list is empty");
}

std::uint32_t Names::add(ObjectReader& reader) {
    const std::uint32_t number = size();
    std::string name;
    require(reader, "id", kIdAllowed);
    if (reader.read_text("id", name)) {
        if (name.empty())
            reader.fault("id", kIdAllowed, "it is empty");
        else if (!numbers_.emplace(name, number).second)
            reader.fault("id", "each id once", "another entry has this id");
    }
    names_.push_back(std::move(name));
    return number;
}

std::uint32_t Names::add(const std::string& name) {
    const auto [it, is_new] = numbers_.emplace(name, size());
    if (is_new)
        names_.push_back(name);
    return it->second;
}

std::optional<std::uint32_t> Names::find(const std::string& name) const {
    const auto it = numbers_.find(name);
    return it == numbers_.end() ? std::nullopt : std::optional(it->second);
}

/// Faulty ids are empty, and left out.
std::string Names::list() const {
    constexpr std::size_t kShown = 6;
    std::string text;
    std::size_t shown = 0;
    for (const std::string& name : names_) {
        if (name.empty())
            continue;
        if (++shown > kShown)
            return text + ", ...";
        text += (shown == 1 ? "" : ", ") + show_text(name);
    }
    return shown == 0 ? "none: the list of names is empty" : text;
}

std::vector<Amount> read_amounts(ObjectReader& reader, std::string_view key, const Names& names,
                                 bool required, Faults& faults) {
    constexpr const char* kAllowed = "amounts by name, such as {\"uplink\": 1000}";
    std::vector<Amount> amounts;
    const json* object = reader.take(key);
    if (required)
        require(reader, key, kAllowed);
    if (object == nullptr)
        return amounts;
    if (!object->is_object()) {
        reader.fault(key, kAllowed, "wrong type");
        return amounts;
    }
    const std::string path = reader.path_of(key);
    amounts.reserve(object->size());
    for (const auto& [name, value] : object->items()) {
        const std::string where = path + '.' + show_text(name);
        const auto number = names.find(name);
        if (!number) {
            faults.push_back({where, show_text(name), names.list(), "unknown name"});
            continue;
        }
        if (const char* wrong = flaw(value, kTokenBounds)) {
            faults.push_back({where, show_value(value), text_of(kTokenBounds), wrong});
            continue;
        }
        amounts.push_back({*number, value.get<double>()});
    }
    return amounts;
}

std::optional<std::uint32_t> read_name(ObjectReader& reader, std::string_view key, const Names& names) {
    const json* value = reader.take(key);
    std::string name;
    if (value == nullptr || value->is_null() || !reader.read_text(key, name))
        return std::nullopt;
    const auto number = names.find(name);
    if (!number)
        reader.fault(key, names.list(), "unknown name");
    return number;
}

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
