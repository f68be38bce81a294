// division_property_test.cc - properties of every divided tree: conservation, limits, reservations, and no
// child with more than its demand beside a sibling that wants more.
#include <random>

#include "ctrl/pools/division.h"
#include "test/support/catch.h"
#include "test/support/random.h"

using namespace weir;
using namespace weir::pools;

namespace {

struct Case {
    PoolTree tree;
    std::vector<double> demands;
    double capacity = 0;
};

/// A random tree; the reservations of children sum to at most their parent's, as in a valid cluster file.
Case make_case(weir::testing::Random32& random) {
    Case made{PoolTree({.reservation = 1000.0 + random() % 5000}), {}, 0};
    const NodeIndex nodes = 2 + random() % 60;
    std::vector<double> free{made.tree.controls(kRoot).reservation};
    while (made.tree.size() < nodes) {
        const NodeIndex parent = random() % made.tree.size();
        Controls own{.reservation = 0, .limit = kNoLimit, .shares = 1.0 + random() % 100};
        if (random() % 3 == 0)
            own.reservation = free[parent] * (random() % 100) / 150;
        if (random() % 3 == 0)
            own.limit = own.reservation + random() % 2000;
        free[parent] -= own.reservation;
        free.push_back(own.reservation);
        made.tree.add(parent, own);
    }
    for (NodeIndex node = 0; node < nodes; ++node)
        made.demands.push_back(random() % 8 == 0 ? kAbsent : random() % 4 == 0 ? 0 : random() % 3000);
    made.capacity = random() % 10'000;
    return made;
}

/// Checks one amount that was divided down the tree.
void check_divided(const Case& given, const Division& out, const std::vector<double>& part) {
    PoolTree::Order order;
    given.tree.order(order);
    const double rounding = 1e-6;
    for (NodeIndex node = 0; node < given.tree.size(); ++node) {
        if (given.tree.is_leaf(node) || !(part[node] < kNoLimit))
            continue;
        double sum = 0;
        double reserved = 0;
        bool unmet = false;
        bool beyond = false;
        for (const NodeIndex child : order.of(node)) {
            const Controls& own = given.tree.controls(child);
            const bool is_present = out.demand[child] >= 0;
            sum += part[child];
            reserved += is_present ? own.reservation : 0;
            REQUIRE(part[child] <= own.limit + rounding);
            REQUIRE((is_present || part[child] == 0));
            unmet |= is_present && part[child] < out.demand[child] - rounding;
            beyond |= part[child] > std::max(out.demand[child], 0.0) + rounding;
        }
        REQUIRE(sum <= part[node] + rounding);                  // conservation
        REQUIRE_FALSE((unmet && beyond));                       // work conserved among siblings
        REQUIRE_FALSE((unmet && sum < part[node] - rounding));  // and down from the parent
        for (const NodeIndex child : order.of(node))            // reservations met
            if (reserved <= part[node] && out.demand[child] >= 0)
                REQUIRE(part[child] >= given.tree.controls(child).reservation - rounding);
    }
}

}  // namespace

TEST_CASE(
    "property: conservation, limits, reservations and work conservation, for every amount that is divided") {
    weir::testing::Random32 random(9);
    Divider divider;
    Division out;
    for (int trial = 0; trial < 2000; ++trial) {
        const Case given = make_case(random);
        divider.divide(given.tree, given.demands, given.capacity, out);
        check_divided(given, out, out.reservation);
        check_divided(given, out, out.limit);
        check_divided(given, out, out.entitlement);
        double sum = 0;
        for (NodeIndex node = 0; node < given.tree.size(); ++node)
            sum += given.tree.is_leaf(node) ? out.entitlement[node] : 0;
        REQUIRE(sum + out.unassigned == Approx(given.capacity).margin(1e-6));
    }
}

TEST_CASE(
    "property: siblings that want more and have more than their reservations have equal amounts per share") {
    weir::testing::Random32 random(10);
    Divider divider;
    Division out;
    for (int trial = 0; trial < 2000; ++trial) {
        PoolTree tree;
        const NodeIndex nodes = 2 + random() % 30;
        while (tree.size() < nodes)
            tree.add(kRoot, {.reservation = random() % 3 == 0 ? 1.0 * (random() % 500) : 0,
                             .limit = kNoLimit,
                             .shares = 1.0 + random() % 1000});
        const double capacity = 1 + random() % 20'000;
        divider.divide(tree, std::vector<double>(tree.size(), kNoLimit), capacity, out);
        double lowest = 1e300;
        double highest = 0;
        for (NodeIndex node = 1; node < nodes; ++node) {
            const double level = out.entitlement[node] / tree.controls(node).shares;
            lowest = std::min(lowest, level);
            if (out.entitlement[node] > tree.controls(node).reservation * (1 + 1e-9))
                highest = std::max(highest, level);
        }
        REQUIRE(highest <= lowest * (1 + 1e-9));
    }
}
