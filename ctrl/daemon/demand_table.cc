// demand_table.cc - applying DEMAND messages, and noticing large changes.
#include "ctrl/daemon/demand_table.h"

#include <cmath>

namespace weir {

std::size_t DemandTable::apply(HostIndex host, std::span<const wire::FlowDemand> records, bool is_snapshot) {
    FlowDemands before;  // of a snapshot: the host's flows until now, to compare with
    if (is_snapshot)
        for (const std::uint32_t vnic : cluster_.vnics_of(host))
            for (auto at = flows_.lower_bound({vnic, 0}); at != flows_.end() && at->first.source == vnic;)
                before.insert(flows_.extract(at++));
    std::size_t applied = 0;
    for (const wire::FlowDemand& record : records) {
        const ClusterEnd* source = cluster_.find_end(record.flow.source);
        if (source == nullptr || source->host != host || !cluster_.allows(record.flow))
            continue;
        ++applied;
        const FlowDemands& known = is_snapshot ? before : flows_;
        const auto old = known.find(record.flow);
        note_change(old == known.end() ? nullptr : &old->second, record);
        if (wire::is_removed(record))
            flows_.erase(record.flow);
        else
            flows_.insert_or_assign(record.flow, record);
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
        const double was = before == nullptr ? 0 : double{before->used[part]} + double{before->backlog[part]};
        const double is = double{now.used[part]} + double{now.backlog[part]};
        const double capacity = cluster_.resources()[step.resource].capacity * seconds;
        has_large_change_ =
            has_large_change_ || std::abs(is - was) > capacity * cluster_.config().resolve_change;
    }
}

void DemandTable::replace_host(HostIndex host, std::span<const wire::FlowDemand> records) {
    remove_host(host);
    for (const wire::FlowDemand& record : records)
        flows_.insert_or_assign(record.flow, record);
}

void DemandTable::remove_vnic(std::uint32_t vnic) {
    flows_.erase(flows_.lower_bound({vnic, 0}), flows_.upper_bound({vnic, UINT32_MAX}));
}

void DemandTable::remove_host(HostIndex host) {
    for (const std::uint32_t vnic : cluster_.vnics_of(host))
        remove_vnic(vnic);
}

}  // namespace weir
