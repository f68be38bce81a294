// revenue_test.cc - income of a worked example, and against every order of service on random problems.
#include <algorithm>
#include <numeric>

#include "test/ctrl/alloc/problems.h"
#include "test/support/catch.h"

using namespace weir::alloc;
using namespace weir::alloc::test;
using weir::testing::Random32;

namespace {

// Sum of the flows' weight * dominant share * fill.
double income(const Case& one, const Allocation& found) {
    double sum = 0;
    for (std::uint32_t i = 0; i < one.demand.flows(); ++i) {
        double delta = 0;
        for (const std::uint32_t k : one.demand.row(i))
            if (const double capacity = one.capacity[one.demand.resource()[k]]; capacity > 0)
                delta = std::max(delta, one.demand.tokens()[k] / capacity);
        sum += one.weights[i] * delta * found.fill[i];
    }
    return sum;
}

}  // namespace

TEST_CASE("one scarce resource goes to the flows that pay most for it") {
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
        // First fit in every order, by weights that give the order.
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
