// rate_solver.cc - a matrix from the demands, and rates from what the mechanism makes of it.
#include "ctrl/rate_solver.h"

#include <algorithm>
#include <cmath>

#include "ctrl/estimate/demand.h"

namespace weir {
namespace {

/// A flow that used nothing is not in the way of others; a rate of 0 would keep it so for ever.
constexpr double kRateLeast = 1;

std::unique_ptr<alloc::Mechanism> make(Mechanism wanted) {
    const std::string_view name = name_of(wanted);
    for (const alloc::MechanismEntry& entry : alloc::kMechanisms)
        if (entry.name == name)
            return entry.make();
    return alloc::make_drf();
}

estimate::Usage usage_of(const wire::FlowDemand& flow, std::size_t part) {
    return {.used = double{flow.used[part]},
            .backlog = double{flow.backlog[part]},
            .queued = double{flow.queued[part]},
            .outstanding = double{flow.outstanding[part]}};
}

}  // namespace

RateSolver::RateSolver(const ClusterConfig& config)
    : seconds_(static_cast<double>(config.interval) / static_cast<double>(kNanosPerSec)),
      appliances_(config),
      mechanism_(make(config.global)) {}

/// An interval moves the averages on; in between, only what grows is news.
void RateSolver::smooth(const DemandTable& demands, bool whole) {
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
    smoothed_.swap(smoothed_next_);
}

void RateSolver::set_capacity(const Cluster& cluster) {
    capacity_.clear();
    for (const ClusterResource& resource : cluster.resources()) {
        const bool searched = resource.kind == ClusterResource::Kind::kTokens;
        capacity_.push_back(seconds_ * (searched ? appliances_.rate(resource.index) : resource.capacity));
    }
}

void RateSolver::set_tree(const Cluster& cluster) {
    const ClusterConfig& config = cluster.config();
    tree_.parent.assign(config.tenants.size(), alloc::kNone);
    tree_.weight.clear();
    for (TenantIndex tenant = 0; tenant < config.tenants.size(); ++tenant)
        tree_.weight.push_back(config.global_weights == GlobalWeights::kWeights
                                   ? static_cast<double>(config.tenants[tenant].weight)
                               : config.global_weights == GlobalWeights::kGuarantees
                                   ? cluster.guaranteed_share(tenant)
                                   : 1.0);
    tree_.node_of_flow.clear();
}

/// Adds a row: the demand along the path, in proportion, and no more than the narrowest resource has in all.
/// Long queues beside few outstanding requests make eq. 6 say more than there can be.
void RateSolver::put_demand(const std::array<double, wire::kParts>& tokens) {
    double scale = 1;
    for (const PathStep& step : path_) {
        const double wanted = tokens[static_cast<std::size_t>(step.part)];
        if (wanted > capacity_[step.resource])
            scale = std::min(scale, capacity_[step.resource] / wanted);
    }
    for (const PathStep& step : path_) {
        const std::size_t before = demand_.entries();
        demand_.put(step.resource, scale * tokens[static_cast<std::size_t>(step.part)]);
        if (demand_.entries() != before)
            parts_.push_back(step.part);
    }
    demand_.end_flow();
}

void RateSolver::set_problem(const Cluster& cluster, const DemandTable& demands) {
    set_tree(cluster);
    set_capacity(cluster);
    demand_.clear();
    flows_.clear();
    parts_.clear();
    auto smoothed = smoothed_.begin();
    for (const auto& [flow, demand] : demands) {
        const std::array<double, wire::kParts>& tokens = (smoothed++)->tokens;
        cluster.path_of(flow, path_);
        if (path_.empty())
            continue;
        put_demand(tokens);
        flows_.push_back(flow);
        tree_.node_of_flow.push_back(cluster.find_end(flow.source)->tenant);
    }
    weights_.assign(flows_.size(), 1.0);
}

/// By what every flow at a resource may grow without filling it.
std::vector<double> RateSolver::room(const Cluster& cluster) const {
    std::vector<double> factors(cluster.resources().size(), INFINITY);
    for (std::size_t i = 0; i < factors.size(); ++i)
        if (allocation_.used[i] > 0)
            factors[i] = std::max(1.0, capacity_[i] / allocation_.used[i]);
    return factors;
}

void RateSolver::put_rates(const std::vector<double>& room, std::vector<wire::FlowAllocation>& out) const {
    for (std::uint32_t flow = 0; flow < flows_.size(); ++flow) {
        double growth = INFINITY;
        for (std::uint32_t at = demand_.begin(flow); at < demand_.begin(flow + 1); ++at)
            growth = std::min(growth, room[demand_.resource()[at]]);
        wire::FlowAllocation rates{.flow = flows_[flow]};
        for (std::uint32_t at = demand_.begin(flow); at < demand_.begin(flow + 1); ++at) {
            const double rate = std::max(kRateLeast, allocation_.tokens[at] * growth / seconds_);
            auto& out_rate = rates.rate[static_cast<std::size_t>(parts_[at])];
            out_rate = std::min(out_rate, static_cast<std::uint64_t>(rate));
        }
        if (!wire::is_gone(rates))
            out.push_back(rates);
    }
}

std::vector<wire::FlowAllocation> RateSolver::solve(const Cluster& cluster, const DemandTable& demands,
                                                    bool whole) {
    if (whole)
        appliances_.update(cluster, demands, seconds_);
    smooth(demands, whole);
    set_problem(cluster, demands);
    const alloc::Problem problem{
        .demand = demand_, .weights = weights_, .capacity = capacity_, .tree = &tree_};
    mechanism_->allocate(problem, allocation_);
    std::vector<wire::FlowAllocation> out;
    out.reserve(flows_.size());
    put_rates(room(cluster), out);
    appliances_.told(cluster, out);
    return out;
}

}  // namespace weir
