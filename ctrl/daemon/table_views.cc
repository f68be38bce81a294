// table_views.cc - answers to addresses, views of hosts, and their changes.
#include "ctrl/daemon/table_views.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir {

void TableViews::on_moved(std::uint32_t vnic, HostIndex before, HostIndex now) {
    moved_.insert(vnic);
    for (const HostIndex host : {before, now})
        if (host != kNowhere)
            own_changed_.insert(host);
    if (const ClusterEnd* end = cluster_.find_end(vnic); end != nullptr && now != kNowhere)
        find_sought(*end);
}

void TableViews::seek(HostIndex host, Address address, Nanos now) {
    const auto at = sought_.find(address);
    const bool is_new = at == sought_.end() || !at->second.contains(host);
    if (is_new && sought_of_[host] >= kSoughtMax)
        return;
    sought_of_[host] += is_new ? 1 : 0;
    sought_[std::move(address)][host] = now;
}

/// The vNIC comes into the views of the hosts that asked for its address and have a vNIC of its tenant still.
void TableViews::find_sought(const ClusterEnd& vnic) {
    const auto found = sought_.find({vnic.tenant, vnic.vlan, vnic.mac});
    if (found == sought_.end() || cluster_.find_peer(vnic.tenant, vnic.mac, vnic.vlan) != &vnic)
        return;
    for (auto at = found->second.begin(); at != found->second.end();) {
        const auto [host, asked] = *at;
        if (host == vnic.host) {
            ++at;
            continue;
        }
        if (tenants_on(host).contains(vnic.tenant))
            see(host, vnic.id, asked);
        --sought_of_[host];
        at = found->second.erase(at);
    }
    if (found->second.empty())
        sought_.erase(found);
}

void TableViews::remove_old_sought(Nanos now) {
    for (auto address = sought_.begin(); address != sought_.end();) {
        std::erase_if(address->second, [&](const auto& asked) {
            const bool is_old = now - asked.second > kSoughtFor;
            sought_of_[asked.first] -= is_old ? 1 : 0;
            return is_old;
        });
        address = address->second.empty() ? sought_.erase(address) : std::next(address);
    }
}

std::set<TenantIndex> TableViews::tenants_on(HostIndex host) const {
    std::set<TenantIndex> tenants;
    for (const std::uint32_t id : cluster_.vnics_of(host))
        tenants.insert(cluster_.find_end(id)->tenant);
    return tenants;
}

wire::Endpoint TableViews::endpoint(std::uint32_t id) const {
    return cluster_.endpoint_of(*cluster_.find_end(id), true);
}

/// @return false: the view is full
bool TableViews::see(HostIndex host, std::uint32_t peer, Nanos now) {
    auto& peers = peers_[host];
    if (peers.size() >= kPeersMax && !peers.contains(peer))
        return false;
    peers[peer] = now;
    seen_by_[peer].insert(host);
    return true;
}

void TableViews::forget(HostIndex host, std::uint32_t peer) {
    peers_[host].erase(peer);
    const auto at = seen_by_.find(peer);
    at->second.erase(host);
    if (at->second.empty())
        seen_by_.erase(at);
}

/// Peers of a tenant that has no vNIC on the host any more are not the host's business.
void TableViews::forget_foreign(HostIndex host) {
    const std::set<TenantIndex> tenants = tenants_on(host);
    std::vector<std::uint32_t> foreign;
    for (const auto& [peer, used] : peers_[host])
        if (!tenants.contains(cluster_.find_end(peer)->tenant))
            foreign.push_back(peer);
    for (const std::uint32_t peer : foreign)
        forget(host, peer);
}

wire::Tables TableViews::whole(HostIndex host, std::span<const std::uint32_t> appliances) {
    forget_foreign(host);
    own_changed_.erase(host);
    removed_.erase(host);
    return view(host, appliances);
}

wire::Tables TableViews::view(HostIndex host, std::span<const std::uint32_t> appliances) const {
    const auto is_tracked = [&](std::uint32_t id) { return std::ranges::binary_search(appliances, id); };
    const std::set<std::uint32_t>& own = cluster_.vnics_of(host);
    std::set<std::uint32_t> ends(own.begin(), own.end());
    for (const TenantIndex tenant : tenants_on(host))
        std::ranges::copy_if(cluster_.appliances_of(tenant), std::inserter(ends, ends.end()), is_tracked);
    for (const auto& [peer, used] : peers_[host])
        ends.insert(peer);
    wire::Tables tables;
    for (const std::uint32_t id : ends)
        tables.endpoints.push_back(endpoint(id));
    for (const std::uint32_t vnic : own)
        for (const std::uint32_t appliance : cluster_.appliances_of(cluster_.find_end(vnic)->tenant))
            if (is_tracked(appliance))
                tables.guarantees.push_back(cluster_.guarantee_of({vnic, appliance}));
    std::ranges::sort(tables.guarantees, {}, &wire::FlowAllocation::flow);
    return tables;
}

