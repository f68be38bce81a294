// tree.cc - parents are found by name, and must lead to the root.
#include "ctrl/what_if/tree.h"

#include <algorithm>

namespace weir::what_if {
namespace {

using nlohmann::json;

/// What a node says of itself.
struct Said {
    std::string parent;  // empty: the root
    double weight = 1;
};

std::vector<Said> read_nodes(ObjectReader& reader, Tree& tree, Faults& faults) {
    std::vector<Said> said;
    for_objects(reader, "tree", false, faults, [&](ObjectReader& object) {
        tree.names.add(object);
        Said& node = said.emplace_back();
        const json* parent = object.take("parent");
        if (parent != nullptr && !parent->is_null())
            object.read_text("parent", node.parent);
        read_weight(object, "weight", node.weight);
    });
    return said;
}

/// Numbers of the parents; one that nobody is called is a fault, but for the root by its usual name.
std::vector<std::uint32_t> find_parents(const std::vector<Said>& said, const Tree& tree, Faults& faults) {
    std::vector<std::uint32_t> parents;
    for (std::size_t i = 0; i < said.size(); ++i) {
        const auto parent = tree.names.find(said[i].parent);
        if (!parent && !said[i].parent.empty() && said[i].parent != "root")
            faults.push_back({"tree[" + std::to_string(i) + "].parent", show(said[i].parent),
                              tree.names.list(), "there is nothing of this name"});
        parents.push_back(parent.value_or(alloc::kNone));
    }
    return parents;
}

/// Places the nodes, parents first; those that are left go round in a circle.
void place(const std::vector<Said>& said, const std::vector<std::uint32_t>& parents, Tree& tree,
           Faults& faults) {
    std::vector<std::uint32_t> way;
    tree.node.assign(said.size(), alloc::kNone);
    for (std::uint32_t start = 0; start < said.size(); ++start) {
        way.clear();
        for (std::uint32_t at = start; at != alloc::kNone && tree.node[at] == alloc::kNone;
             at = parents[at]) {
            if (way.size() > said.size()) {
                faults.push_back({"tree[" + std::to_string(start) + "].parent", show(said[start].parent),
                                  "a node whose parents lead to the root",
                                  "its parents lead back to itself"});
                return;
            }
            way.push_back(at);
        }
        for (; !way.empty(); way.pop_back()) {
            const std::uint32_t at = way.back();
            tree.node[at] = static_cast<std::uint32_t>(tree.nodes.parent.size());
            tree.nodes.parent.push_back(parents[at] == alloc::kNone ? alloc::kNone : tree.node[parents[at]]);
            tree.nodes.weight.push_back(said[at].weight);
        }
    }
}

}  // namespace

Tree read_tree(ObjectReader& reader, Faults& faults) {
    Tree tree;
    const std::vector<Said> said = read_nodes(reader, tree, faults);
    place(said, find_parents(said, tree, faults), tree, faults);
    return tree;
}

}  // namespace weir::what_if
