// interval_solver.cc - the five steps of IntervalSolver.
#include "ctrl/daemon/interval_solver.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ctrl/daemon/kept_demands.h"

namespace weir {
namespace {

/// Rate of a flow that its switch's own limit holds, times its use: above the own limit, so that this limit
/// still shows, and little above, so that the flow takes little when the own limit is raised. Others may use
/// that capacity meanwhile, except where a limit of the tenant holds the sum of its rates.
constexpr double kOwnLimitRoom = 1.1;
/// Part of an amount that counts as all of it, where allocations are rounded.
constexpr double kWhole = 0.999;

/// Reduces a flow's demand at its appliance to `tokens_max`, and its demands at links by the same factor,
/// because the links carry only these requests.
void reduce_to(double tokens_max, PartTokens& demand) {
    const double wanted = demand[wire::kTokens];
    if (wanted <= tokens_max)
        return;
    for (double& part : demand)
        part *= tokens_max / wanted;
}

}  // namespace

nlohmann::json Solver::describe_appliances() const {
    return nlohmann::json::array();
}

std::vector<std::string> Solver::take_over(Solver& /*before*/, const Renumbering& /*places*/) {
    return {};
}

IntervalSolver::IntervalSolver(const ClusterConfig& config)
    : config_(config),
      seconds_(to_seconds(config.interval)),
      demands_(config),
      capacities_(config),
      pools_(config),
      problem_(config, seconds_),
      allocator_(*config.global) {}

std::vector<wire::FlowAllocation> IntervalSolver::solve(const Cluster& cluster, const FlowDemands& demands,
                                                        bool interval_ended) {
    if (interval_ended)
        capacities_.update(cluster, demands, seconds_);
    demands_.update(cluster, demands, interval_ended);
    divide_pools(cluster, demands, interval_ended);
    set_problem(cluster);
    allocator_.allocate(problem_.view(), allocation_);
    is_solved_ = true;
    std::vector<wire::FlowAllocation> out = rates_within_limits(cluster);
    capacities_.set_allocated(cluster, out);
    return out;
}

std::optional<Solution> IntervalSolver::solution() const {
    if (!is_solved_)
        return std::nullopt;
    return Solution{problem_.flows(), problem_.view(), allocation_};
}

std::vector<std::string> IntervalSolver::take_over(Solver& before, const Renumbering& places) {
    const auto* other = dynamic_cast<const IntervalSolver*>(&before);
    if (other == nullptr)
        return {};
    demands_.take_over(other->demands_);
    capacities_.take_over(other->capacities_, places);
    return pools_.take_over(other->pools_);
}

void IntervalSolver::divide_pools(const Cluster& cluster, const FlowDemands& demands, bool interval_ended) {
    pools_.begin(cluster, interval_ended);
    for (const auto& [flow, demand] : demands) {
        if (!is_pooled(cluster, flow))
            continue;
        const double wanted =
            estimate::demand_of(usage_of(demand, wire::kTokens), double{wire::kTokensMax}).value_or(0);
        const bool is_own_limited = demand.blocked == wire::Blocked::kOwnLimit;
        const double asked =
            wanted * (is_own_limited ? 1 : capacities_.slowdown(cluster.find_end(flow.destination)->index));
        // Kept demands are no use that a limit holds back, and no reading of the latency.
        const bool is_kept = (demand.marks & kKeptMark) != 0;
        pools_.add_demand(cluster, flow, asked / seconds_,
                          is_kept ? 0 : double{demand.used[wire::kTokens]} / seconds_);
        if (!is_kept)
            pools_.add_outstanding(cluster, demand);
    }
    for (std::uint32_t i = 0; i < config_.appliances.size(); ++i)
        if (pools_.divides(i))
            pools_.divide(i, pools_.update_latency(i, interval_ended).value_or(capacities_.rate(i)));
}

void IntervalSolver::set_problem(const Cluster& cluster) {
    appliance_tokens_.clear();
    for (std::uint32_t i = 0; i < config_.appliances.size(); ++i) {
        double tokens = seconds_ * (pools_.divides(i) ? pools_.capacity(i) : capacities_.rate(i));
        if (!pools_.divides(i))
            tokens -= demands_.new_flow_reserve(i, tokens);
        appliance_tokens_.push_back(tokens);
    }
    problem_.begin(cluster, appliance_tokens_);
    own_limited_.clear();
    for (const DemandEstimates::Flow& estimated : demands_.flows()) {
        PartTokens demand = estimated.demand;
        const double factor = demand_factor(cluster, estimated);
        for (double& part : demand)
            part *= factor;
        if (is_pooled(cluster, estimated.flow))
            reduce_to(pools_.entitlement(cluster, estimated.flow) * seconds_, demand);
        problem_.add_flow(cluster, estimated.flow, demand);
        own_limited_.resize(problem_.flows().size(),
                            estimated.is_own_limited ? estimated.demand[wire::kTokens] / seconds_ : 0);
    }
}

/// Factor from the demand that a flow shows to the tokens that it could use with a higher rate.
double IntervalSolver::demand_factor(const Cluster& cluster, const DemandEstimates::Flow& estimated) const {
    const ClusterEnd& end = *cluster.find_end(estimated.flow.destination);
    if (!end.is_appliance)
        return 1;
    if (!estimated.is_own_limited)
        return capacities_.slowdown(end.index);
    return problem_.has_limit(cluster.find_end(estimated.flow.source)->tenant, end.index) ? kOwnLimitRoom : 1;
}

std::vector<wire::FlowAllocation> IntervalSolver::rates_within_limits(const Cluster& cluster) {
    const auto flows = static_cast<std::uint32_t>(problem_.flows().size());
    limits_.begin(problem_.limits());
    stated_.clear();
    for (std::uint32_t i = 0; i < flows; ++i)
        add_parts(cluster, i);
    limits_.settle();
    std::vector<wire::FlowAllocation> out;
    out.reserve(flows);
    for (std::uint32_t i = 0; i < flows; ++i) {
        wire::FlowAllocation& flow = stated_[i];
        for (std::size_t part = 0; part < wire::kParts; ++part)
            if (flow.rate[part] != wire::kNoStatement)
                flow.rate[part] =
                    static_cast<std::uint64_t>(limits_.rates()[std::size_t{i} * wire::kParts + part]);
        if (!wire::is_removed(flow))
            out.push_back(flow);
    }
    return out;
}

/// A flow that asks for less than its floor gets the floor, in case it asks for more before the next
/// interval. Other flows may use that capacity meanwhile, and lose it in the next interval.
void IntervalSolver::add_parts(const Cluster& cluster, std::uint32_t index) {
    const wire::FlowKey flow = problem_.flows()[index];
    AllocationProblem::FlowParts parts = problem_.parts_of(cluster, index, allocation_);
    PartRate& tokens = parts[wire::kTokens];
    if (is_pooled(cluster, flow))  // a short link holds the flow back at the link, not here
        tokens = {.is_stated = true, .allocated = pools_.rate(cluster, flow)};
    else if (tokens.is_stated) {
        tokens.floor = static_cast<double>(cluster.floor_tokens(flow));
        tokens.demand = problem_.demand_of(index, wire::Part::kAppliance);
        // A flow with less than it uses waits for the controller's rate from now on.
        if (const double use = own_limited_[index]; use > 0 && tokens.allocated >= kWhole * use)
            for (PartRate& part : parts)
                part.wanted = std::max(part.wanted, kOwnLimitRoom * use / tokens.allocated * part.allocated);
    }
    PartRate& there = parts[wire::kThere];
    if (cluster.find_end(flow.destination)->is_appliance)
        for (PartRate* way : {&there, &parts[wire::kBack]})
            way->floor = way->wanted;
    else {
        there.floor = static_cast<double>(cluster.floor_bytes(flow));
        there.demand = problem_.demand_of(index, wire::Part::kThere);
    }
    wire::FlowAllocation stated{.flow = flow};
    for (std::size_t part = 0; part < wire::kParts; ++part) {
        if (parts[part].is_stated)
            stated.rate[part] = 0;
        limits_.add(parts[part]);
    }
    stated_.push_back(stated);
}

nlohmann::json IntervalSolver::describe_appliances() const {
    nlohmann::json list = nlohmann::json::array();
    for (std::uint32_t i = 0; i < config_.appliances.size(); ++i) {
        const ClusterApplianceConfig& appliance = config_.appliances[i];
        const estimate::CapacitySearch::State& state = capacities_.state(i);
        const auto held = pools_.held_by_latency(i);
        list.push_back({{"name", appliance.name},
                        {"phase", held ? "latency" : estimate::name_of(state.phase)},
                        {"estimate", held.value_or(state.estimate)},
                        {"allocate", held.value_or(state.allocate)},
                        {"window", {state.min_window, state.max_window}}});
        if (held)
            list.back()["window"] = {appliance.capacity_min, appliance.capacity_max};
    }
    return list;
}

}  // namespace weir
