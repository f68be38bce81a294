// revenue.cc - the provider's income, as much as can be had: a flow's weight is what is paid for all of its
// dominant resource, so it is worth weight * delta * fill. Greedy by worth per priced token; prices of
// resources begin equal and rise where a resource is full, fall where it is not (a subgradient method on the
// dual). The best round counts. One scarce resource: exact from the first round on. Several: the dual bounds
// the income from above, and rounds end when the gap is a thousandth.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ctrl/alloc/fit.h"
#include "ctrl/alloc/registry.h"

namespace weir::alloc {
namespace {

constexpr int kRounds = 12;
constexpr double kGap = 1e-3;

class Revenue final : public Mechanism {
  public:
    void allocate(const Problem& problem, Allocation& out) override {
        measure(problem);
        out.reset(problem);
        double best = -1;
        double bound = kInfinite;
        for (int round = 0; round < kRounds && best < bound * (1 - kGap); ++round) {
            const double dual = order_by_worth(problem);
            bound = std::min(bound, dual);
            trial_.reset(problem);
            fit(problem, order_, left_, trial_);
            const double income = income_of(trial_);
            if (income > best) {
                best = income;
                out.fill = trial_.fill;
                out.bottleneck = trial_.bottleneck;
            }
            reprice(problem, 0.5 / (1 + round));
        }
        out.settle(problem);
    }

  private:
    /// What each flow's whole demand is worth, and which resources are scarce.
    void measure(const Problem& problem) {
        const DemandMatrix& demand = problem.demand;
        const auto base = problem.share_base.empty() ? problem.capacity : problem.share_base;
        std::vector<double> wanted(problem.capacity.size(), 0.0);
        worth_.assign(demand.flows(), 0.0);
        order_.resize(demand.flows());
        std::iota(order_.begin(), order_.end(), 0U);
        density_.resize(demand.flows());
        for (std::uint32_t flow = 0; flow < demand.flows(); ++flow) {
            for (std::uint32_t k = demand.begin(flow); k < demand.begin(flow + 1); ++k) {
                const std::uint32_t j = demand.resource()[k];
                wanted[j] += demand.tokens()[k];
                if (base[j] >= kTokensLeast)
                    worth_[flow] =
                        std::max(worth_[flow], problem.weights[flow] * demand.tokens()[k] / base[j]);
            }
        }
        price_.resize(problem.capacity.size());
        for (std::size_t j = 0; j < price_.size(); ++j)
            price_[j] = wanted[j] > problem.capacity[j] ? 1 / std::max(problem.capacity[j], kTokensLeast) : 0;
    }

    /// Orders flows by worth over priced tokens, the dearest first. @return the dual's bound on the income
    double order_by_worth(const Problem& problem) {
        const DemandMatrix& demand = problem.demand;
        double paid = 0;  // for all tokens, at the scale where it binds the bound closest
        for (std::size_t j = 0; j < price_.size(); ++j)
            paid += price_[j] * problem.capacity[j];
        for (std::uint32_t flow = 0; flow < demand.flows(); ++flow) {
            double cost = 0;
            for (std::uint32_t k = demand.begin(flow); k < demand.begin(flow + 1); ++k)
                cost += price_[demand.resource()[k]] * demand.tokens()[k];
            density_[flow] = cost > 0 ? worth_[flow] / cost : kInfinite;
        }
        std::stable_sort(order_.begin(), order_.end(),
                         [this](auto a, auto b) { return density_[a] > density_[b]; });
        return dual_bound(paid);
    }

    /// min over scales s of s * paid + sum of max(0, worth - s * cost): the fractional knapsack over the
    /// priced tokens, in the order of density.
    [[nodiscard]] double dual_bound(double paid) const {
        double income = 0;
        for (const std::uint32_t flow : order_) {
            if (std::isinf(density_[flow])) {
                income += worth_[flow];
                continue;
            }
            if (density_[flow] <= 0)
                break;
            const double cost = worth_[flow] / density_[flow];
            const double part = std::min(1.0, paid / cost);
            income += part * worth_[flow];
            paid -= part * cost;
            if (part < 1)
                break;
        }
        return income;
    }

    [[nodiscard]] double income_of(const Allocation& trial) const {
        return std::inner_product(worth_.begin(), worth_.end(), trial.fill.begin(), 0.0);
    }

    /// Full resources become dearer, others cheaper; what is left over says how much.
    void reprice(const Problem& problem, double step) {
        for (std::size_t j = 0; j < price_.size(); ++j) {
            const double part = left_[j] / std::max(problem.capacity[j], kTokensLeast);
            price_[j] *= part > 1e-6 ? 1 - step * std::min(1.0, part) : 1 + step / 2;
        }
    }

    std::vector<double> worth_;
    std::vector<double> price_;
    std::vector<double> density_;
    std::vector<double> left_;
    std::vector<std::uint32_t> order_;
    Allocation trial_;
};

}  // namespace

std::unique_ptr<Mechanism> make_revenue() {
    return std::make_unique<Revenue>();
}

}  // namespace weir::alloc
