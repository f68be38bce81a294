// properties_test.cc - what every mechanism promises, and what some do, on random problems.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "test/ctrl/alloc/problems.h"
#include "test/support/catch.h"

using namespace weir::alloc;
using namespace weir::alloc::test;
using weir::testing::Random32;

namespace {

constexpr double kFull = 1e-7;

Case any_case(Random32& random) {
    return random_case(random,
                       {.flows = 1 + random() % 60, .resources = 1 + random() % 15, .tenants = random() % 6});
}

// What all flows together bring by weight and dominant share.
double income(const Case& one, const Allocation& found) {
    double sum = 0;
    for (std::uint32_t i = 0; i < one.demand.flows(); ++i) {
        double delta = 0;
        for (std::uint32_t k = one.demand.begin(i); k < one.demand.begin(i + 1); ++k)
            if (const double capacity = one.capacity[one.demand.resource()[k]]; capacity > 0)
                delta = std::max(delta, one.demand.tokens()[k] / capacity);
        sum += one.weights[i] * delta * found.fill[i];
    }
    return sum;
}

// The part of its demand that a flow could have from somebody's tokens, weight for weight.
double fill_from(const Case& one, std::uint32_t flow, std::uint32_t other, const Allocation& found) {
    const double factor = one.weights[flow] / one.weights[other];
    double fill = 1;
    for (std::uint32_t k = one.demand.begin(flow); k < one.demand.begin(flow + 1); ++k) {
        double has = 0;
        for (std::uint32_t o = one.demand.begin(other); o < one.demand.begin(other + 1); ++o)
            if (one.demand.resource()[o] == one.demand.resource()[k])
                has = found.tokens[o];
        fill = std::min(fill, factor * has / one.demand.tokens()[k]);
    }
    return fill;
}

}  // namespace

TEST_CASE("no resource is ever over its capacity and no flow over its demand") {
    Random32 random(21);
    for (int run = 0; run < 1500; ++run) {
        const Case one = any_case(random);
        for (const MechanismEntry& entry : kMechanisms) {
            INFO(entry.name << " run " << run);
            const Allocation found = solve(entry.name, one);
            const std::vector<double> used = use_of(one, found);
            for (std::size_t j = 0; j < used.size(); ++j) {
                REQUIRE(used[j] <= one.capacity[j]);
                REQUIRE(found.used[j] == Approx(used[j]));
            }
            for (std::size_t k = 0; k < one.demand.entries(); ++k)
                REQUIRE((found.tokens[k] >= 0 && found.tokens[k] <= one.demand.tokens()[k]));
        }
    }
}

TEST_CASE("a flow below its demand stands at a full resource, which its bottleneck names") {
    Random32 random(22);
    for (int run = 0; run < 1500; ++run) {
        const Case one = any_case(random);
        for (const MechanismEntry& entry : kMechanisms) {
            const Allocation found = solve(entry.name, one);
            for (std::uint32_t i = 0; i < one.demand.flows(); ++i) {
                INFO(entry.name << " run " << run << " flow " << i << " fill " << found.fill[i]);
                if (found.fill[i] > 1 - 1e-9)
                    continue;
                const std::uint32_t j = found.bottleneck[i];
                REQUIRE(j != kNone);
                REQUIRE(found.used[j] >= one.capacity[j] * (1 - kFull));
            }
        }
    }
}

TEST_CASE("in proportion: all mechanisms but max-min give every resource of a flow alike") {
    Random32 random(23);
    for (int run = 0; run < 200; ++run) {
        const Case one = any_case(random);
        for (const char* name : {"drf", "hdrf", "first_fit", "revenue"}) {
            const Allocation found = solve(name, one);
            for (std::uint32_t i = 0; i < one.demand.flows(); ++i)
                for (std::uint32_t k = one.demand.begin(i); k < one.demand.begin(i + 1); ++k)
                    REQUIRE(found.tokens[k] == Approx(found.fill[i] * one.demand.tokens()[k]));
        }
    }
}

