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

std::size_t DemandTable::pairs_of(HostIndex host) const {
    std::size_t pairs = 0;
    for (const std::uint32_t vnic : cluster_.vnics_of(host))
        pairs += static_cast<std::size_t>(std::ranges::count_if(flows_.of(vnic), [this](const auto& flow) {
            return !cluster_.find_end(flow.first.destination)->is_appliance;
        }));
    return pairs;
}

/// In the order of flows, each new one of a vNIC goes to the end of its others.
DemandTable::Outcome DemandTable::apply(HostIndex host, std::span<const wire::FlowDemand> records,
                                        bool is_snapshot) {
    FlowDemands::Flows before;  // of a snapshot: the host's flows until now, to compare with; ordered
    if (is_snapshot)
        for (const std::uint32_t vnic : cluster_.vnics_of(host))
            std::ranges::move(flows_.take(vnic), std::back_inserter(before));
    if (!std::ranges::is_sorted(records, {}, &wire::FlowDemand::flow)) {
        ordered_.assign(records.begin(), records.end());
        std::ranges::stable_sort(ordered_, {}, &wire::FlowDemand::flow);
        records = ordered_;
    }
    std::size_t pairs = pairs_of(host);
    Outcome outcome;
    for (const wire::FlowDemand& record : records) {
        const ClusterEnd* source = cluster_.find_end(record.flow.source);
        if (source == nullptr || source->host != host || !cluster_.allows(record.flow)) {
            ++outcome.foreign;
            continue;
        }
        const bool is_pair = !cluster_.find_end(record.flow.destination)->is_appliance;
        if (is_pair && pairs >= kPairsMax && !flows_.contains(record.flow)) {
            ++outcome.surplus;
            continue;
        }
        ++outcome.applied;
        const auto [demand, is_new] = flows_.put(record.flow);
        pairs += is_new && is_pair ? 1 : 0;
        const wire::FlowDemand* old = is_new ? nullptr : demand;
        if (is_snapshot) {
            const auto at = FlowDemands::lower_bound(before, record.flow);
            old = at != before.end() && at->first == record.flow ? &at->second : nullptr;
        }
        note_change(old, record);
        *demand = record;
        if (wire::is_removed(record)) {
            flows_.erase(record.flow);
            pairs -= is_pair ? 1 : 0;
        }
    }
    return outcome;
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
