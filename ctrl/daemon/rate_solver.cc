// rate_solver.cc - matrices from the demands, and rates from what the two steps make of them.
#include "ctrl/daemon/rate_solver.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ctrl/estimate/demand.h"

namespace weir {
namespace {

/// A flow that used nothing is not in the way of others; a rate of 0 would keep it so for ever.
constexpr double kRateLeast = 1;
constexpr double kRoomMost = 100;
/// Requests of who is new may cost an appliance so much more than their tokens say; left free of it at most.
constexpr double kStrange = 0.5;
constexpr double kStrangeMost = 0.25;

estimate::Usage usage_of(const wire::FlowDemand& flow, std::size_t part) {
    return {.used = double{flow.used[part]},
            .backlog = double{flow.backlog[part]},
            .queued = double{flow.queued[part]},
            .outstanding = double{flow.outstanding[part]}};
}

/// What a flow may not have of its appliance it needs no links for.
void hold_to(double most, std::array<double, wire::kParts>& tokens) {
    const double wanted = tokens[wire::kTokens];
    if (wanted <= most)
        return;
    for (double& part : tokens)
        part *= most / wanted;
}

}  // namespace

RateSolver::RateSolver(const ClusterConfig& config)
    : config_(config),
      seconds_(to_seconds(config.interval)),
      appliances_(config),
      view_(config, seconds_),
      pools_(config),
      allocator_(*entry_of(config.global)) {}

/// An interval moves the averages on; in between, only what grows is news.
void RateSolver::smooth(const Cluster& cluster, const DemandTable& demands, bool whole) {
    smoothed_next_.clear();
    auto known = smoothed_.begin();
    for (const auto& [flow, demand] : demands) {
        while (known != smoothed_.end() && known->flow < flow)
            ++known;
        const bool is_known = known != smoothed_.end() && known->flow == flow;
        Smoothed next{.flow = flow, .tokens = {}};
        for (std::size_t part = 0; part < wire::kParts; ++part) {
            const std::optional<double> before = is_known ? std::optional(known->tokens[part]) : std::nullopt;
            const estimate::Usage usage = usage_of(demand, part);
            next.tokens[part] =
                whole ? estimate::smoothed_demand(before, usage, double{wire::kTokensMax}).value_or(0)
                      : std::max(before.value_or(0),
                                 estimate::demand_of(usage, double{wire::kTokensMax}).value_or(0));
        }
        smoothed_next_.push_back(next);
    }
    welcome(cluster);
    smoothed_.swap(smoothed_next_);
}

/// What a new flow wants is not known yet: where others are already, at least what it is promised, or they
/// would have that too. When all are new, the controller is.
void RateSolver::welcome(const Cluster& cluster) {
    newcomers_.assign(config_.appliances.size(), 0);
    strangers_.clear();
    auto known = smoothed_.begin();
    for (std::uint32_t i = 0; i < smoothed_next_.size() && !smoothed_.empty(); ++i) {
        while (known != smoothed_.end() && known->flow < smoothed_next_[i].flow)
            ++known;
        if (known == smoothed_.end() || known->flow != smoothed_next_[i].flow)
            strangers_.push_back(i);
    }
    if (strangers_.empty())
        return;
    const auto appliance_of = [&](wire::FlowKey flow) {
        const ClusterEnd* end = cluster.find_end(flow.destination);
        return end != nullptr && end->is_appliance && cluster.allows(flow) ? end->index : kNowhere;
    };
    occupied_.assign(config_.appliances.size(), 0);
    for (const Smoothed& flow : smoothed_)
        if (const std::uint32_t appliance = appliance_of(flow.flow); appliance != kNowhere)
            occupied_[appliance] = 1;
    for (const std::uint32_t i : strangers_) {
        Smoothed& next = smoothed_next_[i];
        const std::uint32_t appliance = appliance_of(next.flow);
        if (appliance == kNowhere || !occupied_[appliance])
            continue;
        const double promised = seconds_ * static_cast<double>(cluster.floor_tokens(next.flow));
        next.tokens[wire::kTokens] = std::max(next.tokens[wire::kTokens], promised);
        newcomers_[appliance] += promised;
    }
}

void RateSolver::set_capacity(const Cluster& cluster) {
    capacity_.clear();
    for (const ClusterResource& resource : cluster.resources()) {
        const bool searched = resource.kind == ClusterResource::Kind::kTokens;
        const bool pooled = searched && pools_.divides(resource.index);
        double capacity = seconds_ * (pooled     ? pools_.capacity(resource.index)
                                      : searched ? appliances_.rate(resource.index)
                                                 : resource.capacity);
        if (searched && !pooled)
            capacity -= std::min(kStrange * newcomers_[resource.index], kStrangeMost * capacity);
        capacity_.push_back(capacity);
    }
}

/// Adds a row: the demand along the path, in proportion, and no more than the narrowest resource has in all.
/// Long queues beside few outstanding requests make eq. 6 say more than there can be.
void RateSolver::put_demand(const Cluster& cluster, wire::FlowKey flow,
                            std::array<double, wire::kParts> tokens) {
    double scale = 1;
    for (const PathStep& step : path_) {
        const double wanted = tokens[static_cast<std::size_t>(step.part)];
        if (wanted > capacity_[step.resource])
            scale = std::min(scale, capacity_[step.resource] / wanted);
    }
    for (double& part : tokens)
        part *= scale;
    for (const PathStep& step : path_) {
        const std::size_t before = demand_.entries();
        demand_.put(step.resource, tokens[static_cast<std::size_t>(step.part)]);
        if (demand_.entries() != before)
            parts_.push_back(step.part);
    }
    demand_.end_flow();
    view_.put(cluster, flow, tokens, inside_);
}

void RateSolver::divide_pools(const Cluster& cluster, const DemandTable& demands, bool whole) {
    pools_.begin(cluster, whole);
    for (const auto& [flow, demand] : demands) {
        if (!is_pooled(cluster, flow))
            continue;
        const double wanted =
            estimate::demand_of(usage_of(demand, wire::kTokens), double{wire::kTokensMax}).value_or(0);
        pools_.put(cluster, flow,
                   wanted * appliances_.slowdown(cluster.find_end(flow.destination)->index) / seconds_,
                   double{demand.used[wire::kTokens]} / seconds_);
        pools_.put_outstanding(cluster, demand);
    }
    for (std::uint32_t i = 0; i < config_.appliances.size(); ++i)
        if (pools_.divides(i))
            pools_.divide(i, pools_.capacity_by_latency(i, whole).value_or(appliances_.rate(i)));
}

void RateSolver::set_problem(const Cluster& cluster, const DemandTable& demands) {
    view_.set_weights(cluster);
    set_capacity(cluster);
    demand_.clear();
    inside_.clear();
    tenant_.clear();
    weights_.clear();
    flows_.clear();
    parts_.clear();
    auto smoothed = smoothed_.begin();
    for (const auto& [flow, demand] : demands) {
        std::array<double, wire::kParts> tokens = (smoothed++)->tokens;
        cluster.path_of(flow, path_);
        if (path_.empty())
            continue;
        if (const ClusterEnd& end = *cluster.find_end(flow.destination); end.is_appliance)
            for (double& part : tokens)
                part *= appliances_.slowdown(end.index);
        if (is_pooled(cluster, flow))
            hold_to(pools_.entitlement(cluster, flow) * seconds_, tokens);
        put_demand(cluster, flow, tokens);
        flows_.push_back(flow);
        const ClusterEnd& source = *cluster.find_end(flow.source);
        tenant_.push_back(source.tenant);
        weights_.push_back(cluster.config().tenants[source.tenant].vnics[source.index].weight);
    }
}

/// By what a request's ways there and back may be wider than measured. Sizes vary from one interval to the
/// next: on links with room they must not hold back what the appliance would serve.
std::array<double, wire::kParts> RateSolver::room_of(const Cluster& cluster, std::uint32_t flow) const {
    std::array<double, wire::kParts> room{1, 1, 1};
    const bool fixed = cluster.config().tenants[tenant_[flow]].guarantee == SharingRule::kFixed;
    if (fixed || !cluster.find_end(flows_[flow].destination)->is_appliance)
        return room;
    room[wire::kThere] = room[wire::kBack] = kRoomMost;
    for (std::uint32_t at = demand_.begin(flow); at < demand_.begin(flow + 1); ++at) {
        const std::uint32_t resource = demand_.resource()[at];
        double& part = room[static_cast<std::size_t>(parts_[at])];
        part = std::min(part, std::max(1.0, capacity_[resource] / std::max(allocation_.used[resource], 1.0)));
    }
    return room;
}

/// A flow that asks for less than its guarantee may have the guarantee, should it ask: that is what it was
/// promised, and what others have of it meanwhile they lose in the next interval.
void RateSolver::put_rates(const Cluster& cluster, std::vector<wire::FlowAllocation>& out) const {
    for (std::uint32_t flow = 0; flow < flows_.size(); ++flow) {
        wire::FlowAllocation rates{.flow = flows_[flow]};
        const std::array<double, wire::kParts> room = room_of(cluster, flow);
        for (std::uint32_t at = demand_.begin(flow); at < demand_.begin(flow + 1); ++at) {
            const auto part = static_cast<std::size_t>(parts_[at]);
            const double tokens =
                room[part] * (allocation_.local[at] + allocation_.global[at] + allocation_.spare[at]);
            auto& rate = rates.rate[part];
            rate = std::min(rate, static_cast<std::uint64_t>(std::max(kRateLeast, tokens / seconds_)));
        }
        auto& tokens = rates.rate[wire::kTokens];
        if (is_pooled(cluster, flows_[flow]))  // that a link is short holds it back at the link
            tokens = static_cast<std::uint64_t>(std::max(kRateLeast, pools_.rate(cluster, flows_[flow])));
        else if (tokens != wire::kNoStatement)
            tokens = std::max(tokens, cluster.floor_tokens(flows_[flow]));
        auto& there = rates.rate[wire::kThere];
        if (there != wire::kNoStatement && !cluster.find_end(flows_[flow].destination)->is_appliance)
            there = std::max(there, cluster.floor_bytes(flows_[flow]));
        if (!wire::is_gone(rates))
            out.push_back(rates);
    }
}

std::vector<wire::FlowAllocation> RateSolver::solve(const Cluster& cluster, const DemandTable& demands,
                                                    bool whole) {
    if (whole)
        appliances_.update(cluster, demands, seconds_);
    smooth(cluster, demands, whole);
    divide_pools(cluster, demands, whole);
    set_problem(cluster, demands);
    allocator_.allocate({.demand = demand_,
                         .inside = inside_,
                         .tenant = tenant_,
                         .weights = weights_,
                         .tenants = view_.tenants(),
                         .capacity = capacity_,
                         .resources = view_.resources(),
                         .give_spare = true},
                        allocation_);
    std::vector<wire::FlowAllocation> out;
    out.reserve(flows_.size());
    put_rates(cluster, out);
    appliances_.told(cluster, out);
    return out;
}

void RateSolver::describe_pools(nlohmann::json& pools) const {
    pools = pools_.describe();
}

void RateSolver::describe(nlohmann::json& status) const {
    nlohmann::json& list = status["appliances"] = nlohmann::json::array();
    for (std::uint32_t i = 0; i < config_.appliances.size(); ++i) {
        const estimate::CapacitySearch::State& state = appliances_.state(i);
        list.push_back({{"name", config_.appliances[i].name},
                        {"phase", estimate::name_of(state.phase)},
                        {"estimate", state.estimate},
                        {"allocate", state.allocate},
                        {"window", {state.min_window, state.max_window}}});
        if (const auto held = pools_.held_by_latency(i)) {
            const ClusterApplianceConfig& bounds = config_.appliances[i];
            list.back().update({{"phase", "latency"},
                                {"estimate", *held},
                                {"allocate", *held},
                                {"window", {bounds.capacity_min, bounds.capacity_max}}});
        }
    }
}

}  // namespace weir
