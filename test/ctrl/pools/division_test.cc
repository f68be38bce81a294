// division_test.cc - worked examples of SRP, and corner cases.
#include "ctrl/pools/division.h"

#include "test/support/catch.h"

using namespace weir::pools;

namespace {

constexpr double kMax = kNoLimit;

/// SRP Fig. 3: root of 1200 and 2300, E over A and B, F over C and D.
struct Figure3 {
    PoolTree tree{{.reservation = 1200, .limit = 2300, .shares = 1000}};
    NodeIndex e = tree.add(kRoot, {.reservation = 0, .limit = kMax, .shares = 3});
    NodeIndex f = tree.add(kRoot, {.reservation = 0, .limit = 500, .shares = 1});
    NodeIndex a = tree.add(e, {.reservation = 400, .limit = kMax, .shares = 1});
    NodeIndex b = tree.add(e, {.reservation = 0, .limit = kMax, .shares = 2});
    NodeIndex c = tree.add(f, {.reservation = 0, .limit = kMax, .shares = 1});
    NodeIndex d = tree.add(f, {.reservation = 0, .limit = kMax, .shares = 1});

    Division divide(double of_a, double of_b, double capacity = 1200) const {
        Division out;
        Divider().divide(tree, std::vector<double>{0, 0, 0, of_a, of_b, 400, 100}, capacity, out);
        return out;
    }
};

std::vector<double> entitled(const PoolTree& tree, const std::vector<double>& demands, double capacity) {
    Division out;
    Divider().divide(tree, demands, capacity, out);
    return {out.entitlement.begin() + 1, out.entitlement.end()};
}

}  // namespace

TEST_CASE("SRP Fig. 3 with the demands of its text (A 600, B 400): B gets its demand, A gets 500") {
    const Figure3 fig;
    const Division out = fig.divide(600, 400);
    CHECK(out.demand[fig.e] == 1000);
    CHECK(out.demand[fig.f] == 500);
    CHECK(out.reservation == std::vector<double>{1200, 900, 300, 500, 400, 200, 100});
    CHECK(out.limit[fig.e] == 1800);
    CHECK(out.limit[fig.f] == 500);
    CHECK(out.limit[fig.c] == 400);
    CHECK(out.limit[fig.d] == 100);
    CHECK(out.shares == std::vector<double>{1000, 750, 250, 250, 500, 125, 125});
}

TEST_CASE(
    "SRP Fig. 3 with the demands that its result implies (A 400, B 600): A gets its reservation of 400, B "
    "500") {
    const Figure3 fig;
    const Division out = fig.divide(400, 600);
    CHECK(out.reservation == std::vector<double>{1200, 900, 300, 400, 500, 200, 100});
}

TEST_CASE("a reservation or a limit bounds a demand") {
    const Figure3 fig;
    CHECK(fig.divide(100, 50).demand[fig.a] == 400);
    CHECK(fig.divide(100, 50).demand[fig.e] == 450);
    PoolTree tree;
    const NodeIndex pool = tree.add(kRoot, {.reservation = 50, .limit = 100, .shares = 1});
    tree.add(pool, {});
    Division out;
    Divider().divide(tree, std::vector<double>{0, 0, 10}, 1000, out);
    CHECK(out.demand == std::vector<double>{50, 50, 10});
    Divider().divide(tree, std::vector<double>{0, 0, 300}, 1000, out);
    CHECK(out.demand == std::vector<double>{100, 100, 300});
    CHECK(out.entitlement == std::vector<double>{1000, 100, 100});
    CHECK(out.unassigned == 900);
}

TEST_CASE("1000 over children with reservation, limit, shares (100,300,1) (400,-,1) (0,150,2) (0,-,4)") {
    PoolTree tree;
    tree.add(kRoot, {100, 300, 1});
    tree.add(kRoot, {400, kMax, 1});
    tree.add(kRoot, {0, 150, 2});
    tree.add(kRoot, {0, kMax, 4});
    CHECK(entitled(tree, {0, kMax, kMax, kMax, kMax}, 1000) == std::vector<double>{100, 400, 150, 350});
}

