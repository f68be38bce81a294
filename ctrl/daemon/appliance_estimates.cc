// appliance_estimates.cc - sums over flows, and one reading per appliance and interval.
#include "ctrl/daemon/appliance_estimates.h"

#include <algorithm>

#include "ctrl/estimate/demand.h"
#include "ctrl/pools/pool_layout.h"

namespace weir {
namespace {

/// Samples and the ends of intervals err by so much.
constexpr double kNearly = 0.95;
/// Who has less at the appliance, on average, and nothing waiting, asks for no more.
constexpr float kIdleOutstanding = 0.5F;

}  // namespace

ApplianceEstimates::ApplianceEstimates(const ClusterConfig& config)
    : config_(config),
      told_(config.appliances.size()),
      told_flows_(config.appliances.size()),
      slowdown_(config.appliances.size(), 1),
      sums_(config.appliances.size()) {
    const std::set<std::string> pooled = pooled_appliances(config.pools);
    for (const ClusterApplianceConfig& appliance : config.appliances) {
        pooled_.push_back(pooled.contains(appliance.name) ? 1 : 0);
        searches_.emplace_back(
            estimate::CapacitySettings{.min = static_cast<double>(appliance.capacity_min),
                                       .max = static_cast<double>(appliance.capacity_max)});
        std::vector<double>& promised = promised_.emplace_back();
        users_.emplace_back();
        for (TenantIndex tenant = 0; tenant < config.tenants.size(); ++tenant)
            for (const TenantApplianceConfig& part : config.tenants[tenant].appliances) {
                if (part.name != appliance.name)
                    continue;
                users_.back().push_back(tenant);
                promised.push_back(static_cast<double>(part.reservation_tokens));
            }
    }
}

void ApplianceEstimates::update(const Cluster& cluster, const DemandTable& demands, double seconds) {
    for (ApplianceSum& sum : sums_) {
        sum.outstanding = 0;
        sum.tenants.assign(config_.tenants.size(), {});
    }
    for (const auto& [flow, demand] : demands) {
        const ClusterEnd* end = cluster.find_end(flow.destination);
        const ClusterEnd* vnic = cluster.find_end(flow.source);
        if (end == nullptr || vnic == nullptr || !end->is_appliance)
            continue;
        const estimate::Usage usage{.used = double{demand.used[wire::kTokens]},
                                    .backlog = double{demand.backlog[wire::kTokens]},
                                    .queued = double{demand.queued[wire::kTokens]},
                                    .outstanding = double{demand.outstanding[wire::kTokens]}};
        ApplianceSum& sum = sums_[end->index];
        TenantSum& tenant = sum.tenants[vnic->tenant];
        tenant.used += usage.used;
        tenant.demand += estimate::demand_of(usage).value_or(usage.used);
        tenant.held_back |= usage.backlog > 0 || usage.queued > 0;
        // Few samples meet a request of a flow with few; their mean time misses none (Little's law).
        sum.outstanding +=
            demand.latency_us != 0 ? usage.used * demand.latency_us / 1e6 / seconds : usage.outstanding;
    }
    for (std::uint32_t i = 0; i < searches_.size(); ++i)
        judge(i, seconds, left_by_idle(i, demands, seconds));
}

void ApplianceEstimates::told(const Cluster& cluster, const std::vector<wire::FlowAllocation>& rates) {
    std::fill(told_.begin(), told_.end(), 0.0);
    for (auto& flows : told_flows_)
        flows.clear();
    for (const wire::FlowAllocation& rate : rates) {
        const ClusterEnd* end = cluster.find_end(rate.flow.destination);
        if (end == nullptr || !end->is_appliance || rate.rate[wire::kTokens] == wire::kNoStatement)
            continue;
        told_[end->index] += static_cast<double>(rate.rate[wire::kTokens]);
        if (pooled_[end->index] != 0)
            told_flows_[end->index].emplace_back(rate.flow, static_cast<double>(rate.rate[wire::kTokens]));
    }
}

double ApplianceEstimates::left_by_idle(std::uint32_t appliance, const DemandTable& demands,
                                        double seconds) const {
    double left = 0;
    for (const auto& [flow, told] : told_flows_[appliance]) {
        const auto found = demands.find(flow);
        const bool gone = found == demands.end();
        if (gone || (found->second.backlog[wire::kTokens] <= 0 && found->second.queued[wire::kTokens] <= 0 &&
                     found->second.outstanding[wire::kTokens] < kIdleOutstanding))
            left += gone ? told : std::max(0.0, told - double{found->second.used[wire::kTokens]} / seconds);
    }
    return left;
}

void ApplianceEstimates::judge(std::uint32_t appliance, double seconds, double idle) {
    const ApplianceSum& sum = sums_[appliance];
    estimate::Reading reading{.outstanding = std::min(sum.outstanding, estimate::kTokensMax)};
    mix_.clear();
    demands_.clear();
    for (std::size_t i = 0; i < users_[appliance].size(); ++i) {
        const TenantSum& tenant = sum.tenants[users_[appliance][i]];
        const double promised = promised_[appliance][i];
        mix_.push_back(tenant.used);
        demands_.push_back(tenant.demand / seconds);
        reading.throughput += tenant.used / seconds;
        reading.offered += tenant.demand / seconds;
        reading.guaranteed += tenant.demand > 0 ? promised : 0;
        reading.violated |=
            tenant.held_back && tenant.used < kNearly * std::min(tenant.demand, promised * seconds);
    }
    reading.offered = std::min(reading.offered, estimate::kTokensMax);
    reading.in_force = std::min(told_[appliance] - idle, reading.in_force);
    reading.mix = mix_;
    // As what is given out goes by guarantees: who wants more than its part has its part.
    slowdown_[appliance] = searches_[appliance].slowdown(reading);
    for (double& demand : demands_)
        demand *= slowdown_[appliance];
    wanted_.resize(mix_.size());
    estimate::share_by_weight(rate(appliance), demands_, promised_[appliance], wanted_);
    reading.wanted = wanted_;
    searches_[appliance].update(reading);
}

}  // namespace weir
