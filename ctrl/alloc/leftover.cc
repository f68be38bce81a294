// leftover.cc - the unmet demand of some flows against the unused capacity.
#include "ctrl/alloc/leftover.h"

#include <algorithm>

namespace weir::alloc {

void Leftover::give(const Problem& problem, std::span<const std::uint32_t> flows, Allocation& out) {
    const DemandMatrix& demand = problem.demand;
    out.settle(problem);
    capacity_.resize(problem.capacity.size());
    for (std::size_t j = 0; j < capacity_.size(); ++j)
        capacity_[j] = std::max(0.0, problem.capacity[j] - out.used[j]);
    demand_.clear();
    weights_.clear();
    for (const std::uint32_t flow : flows) {
        for (std::uint32_t k = demand.begin(flow); k < demand.begin(flow + 1); ++k)
            demand_.put(demand.resource()[k], demand.tokens()[k] * (1 - out.fill[flow]));
        demand_.end_flow();
        weights_.push_back(problem.weights[flow] > 0 ? problem.weights[flow] : 1);
    }
    drf_->allocate({.demand = demand_,
                    .weights = weights_,
                    .capacity = capacity_,
                    .share_base = problem.share_base.empty() ? problem.capacity : problem.share_base},
                   found_);
    for (std::uint32_t i = 0; i < flows.size(); ++i) {
        out.fill[flows[i]] += (1 - out.fill[flows[i]]) * found_.fill[i];
        out.bottleneck[flows[i]] = found_.bottleneck[i];
    }
}

}  // namespace weir::alloc
