// world.cc - a world from its configuration, and from the one before it.
#include "ctrl/daemon/world.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace weir {
namespace {

/// Whether the vNIC's tenant is the same in both configurations, with all its vNICs and reservations.
bool is_unchanged(const World& before, const ClusterEnd& old, const World& now, const ClusterEnd& end) {
    return before.config.tenants[old.tenant] == now.config.tenants[end.tenant];
}

/// Whether the links and slots, and the parts of them that may be promised, are the same.
bool has_same_room(const ClusterConfig& a, const ClusterConfig& b) {
    const auto has_same_place = [](const HostConfig& one, HostConfig other) {
        other.drain = one.drain;  // which decides on vNICs that come, and on no other
        return one == other;
    };
    return std::ranges::equal(a.hosts, b.hosts, has_same_place) && a.racks == b.racks &&
           a.headroom == b.headroom && a.overcommit == b.overcommit &&
           a.overcommit_utilization == b.overcommit_utilization &&
           a.overcommit_failure_max == b.overcommit_failure_max;
}

}  // namespace

World::World(ClusterConfig of, const Cluster::IdOf& id_of, const billing::UseTable& use,
             const MakeSolver& make)
    : config(std::move(of)),
      cluster(config, id_of),
      admission(config, &use),
      demands(cluster),
      views(cluster),
      solver(make(config)) {
    for (HostIndex host = 0; host < config.hosts.size(); ++host)
        stated_links.push_back({cluster.uplink_bytes(host), 1});
}

std::string World::why_never(HostIndex host, const wire::HelloVnic& vnic) const {
    const ClusterEnd* end = cluster.find_vnic(vnic.name);
    if (end == nullptr)
        return "it is not in the cluster file";
    const TenantConfig& owner = config.tenants[end->tenant];
    if (!vnic.tenant.empty() && vnic.tenant != owner.name)
        return "its tenant is " + owner.name + ", not " + vnic.tenant;
    const TenantVnicConfig& wanted = owner.vnics[end->index];
    if (!wanted.host.empty() && wanted.host != config.hosts[host].name)
        return "its host is " + wanted.host;
    if (!wanted.mac.empty() && wanted.mac != vnic.mac)
        return "its MAC address is " + wanted.mac + ", and the switch's file has " +
               (vnic.mac.empty() ? "none" : vnic.mac);
    if (wanted.vlan && *wanted.vlan != vnic.vlan)
        return "its VLAN is " + std::to_string(*wanted.vlan) + ", and the switch's file has " +
               std::to_string(vnic.vlan);
    return {};
}

Placement World::placement_for(const ClusterConfig& next, const Renumbering& places) const {
    Placement placement;
    if (!has_same_room(config, next))
        return placement;
    std::vector<std::uint8_t> is_same(config.tenants.size());
    for (TenantIndex tenant = 0; tenant < config.tenants.size(); ++tenant)
        if (const TenantIndex now = places.tenants[tenant]; now != kNowhere)
            is_same[tenant] = config.tenants[tenant] == next.tenants[now] ? 1 : 0;
    for (HostIndex host = 0; host < config.hosts.size(); ++host)
        for (const std::uint32_t id : cluster.vnics_of(host))
            if (const ClusterEnd& end = *cluster.find_end(id); is_same[end.tenant] != 0)
                placement.vnics.push_back({id, places.hosts[host], end.mac, end.vlan, end.states_tenant});
    return placement;
}

void World::set_uplink(HostIndex host, std::uint64_t bps) {
    cluster.set_uplink(host, bps);
    admission.set_uplink(host, cluster.uplink_bytes(host));
}

void World::place(const Placement& placement) {
    for (const auto& [host, bps] : placement.uplinks_bps)
        set_uplink(host, bps);
    for (const Placement::Place& each : placement.vnics) {
        admission.place(*cluster.find_end(each.id), each.host);
        cluster.place_vnic(each.id, each.host, each.mac, each.vlan, each.states_tenant);
    }
}

