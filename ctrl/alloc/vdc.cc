// vdc.cc - the three steps as three problems, each on the rest that the one before left.
//
// The local step solves all tenants of one mechanism at once: they share no virtual resource, so their
// problems are independent.
#include "ctrl/alloc/vdc.h"

#include <algorithm>
#include <cmath>

namespace weir::alloc {
namespace {

constexpr double kGrowthMost = 100;  // most spare tokens of a flow per token that it was given
constexpr double kMet = 1e-9;        // a demand is met when less than this part of it is missing
constexpr double kRounding = 1 - 1e-13;

void add_used(const DemandMatrix& demand, std::span<const double> tokens, std::vector<double>& used) {
    for (std::size_t k = 0; k < tokens.size(); ++k)
        used[demand.resource()[k]] += tokens[k];
}

bool is_only_limit(const VirtualResource& resource) {
    return std::isinf(resource.reserved);
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
    local_fill_.assign(demand.flows(), 0.0);
    reserved_.clear();
    for (const VirtualResource& resource : problem.resources)
        reserved_.push_back(is_only_limit(resource) ? 0 : resource.reserved);
    for (std::size_t m = 0; m < kMechanisms.size(); ++m)
        give_local_of(problem, m);
    for (std::uint32_t flow = 0; flow < demand.flows(); ++flow)
        for (const std::uint32_t k : demand.row(flow))
            out.local[k] = local_fill_[flow] * demand.tokens()[k];
    add_used(demand, out.local, out.used);

    fit_local(problem, out);
}

/// Where reservations exceed a capacity that has shrunk, or a limit beside which nothing is reserved, all
/// flows there are scaled down alike.
void VdcAllocator::fit_local(const VdcProblem& problem, VdcAllocation& out) {
    const DemandMatrix& demand = problem.demand;
    const DemandMatrix& inside = problem.inside;
    part_.assign(problem.capacity.size(), 1.0);
    for (std::size_t j = 0; j < part_.size(); ++j)
        if (out.used[j] > problem.capacity[j])
            part_[j] = problem.capacity[j] / out.used[j] * kRounding;
    for (std::uint32_t flow = 0; flow < inside.flows(); ++flow)
        for (const std::uint32_t k : inside.row(flow))
            inside_used_[inside.resource()[k]] += local_fill_[flow] * inside.tokens()[k];
    inside_part_.assign(problem.resources.size(), 1.0);
    for (std::size_t v = 0; v < inside_part_.size(); ++v)
        if (is_only_limit(problem.resources[v]) && inside_used_[v] > problem.resources[v].limit)
            inside_part_[v] = problem.resources[v].limit / inside_used_[v] * kRounding;
    std::fill(out.used.begin(), out.used.end(), 0.0);
    std::fill(inside_used_.begin(), inside_used_.end(), 0.0);
    for (std::uint32_t flow = 0; flow < demand.flows(); ++flow) {
        double least = 1;
        for (const std::uint32_t k : demand.row(flow))
            least = std::min(least, part_[demand.resource()[k]]);
        for (const std::uint32_t k : inside.row(flow))
            least = std::min(least, inside_part_[inside.resource()[k]]);
        local_fill_[flow] *= least;
        for (const std::uint32_t k : demand.row(flow))
            out.local[k] *= least;
        for (const std::uint32_t k : inside.row(flow))
            inside_used_[inside.resource()[k]] += local_fill_[flow] * inside.tokens()[k];
    }
    add_used(demand, out.local, out.used);
}

/// The local step of all tenants that use one mechanism.
void VdcAllocator::give_local_of(const VdcProblem& problem, std::size_t mechanism) {
    const DemandMatrix& inside = problem.inside;
    flows_.clear();
    demand_.clear();
    weights_.clear();
    for (std::uint32_t flow = 0; flow < inside.flows(); ++flow) {
        const std::uint32_t tenant = problem.tenant[flow];
        if (tenant == kNone || problem.tenants[tenant].local != &kMechanisms[mechanism])
            continue;
        flows_.push_back(flow);
        weights_.push_back(problem.weights[flow]);
        const bool is_fixed = problem.tenants[tenant].sharing_rule == SharingRule::kFixed;
        for (const std::uint32_t k : inside.row(flow)) {
            const std::uint32_t resource = inside.resource()[k];
            is_fixed_[resource] = is_fixed;
            if (!is_only_limit(problem.resources[resource]))
                demand_.put(resource, inside.tokens()[k]);
        }
        demand_.end_flow();
    }
    if (flows_.empty())
        return;
    if (local_[mechanism] == nullptr)
        local_[mechanism] = kMechanisms[mechanism].make();
    local_[mechanism]->allocate({.demand = demand_, .weights = weights_, .capacity = reserved_}, found_);
    for (std::size_t i = 0; i < flows_.size(); ++i)
        local_fill_[flows_[i]] = found_.fill[i];
}

/// Starts a step's problem with the columns: physical resources with the rest of their capacities, and
/// virtual resources that have a bound, with the rest of it. The latter do not count in shares.
void VdcAllocator::open_columns(const VdcProblem& problem, bool spare, const VdcAllocation& out) {
    const std::size_t physical = problem.capacity.size();
    capacity_.resize(physical);
    for (std::size_t j = 0; j < physical; ++j)
        capacity_[j] = std::max(0.0, problem.capacity[j] - out.used[j]);
    share_base_.assign(problem.capacity.begin(), problem.capacity.end());
    column_.assign(problem.resources.size(), kNone);
    for (std::uint32_t v = 0; v < problem.resources.size(); ++v) {
        const VirtualResource& one = problem.resources[v];
        const double bound = spare && is_fixed_[v] ? std::min(one.reserved, one.limit) : one.limit;
        if (std::isinf(bound))
            continue;
        column_[v] = static_cast<std::uint32_t>(capacity_.size());
        capacity_.push_back(std::max(0.0, bound - inside_used_[v]));
        share_base_.push_back(kInfinite);
    }
    flows_.clear();
    demand_.clear();
    weights_.clear();
    tree_.node_of_flow.clear();
}

void VdcAllocator::add_global_row(const VdcProblem& problem, std::uint32_t flow) {
    const std::uint32_t tenant = problem.tenant[flow];
    const double missing = 1 - local_fill_[flow];
    for (const std::uint32_t k : problem.demand.row(flow))
        demand_.put(problem.demand.resource()[k], missing * problem.demand.tokens()[k]);
    for (const std::uint32_t k : problem.inside.row(flow))
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
            add_global_row(problem, flow);
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
        // The bound of a virtual resource holds for the whole flow, even when a mechanism gives resources
        // independently of each other.
        double most = 1;
        const DemandMatrix::Row row = demand_.row(i);
        for (const std::uint32_t r : row)
            if (demand_.resource()[r] >= physical)
                most = std::min(most, found_.tokens[r] / demand_.tokens()[r]);
        double fill = 0;
        auto r = row.begin();
        for (const std::uint32_t k : problem.demand.row(flows_[i])) {
            // The row has no entry for less than kTokensLeast.
            if (r == row.end() || demand_.resource()[*r] != problem.demand.resource()[k])
                continue;
            out.global[k] = std::min(found_.tokens[*r], most * demand_.tokens()[*r]);
            fill = std::max(fill, out.global[k] / problem.demand.tokens()[k]);
            ++r;
        }
        for (const std::uint32_t k : problem.inside.row(flows_[i]))
            inside_used_[problem.inside.resource()[k]] += fill * problem.inside.tokens()[k];
    }
    add_used(problem.demand, out.global, out.used);
}

/// The tokens of all flows grow by one factor, each flow's until one of its resources is full. That is DRF
/// with weights that make its level the factor.
void VdcAllocator::give_spare(const VdcProblem& problem, VdcAllocation& out) {
    open_columns(problem, true, out);
    for (std::uint32_t flow = 0; flow < problem.demand.flows(); ++flow) {
        double delta = 0;
        double fill = 0;
        for (const std::uint32_t k : problem.demand.row(flow)) {
            const double tokens = kGrowthMost * (out.local[k] + out.global[k]);
            demand_.put(problem.demand.resource()[k], tokens);
            delta = std::max(delta, tokens / problem.capacity[problem.demand.resource()[k]]);
            fill = std::max(fill, tokens / problem.demand.tokens()[k]);
        }
        for (const std::uint32_t k : problem.inside.row(flow))
            if (column_[problem.inside.resource()[k]] != kNone)
                demand_.put(column_[problem.inside.resource()[k]], fill * problem.inside.tokens()[k]);
        demand_.end_flow();
        weights_.push_back(delta > 0 ? delta : 1);
    }
    drf_->allocate({.demand = demand_, .weights = weights_, .capacity = capacity_, .share_base = share_base_},
                   found_);
    for (std::uint32_t flow = 0; flow < problem.demand.flows(); ++flow)
        for (const std::uint32_t k : problem.demand.row(flow))
            out.spare[k] = found_.fill[flow] * kGrowthMost * (out.local[k] + out.global[k]);
    add_used(problem.demand, out.spare, out.used);
}

}  // namespace weir::alloc
