// mechanism.cc - first fit in a given order, and the sums that end every mechanism.
#include "ctrl/alloc/mechanism.h"

#include <algorithm>

namespace weir::alloc {
namespace {

void sum_used(const Problem& problem, Allocation& out) {
    const auto resource = problem.demand.resource();
    out.used.assign(problem.capacity.size(), 0.0);
    for (std::size_t k = 0; k < resource.size(); ++k)
        out.used[resource[k]] += out.tokens[k];
}

/// Per resource the factor that brings its use down to its capacity; empty when no resource needs one.
std::vector<double> factors_within(const Problem& problem, const Allocation& out) {
    // A sum of rounded products may exceed the capacity by some units of the last place; this much below the
    // capacity, the next sum does not.
    constexpr double kRounding = 1 - 1e-13;
    std::vector<double> factor;
    for (std::size_t j = 0; j < out.used.size(); ++j) {
        if (out.used[j] <= problem.capacity[j])
            continue;
        factor.resize(out.used.size(), 1.0);
        factor[j] = problem.capacity[j] / out.used[j] * kRounding;
    }
    return factor;
}

}  // namespace

void Allocation::reset(const Problem& problem) {
    tokens.resize(problem.demand.entries());
    fill.assign(problem.demand.flows(), 1.0);
    bottleneck.assign(problem.demand.flows(), kNone);
}

void Allocation::fit(const Problem& problem, std::span<const std::uint32_t> order,
                     std::vector<double>& left) {
    const DemandMatrix& demand = problem.demand;
    const auto resource = demand.resource();
    const auto wanted = demand.tokens();
    left.assign(problem.capacity.begin(), problem.capacity.end());
    for (const std::uint32_t flow : order) {
        double largest = 1;
        for (const std::uint32_t k : demand.row(flow)) {
            if (wanted[k] * largest <= left[resource[k]])
                continue;
            largest = left[resource[k]] / wanted[k];
            bottleneck[flow] = resource[k];
        }
        fill[flow] = largest;
        for (const std::uint32_t k : demand.row(flow))
            left[resource[k]] = std::max(0.0, left[resource[k]] - wanted[k] * largest);
    }
}

void Allocation::settle(const Problem& problem) {
    const DemandMatrix& demand = problem.demand;
    const auto resource = demand.resource();
    const auto wanted = demand.tokens();
    for (std::uint32_t flow = 0; flow < demand.flows(); ++flow)
        for (const std::uint32_t k : demand.row(flow))
            tokens[k] = wanted[k] * fill[flow];
    sum_used(problem, *this);
    const std::vector<double> factor = factors_within(problem, *this);
    if (factor.empty())
        return;
    for (std::uint32_t flow = 0; flow < demand.flows(); ++flow) {
        double least = 1;
        for (const std::uint32_t k : demand.row(flow))
            least = std::min(least, factor[resource[k]]);
        if (least == 1)
            continue;
        fill[flow] *= least;
        for (const std::uint32_t k : demand.row(flow))
            tokens[k] = wanted[k] * fill[flow];
    }
    sum_used(problem, *this);
}

void Allocation::trim(const Problem& problem) {
    sum_used(problem, *this);
    const std::vector<double> factor = factors_within(problem, *this);
    if (factor.empty())
        return;
    for (std::size_t k = 0; k < tokens.size(); ++k)
        tokens[k] *= factor[problem.demand.resource()[k]];
    sum_used(problem, *this);
}

}  // namespace weir::alloc
