// allocation.cc - what all mechanisms end with.
#include <algorithm>

#include "ctrl/alloc/mechanism.h"

namespace weir::alloc {
namespace {

/// What each resource gives out, from what each entry got.
void add_up(const Problem& problem, Allocation& out) {
    const auto resource = problem.demand.resource();
    out.used.assign(problem.capacity.size(), 0.0);
    for (std::size_t k = 0; k < resource.size(); ++k)
        out.used[resource[k]] += out.tokens[k];
}

/// What part of everything on a resource is within its capacity; nothing when all is.
std::vector<double> parts_within(const Problem& problem, const Allocation& out) {
    // A sum of rounded products may stand a hair above; a second hair below makes the next sum hold.
    constexpr double kHair = 1 - 1e-13;
    std::vector<double> part;
    for (std::size_t j = 0; j < out.used.size(); ++j) {
        if (out.used[j] <= problem.capacity[j])
            continue;
        part.resize(out.used.size(), 1.0);
        part[j] = problem.capacity[j] / out.used[j] * kHair;
    }
    return part;
}

}  // namespace

void Allocation::reset(const Problem& problem) {
    tokens.resize(problem.demand.entries());
    fill.assign(problem.demand.flows(), 1.0);
    bottleneck.assign(problem.demand.flows(), kNone);
}

void Allocation::settle(const Problem& problem) {
    const DemandMatrix& demand = problem.demand;
    const auto resource = demand.resource();
    const auto wanted = demand.tokens();
    for (std::uint32_t flow = 0; flow < demand.flows(); ++flow)
        for (std::uint32_t k = demand.begin(flow); k < demand.begin(flow + 1); ++k)
            tokens[k] = wanted[k] * fill[flow];
    add_up(problem, *this);
    const std::vector<double> part = parts_within(problem, *this);
    if (part.empty())
        return;
    for (std::uint32_t flow = 0; flow < demand.flows(); ++flow) {
        double least = 1;
        for (std::uint32_t k = demand.begin(flow); k < demand.begin(flow + 1); ++k)
            least = std::min(least, part[resource[k]]);
        if (least == 1)
            continue;
        fill[flow] *= least;
        for (std::uint32_t k = demand.begin(flow); k < demand.begin(flow + 1); ++k)
            tokens[k] = wanted[k] * fill[flow];
    }
    add_up(problem, *this);
}

void Allocation::trim(const Problem& problem) {
    add_up(problem, *this);
    const std::vector<double> part = parts_within(problem, *this);
    if (part.empty())
        return;
    for (std::size_t k = 0; k < tokens.size(); ++k)
        tokens[k] *= part[problem.demand.resource()[k]];
    add_up(problem, *this);
}

}  // namespace weir::alloc
