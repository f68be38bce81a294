// world.cc - a world from its configuration, and from the one before it.
#include "ctrl/daemon/world.h"

#include <utility>

namespace weir {
namespace {

/// Whether the vNIC's tenant is the same in both configurations, with all its vNICs and reservations.
bool is_unchanged(const World& before, const ClusterEnd& old, const World& now, const ClusterEnd& end) {
    return before.config.tenants[old.tenant] == now.config.tenants[end.tenant];
}

}  // namespace

World::World(ClusterConfig of, const Cluster::IdOf& id_of, const billing::UseTable& use,
             const MakeSolver& make)
    : config(std::move(of)),
      cluster(config, id_of),
      admission(config, &use),
      demands(cluster),
      views(cluster),
      solver(make(config)) {}

std::string World::why_never(HostIndex host, std::string_view vnic, std::string_view tenant) const {
    const ClusterEnd* end = cluster.find_vnic(vnic);
    if (end == nullptr)
        return "it is not in the cluster file";
    const TenantConfig& owner = config.tenants[end->tenant];
    if (!tenant.empty() && tenant != owner.name)
        return "its tenant is " + owner.name + ", not " + std::string(tenant);
    const std::string& wanted = owner.vnics[end->index].host;
    if (!wanted.empty() && wanted != config.hosts[host].name)
        return "its host is " + wanted;
    return {};
}

std::vector<Displaced> World::take_places(const World& before, const Renumbering& places) {
    std::vector<Displaced> displaced;
    std::vector<std::uint32_t> changed;
    const auto place = [&](const ClusterEnd& old) {
        const HostIndex host = places.hosts[old.host];
        const std::string& name = before.cluster.name_of(old);
        const std::string& tenant = before.config.tenants[old.tenant].name;
        std::string why =
            host == kNowhere ? "its host is not in the cluster file" : why_never(host, name, tenant);
        const bool is_final = !why.empty();
        if (!is_final)
            why = admission.why_not(*cluster.find_vnic(name), host);
        if (!why.empty()) {
            displaced.push_back(
                {old.id, old.host, name, tenant, old.mac, old.vlan, std::move(why), is_final});
            return;
        }
        const ClusterEnd& end = *cluster.find_vnic(name);
        admission.place(end, host);
        cluster.place_vnic(end.id, host, old.mac, old.vlan);
    };
    for (const std::uint32_t id : before.cluster.vnics()) {
        const ClusterEnd& old = *before.cluster.find_end(id);
        if (old.host == kNowhere)
            continue;
        const ClusterEnd* end = cluster.find_end(id);
        if (end != nullptr && is_unchanged(before, old, *this, *end))
            place(old);
        else
            changed.push_back(id);
    }
    for (const std::uint32_t id : changed)
        place(*before.cluster.find_end(id));
    return displaced;
}

std::vector<std::string> World::take_state(World& before, const Renumbering& places) {
    demands.take_over(before.demands);
    views.take_over(before.views, places);
    return solver->take_over(*before.solver, places);
}

}  // namespace weir
