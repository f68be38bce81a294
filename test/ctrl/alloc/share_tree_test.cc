// share_tree_test.cc - simplification of trees.
#include "ctrl/alloc/share_tree.h"

#include "test/support/catch.h"

using namespace weir::alloc;

namespace {

struct Simple {
    ShareTree tree;
    std::vector<double> weights;
};

Simple simple(ShareTree tree, std::vector<double> weights, const std::vector<std::uint8_t>& takes_part) {
    simplify(tree, weights, takes_part);
    return {tree, weights};
}

}  // namespace

TEST_CASE("a node with one flow is the flow, with the node's weight") {
    const auto [tree, weights] = simple({{kNone, kNone}, {2, 3}, {0, 1, 1}}, {7, 8, 9}, {1, 1, 1});
    CHECK(tree.parent == std::vector<std::uint32_t>{kNone});
    CHECK(tree.weight == std::vector<double>{3});
    CHECK(tree.node_of_flow == std::vector<std::uint32_t>{kNone, 0, 0});
    CHECK(weights == std::vector<double>{2, 8, 9});
}

TEST_CASE("a chain is its end with the weight of its beginning") {
    const auto [tree, weights] = simple({{kNone, 0, 1}, {2, 3, 4}, {2, 2, kNone}}, {1, 1, 1}, {1, 1, 1});
    CHECK(tree.parent == std::vector<std::uint32_t>{kNone});
    CHECK(tree.weight == std::vector<double>{2});
    CHECK(tree.node_of_flow == std::vector<std::uint32_t>{0, 0, kNone});
}

TEST_CASE("a root of one node is that node") {
    const auto [tree, weights] =
        simple({{kNone, 0, 0}, {9, 2, 3}, {1, 1, 2, 2, 0}}, {1, 1, 1, 1, 6}, {1, 1, 1, 1, 1});
    CHECK(tree.parent == std::vector<std::uint32_t>{kNone, kNone});
    CHECK(tree.weight == std::vector<double>{2, 3});
    CHECK(tree.node_of_flow == std::vector<std::uint32_t>{0, 0, 1, 1, kNone});
    CHECK(weights[4] == 6);
    CHECK(!tree.is_deep());
}

TEST_CASE("a node without flows that take part is removed; nodes below nodes that remain are deep") {
    const auto [tree, weights] =
        simple({{kNone, kNone, 1, 1}, {1, 2, 3, 4}, {0, 2, 2, 3, 3}}, {1, 1, 1, 1, 1}, {0, 1, 1, 1, 1});
    // Node 0 has no flow that takes part; node 1 is then the only child of the root.
    CHECK(tree.parent == std::vector<std::uint32_t>{kNone, kNone});
    CHECK(tree.weight == std::vector<double>{3, 4});
    const auto [deep, same] =
        simple({{kNone, kNone, 1, 1}, {1, 2, 3, 4}, {0, 2, 2, 3, 3}}, {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1});
    CHECK(deep.parent == std::vector<std::uint32_t>{kNone, 0, 0});
    CHECK(deep.is_deep());
}

TEST_CASE("a tree without flows is empty") {
    const auto [tree, weights] = simple({{kNone, 0}, {1, 1}, {}}, {}, {});
    CHECK(tree.parent.empty());
}