TEST_CASE("DRF: everybody has at least what its part of every resource would give it alone") {
    Random32 random(24);
    for (int run = 0; run < 1500; ++run) {
        const Case one = any_case(random);
        const Allocation found = solve("drf", one);
        const double weights = std::accumulate(one.weights.begin(), one.weights.end(), 0.0);
        for (std::uint32_t i = 0; i < one.demand.flows(); ++i) {
            double alone = 1;
            for (std::uint32_t k = one.demand.begin(i); k < one.demand.begin(i + 1); ++k)
                alone = std::min(alone, one.weights[i] / weights * one.capacity[one.demand.resource()[k]] /
                                            one.demand.tokens()[k]);
            INFO("run " << run << " flow " << i);
            REQUIRE((one.weights[i] == 0 || found.fill[i] >= alone * (1 - 1e-9)));
        }
    }
}

TEST_CASE("DRF: nobody would rather have what somebody else has, weight for weight") {
    Random32 random(25);
    for (int run = 0; run < 300; ++run) {
        const Case one = any_case(random);
        const Allocation found = solve("drf", one);
        for (std::uint32_t i = 0; i < one.demand.flows(); ++i) {
            for (std::uint32_t other = 0; other < one.demand.flows(); ++other) {
                if (found.fill[i] == 1 || one.weights[i] == 0 || one.weights[other] == 0)
                    continue;
                INFO("run " << run << " flow " << i << " other " << other);
                REQUIRE(fill_from(one, i, other, found) <= found.fill[i] * (1 + 1e-6));
            }
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
            for (std::uint32_t k = one.demand.begin(i); k < one.demand.begin(i + 1); ++k)
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

TEST_CASE("max-min is the water level of every resource for itself") {
    Case one({12, 100});
    one.flow({2, 10}).flow({8, 10}).flow({20, 10}, 2);
    const Allocation found = solve("max_min", one);
    CHECK(near(found.tokens, {2, 10, 10.0 / 3, 10, 20.0 / 3, 10}, 1e-9));
    CHECK(found.fill[1] == Approx(10.0 / 24));
    CHECK(found.bottleneck == std::vector<std::uint32_t>{kNone, 0, 0});
    CHECK(found.used[1] == 30);
}

TEST_CASE("first fit serves by weight, then by number, until nothing is left") {
    Case one({10, 10});
    one.flow({6, 3}).flow({6, 3}).flow({5, 0}, 2).flow({0, 9});
    const Allocation found = solve("first_fit", one);
    CHECK(near(found.fill, {5.0 / 6, 0, 1, 7.5 / 9}, 1e-9));
    CHECK(found.bottleneck == std::vector<std::uint32_t>{0, 0, kNone, 1});
}

TEST_CASE("one scarce resource goes to those who pay most for it") {
    Case one({10, 1000});
    one.flow({8, 1}, 1).flow({8, 1}, 3).flow({4, 0}, 2);
    CHECK(near(solve("revenue", one).fill, {0, 1, 0.5}, 1e-9));
}

TEST_CASE("income is near that of the best order of service") {
    Random32 random(27);
    for (int run = 0; run < 300; ++run) {
        Case one = random_case(random, {.flows = 1 + random() % 6, .resources = 1 + random() % 4});
        const double got = income(one, solve("revenue", one));
        for (const char* name : {"drf", "first_fit"})
            CHECK(got >= 0.9 * income(one, solve(name, one)) - 1e-9);
        // First fit in every order: by weights that say the order.
        std::vector<std::uint32_t> order(one.weights.size());
        std::iota(order.begin(), order.end(), 0U);
        double best = 0;
        do {
            Case ordered = one;
            for (std::size_t i = 0; i < order.size(); ++i)
                ordered.weights[order[i]] = static_cast<double>(order.size() - i);
            best = std::max(best, income(one, solve("first_fit", ordered)));
        } while (std::next_permutation(order.begin(), order.end()));
        INFO("run " << run << " got " << got << " best " << best);
        CHECK(got >= 0.9 * best - 1e-9);
    }
}

TEST_CASE("a solver keeps nothing of what it solved before") {
    Random32 random(28);
    for (const MechanismEntry& entry : kMechanisms) {
        const auto mechanism = entry.make();
        for (int run = 0; run < 100; ++run) {
            const Case one = any_case(random);
            Allocation again;
            mechanism->allocate(one.problem(), again);
            const Allocation found = solve(entry.name, one);
            REQUIRE(found.tokens == again.tokens);
            REQUIRE(found.bottleneck == again.bottleneck);
        }
    }
}
