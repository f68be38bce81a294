// pool_tree_test.cc - the order of children.
#include "ctrl/pools/pool_tree.h"

#include "test/support/catch.h"

using namespace weir::pools;

TEST_CASE("the children of a node stand together, in the order in which they were added") {
    PoolTree tree;
    const NodeIndex a = tree.add(kRoot, {});
    const NodeIndex b = tree.add(kRoot, {});
    const NodeIndex b1 = tree.add(b, {});
    const NodeIndex a1 = tree.add(a, {});
    const NodeIndex c = tree.add(kRoot, {});
    const NodeIndex b2 = tree.add(b, {});
    PoolTree::Order order;
    tree.order(order);
    const auto of = [&order](NodeIndex node) {
        const auto children = order.of(node);
        return std::vector<NodeIndex>(children.begin(), children.end());
    };
    CHECK(of(kRoot) == std::vector<NodeIndex>{a, b, c});
    CHECK(of(a) == std::vector<NodeIndex>{a1});
    CHECK(of(b) == std::vector<NodeIndex>{b1, b2});
    CHECK(of(c).empty());
    CHECK(of(b2).empty());
    CHECK(tree.is_leaf(c));
    CHECK_FALSE(tree.is_leaf(b));
}

TEST_CASE("a root without children") {
    const PoolTree tree({.reservation = 5});
    PoolTree::Order order;
    tree.order(order);
    CHECK(order.of(kRoot).empty());
    CHECK(tree.is_leaf(kRoot));
}

TEST_CASE("nodes are ordered parents first, without those of a circle and below it") {
    // 0 below 2, 1 and 2 at the top, 3 and 4 a circle, 5 below it.
    CHECK(parents_first({2, kNoParent, kNoParent, 4, 3, 3}) == std::vector<std::uint32_t>{2, 0, 1});
    // A circle of many is found in a moment.
    std::vector<std::uint32_t> ring(100'000);
    for (std::uint32_t i = 0; i < ring.size(); ++i)
        ring[i] = (i + 1) % static_cast<std::uint32_t>(ring.size());
    CHECK(parents_first(ring).empty());
}
