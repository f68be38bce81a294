// rate_solver.cc - a matrix from the demands, and rates from what the mechanism makes of it.
#include "ctrl/rate_solver.h"

#include <algorithm>
#include <cmath>

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

/// used + max(backlog, queued * used / outstanding), Pulsar eq. 6; with nothing outstanding the backlog
/// counts.
double wanted(const wire::FlowDemand& flow, wire::Part part) {
    const auto i = static_cast<std::size_t>(part);
    const double used = double{flow.used[i]};
    const double outstanding = double{flow.outstanding[i]};
    const double waiting = outstanding > 0 ? double{flow.queued[i]} * used / outstanding : 0;
    return std::min(used + std::max(double{flow.backlog[i]}, waiting), double{wire::kTokensMax});
}

}  // namespace

RateSolver::RateSolver(const ClusterConfig& config)
    : seconds_(static_cast<double>(config.interval) / static_cast<double>(kNanosPerSec)),
      mechanism_(make(config.global)) {}

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

void RateSolver::set_problem(const Cluster& cluster, const DemandTable& demands) {
    set_tree(cluster);
    demand_.clear();
    flows_.clear();
    parts_.clear();
    for (const auto& [flow, demand] : demands) {
        cluster.path_of(flow, path_);
        if (path_.empty())
            continue;
        for (const PathStep& step : path_) {
            const std::size_t before = demand_.entries();
            demand_.put(step.resource, wanted(demand, step.part));
            if (demand_.entries() != before)
                parts_.push_back(step.part);
        }
        demand_.end_flow();
        flows_.push_back(flow);
        tree_.node_of_flow.push_back(cluster.find_end(flow.source)->tenant);
    }
    weights_.assign(flows_.size(), 1.0);
    capacity_.clear();
    for (const ClusterResource& resource : cluster.resources())
        capacity_.push_back(resource.capacity * seconds_);
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
                                                    bool /*whole*/) {
    set_problem(cluster, demands);
    const alloc::Problem problem{
        .demand = demand_, .weights = weights_, .capacity = capacity_, .tree = &tree_};
    mechanism_->allocate(problem, allocation_);
    std::vector<wire::FlowAllocation> out;
    out.reserve(flows_.size());
    put_rates(room(cluster), out);
    return out;
}

}  // namespace weir
