// demand_table.cc - applying DEMAND messages, and noticing large changes.
#include "ctrl/daemon/demand_table.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace weir {
namespace {

/// Tokens that the flow used, and those that wait for the controller's rates.
double shown(const wire::FlowDemand& flow, std::size_t part) {
    return double{flow.used[part]} +
           (flow.blocked == wire::Blocked::kOwnLimit ? 0 : double{flow.backlog[part]});
}

}  // namespace

std::size_t DemandTable::apply(HostIndex host, std::span<const wire::FlowDemand> records, bool is_snapshot) {
    FlowDemands::Flows before;  // of a snapshot: the host's flows until now, to compare with; ordered
    if (is_snapshot)
        for (const std::uint32_t vnic : cluster_.vnics_of(host))
            std::ranges::move(flows_.take(vnic), std::back_inserter(before));
    std::size_t applied = 0;
    for (const wire::FlowDemand& record : records) {
        const ClusterEnd* source = cluster_.find_end(record.flow.source);
        if (source == nullptr || source->host != host || !cluster_.allows(record.flow))
            continue;
        ++applied;
        const auto [demand, is_new] = flows_.put(record.flow);
        const wire::FlowDemand* old = is_new ? nullptr : demand;
        if (is_snapshot) {
            const auto at = FlowDemands::lower_bound(before, record.flow);
            old = at != before.end() && at->first == record.flow ? &at->second : nullptr;
        }
        note_change(old, record);
        *demand = record;
        if (wire::is_removed(record))
            flows_.erase(record.flow);
    }
    return applied;
}

void DemandTable::note_change(const wire::FlowDemand* before, const wire::FlowDemand& now) {
    if (has_large_change_)
        return;
    const double seconds = to_seconds(cluster_.config().interval);
    cluster_.path_of(now.flow, path_);
    for (const PathStep& step : path_) {
        const auto part = static_cast<std::size_t>(step.part);
        const double was = before == nullptr ? 0 : shown(*before, part);
        const double is = shown(now, part);
        const double capacity = cluster_.resources()[step.resource].capacity * seconds;
        has_large_change_ =
            has_large_change_ || std::abs(is - was) > capacity * cluster_.config().resolve_change;
    }
}

void DemandTable::replace_host(HostIndex host, std::span<const wire::FlowDemand> records) {
    remove_host(host);
    for (const wire::FlowDemand& record : records)
        flows_[record.flow] = record;
}

void DemandTable::remove_vnic(std::uint32_t vnic) {
    (void)flows_.take(vnic);
}

void DemandTable::take_over(const DemandTable& before) {
    for (const auto& [flow, demand] : before.flows_) {
        const ClusterEnd* source = cluster_.find_end(flow.source);
        if (source != nullptr && source->host != kNowhere && cluster_.allows(flow))
            flows_[flow] = demand;
    }
    has_large_change_ = before.has_large_change_;
}

void DemandTable::remove_host(HostIndex host) {
    for (const std::uint32_t vnic : cluster_.vnics_of(host))
        remove_vnic(vnic);
}

}  // namespace weir
