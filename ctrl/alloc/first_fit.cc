// first_fit.cc - in one pass by weight, then by number: each flow gets as much of its whole demand as is left
// (Pulsar 5). Not fair; the fastest there is, for when a solver misses its deadline. In proportion over a
// flow's resources, because a multi-resource bucket cannot use one of them without the others.
#include <algorithm>
#include <numeric>

#include "ctrl/alloc/fit.h"
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
        fit(problem, order_, left_, out);
        out.settle(problem);
    }

  private:
    std::vector<std::uint32_t> order_;
    std::vector<double> left_;
};

}  // namespace

void fit(const Problem& problem, std::span<const std::uint32_t> order, std::vector<double>& left,
         Allocation& out) {
    const DemandMatrix& demand = problem.demand;
    const auto resource = demand.resource();
    const auto wanted = demand.tokens();
    left.assign(problem.capacity.begin(), problem.capacity.end());
    for (const std::uint32_t flow : order) {
        double fill = 1;
        for (std::uint32_t k = demand.begin(flow); k < demand.begin(flow + 1); ++k) {
            if (wanted[k] * fill <= left[resource[k]])
                continue;
            fill = left[resource[k]] / wanted[k];
            out.bottleneck[flow] = resource[k];
        }
        out.fill[flow] = fill;
        for (std::uint32_t k = demand.begin(flow); k < demand.begin(flow + 1); ++k)
            left[resource[k]] = std::max(0.0, left[resource[k]] - wanted[k] * fill);
    }
}

std::unique_ptr<Mechanism> make_first_fit() {
    return std::make_unique<FirstFit>();
}

}  // namespace weir::alloc
