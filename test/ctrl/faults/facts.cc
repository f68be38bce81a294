// facts.cc - resources in the order of the file, paths over them, floors.
#include "test/ctrl/faults/facts.h"

#include <algorithm>
#include <set>

namespace weir::faults {
namespace {

template <typename List>
std::uint32_t place_of(const List& list, const std::string& name) {
    const auto found = std::ranges::find(list, name, &List::value_type::name);
    return found == list.end() ? kNone : static_cast<std::uint32_t>(found - list.begin());
}

}  // namespace

Facts::Facts(const Plan& plan, const Schedule& schedule) : plan_(plan) {
    const ClusterConfig& config = plan.config;
    const auto add = [&](const std::string& name, double capacity) {
        resources_.push_back({name, capacity});
        return resources_.size() - 1;
    };
    const auto add_pair = [&](const std::string& name, std::uint64_t bits) {
        const double bytes = static_cast<double>(bits) / 8 * (1 - config.headroom);
        const std::size_t out = add(name + " out", bytes);
        add(name + " in", bytes);
        return out;
    };
    add("nothing", 0);
    for (const HostConfig& host : config.hosts) {
        host_out_.push_back(add_pair("host " + host.name, host.uplink_bps));
        rack_of_.push_back(place_of(config.racks, host.rack));
    }
    for (const RackConfig& rack : config.racks)
        rack_out_.push_back(add_pair("rack " + rack.name, rack.uplink_bps));
    for (const ClusterApplianceConfig& appliance : config.appliances) {
        tokens_.push_back(add("appliance " + appliance.name, static_cast<double>(appliance.capacity_max)));
        appliance_host_.push_back(place_of(config.hosts, appliance.host));
        link_.push_back(appliance.link_bps == 0 ? 0
                                                : add_pair("link of " + appliance.name, appliance.link_bps));
    }
    set_least_vnics(schedule);
}

/// The vNICs that leave may be away, one of any host, and all but one of a host that lies.
void Facts::set_least_vnics(const Schedule& schedule) {
    const std::size_t hosts = plan_.config.hosts.size();
    std::vector<std::set<std::int32_t>> leaving(hosts);
    std::vector<std::uint32_t> pinned(hosts);
    for (const PlannedVnic& vnic : plan_.vnics)
        pinned[vnic.home] += vnic.is_pinned ? 1 : 0;
    for (const PlannedFault& fault : schedule.faults)
        if (fault.kind == FaultKind::kVnicLeaves)
            leaving[fault.host].insert(fault.amount);
        else if (fault.kind == FaultKind::kLiar)
            pinned[fault.host] = 1;
    for (std::size_t host = 0; host < hosts; ++host) {
        const auto away = std::max(static_cast<std::uint32_t>(leaving[host].size()), 1U);
        least_vnics_.push_back(pinned[host] > away ? pinned[host] - away : 1);
    }
}

void Facts::add_links(std::uint32_t from, std::uint32_t to, std::size_t part, std::vector<Step>& out) const {
    if (from == to)
        return;
    const std::uint32_t from_rack = from == kNone ? kNone : rack_of_[from];
    const std::uint32_t to_rack = to == kNone ? kNone : rack_of_[to];
    if (from != kNone)
        out.push_back({host_out_[from], part});
    if (from_rack != kNone && from_rack != to_rack)
        out.push_back({rack_out_[from_rack], part});
    if (to_rack != kNone && from_rack != to_rack)
        out.push_back({rack_out_[to_rack] + 1, part});
    if (to != kNone)
        out.push_back({host_out_[to] + 1, part});
}

std::vector<Step> Facts::path_of(const Route& route) const {
    std::vector<Step> out;
    if (route.appliance == kNone) {
        if (route.from != kNone && route.to != kNone)
            add_links(route.from, route.to, wire::kThere, out);
        return out;
    }
    const std::uint32_t behind = appliance_host_[route.appliance];
    add_links(route.from, behind, wire::kThere, out);
    out.push_back({tokens_[route.appliance], wire::kTokens});
    add_links(behind, route.from, wire::kBack, out);
    if (const std::size_t link = link_[route.appliance]; link != 0) {
        out.push_back({link, wire::kBack});
        out.push_back({link + 1, wire::kThere});
    }
    return out;
}

double Facts::reserved_tokens(std::uint32_t vnic, std::uint32_t appliance) const {
    const PlannedVnic& planned = plan_.vnics[vnic];
    const TenantApplianceConfig* const part = plan_.part_of(planned.tenant, appliance);
    if (part == nullptr)
        return 0;
    double weights = 0;
    for (const TenantVnicConfig& each : plan_.config.tenants[planned.tenant].vnics)
        weights += each.weight;
    return static_cast<double>(part->reservation_tokens) * plan_.vnic_config(vnic).weight / weights;
}

double Facts::floor_tokens(std::uint32_t vnic, std::uint32_t appliance) const {
    double users = 0;
    for (std::uint32_t i = 0; i < plan_.vnics.size(); ++i)
        users += plan_.part_of(plan_.vnics[i].tenant, appliance) != nullptr ? 1 : 0;
    const double headroom = static_cast<double>(plan_.config.appliances[appliance].capacity_min) *
                            plan_.config.headroom / std::max(users, 1.0);
    return std::max({reserved_tokens(vnic, appliance), headroom, 1.0});
}

double Facts::peer_floor(std::uint32_t vnic) const {
    const PlannedVnic& planned = plan_.vnics[vnic];
    const auto& vnics = plan_.config.tenants[planned.tenant].vnics;
    const double part = static_cast<double>(plan_.config.hosts[planned.home].uplink_bps) *
                        plan_.config.headroom / least_vnics_[planned.home];
    const double bits = std::max(static_cast<double>(plan_.vnic_config(vnic).reservation_bps), part);
    return bits / 8 / static_cast<double>(std::max<std::size_t>(vnics.size(), 2) - 1);
}

double Facts::floor_bytes(std::uint32_t vnic, std::uint32_t peer) const {
    return std::max(std::min(peer_floor(vnic), peer_floor(peer)), 1.0);
}

}  // namespace weir::faults
