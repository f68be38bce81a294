// drf_test.cc - worked numbers and corner cases of DRF, and random problems against a slow exact solver.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "test/ctrl/alloc/problems.h"
#include "test/support/catch.h"

using namespace weir::alloc;
using namespace weir::alloc::test;
using weir::testing::Random32;

namespace {

// Progressive filling by its definition: all active flows rise together to the next event, a flow at its
// demand or a full resource, and all sums are made anew at every event. Weights of 0 take part in a second
// round.
class SlowDrf {
  public:
    explicit SlowDrf(const Case& one) : case_(one), fill_(one.weights.size(), 0.0), left_(one.capacity) {
        round(true);
        round(false);
    }
    [[nodiscard]] const std::vector<double>& fill() const { return fill_; }

  private:
    struct Active {
        std::uint32_t flow;
        double speed;
    };

    void round(bool weighted) {
        std::vector<Active> active;
        const DemandMatrix& demand = case_.demand;
        for (std::uint32_t i = 0; i < demand.flows(); ++i) {
            double delta = 0;
            for (const std::uint32_t k : demand.row(i))
                delta = std::max(delta, left_[demand.resource()[k]] > 0
                                            ? demand.tokens()[k] / case_.capacity[demand.resource()[k]]
                                            : std::numeric_limits<double>::infinity());
            if (delta == 0)
                fill_[i] = 1;
            else if ((case_.weights[i] > 0) == weighted && std::isfinite(delta))
                active.push_back({i, (weighted ? case_.weights[i] : 1) / delta});
        }
        while (!active.empty())
            step(active);
    }

    void step(std::vector<Active>& active) {
        std::vector<double> slope(left_.size(), 0.0);
        const DemandMatrix& demand = case_.demand;
        double rise = std::numeric_limits<double>::infinity();
        for (const Active& one : active) {
            rise = std::min(rise, (1 - fill_[one.flow]) / one.speed);
            for (const std::uint32_t k : demand.row(one.flow))
                slope[demand.resource()[k]] += demand.tokens()[k] * one.speed;
        }
        for (std::size_t j = 0; j < left_.size(); ++j)
            if (slope[j] > 0)
                rise = std::min(rise, left_[j] / slope[j]);
        for (const Active& one : active)
            fill_[one.flow] += rise * one.speed;
        for (std::size_t j = 0; j < left_.size(); ++j)
            left_[j] =
                left_[j] - rise * slope[j] <= 1e-10 * case_.capacity[j] ? 0 : left_[j] - rise * slope[j];
        std::erase_if(active, [&](const Active& one) {
            bool stops = fill_[one.flow] > 1 - 1e-10;
            for (const std::uint32_t k : demand.row(one.flow))
                stops |= left_[demand.resource()[k]] == 0;
            return stops;
        });
    }

    const Case& case_;
    std::vector<double> fill_;
    std::vector<double> left_;
};

// The fill that a flow could have from another flow's tokens, scaled by their weights.
double fill_from(const Case& one, std::uint32_t flow, std::uint32_t other, const Allocation& found) {
    const double factor = one.weights[flow] / one.weights[other];
    double fill = 1;
    for (const std::uint32_t k : one.demand.row(flow)) {
        double has = 0;
        for (const std::uint32_t o : one.demand.row(other))
            if (one.demand.resource()[o] == one.demand.resource()[k])
                has = found.tokens[o];
        fill = std::min(fill, factor * has / one.demand.tokens()[k]);
    }
    return fill;
}

}  // namespace

TEST_CASE("five flows on three resources fill in the order of the worked example") {
    Case one({100, 100, 100});
    one.flow({60, 20, 0}).flow({40, 80, 0}, 2).flow({0, 50, 50}).flow({0, 0, 80}).flow({0, 10, 0});
    const Allocation found = solve("drf", one);
    check_fill(found, {0.45, 0.675, 0.54, 0.9125, 1}, 1e-12);
    CHECK(found.used[0] == Approx(54));
    CHECK(found.used[1] == Approx(100));
    CHECK(found.used[2] == Approx(100));
    CHECK(found.bottleneck == std::vector<std::uint32_t>{1, 1, 1, 2, kNone});
}

