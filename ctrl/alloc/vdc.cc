// vdc.cc - three problems one after the other, each of what the one before has left. Tenants of one local
// mechanism are solved at once: their virtual resources are their own, so that they do not meet.
#include "ctrl/alloc/vdc.h"

#include <algorithm>
#include <cmath>

namespace weir::alloc {
namespace {

/// So many times what it has may a flow grow in an interval without being asked.
constexpr double kGrowthMost = 100;
/// A demand of which less than this part is missing is met.
constexpr double kMet = 1e-9;

void add_used(const DemandMatrix& demand, std::span<const double> tokens, std::vector<double>& used) {
    for (std::size_t k = 0; k < tokens.size(); ++k)
        used[demand.resource()[k]] += tokens[k];
}

}  // namespace

void VdcAllocator::allocate(const VdcProblem& problem, VdcAllocation& out) {
    const std::size_t entries = problem.demand.entries();
    out.local.assign(entries, 0.0);
    out.global.assign(entries, 0.0);
    out.spare.assign(entries, 0.0);
    out.used.assign(problem.capacity.size(), 0.0);
    inside_used_.assign(problem.resources.size(), 0.0);
    is_fixed_.assign(problem.resources.size(), 0);
    give_local(problem, out);
    give_global(problem, out);
    if (problem.give_spare)
        give_spare(problem, out);
}

void VdcAllocator::give_local(const VdcProblem& problem, VdcAllocation& out) {
    const DemandMatrix& demand = problem.demand;
    const DemandMatrix& inside = problem.inside;
    local_fill_.assign(demand.flows(), 0.0);
    reserved_.clear();
    for (const VirtualResource& resource : problem.resources)
        reserved_.push_back(resource.reserved);
    for (std::size_t m = 0; m < kMechanisms.size(); ++m)
        give_local_by(problem, m);
    for (std::uint32_t flow = 0; flow < demand.flows(); ++flow)
        for (std::uint32_t k = demand.begin(flow); k < demand.begin(flow + 1); ++k)
            out.local[k] = local_fill_[flow] * demand.tokens()[k];
    add_used(demand, out.local, out.used);

    // More was promised than there is (a capacity has shrunk): everybody there has the same part of it.
    std::vector<double> part(problem.capacity.size(), 1.0);
    for (std::size_t j = 0; j < part.size(); ++j)
        if (out.used[j] > problem.capacity[j])
            part[j] = problem.capacity[j] / out.used[j] * (1 - 1e-13);
    std::fill(out.used.begin(), out.used.end(), 0.0);
    for (std::uint32_t flow = 0; flow < demand.flows(); ++flow) {
        double least = 1;
        for (std::uint32_t k = demand.begin(flow); k < demand.begin(flow + 1); ++k)
            least = std::min(least, part[demand.resource()[k]]);
        local_fill_[flow] *= least;
        for (std::uint32_t k = demand.begin(flow); k < demand.begin(flow + 1); ++k)
            out.local[k] *= least;
        for (std::uint32_t k = inside.begin(flow); k < inside.begin(flow + 1); ++k)
            inside_used_[inside.resource()[k]] += local_fill_[flow] * inside.tokens()[k];
    }
    add_used(demand, out.local, out.used);
}

/// The tenants of one mechanism, all their flows at once.
void VdcAllocator::give_local_by(const VdcProblem& problem, std::size_t mechanism) {
    const DemandMatrix& inside = problem.inside;
    flows_.clear();
    demand_.clear();
    weights_.clear();
    for (std::uint32_t flow = 0; flow < inside.flows(); ++flow) {
        const std::uint32_t tenant = problem.tenant[flow];
        if (tenant == kNone)
            continue;
        if (problem.tenants[tenant].local != &kMechanisms[mechanism])
            continue;
        flows_.push_back(flow);
        weights_.push_back(problem.weights[flow]);
        const bool is_fixed = problem.tenants[tenant].sharing_rule == SharingRule::kFixed;
        for (std::uint32_t k = inside.begin(flow); k < inside.begin(flow + 1); ++k) {
            demand_.put(inside.resource()[k], inside.tokens()[k]);
            is_fixed_[inside.resource()[k]] = is_fixed;
        }
        demand_.end_flow();
    }
    if (flows_.empty())
        return;
    if (local_[mechanism] == nullptr)
        local_[mechanism] = kMechanisms[mechanism].make();
    local_[mechanism]->allocate(
        {.demand = demand_, .weights = weights_, .capacity = reserved_, .share_base = {}, .tree = nullptr},
        found_);
    for (std::size_t i = 0; i < flows_.size(); ++i)
        local_fill_[flows_[i]] = found_.fill[i];
}

/// How much a virtual resource may give out in this step.
double VdcAllocator::bound_of(const VdcProblem& problem, std::uint32_t resource, bool spare) const {
    const VirtualResource& one = problem.resources[resource];
    const double most = spare && is_fixed_[resource] ? one.reserved : one.limit;
    return std::max(0.0, most - inside_used_[resource]);
}

/// Physical columns with what is left of them, and one for every virtual resource that has a bound. Those do
/// not count in shares.
void VdcAllocator::open_columns(const VdcProblem& problem, bool spare, const VdcAllocation& out) {
    const std::size_t physical = problem.capacity.size();
    capacity_.resize(physical);
    for (std::size_t j = 0; j < physical; ++j)
        capacity_[j] = std::max(0.0, problem.capacity[j] - out.used[j]);
    share_base_.assign(problem.capacity.begin(), problem.capacity.end());
    column_.assign(problem.resources.size(), kNone);
    for (std::uint32_t v = 0; v < problem.resources.size(); ++v) {
        const double bound = bound_of(problem, v, spare);
        if (std::isinf(bound))
            continue;
        column_[v] = static_cast<std::uint32_t>(capacity_.size());
        capacity_.push_back(bound);
        share_base_.push_back(kInfinite);
    }
    flows_.clear();
    demand_.clear();
    weights_.clear();
    tree_.node_of_flow.clear();
}

void VdcAllocator::put_global_row(const VdcProblem& problem, std::uint32_t flow) {
    const std::uint32_t tenant = problem.tenant[flow];
    const double missing = 1 - local_fill_[flow];
    for (std::uint32_t k = problem.demand.begin(flow); k < problem.demand.begin(flow + 1); ++k)
        demand_.put(problem.demand.resource()[k], missing * problem.demand.tokens()[k]);
    for (std::uint32_t k = problem.inside.begin(flow); k < problem.inside.begin(flow + 1); ++k)
        if (column_[problem.inside.resource()[k]] != kNone)
            demand_.put(column_[problem.inside.resource()[k]], missing * problem.inside.tokens()[k]);
    demand_.end_flow();
    flows_.push_back(flow);
    weights_.push_back(problem.weights[flow] * (tenant == kNone ? 1 : problem.tenants[tenant].weight));
    tree_.node_of_flow.push_back(tenant);
}

void VdcAllocator::give_global(const VdcProblem& problem, VdcAllocation& out) {
    open_columns(problem, false, out);
    for (std::uint32_t flow = 0; flow < problem.demand.flows(); ++flow) {
        const std::uint32_t tenant = problem.tenant[flow];
        const bool is_fixed = tenant != kNone && problem.tenants[tenant].sharing_rule == SharingRule::kFixed;
        if (!is_fixed && local_fill_[flow] < 1 - kMet)
            put_global_row(problem, flow);
    }
    tree_.parent.assign(problem.tenants.size(), kNone);
    tree_.weight.clear();
    for (const VdcTenant& tenant : problem.tenants)
        tree_.weight.push_back(tenant.weight);
    global_->allocate({.demand = demand_,
                       .weights = weights_,
                       .capacity = capacity_,
                       .share_base = share_base_,
                       .tree = &tree_},
                      found_);

    const auto physical = static_cast<std::uint32_t>(problem.capacity.size());
    for (std::uint32_t i = 0; i < flows_.size(); ++i) {
        // Where a mechanism is not in proportion, a limit still holds all of a flow.
        double most = 1;
        for (std::uint32_t r = demand_.begin(i); r < demand_.begin(i + 1); ++r)
            if (demand_.resource()[r] >= physical)
                most = std::min(most, found_.tokens[r] / demand_.tokens()[r]);
        double fill = 0;
        std::uint32_t r = demand_.begin(i);
        for (std::uint32_t k = problem.demand.begin(flows_[i]); k < problem.demand.begin(flows_[i] + 1);
             ++k) {
            // Rows leave out what is next to nothing.
            if (r == demand_.begin(i + 1) || demand_.resource()[r] != problem.demand.resource()[k])
                continue;
            out.global[k] = std::min(found_.tokens[r], most * demand_.tokens()[r]);
            fill = std::max(fill, out.global[k] / problem.demand.tokens()[k]);
            ++r;
        }
        for (std::uint32_t k = problem.inside.begin(flows_[i]); k < problem.inside.begin(flows_[i] + 1); ++k)
            inside_used_[problem.inside.resource()[k]] += fill * problem.inside.tokens()[k];
    }
    add_used(problem.demand, out.global, out.used);
}

/// Everybody's tokens grow by one factor, until a resource of theirs is full: DRF with weights that make its
/// level that factor.
void VdcAllocator::give_spare(const VdcProblem& problem, VdcAllocation& out) {
    open_columns(problem, true, out);
    for (std::uint32_t flow = 0; flow < problem.demand.flows(); ++flow) {
        double delta = 0;
        double fill = 0;
        for (std::uint32_t k = problem.demand.begin(flow); k < problem.demand.begin(flow + 1); ++k) {
            const double tokens = kGrowthMost * (out.local[k] + out.global[k]);
            demand_.put(problem.demand.resource()[k], tokens);
            delta = std::max(delta, tokens / problem.capacity[problem.demand.resource()[k]]);
            fill = std::max(fill, tokens / problem.demand.tokens()[k]);
        }
        for (std::uint32_t k = problem.inside.begin(flow); k < problem.inside.begin(flow + 1); ++k)
            if (column_[problem.inside.resource()[k]] != kNone)
                demand_.put(column_[problem.inside.resource()[k]], fill * problem.inside.tokens()[k]);
        demand_.end_flow();
        weights_.push_back(delta > 0 ? delta : 1);
    }
    drf_->allocate({.demand = demand_,
                    .weights = weights_,
                    .capacity = capacity_,
                    .share_base = share_base_,
                    .tree = nullptr},
                   found_);
    for (std::uint32_t flow = 0; flow < problem.demand.flows(); ++flow)
        for (std::uint32_t k = problem.demand.begin(flow); k < problem.demand.begin(flow + 1); ++k)
            out.spare[k] = found_.fill[flow] * kGrowthMost * (out.local[k] + out.global[k]);
    add_used(problem.demand, out.spare, out.used);
}

}  // namespace weir::alloc