TEST_CASE("SRP Fig. 5: a pool gets its reservation and the others share 2:1; then its limit bounds it") {
    PoolTree tree({.reservation = 3000});
    NodeIndex pools[3] = {tree.add(kRoot, {1500, kMax, 1000}), tree.add(kRoot, {0, kMax, 2000}),
                          tree.add(kRoot, {0, kMax, 1000})};
    for (int host = 0; host < 2; ++host)
        for (const NodeIndex pool : pools)
            tree.add(pool, {0, kMax, 1000});
    const std::vector<double> busy(tree.size(), 1600);
    Division out;
    Divider divider;
    divider.divide(tree, busy, 3000, out);
    CHECK(out.entitlement == std::vector<double>{3000, 1500, 1000, 500, 750, 500, 250, 750, 500, 250});
    tree.set(pools[0], {0, 500, 1000});
    divider.divide(tree, busy, 3500, out);
    CHECK(out.entitlement == std::vector<double>{3500, 500, 2000, 1000, 250, 1000, 500, 250, 1000, 500});
    CHECK(out.limit[4] == 250);
}

TEST_CASE("SRP Fig. 6: the unused part of an idle VM goes to its sibling, up to the sibling's demand") {
    PoolTree tree;
    const NodeIndex one = tree.add(kRoot, {1500, kMax, 1000});
    const NodeIndex two = tree.add(kRoot, {0, kMax, 2000});
    tree.add(one, {});
    tree.add(one, {});
    tree.add(two, {});
    CHECK(entitled(tree, {0, 0, 0, 0, 1600, 5000}, 3000) == std::vector<double>{1500, 1500, 0, 1500, 1500});
    // The sibling wants less than the pool has: it gets its demand, and the rest goes by shares, so that the
    // idle VM can start.
    CHECK(entitled(tree, {0, 0, 0, 0, 1400, 5000}, 3000) == std::vector<double>{1500, 1500, 100, 1400, 1500});
    CHECK(entitled(tree, {0, 0, 0, 200, 500, 5000}, 3000) == std::vector<double>{1500, 1500, 750, 750, 1500});
}

TEST_CASE("an absent leaf and a pool of absent leaves take no part; their reservation goes to the others") {
    PoolTree tree({.reservation = 900, .limit = kMax, .shares = 100});
    const NodeIndex one = tree.add(kRoot, {600, kMax, 1});
    const NodeIndex two = tree.add(kRoot, {0, kMax, 1});
    tree.add(one, {600, kMax, 1});
    tree.add(one, {});
    tree.add(two, {});
    Division out;
    Divider divider;
    divider.divide(tree, std::vector<double>{0, 0, 0, kAbsent, 2000, 2000}, 1000, out);
    CHECK(out.entitlement == std::vector<double>{1000, 600, 400, 0, 600, 400});
    CHECK(out.shares == std::vector<double>{100, 50, 50, 0, 50, 50});
    divider.divide(tree, std::vector<double>{0, 0, 0, kAbsent, kAbsent, 2000}, 1000, out);
    CHECK(out.demand[one] == kAbsent);
    CHECK(out.reservation == std::vector<double>{900, 0, 900, 0, 0, 900});
    CHECK(out.limit[one] == 0);
    CHECK(out.entitlement == std::vector<double>{1000, 0, 1000, 0, 0, 1000});
    divider.divide(tree, std::vector<double>(tree.size(), kAbsent), 1000, out);
    CHECK(out.entitlement == std::vector<double>(tree.size(), 0));
    CHECK(out.unassigned == 1000);
}

TEST_CASE(
    "reservations beyond the capacity are scaled; a child with 0 shares gets its reservation and no more") {
    PoolTree tree;
    tree.add(kRoot, {1500, kMax, 1});
    tree.add(kRoot, {500, kMax, 0});
    tree.add(kRoot, {0, kMax, 5});
    CHECK(entitled(tree, {0, kMax, kMax, kMax}, 1000) == std::vector<double>{750, 250, 0});
    CHECK(entitled(tree, {0, kMax, kMax, 0}, 4000) == std::vector<double>{3500, 500, 0});
}

TEST_CASE("SRP eq. 1, 2 and 6: demand of a queue at 20 ms, and windows of two hosts") {
    CHECK(demand_rate(32, 0.020) == Approx(1600));
    PoolTree tree;
    tree.add(kRoot, {750, kMax, 1});
    tree.add(kRoot, {0, kMax, 1});
    tree.add(kRoot, {0, kMax, 1});
    Division out;
    Divider().divide(tree, std::vector<double>{0, kMax, kMax, kMax}, 1750, out);
    CHECK(out.entitlement == std::vector<double>{1750, 750, 500, 500});
    const std::vector<std::uint32_t> hosts{UINT32_MAX, 0, 0, 1};
    CHECK(host_windows(out, tree, hosts, 2, 35, 1750) == std::vector<double>{25, 10});
    CHECK(host_windows(out, tree, hosts, 3, 35, 0) == std::vector<double>{0, 0, 0});
}