wire::Tables TableViews::answer(HostIndex host, std::span<const wire::PeerAddress> asked, Nanos now) {
    wire::Tables tables{.changes = true};
    std::set<std::uint32_t> found;
    for (const wire::PeerAddress& address : asked) {
        const ClusterEnd* source = cluster_.find_end(address.source);
        const bool is_own = source != nullptr && !source->is_appliance && source->host == host;
        const ClusterEnd* peer =
            is_own ? cluster_.find_peer(source->tenant, address.mac, source->vlan) : nullptr;
        if (peer == nullptr || peer->host == host || !see(host, peer->id, now)) {
            tables.unknown.push_back(address);
            if (is_own)
                seek(host, {source->tenant, source->vlan, address.mac}, now);
        } else if (found.insert(peer->id).second) {
            tables.endpoints.push_back(endpoint(peer->id));
        }
    }
    return tables;
}

void TableViews::remove_idle(const FlowDemands& flows, Nanos now) {
    if (now < look_at_)
        return;
    look_at_ = now + kLookPeriod;
    remove_old_sought(now);
    for (const auto& [flow, demand] : flows) {
        const HostIndex host = cluster_.find_end(flow.source)->host;
        if (host == kNowhere)
            continue;
        if (const auto used = peers_[host].find(flow.destination); used != peers_[host].end())
            used->second = now;
    }
    for (HostIndex host = 0; host < peers_.size(); ++host) {
        std::vector<std::uint32_t> idle;
        for (const auto& [peer, used] : peers_[host])
            if (now - used > kIdle)
                idle.push_back(peer);
        std::ranges::sort(idle);
        for (const std::uint32_t peer : idle)
            forget(host, peer);
        if (!idle.empty())
            std::ranges::copy(idle, std::back_inserter(removed_[host]));
    }
}

void TableViews::take_over(const TableViews& before, const Renumbering& places) {
    const auto is_here = [this](std::uint32_t id, HostIndex host) {
        const ClusterEnd* end = cluster_.find_end(id);
        return end != nullptr && tenants_on(host).contains(end->tenant);
    };
    for (HostIndex old = 0; old < before.peers_.size(); ++old) {
        const HostIndex host = places.hosts[old];
        if (host == kNowhere)
            continue;
        for (const auto& [peer, used] : before.peers_[old])
            if (is_here(peer, host))
                see(host, peer, used);
        if (before.own_changed_.contains(old))
            own_changed_.insert(host);
    }
    for (const auto& [address, hosts] : before.sought_)
        for (const auto& [old, asked] : hosts)
            if (const HostIndex host = places.hosts[old]; host != kNowhere)
                if (const TenantIndex tenant = places.tenants[address.tenant]; tenant != kNowhere)
                    seek(host, {tenant, address.vlan, address.mac}, asked);
    std::ranges::copy_if(before.moved_, std::inserter(moved_, moved_.end()),
                         [this](std::uint32_t id) { return cluster_.find_end(id) != nullptr; });
    for (const auto& [old, ids] : before.removed_)
        if (const HostIndex host = places.hosts[old]; host != kNowhere)
            removed_[host] = ids;
    look_at_ = before.look_at_;
}

TableViews::Updates TableViews::take_updates() {
    Updates updates{.whole = std::exchange(own_changed_, {}), .changes = {}};
    for (const std::uint32_t id : std::exchange(moved_, {})) {
        const auto seen = seen_by_.find(id);
        if (seen == seen_by_.end())
            continue;
        const wire::Endpoint moved = endpoint(id);
        for (const HostIndex host : seen->second)
            updates.changes[host].endpoints.push_back(moved);
    }
    for (auto& [host, ids] : std::exchange(removed_, {}))
        updates.changes[host].removed = std::move(ids);
    for (const HostIndex host : updates.whole)
        updates.changes.erase(host);
    for (auto& [host, tables] : updates.changes)
        tables.changes = true;
    return updates;
}

std::optional<wire::Tables> change_between(const wire::Tables& before, const wire::Tables& now) {
    wire::Tables change{.changes = true};
    const auto is_there = [&now](std::uint32_t id) {
        return std::ranges::binary_search(now.endpoints, id, {}, &wire::Endpoint::id);
    };
    auto old = before.endpoints.begin();
    for (const wire::Endpoint& end : now.endpoints) {
        for (; old != before.endpoints.end() && old->id < end.id; ++old)
            change.removed.push_back(old->id);
        const bool is_known = old != before.endpoints.end() && old->id == end.id;
        if (!is_known || *old != end)
            change.endpoints.push_back(end);
        old += is_known ? 1 : 0;
    }
    for (; old != before.endpoints.end(); ++old)
        change.removed.push_back(old->id);
    auto last = before.guarantees.begin();
    const auto is_lost = [&](wire::FlowKey flow) {
        return is_there(flow.source) && is_there(flow.destination);
    };
    for (const wire::FlowAllocation& guarantee : now.guarantees) {
        for (; last != before.guarantees.end() && last->flow < guarantee.flow; ++last)
            if (is_lost(last->flow))
                return std::nullopt;
        const bool is_known = last != before.guarantees.end() && last->flow == guarantee.flow;
        if (!is_known || *last != guarantee)
            change.guarantees.push_back(guarantee);
        last += is_known ? 1 : 0;
    }
    for (; last != before.guarantees.end(); ++last)
        if (is_lost(last->flow))
            return std::nullopt;
    return change;
}

}  // namespace weir
