// hdrf_test.cc - worked trees of H-DRF by quanta and exactly, and random trees by one against the other.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ctrl/alloc/quantum_tree.h"
#include "test/ctrl/alloc/problems.h"
#include "test/support/catch.h"
#include "test/support/sanitized.h"

using namespace weir::alloc;
using namespace weir::alloc::test;
using weir::testing::Random32;
using weir::testing::rounds;

namespace {

// root{n1(0,1), n2{n21(1,0), n22(0,1)}}, 10 and 10: complementary siblings.
Case complementary() {
    Case one({10, 10});
    const std::uint32_t n2 = one.node();
    one.flow({0, 10}).flow({10, 0}, 1, n2).flow({0, 10}, 1, n2);
    return one;
}

// root{n1(1,0), n2(1,0), n3{n31(1,0), n32(0,1)}, n4(0,1)}, 12 and 12: a blocked child.
Case blocked_child() {
    Case one({12, 12});
    const std::uint32_t n3 = one.node();
    one.flow({12, 0}).flow({12, 0}).flow({12, 0}, 1, n3).flow({0, 12}, 1, n3).flow({0, 12});
    return one;
}

// root{T1 w2{a(2,1), b(1,3)}, T2 w1{c(3,0) w3, d(0,2) w1}}, 120 and 120.
Case weighted() {
    Case one({120, 120});
    const std::uint32_t t1 = one.node(2);
    const std::uint32_t t2 = one.node(1);
    one.flow({240, 120}, 1, t1).flow({120, 360}, 1, t1).flow({360, 0}, 3, t2).flow({0, 240}, 1, t2);
    return one;
}

class Tasks {
  public:
    Tasks(Case one, double tasks) : case_(std::move(one)), problem_(case_.problem()) {
        tree_.begin(problem_, std::vector<double>(case_.weights.size(), 1 / tasks));
    }
    // Grants until all flows are blocked. @return the flows in the order of their quanta
    std::vector<std::uint32_t> refill() {
        std::vector<std::uint32_t> order;
        for (std::uint32_t flow = tree_.grant(); flow != kNone; flow = tree_.grant())
            order.push_back(flow);
        return order;
    }
    void end_one(std::uint32_t flow) { tree_.take_back(flow); }
    [[nodiscard]] std::vector<std::uint32_t> granted() const {
        std::vector<std::uint32_t> all;
        for (std::uint32_t flow = 0; flow < case_.weights.size(); ++flow)
            all.push_back(tree_.granted(flow));
        return all;
    }