TEST_CASE("the paper's users run three and two tasks") {
    Case one({9, 18});
    one.flow({100, 400}).flow({300, 100});
    check_fill(solve("drf", one), {0.03, 0.02}, 1e-12);
}

TEST_CASE("a flow without a demand has fill 1, one that needs an empty resource has fill 0") {
    Case one({0, 10});
    one.flow({}).flow({5, 5}).flow({0, 5}).flow({0, 50});
    const Allocation found = solve("drf", one);
    check_fill(found, {1, 0, 1, 0.1}, 1e-12);
    CHECK(found.bottleneck == std::vector<std::uint32_t>{kNone, 0, kNone, 1});
}

TEST_CASE("flows of weight 0 share equally what the others leave") {
    Case one({100});
    one.flow({40}, 2).flow({80}, 0).flow({20}, 0);
    check_fill(solve("drf", one), {1, 0.5, 1}, 1e-12);
    one.flow({80}, 1);
    check_fill(solve("drf", one), {1, 0, 0, 0.75}, 1e-12);
}

TEST_CASE("a demand may exceed the capacity; then only its direction matters") {
    Random32 random(5);
    for (int run = 0; run < 200; ++run) {
        const Case one = random_case(random, {});
        const Allocation found = solve("drf", one);
        Case larger(one.capacity);
        larger.weights = one.weights;
        for (std::uint32_t i = 0; i < one.demand.flows(); ++i) {
            const double factor = found.bottleneck[i] == kNone ? 1 : 1e6;
            for (const std::uint32_t k : one.demand.row(i))
                larger.demand.put(one.demand.resource()[k], factor * one.demand.tokens()[k]);
            larger.demand.end_flow();
        }
        const Allocation again = solve("drf", larger);
        for (std::size_t k = 0; k < one.demand.entries(); ++k)
            CHECK(again.tokens[k] == Approx(found.tokens[k]).epsilon(1e-9).margin(1e-9));
    }
}

TEST_CASE("amounts at the bounds do not overflow") {
    Case one({kTokensMost, kTokensLeast, 1});
    one.flow({kTokensMost, kTokensMost, kTokensMost}, 1e6).flow({1, 1, 1}, 1e-6).flow({kTokensMost, 0, 0});
    const Allocation found = solve("drf", one);
    for (std::size_t i = 0; i < 3; ++i)
        CHECK((found.fill[i] >= 0 && found.fill[i] <= 1));
    const std::vector<double> used = use_of(one, found);
    for (std::size_t j = 0; j < 3; ++j)
        CHECK(used[j] <= one.capacity[j]);
}

TEST_CASE("random problems have the answer of the slow exact solver") {
    Random32 random(1);
    for (int run = 0; run < 3000; ++run) {
        const Shape shape{.flows = 1 + random() % 40, .resources = 1 + random() % 12};
        const Case one = random_case(random, shape);
        const Allocation found = solve("drf", one);
        const SlowDrf slow(one);
        for (std::uint32_t i = 0; i < one.demand.flows(); ++i) {
            INFO("run " << run << " flow " << i);
            REQUIRE(found.fill[i] == Approx(slow.fill()[i]).epsilon(1e-7).margin(1e-7));
        }
    }
}

TEST_CASE("DRF: a flow has at least what its part of every resource would give it alone") {
    Random32 random(24);
    for (int run = 0; run < 1500; ++run) {
        const Case one = any_case(random);
        const Allocation found = solve("drf", one);
        const double weights = std::accumulate(one.weights.begin(), one.weights.end(), 0.0);
        for (std::uint32_t i = 0; i < one.demand.flows(); ++i) {
            double alone = 1;
            for (const std::uint32_t k : one.demand.row(i))
                alone = std::min(alone, one.weights[i] / weights * one.capacity[one.demand.resource()[k]] /
                                            one.demand.tokens()[k]);
            INFO("run " << run << " flow " << i);
            REQUIRE((one.weights[i] == 0 || found.fill[i] >= alone * (1 - 1e-9)));
        }
    }
}

TEST_CASE("DRF: no flow would rather have the tokens of another, scaled by their weights") {
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