std::vector<Displaced> World::take_places(const World& before, const Renumbering& places) {
    std::vector<Displaced> displaced;
    std::vector<std::uint32_t> changed;
    const auto place = [&](const ClusterEnd& old, const ClusterEnd& end) {
        admission.place(end, places.hosts[old.host]);
        cluster.place_vnic(end.id, places.hosts[old.host], old.mac, old.vlan, old.states_tenant);
    };
    remove_departed(before);
    for (HostIndex host = 0; host < before.config.hosts.size(); ++host)
        for (const std::uint32_t id : before.cluster.vnics_of(host)) {
            const ClusterEnd& old = *before.cluster.find_end(id);
            const ClusterEnd* end = cluster.find_end(id);
            if (end == nullptr || end->host != places.hosts[host] || end->host == kNowhere ||
                end->mac != old.mac || end->vlan != old.vlan || end->states_tenant != old.states_tenant)
                changed.push_back(id);
        }
    // The unchanged first, where their links and slots are others.
    std::ranges::stable_partition(changed, [&](std::uint32_t id) {
        const ClusterEnd* end = cluster.find_end(id);
        return end != nullptr && is_unchanged(before, *before.cluster.find_end(id), *this, *end);
    });
    for (const std::uint32_t id : changed) {
        const ClusterEnd& old = *before.cluster.find_end(id);
        const HostIndex host = places.hosts[old.host];
        const std::string& name = before.cluster.name_of(old);
        const std::string& tenant = before.config.tenants[old.tenant].name;
        std::string why = host == kNowhere
                              ? "its host is not in the cluster file"
                              : why_never(host, {name, old.states_tenant ? tenant : "", old.mac, old.vlan});
        const bool is_final = !why.empty();
        if (!is_final)
            why = admission.why_not(*cluster.find_vnic(name), host);
        if (why.empty())
            place(old, *cluster.find_vnic(name));
        else
            displaced.push_back(
                {old.host, name, tenant, old.states_tenant, old.mac, old.vlan, std::move(why), is_final});
    }
    return displaced;
}

/// vNICs that left, or moved, since the placement was made.
void World::remove_departed(const World& before) {
    for (HostIndex host = 0; host < config.hosts.size(); ++host) {
        const std::set<std::uint32_t> placed = cluster.vnics_of(host);
        for (const std::uint32_t id : placed)
            if (const ClusterEnd* old = before.cluster.find_end(id);
                old == nullptr || old->host == kNowhere ||
                before.config.hosts[old->host].name != config.hosts[host].name) {
                admission.remove(*cluster.find_end(id));
                cluster.remove_vnic(id);
            }
    }
}

/// A tenant's change concerns its own hosts. Where vNICs come to a host or leave it, the floors of the others
/// there are others, which their tenants' switches have; and where an appliance has more users or fewer, so
/// are the floors of all of them.
std::set<HostIndex> World::concerned_hosts(const World& before, const Renumbering& places) const {
    std::set<HostIndex> hosts;
    const bool is_all = !has_same_room(before.config, config) || before.config.pools != config.pools ||
                        before.config.appliances != config.appliances;
    std::set<TenantIndex> tenants;
    for (HostIndex old = 0; old < before.config.hosts.size(); ++old) {
        const HostIndex host = places.hosts[old];
        if (host == kNowhere || (!is_all && before.cluster.vnics_of(old) == cluster.vnics_of(host)))
            continue;
        hosts.insert(host);
        for (const std::uint32_t id : cluster.vnics_of(host))
            tenants.insert(cluster.find_end(id)->tenant);
    }
    if (is_all)
        return hosts;
    const std::set<std::string_view> appliances = add_changed_tenants(before, places, tenants);
    for (TenantIndex tenant = 0; tenant < config.tenants.size(); ++tenant)
        if (std::ranges::any_of(config.tenants[tenant].appliances,
                                [&](const auto& part) { return appliances.contains(part.name); }))
            tenants.insert(tenant);
    for (HostIndex host = 0; host < config.hosts.size(); ++host)
        if (std::ranges::any_of(cluster.vnics_of(host), [&](std::uint32_t id) {
                return tenants.contains(cluster.find_end(id)->tenant);
            }))
            hosts.insert(host);
    return hosts;
}

/// @return appliances that have more vNICs as users, or fewer
std::set<std::string_view> World::add_changed_tenants(const World& before, const Renumbering& places,
                                                      std::set<TenantIndex>& out) const {
    std::map<std::string_view, std::ptrdiff_t> users;
    const auto count = [&users](const TenantConfig& tenant, std::ptrdiff_t sign) {
        for (const TenantApplianceConfig& part : tenant.appliances)
            users[part.name] += sign * static_cast<std::ptrdiff_t>(tenant.vnics.size());
    };
    std::vector<std::uint8_t> is_old(config.tenants.size());
    for (TenantIndex old = 0; old < before.config.tenants.size(); ++old) {
        const TenantIndex now = places.tenants[old];
        if (now != kNowhere)
            is_old[now] = 1;
        if (now != kNowhere && before.config.tenants[old] == config.tenants[now])
            continue;
        count(before.config.tenants[old], -1);
        if (now == kNowhere)
            continue;
        count(config.tenants[now], 1);
        out.insert(now);
    }
    for (TenantIndex now = 0; now < config.tenants.size(); ++now)
        if (is_old[now] == 0)
            count(config.tenants[now], 1);
    std::set<std::string_view> changed;
    for (const auto& [name, difference] : users)
        if (difference != 0)
            changed.insert(name);
    return changed;
}

std::vector<std::string> World::take_state(World& before, const Renumbering& places) {
    demands.take_over(before.demands);
    views.take_over(before.views, places);
    shortages.take_over(before.shortages, resource_places(before.cluster, cluster, places));
    return solver->take_over(*before.solver, places);
}

}  // namespace weir