  private:
    Case case_;
    Problem problem_;
    QuantumTree tree_;
};

using Counts = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("complementary siblings do not starve another tenant, quantum by quantum") {
    Tasks tasks(complementary(), 10);
    const Counts order = tasks.refill();
    CHECK(Counts(order.begin(), order.begin() + 6) == Counts{0, 1, 2, 0, 1, 2});
    CHECK(tasks.granted() == Counts{5, 10, 5});
    for (int end = 0; end < 20; ++end) {
        tasks.end_one(2);
        CHECK(tasks.refill() == Counts{2});
        CHECK(tasks.granted() == Counts{5, 10, 5});
    }
}

TEST_CASE("a blocked child does not hold its parent's share down") {
    Tasks tasks(blocked_child(), 12);
    tasks.refill();
    CHECK(tasks.granted() == Counts{4, 4, 4, 6, 6});
}

TEST_CASE("weights of tenants and of flows, quantum by quantum") {
    Tasks tasks(weighted(), 120);
    tasks.refill();
    CHECK(tasks.granted() == Counts{29, 19, 14, 17});
}

TEST_CASE("the worked trees in the fluid limit") {
    check_fill(solve("hdrf", complementary()), {0.5, 1, 0.5}, 1e-8);
    check_fill(solve("hdrf", blocked_child()), {4.0 / 12, 4.0 / 12, 4.0 / 12, 0.5, 0.5}, 1e-8);
    check_fill(solve("hdrf", weighted()), {28.8 / 120, 19.2 / 120, 14.4 / 120, 16.8 / 120}, 1e-8);
}

TEST_CASE("flows below the root are DRF") {
    Random32 random(11);
    for (int run = 0; run < 1000; ++run) {
        const Case one = random_case(random, {.flows = 1 + random() % 30, .resources = 1 + random() % 10});
        const Allocation flat = solve("drf", one);
        const Allocation tree = solve("hdrf", one);
        for (std::uint32_t i = 0; i < one.demand.flows(); ++i) {
            INFO("run " << run << " flow " << i);
            REQUIRE(tree.fill[i] == Approx(flat.fill[i]).epsilon(1e-7).margin(1e-7));
        }
    }
}

TEST_CASE("one tenant alone is DRF among its flows") {
    Random32 random(12);
    for (int run = 0; run < 300; ++run) {
        Case one =
            random_case(random, {.flows = 1 + random() % 30, .resources = 1 + random() % 10, .tenants = 1});
        std::fill(one.tree.node_of_flow.begin(), one.tree.node_of_flow.end(), 0U);
        const Allocation flat = solve("drf", one);
        const Allocation tree = solve("hdrf", one);
        for (std::uint32_t i = 0; i < one.demand.flows(); ++i)
            REQUIRE(tree.fill[i] == Approx(flat.fill[i]).epsilon(1e-7).margin(1e-7));
    }
}

TEST_CASE("a tenant whose largest share was of a resource that filled catches up alone") {
    // group_rise.h: G wants 10 CPU and, at half the weight, 10 GPU; H wants 10 of each.
    Case one({10, 10});
    const std::uint32_t g = one.node();
    const std::uint32_t h = one.node();
    one.flow({10, 0}, 1, g).flow({0, 10}, 0.5, g).flow({10, 0}, 1, h).flow({0, 10}, 1, h);
    check_fill(solve("hdrf", one), {0.5, 0.5, 0.5, 0.5}, 1e-8);
}

TEST_CASE("three levels: tenants share the part of their region") {
    Case one({90});
    const std::uint32_t east = one.node(2);
    const std::uint32_t west = one.node(1);
    const std::uint32_t a = one.node(1, east);
    const std::uint32_t b = one.node(3, east);
    one.flow({90}, 1, a)
        .flow({90}, 1, a)
        .flow({90}, 1, b)
        .flow({90}, 2, b)
        .flow({90}, 1, west)
        .flow({90}, 1, west);
    const Allocation found = solve("hdrf", one);
    const double wanted[] = {7.5, 7.5, 15, 30, 15, 15};
    for (std::size_t i = 0; i < 6; ++i)
        CHECK(found.tokens[i] == Approx(wanted[i]).margin(0.1));
    CHECK(found.used[0] == Approx(90));
}

TEST_CASE("nodes that change nothing are not levels") {
    // The weighted tree, below one node, each flow in a node of its own.
    Case one({120, 120});
    const std::uint32_t top = one.node(5);
    const std::uint32_t t1 = one.node(2, top);
    const std::uint32_t t2 = one.node(1, top);
    one.flow({240, 120}, 7, one.node(1, t1))
        .flow({120, 360}, 1, t1)
        .flow({360, 0}, 1, one.node(3, t2))
        .flow({0, 240}, 1, t2);
    check_fill(solve("hdrf", one), {28.8 / 120, 19.2 / 120, 14.4 / 120, 16.8 / 120}, 1e-8);
}

TEST_CASE("random tenants get what small quanta converge to") {
    Random32 random(13);
    for (unsigned run = 0; run < rounds(400); ++run) {
        Case one = random_case(
            random, {.flows = 2 + random() % 24, .resources = 1 + random() % 8, .tenants = 1 + random() % 6});
        const Allocation found = solve("hdrf", one);
        constexpr double kQuanta = 2000;
        QuantumTree tree;
        const Problem problem = one.problem();
        tree.begin(problem, std::vector<double>(one.weights.size(), 1 / kQuanta));
        while (tree.grant() != kNone) {
        }
        for (std::uint32_t i = 0; i < one.demand.flows(); ++i) {
            if (one.weights[i] == 0 || one.demand.row(i).empty())
                continue;
            INFO("run " << run << " flow " << i << " of " << one.demand.flows() << " exact " << found.fill[i]
                        << " quanta " << tree.granted(i) / kQuanta);
            CHECK(std::abs(found.fill[i] - tree.granted(i) / kQuanta) < 0.02);
        }
    }
}

TEST_CASE("many tenants on many resources get what small quanta converge to") {
    Random32 random(14);
    for (int run = 0; run < 3; ++run) {
        const Case one = random_case(random, {.flows = 150, .resources = 30, .tenants = 12});
        const Allocation found = solve("hdrf", one);
        constexpr double kQuanta = 300;
        QuantumTree tree;
        const Problem problem = one.problem();
        tree.begin(problem, std::vector<double>(one.weights.size(), 1 / kQuanta));
        while (tree.grant() != kNone) {
        }
        double apart = 0;
        for (std::uint32_t i = 0; i < one.demand.flows(); ++i)
            if (one.weights[i] > 0 && !one.demand.row(i).empty())
                apart += std::abs(found.fill[i] - tree.granted(i) / kQuanta);
        CHECK(apart / one.demand.flows() < 0.005);
    }
}

TEST_CASE("resources that fill at one share, or nearly, are filled") {
    Random32 random(15);
    for (const double apart : {0.0, 1e-15, 1e-13, 1e-11, 1e-9, 1e-7, 1e-4}) {
        for (const std::uint32_t twins : {30U, 400U}) {
            Case one;
            for (std::uint32_t t = 0; t < twins; ++t) {
                const std::uint32_t tenant = one.node();
                one.capacity.push_back(18'500 * (1 + apart * uniform(random, 0, 1)));
                for (int flow = 0; flow < 12; ++flow) {
                    one.demand.put(t, 22'000);
                    one.demand.end_flow();
                    one.weights.push_back(1);
                    one.tree.node_of_flow.push_back(tenant);
                }
            }
            const Allocation found = solve("hdrf", one);
            INFO(twins << " twins " << apart << " apart");
            for (std::uint32_t t = 0; t < twins; ++t)
                REQUIRE(found.used[t] == Approx(one.capacity[t]).epsilon(1e-8));
        }
    }
}

TEST_CASE("H-DRF: a tenant that wants more has at least its part of some resource") {
    Random32 random(26);
    for (int run = 0; run < 1500; ++run) {
        Case one =
            random_case(random, {.flows = 1 + random() % 60, .resources = 1 + random() % 15, .tenants = 4});
        for (std::uint32_t& node : one.tree.node_of_flow)
            node = node == kNone ? random() % 4 : node;
        const Allocation found = solve("hdrf", one);
        std::vector<std::vector<double>> used(4, std::vector<double>(one.capacity.size(), 0.0));
        std::vector<bool> wants(4, false);
        for (std::uint32_t i = 0; i < one.demand.flows(); ++i) {
            const std::uint32_t tenant = one.tree.node_of_flow[i];
            if (one.weights[i] > 0 && found.fill[i] > 0 && found.fill[i] < 1 - 1e-9)
                wants[tenant] = true;
            for (const std::uint32_t k : one.demand.row(i))
                used[tenant][one.demand.resource()[k]] += found.tokens[k];
        }
        const double weights = std::accumulate(one.tree.weight.begin(), one.tree.weight.end(), 0.0);
        for (std::size_t t = 0; t < 4; ++t) {
            double share = 0;
            for (std::size_t j = 0; j < one.capacity.size(); ++j)
                share = one.capacity[j] > 0 ? std::max(share, used[t][j] / one.capacity[j]) : share;
            INFO("run " << run << " tenant " << t << " share " << share);
            REQUIRE((!wants[t] || share >= one.tree.weight[t] / weights * (1 - 1e-6)));
        }
    }
}
