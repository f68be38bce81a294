// kept_demands.cc - which flows of a silent host count, and each flow's guarantee as a demand.
#include "ctrl/daemon/kept_demands.h"

#include <algorithm>
#include <map>

namespace weir {
namespace {

/// To an appliance with the last latency, and bytes in the last proportion to tokens.
wire::FlowDemand guaranteed(const Cluster& cluster, wire::FlowKey flow, const wire::FlowDemand* last) {
    const double seconds = to_seconds(cluster.config().interval);
    wire::FlowDemand demand{.flow = flow, .marks = kKeptMark};
    if (!cluster.find_end(flow.destination)->is_appliance) {
        demand.used[wire::kThere] =
            static_cast<float>(seconds * static_cast<double>(cluster.floor_bytes(flow)));
        return demand;
    }
    const double tokens = seconds * static_cast<double>(cluster.floor_tokens(flow));
    demand.used[wire::kTokens] = static_cast<float>(tokens);
    if (last == nullptr || last->used[wire::kTokens] <= 0)
        return demand;
    demand.latency_us = last->latency_us;
    for (const std::size_t way : {wire::kThere, wire::kBack})
        demand.used[way] = static_cast<float>(std::min(
            tokens * double{last->used[way]} / double{last->used[wire::kTokens]}, double{wire::kTokensMax}));
    return demand;
}

}  // namespace

std::vector<wire::FlowDemand> kept_demands(const Cluster& cluster, HostIndex host, const FlowDemands& last,
                                           std::size_t& idle_pairs) {
    std::map<wire::FlowKey, wire::FlowDemand> kept;
    for (const std::uint32_t vnic : cluster.vnics_of(host)) {
        for (const auto& [flow, demand] : last.of(vnic))
            kept.emplace(flow, guaranteed(cluster, flow, &demand));
        for (const wire::FlowKey flow : cluster.reserved_requests(vnic))
            if (!kept.contains(flow))
                kept.emplace(flow, guaranteed(cluster, flow, nullptr));
        if (idle_pairs == 0)
            continue;
        cluster.visit_reserved_pairs(vnic, [&](wire::FlowKey flow) {
            if (!kept.contains(flow)) {
                kept.emplace(flow, guaranteed(cluster, flow, nullptr));
                --idle_pairs;
            }
            return idle_pairs != 0;
        });
    }
    std::vector<wire::FlowDemand> demands;
    demands.reserve(kept.size());
    for (const auto& [flow, demand] : kept)
        demands.push_back(demand);
    return demands;
}

}  // namespace weir
