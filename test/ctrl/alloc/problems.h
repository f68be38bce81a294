// problems.h - allocation problems for tests: written out, or random ones that reach the corner cases.
// Threads: tests only.
#pragma once

#include <initializer_list>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "ctrl/alloc/registry.h"
#include "ctrl/alloc/share_tree.h"
#include "test/support/catch.h"
#include "test/support/random.h"

namespace weir::alloc::test {

/// A problem that owns its parts.
struct Case {
    Case() = default;
    explicit Case(std::vector<double> capacity_in) : capacity(std::move(capacity_in)) {}

    DemandMatrix demand;
    std::vector<double> weights;
    std::vector<double> capacity;
    ShareTree tree;
    bool with_tree = false;

    /// A row: tokens per resource from the first on.
    Case& flow(std::initializer_list<double> tokens, double weight = 1, std::uint32_t node = kNone) {
        std::uint32_t resource = 0;
        for (const double amount : tokens)
            demand.put(resource++, amount);
        demand.end_flow();
        weights.push_back(weight);
        tree.node_of_flow.push_back(node);
        return *this;
    }
    std::uint32_t node(double weight = 1, std::uint32_t parent = kNone) {
        tree.parent.push_back(parent);
        tree.weight.push_back(weight);
        with_tree = true;
        return static_cast<std::uint32_t>(tree.parent.size() - 1);
    }
    [[nodiscard]] Problem problem() const {
        return {
            .demand = demand, .weights = weights, .capacity = capacity, .tree = with_tree ? &tree : nullptr};
    }
};

inline Allocation solve(std::string_view name, const Case& one) {
    Allocation out;
    find_mechanism(name)->make()->allocate(one.problem(), out);
    return out;
}

/// Uniform in [low, high).
inline double uniform(weir::testing::Random32& random, double low, double high) {
    return low + (high - low) * (random() / 4294967296.0);
}

struct Shape {
    std::uint32_t flows = 20;
    std::uint32_t resources = 6;
    std::uint32_t tenants = 0;
};

/// A random problem: loads from idle to many times over, equal demands, empty resources, weights of 0.
inline Case random_case(weir::testing::Random32& random, const Shape& shape) {
    Case one;
    const double load = uniform(random, 0.1, 4);
    for (std::uint32_t j = 0; j < shape.resources; ++j)
        one.capacity.push_back(random() % 16 == 0 ? 0.0 : uniform(random, 10, 200));
    for (std::uint32_t t = 0; t < shape.tenants; ++t)
        one.node(random() % 2 == 0 ? 1.0 : uniform(random, 0.5, 4));
    const double mean = load * 100 * shape.resources / shape.flows / 2.5;
    for (std::uint32_t i = 0; i < shape.flows; ++i) {
        std::uint32_t count = random() % 5;
        for (std::uint32_t j = random() % shape.resources; count > 0 && j < shape.resources;
             j += 1 + random() % 3, --count)
            one.demand.put(j, random() % 4 == 0 ? mean : uniform(random, 0.01, 2 * mean));
        one.demand.end_flow();
        const bool plain = random() % 3 != 0;
        one.weights.push_back(plain ? 1.0 : random() % 8 == 0 ? 0.0 : uniform(random, 0.2, 5));
        one.tree.node_of_flow.push_back(shape.tenants == 0 || random() % 10 == 0 ? kNone
                                                                                 : random() % shape.tenants);
    }
    return one;
}

/// A random problem of a random shape.
inline Case any_case(weir::testing::Random32& random) {
    return random_case(random,
                       {.flows = 1 + random() % 60, .resources = 1 + random() % 15, .tenants = random() % 6});
}

/// Use of each resource, summed anew from the tokens.
inline std::vector<double> use_of(const Case& one, const Allocation& found) {
    std::vector<double> used(one.capacity.size(), 0.0);
    for (std::size_t k = 0; k < one.demand.entries(); ++k)
        used[one.demand.resource()[k]] += found.tokens[k];
    return used;
}

inline void check_fill(const Allocation& found, std::initializer_list<double> wanted, double margin) {
    REQUIRE(found.fill.size() == wanted.size());
    std::size_t i = 0;
    for (const double fill : wanted) {
        INFO("flow " << i);
        CHECK(found.fill[i++] == Approx(fill).margin(margin));
    }
}

[[nodiscard]] inline bool near(const std::vector<double>& found, const std::vector<double>& wanted,
                               double margin) {
    return std::equal(found.begin(), found.end(), wanted.begin(), wanted.end(),
                      [margin](double a, double b) { return std::abs(a - b) < margin; });
}

}  // namespace weir::alloc::test
