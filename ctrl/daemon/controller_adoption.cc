// controller_adoption.cc - Controller: from one configuration to the next while it runs.
#include <algorithm>
#include <utility>

#include "ctrl/daemon/controller.h"
#include "ctrl/daemon/kept_demands.h"
#include "ctrl/daemon/promises.h"

namespace weir {

Controller::Next Controller::plan(ClusterConfig config, const Cluster::IdOf& id_of) const {
    const Renumbering places(world_->config, config);
    const Placement placement = placement_for(config, places);
    return finish_plan({build_world(std::move(config), id_of, placement), places, {}});
}

/// Reads no state that changes, so that another thread may call it.
std::shared_ptr<World> Controller::build_world(ClusterConfig config, const Cluster::IdOf& id_of,
                                               const Placement& placement) const {
    auto world = std::make_shared<World>(std::move(config), id_of, use_, make_solver_);
    world->place(placement);
    return world;
}

Controller::Next Controller::finish_plan(Next next) const {
    for (const auto& session : sessions_.all())
        if (session && next.places.hosts[session->host] != kNowhere)
            next.world->set_uplink(next.places.hosts[session->host], session->uplink_bps);
    next.displaced = next.world->take_places(*world_, next.places);
    return next;
}

/// The places that vNICs have now, for a world that is built beside.
Placement Controller::placement_for(const ClusterConfig& config, const Renumbering& places) const {
    Placement placement = world_->placement_for(config, places);
    for (const auto& session : sessions_.all())
        if (session && places.hosts[session->host] != kNowhere)
            placement.uplinks_bps.emplace_back(places.hosts[session->host], session->uplink_bps);
    return placement;
}

void Controller::adopt(Next next, Nanos now) {
    const std::set<HostIndex> concerned = next.world->concerned_hosts(*world_, next.places);
    const bool are_appliances_same = next.world->config.appliances == world_->config.appliances;
    std::map<HostIndex, wire::Tables> views;  // by host afterwards
    for (const Session* session : sessions_.active())
        if (const HostIndex host = next.places.hosts[session->host]; concerned.contains(host))
            views.emplace(host, view_of(*session));
    const std::vector<std::string> dropped = next.world->take_state(*world_, next.places);
    std::shared_ptr<World> before = std::exchange(world_, std::move(next.world));
    usage_desk_.adopt(world_->cluster, next.places);
    adopt_sessions(before->config, next.places, now);
    adopt_kept(next.places);
    for (const std::string& each : dropped)
        writes_.note_change({.unix_time = unix_time_, .kind = "pool", .text = each, .revision = revision_});
    if (const PoolRates* pools = world_->solver->pools())
        writes_.set_pool_settings(pools->settings());
    for (const Displaced& vnic : next.displaced)
        refuse_displaced(vnic, next.places);
    std::set<TenantIndex> changed;
    for (const TenantIndex tenant : changed_tenants_)
        if (next.places.tenants[tenant] != kNowhere)
            changed.insert(next.places.tenants[tenant]);
    changed_tenants_ = std::move(changed);
    refusals_may_end_ = true;
    for (Session* session : sessions_.active()) {
        if (!are_appliances_same)
            find_appliances(*session);
        judge_refusals(*session);
        const auto view = views.find(session->host);
        if (session->tables_due || (view != views.end() && view_of(*session) != view->second))
            send_difference(*session, view == views.end() ? wire::Tables{} : view->second);
        else if (session->revision + 1 == revision_)
            session->revision = revision_;
    }
    retry_refused_vnics(now);
    side_work_.discard(std::move(before));
}

/// Sessions of hosts that are gone, or whose key is another, end.
void Controller::adopt_sessions(const ClusterConfig& before, const Renumbering& places, Nanos now) {
    for (const auto& session : sessions_.adopt(world_->config, places)) {
        send_refusal({.route = session->route, .host = {}}, session->number,
                     "host " + before.hosts[session->host].name + " was removed from the cluster file");
        writes_.set_allocation(before.hosts[session->host].name, {});
    }
    for (HostIndex old = 0; old < before.hosts.size(); ++old) {
        const HostIndex host = places.hosts[old];
        Session* const session = host == kNowhere ? nullptr : sessions_.of_host(host);
        if (session == nullptr || session->is_silent ||
            before.hosts[old].key == world_->config.hosts[host].key)
            continue;
        send_refusal({.route = session->route, .host = {}}, session->number,
                     "the key of host " + before.hosts[old].name + " was changed in the cluster file");
        lose(*session, now);
        sessions_.end(*session);
    }
}

/// Guarantees that are kept for silent hosts are those of the new configuration.
void Controller::adopt_kept(const Renumbering& places) {
    const std::map<HostIndex, Kept> before = std::exchange(kept_, {});
    idle_pairs_left_ = kIdlePairsMax;
    for (const auto& [old, kept] : before) {
        const HostIndex host = places.hosts[old];
        if (host == kNowhere)
            continue;
        const std::size_t left = idle_pairs_left_;
        DemandTable& demands = world_->demands;
        demands.replace_host(host, kept_demands(world_->cluster, host, demands.flows(), idle_pairs_left_));
        kept_[host] = {.until = kept.until, .idle_pairs = left - idle_pairs_left_};
    }
}

/// Its switch has the vNIC still: it is refused there, as if it had come now.
void Controller::refuse_displaced(const Displaced& vnic, const Renumbering& places) {
    const HostIndex host = places.hosts[vnic.host];
    Session* const session = host == kNowhere ? nullptr : sessions_.of_host(host);
    if (session == nullptr)
        return;
    session->refused_vnics.push_back({.vnic = {.name = vnic.name,
                                               .tenant = vnic.states_tenant ? vnic.tenant : "",
                                               .mac = vnic.mac,
                                               .vlan = vnic.vlan},
                                      .why = vnic.why,
                                      .is_final = vnic.is_final});
    session->tables_due = true;
    audit("refused", "vNIC " + vnic.name + " of host " + world_->config.hosts[host].name + ": " + vnic.why);
}

/// A refusal by the configuration before may be none any more, and the reverse.
void Controller::judge_refusals(Session& session) {
    for (Refusal& refused : session.refused_vnics) {
        std::string why = world_->why_never(session.host, refused.vnic);
        const bool was_final = std::exchange(refused.is_final, !why.empty());
        if (!refused.is_final || (was_final && refused.why == why))
            continue;
        refused.why = std::move(why);
        session.tables_due = true;
    }
}

wire::Tables Controller::view_of(const Session& session) const {
    if (session.tables_by_need) {
        wire::Tables view = world_->views.view(session.host, session.appliances);
        add_promises(world_->cluster, session, view);
        return view;
    }
    return world_->cluster.tables_of(session.host,
                                     wire::has(session.capabilities, wire::capability::kPairFloors));
}

/// Sends the difference of the session's TABLES; the whole table follows at the next tick where a change
/// cannot say it.
void Controller::send_difference(Session& session, const wire::Tables& before) {
    session.demands_due = true;
    session.adopted_at = interval_;
    if (session.tables_due)
        return;
    std::optional<wire::Tables> change =
        session.tables_by_need ? change_between(before, view_of(session)) : std::nullopt;
    if (change)
        send_tables(session, std::move(*change));
    else
        session.tables_due = true;
}

}  // namespace weir
