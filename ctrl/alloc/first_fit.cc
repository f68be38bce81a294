// first_fit.cc - allocation mechanism: first fit in the order of weights.
// Source: Pulsar 5; docs/algorithms.md 8.3
// Units: tokens in the control interval. Threads: one owner.
//
// One pass over the flows, the largest weight first, equal weights in the order of the flows. Each flow gets
// the largest part of its whole demand that fits into the rest of the capacities, the same part of each of
// its resources, because a multi-resource bucket cannot use one without the others. Fast and not fair.
//
// Example: one resource of 10 tokens; flows want 6, 6 and 5, the last with weight 2. It gets its 5, the first
// flow 5 of its 6 (fill 5/6), the second nothing.
#include <algorithm>
#include <numeric>

#include "ctrl/alloc/registry.h"

namespace weir::alloc {
namespace {

class FirstFit final : public Mechanism {
  public:
    void allocate(const Problem& problem, Allocation& out) override {
        out.reset(problem);
        order_.resize(problem.demand.flows());
        std::iota(order_.begin(), order_.end(), 0U);
        std::stable_sort(order_.begin(), order_.end(),
                         [&](auto a, auto b) { return problem.weights[a] > problem.weights[b]; });
        out.fit(problem, order_, left_);
        out.settle(problem);
    }

  private:
    std::vector<std::uint32_t> order_;
    std::vector<double> left_;
};

}  // namespace

std::unique_ptr<Mechanism> make_first_fit() {
    return std::make_unique<FirstFit>();
}

}  // namespace weir::alloc
