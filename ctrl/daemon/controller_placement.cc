// controller_placement.cc - which vNICs of a HELLO have their place on the host, and when the others are
// tried again.
#include <algorithm>
#include <utility>

#include "ctrl/daemon/controller.h"

namespace weir {

std::string Controller::why_taken(HostIndex by) const {
    return "host " + world_->config.hosts[by].name + " has it";
}

std::string Controller::why_not_now(HostIndex host, const ClusterEnd& end, Nanos now) {
    if (end.host != kNowhere && end.host != host && sessions_.is_alive(end.host, now))
        return why_taken(end.host);
    return world_->admission.why_not(end, host);
}

/// A vNIC that was there when the controller began is none that comes.
std::string Controller::why_drained(const Session& session, const ClusterEnd& end) const {
    const HostConfig& host = world_->config.hosts[session.host];
    const bool comes = end.host != session.host && !session.is_first;
    if (!host.drain || !comes || !world_->config.tenants[end.tenant].vnics[end.index].host.empty())
        return {};
    return "host " + host.name + " is drained, and the specification names no host for this vNIC";
}

/// The vNICs of a HELLO are all that the host has: missing ones leave, and make room for those that come.
void Controller::place_vnics(Session& session, const wire::Hello& hello, Nanos now) {
    std::set<std::uint32_t> left = world_->cluster.vnics_of(session.host);
    std::vector<std::string> whys;
    for (const wire::HelloVnic& vnic : hello.vnics) {
        whys.push_back(world_->why_never(session.host, vnic));
        if (whys.back().empty())
            left.erase(world_->cluster.find_vnic(vnic.name)->id);
    }
    for (const std::uint32_t id : left)
        remove_vnic(id);
    session.refused_vnics.clear();
    RefusalList audited;
    bool is_any_left_out = false;
    for (std::size_t i = 0; i < hello.vnics.size(); ++i) {
        const wire::HelloVnic& vnic = hello.vnics[i];
        const bool is_final = !whys[i].empty();
        const std::string why = is_final ? whys[i] : place_vnic(session, vnic, now);
        if (why.empty())
            continue;
        ++counters_.refused_vnics;
        session.refused_vnics.push_back({vnic, why, is_final});
        if (audited.takes(world_->cluster.find_vnic(vnic.name) != nullptr))
            audit("refused", "vNIC " + vnic.name + " of host " + hello.host + ": " + why,
                  "host " + hello.host);
        else
            is_any_left_out = true;
    }
    if (is_any_left_out)
        audit("refused", "vNICs of host " + hello.host + ": more than the audit trail lists",
              "host " + hello.host);
}

/// @return why it is not placed; empty: it is
std::string Controller::place_vnic(Session& session, const wire::HelloVnic& vnic, Nanos now) {
    const ClusterEnd& end = *world_->cluster.find_vnic(vnic.name);
    if (std::string why = why_drained(session, end); !why.empty())
        return why;
    if (std::string why = why_not_now(session.host, end, now); !why.empty())
        return why;
    const bool states_tenant = !vnic.tenant.empty();
    if (end.host == session.host && end.mac == vnic.mac && end.vlan == vnic.vlan &&
        end.states_tenant == states_tenant)
        return {};
    const HostIndex before = end.host;
    if (before != kNowhere && before != session.host)
        note_taken(end, session.host);
    world_->demands.remove_vnic(end.id);
    world_->admission.place(end, session.host);
    world_->cluster.place_vnic(end.id, session.host, vnic.mac, vnic.vlan, states_tenant);
    note_moved(end, before, session.host);
    return {};
}

/// The host that has the vNIC now did not answer, and another one takes it. The first may be back without a
/// new HELLO: then its vNIC is refused there, and tried again.
void Controller::note_taken(const ClusterEnd& vnic, HostIndex by) {
    Session* const before = sessions_.of_host(vnic.host);
    if (before == nullptr)
        return;
    before->refused_vnics.push_back(
        {.vnic = {.name = world_->cluster.name_of(vnic),
                  .tenant = vnic.states_tenant ? world_->config.tenants[vnic.tenant].name : "",
                  .mac = vnic.mac,
                  .vlan = vnic.vlan},
         .why = why_taken(by)});
    before->tables_due = true;
}

void Controller::remove_vnic(std::uint32_t id) {
    const ClusterEnd& end = *world_->cluster.find_end(id);
    const HostIndex before = end.host;
    world_->demands.remove_vnic(id);
    world_->admission.remove(end);
    world_->cluster.remove_vnic(id);
    note_moved(end, before, kNowhere);
}

/// A place may be free since the last tick. One vNIC that is placed may make room for the next: where two of
/// a tenant are on one host, they need less of its link.
void Controller::retry_refused_vnics(Nanos now) {
    constexpr unsigned kRoundsMax = 4;  // a tick; the next one goes on
    for (unsigned round = 0; refusals_may_end_ && round < kRoundsMax; ++round) {
        refusals_may_end_ = false;
        for (Session* session : sessions_.active())
            retry_refused_vnics(*session, now);
    }
}

void Controller::retry_refused_vnics(Session& session, Nanos now) {
    for (Refusal& refused : session.refused_vnics) {
        if (refused.is_final)
            continue;
        std::string why = place_vnic(session, refused.vnic, now);
        session.tables_due = session.tables_due || why != refused.why;
        refused.why = std::move(why);
        if (refused.why.empty())
            audit("placed",
                  "vNIC " + refused.vnic.name + " of host " + world_->config.hosts[session.host].name +
                      ", which was refused",
                  "host " + world_->config.hosts[session.host].name);
    }
    std::erase_if(session.refused_vnics, [](const Refusal& refused) { return refused.why.empty(); });
}

}  // namespace weir
