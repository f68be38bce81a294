// revenue.cc - allocation mechanism: the largest income of the provider, nearly.
// Source: Pulsar 4.1; docs/algorithms.md 8.3
// Units: tokens in the control interval; money in units of weight. Threads: one owner.
//
// A flow's weight is the price of all of its dominant resource, so its whole demand is worth weight * delta
// (its dominant share) and the income is the sum of worth * fill. Flows are served by first fit in the order
// of worth per priced token. Resources begin with equal prices per capacity when they are wanted beyond their
// capacity, else with price 0; each round raises the price of a resource that came out full and lowers the
// others (a subgradient method on the dual problem). The best round is the answer. With one scarce resource
// the first round is exact. With several, the dual bounds the income from above, and the rounds end when the
// best is within a thousandth of the bound.
//
// Example: 10 tokens; flows want 8, 8 and 4 with weights 1, 3 and 2. They are worth 0.8, 2.4 and 0.8, that is
// 0.1, 0.3 and 0.2 per token: the second gets its 8, the third 2 of its 4, the first nothing. Income 2.8.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ctrl/alloc/registry.h"

namespace weir::alloc {
namespace {

constexpr int kRoundsMax = 12;
constexpr double kGap = 1e-3;  // between the best income and its bound, relative

class Revenue final : public Mechanism {
  public:
    void allocate(const Problem& problem, Allocation& out) override {
        price(problem);
        out.reset(problem);
        double best = -1;
        double bound = kInfinite;
        for (int round = 0; round < kRoundsMax && best < bound * (1 - kGap); ++round) {
            const double dual = order_by_worth(problem);
            bound = std::min(bound, dual);
            trial_.reset(problem);
            trial_.fit(problem, order_, left_);
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
    /// Sets the worth of every flow's whole demand, and the first prices.
    void price(const Problem& problem) {
        const DemandMatrix& demand = problem.demand;
        const auto base = problem.share_base.empty() ? problem.capacity : problem.share_base;
        std::vector<double> wanted(problem.capacity.size(), 0.0);
        worth_.assign(demand.flows(), 0.0);
        order_.resize(demand.flows());
        std::iota(order_.begin(), order_.end(), 0U);
        density_.resize(demand.flows());
        for (std::uint32_t flow = 0; flow < demand.flows(); ++flow) {
            for (const std::uint32_t k : demand.row(flow)) {
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

    /// Orders flows by worth per priced token, the largest first. @return the dual's bound of the income
    double order_by_worth(const Problem& problem) {
        const DemandMatrix& demand = problem.demand;
        double paid = 0;  // for all tokens of all resources
        for (std::size_t j = 0; j < price_.size(); ++j)
            paid += price_[j] * problem.capacity[j];
        for (std::uint32_t flow = 0; flow < demand.flows(); ++flow) {
            double cost = 0;
            for (const std::uint32_t k : demand.row(flow))
                cost += price_[demand.resource()[k]] * demand.tokens()[k];
            density_[flow] = cost > 0 ? worth_[flow] / cost : kInfinite;
        }
        std::stable_sort(order_.begin(), order_.end(),
                         [this](auto a, auto b) { return density_[a] > density_[b]; });
        return dual_bound(paid);
    }

    /// The least of s * paid + sum of max(0, worth - s * cost) over all scales s of the prices. That is the
    /// fractional knapsack of the flows in the order of density, filled to `paid`.
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

    /// Raises the price of full resources, and lowers the others by the part of them that is left.
    void reprice(const Problem& problem, double step) {
        for (std::size_t j = 0; j < price_.size(); ++j) {
            const double part = left_[j] / std::max(problem.capacity[j], kTokensLeast);
            price_[j] *= part > 1e-6 ? 1 - step * std::min(1.0, part) : 1 + step / 2;
        }
    }

    std::vector<double> worth_;    // per flow: of its whole demand
    std::vector<double> density_;  // per flow: worth per priced token; infinite when its tokens cost nothing
    std::vector<double> price_;    // per resource and token
    std::vector<double> left_;     // per resource, in the trial
    std::vector<std::uint32_t> order_;
    Allocation trial_;
};

}  // namespace

std::unique_ptr<Mechanism> make_revenue() {
    return std::make_unique<Revenue>();
}

}  // namespace weir::alloc
