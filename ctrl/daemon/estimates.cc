// estimates.cc - moving averages and new flows (DemandEstimates), readings of appliances (CapacityEstimates).
#include "ctrl/daemon/estimates.h"

#include <algorithm>

namespace weir {
namespace {

/// Part of the floors of new flows that is kept back, and the most of an appliance's capacity that it may be.
constexpr double kNewFlowReserve = 0.5;
constexpr double kNewFlowReserveMax = 0.25;
/// Samples every 10 ms and the borders of intervals make measured use differ from real use by up to 5 %.
constexpr double kMeasured = 0.95;

bool is_own_limited(const wire::FlowDemand& flow) {
    return flow.blocked == wire::Blocked::kOwnLimit;
}

/// Whether the flow took its whole allocation at the appliance: its requests waited for that rate. A switch
/// that does not state for which limit they waited is believed to mean this one.
bool took_all(const wire::FlowDemand& flow) {
    return flow.blocked == wire::Blocked::kAppliance ||
           (flow.blocked == wire::Blocked::kNotStated &&
            (flow.backlog[wire::kTokens] > 0 || flow.queued[wire::kTokens] > 0));
}

bool is_to_vnic(const Cluster& cluster, wire::FlowKey flow) {
    const ClusterEnd* end = cluster.find_end(flow.destination);
    return end != nullptr && !end->is_appliance;
}

}  // namespace

estimate::Usage usage_of(const wire::FlowDemand& flow, std::size_t part) {
    const bool waits = !is_own_limited(flow);
    return {.used = double{flow.used[part]},
            .backlog = waits ? double{flow.backlog[part]} : 0,
            .queued = waits ? double{flow.queued[part]} : 0,
            .outstanding = double{flow.outstanding[part]}};
}

void DemandEstimates::update(const Cluster& cluster, const FlowDemands& demands, bool interval_ended) {
    constexpr double kMax{wire::kTokensMax};
    previous_.swap(flows_);
    flows_.clear();
    new_flows_.clear();
    auto old = previous_.begin();
    for (const auto& [flow, demand] : demands) {
        while (old != previous_.end() && old->flow < flow)
            ++old;
        const bool is_known = old != previous_.end() && old->flow == flow;
        if (!is_known)
            new_flows_.push_back(flows_.size());
        const bool is_own = is_own_limited(demand);
        // A switch states the whole link for traffic to a vNIC that begins and shows no bound.
        const bool begins = (demand.marks & wire::FlowDemand::kNew) != 0 && is_to_vnic(cluster, flow);
        const bool was_first = is_known && old->is_first;
        const bool has_base = is_known && !(was_first && interval_ended && !begins);
        Flow& next = flows_.emplace_back(Flow{.flow = flow,
                                              .demand = {},
                                              .is_own_limited = is_own,
                                              .is_first = begins || (was_first && !interval_ended)});
        for (std::size_t part = 0; part < wire::kParts; ++part) {
            const std::optional<double> before = has_base ? std::optional(old->demand[part]) : std::nullopt;
            const estimate::Usage usage = usage_of(demand, part);
            // A flow that an own limit holds does not pause: its average does not fall there by steps.
            next.demand[part] =
                interval_ended ? estimate::smoothed_demand(is_own ? std::nullopt : before, usage, kMax)
                                     .value_or(before.value_or(0))
                               : std::max(before.value_or(0), estimate::demand_of(usage, kMax).value_or(0));
        }
    }
    raise_new_flows(cluster);
}

double DemandEstimates::demand(wire::FlowKey flow, std::size_t part) const {
    const auto at = std::ranges::lower_bound(flows_, flow, {}, &Flow::flow);
    return at == flows_.end() || at->flow != flow ? 0 : at->demand[part];
}

/// A new flow's demand is not known yet. Where an appliance serves others already, it is taken for at least
/// the flow's floor, or the others would get that too. When all flows are new, the controller has just
/// started, and none of them counts as new.
void DemandEstimates::raise_new_flows(const Cluster& cluster) {
    new_flow_floors_.assign(config_.appliances.size(), 0);
    if (previous_.empty() || new_flows_.empty())
        return;
    const auto appliance_of = [&](wire::FlowKey flow) {
        const ClusterEnd* end = cluster.find_end(flow.destination);
        return end != nullptr && end->is_appliance && cluster.allows(flow) ? end->index : kNowhere;
    };
    is_occupied_.assign(config_.appliances.size(), 0);
    for (const Flow& flow : previous_)
        if (const std::uint32_t appliance = appliance_of(flow.flow); appliance != kNowhere)
            is_occupied_[appliance] = 1;
    for (const std::size_t index : new_flows_) {
        Flow& flow = flows_[index];
        const std::uint32_t appliance = appliance_of(flow.flow);
        if (appliance == kNowhere || is_occupied_[appliance] == 0)
            continue;
        const double floor =
            to_seconds(config_.interval) * static_cast<double>(cluster.floor_tokens(flow.flow));
        flow.demand[wire::kTokens] = std::max(flow.demand[wire::kTokens], floor);
        new_flow_floors_[appliance] += floor;
    }
}

double DemandEstimates::new_flow_reserve(std::uint32_t appliance, double capacity) const {
    return std::min(kNewFlowReserve * new_flow_floors_[appliance], kNewFlowReserveMax * capacity);
}

CapacityEstimates::CapacityEstimates(const ClusterConfig& config)
    : config_(config),
      allocated_flows_(config.appliances.size()),
      slowdown_(config.appliances.size(), 1),
      sums_(config.appliances.size()) {
    for (const ClusterApplianceConfig& appliance : config.appliances) {
        searches_.emplace_back(
            estimate::CapacitySettings{.min = static_cast<double>(appliance.capacity_min),
                                       .max = static_cast<double>(appliance.capacity_max)});
        users_.emplace_back();
        for (TenantIndex tenant = 0; tenant < config.tenants.size(); ++tenant)
            for (const TenantApplianceConfig& part : config.tenants[tenant].appliances)
                if (part.name == appliance.name)
                    users_.back().push_back({tenant, static_cast<double>(part.reservation_tokens)});
    }
}

void CapacityEstimates::update(const Cluster& cluster, const FlowDemands& demands, double seconds) {
    for (ApplianceSum& sum : sums_) {
        sum.outstanding = sum.in_force = 0;
        sum.next = 0;
        sum.tenants.assign(config_.tenants.size(), {});
    }
    for (const auto& [flow, demand] : demands) {
        const ClusterEnd* end = cluster.find_end(flow.destination);
        const ClusterEnd* vnic = cluster.find_end(flow.source);
        if (end != nullptr && vnic != nullptr && end->is_appliance)
            add(demand, vnic->tenant, end->index, seconds);
    }
    for (std::uint32_t i = 0; i < searches_.size(); ++i)
        search(i, seconds);
}

/// A flow that waits for another limit wants no more of the appliance than it uses, and no guarantee there is
/// broken by that.
void CapacityEstimates::add(const wire::FlowDemand& demand, TenantIndex index, std::uint32_t appliance,
                            double seconds) {
    const estimate::Usage usage = usage_of(demand, wire::kTokens);
    const bool is_all = took_all(demand);
    ApplianceSum& sum = sums_[appliance];
    TenantSum& tenant = sum.tenants[index];
    tenant.used += usage.used;
    tenant.demand += is_all ? estimate::demand_of(usage).value_or(usage.used) : usage.used;
    tenant.is_held_back |= is_all && (usage.backlog > 0 || usage.queued > 0);
    const double rate = allocated(appliance, demand.flow);
    sum.in_force += is_all ? rate : std::min(rate, usage.used / seconds);
    // Samples miss most requests of a flow that has few; their mean latency gives the outstanding tokens
    // by Little's law: 100 tokens in 1 s, each 20 ms there, are 2 outstanding.
    sum.outstanding +=
        demand.latency_us != 0 ? usage.used * demand.latency_us / 1e6 / seconds : usage.outstanding;
}

/// Tokens per second by the last rates; flows are asked for in their order.
double CapacityEstimates::allocated(std::uint32_t appliance, wire::FlowKey flow) {
    const std::vector<AllocatedFlow>& flows = allocated_flows_[appliance];
    std::size_t& next = sums_[appliance].next;
    while (next < flows.size() && flows[next].flow < flow)
        ++next;
    return next < flows.size() && flows[next].flow == flow ? flows[next].rate : 0;
}

void CapacityEstimates::set_allocated(const Cluster& cluster,
                                      const std::vector<wire::FlowAllocation>& rates) {
    for (auto& flows : allocated_flows_)
        flows.clear();
    for (const wire::FlowAllocation& rate : rates) {
        const ClusterEnd* end = cluster.find_end(rate.flow.destination);
        if (end == nullptr || !end->is_appliance || rate.rate[wire::kTokens] == wire::kNoStatement)
            continue;
        allocated_flows_[end->index].push_back({rate.flow, static_cast<double>(rate.rate[wire::kTokens])});
    }
}

void CapacityEstimates::take_over(const CapacityEstimates& before, const Renumbering& places) {
    for (std::uint32_t old = 0; old < places.appliances.size(); ++old) {
        const std::uint32_t now = places.appliances[old];
        if (now == kNowhere)
            continue;
        const estimate::CapacitySettings& bounds = before.searches_[old].settings();
        if (bounds.min != searches_[now].settings().min || bounds.max != searches_[now].settings().max)
            continue;
        searches_[now] = before.searches_[old];
        std::vector<std::size_t> kinds;
        for (const User& user : users_[now]) {
            const auto same = std::ranges::find_if(before.users_[old], [&](const User& each) {
                return places.tenants[each.tenant] == user.tenant;
            });
            kinds.push_back(static_cast<std::size_t>(same - before.users_[old].begin()));
        }
        searches_[now].renumber_kinds(kinds);
        allocated_flows_[now] = before.allocated_flows_[old];
        slowdown_[now] = before.slowdown_[old];
    }
}

void CapacityEstimates::search(std::uint32_t appliance, double seconds) {
    const ApplianceSum& sum = sums_[appliance];
    estimate::Reading reading{.outstanding = std::min(sum.outstanding, estimate::kTokensMax)};
    mix_.clear();
    claims_.clear();
    for (const auto& [number, reservation] : users_[appliance]) {
        const TenantSum& tenant = sum.tenants[number];
        mix_.push_back(tenant.used);
        claims_.push_back({.demand = tenant.demand / seconds, .shares = reservation});
        reading.throughput += tenant.used / seconds;
        reading.offered += tenant.demand / seconds;
        reading.guaranteed += tenant.demand > 0 ? reservation : 0;
        reading.violated |=
            tenant.is_held_back && tenant.used < kMeasured * std::min(tenant.demand, reservation * seconds);
    }
    reading.offered = std::min(reading.offered, estimate::kTokensMax);
    reading.in_force = std::min(sum.in_force, reading.in_force);
    reading.mix = mix_;
    // The mix that the next rates will cause: the capacity, divided by reservations up to the demands.
    slowdown_[appliance] = searches_[appliance].slowdown(reading);
    for (RealClaim& claim : claims_)
        claim.demand *= slowdown_[appliance];
    wanted_.resize(mix_.size());
    (void)water_fill(rate(appliance), claims_, wanted_);
    reading.wanted = wanted_;
    searches_[appliance].update(reading);
}

}  // namespace weir
