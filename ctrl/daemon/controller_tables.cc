// controller_tables.cc - Controller: TABLES by need and in changes, and whole ones for switches of an older
// version.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "ctrl/daemon/controller.h"
#include "ctrl/daemon/promises.h"

namespace weir {
namespace {

/// Addresses of one switch that are answered in one interval.
constexpr std::uint32_t kAskedMax = 2 * wire::kAskAddressesMax;
/// Of a message for a switch without wire::capability::kTablesByNeed: so many of the longest stay below 4 MiB
/// and 200,000 JSON values, beyond which it would refuse the message.
constexpr std::size_t kWholeEndpointsMax = 16'000;
constexpr std::size_t kWholeGuaranteesMax = 5'000;
/// More than a switch has vNICs.
constexpr std::size_t kRefusalsMax = 4'096;

/// Removes the entries beyond those that a switch of an older version accepts; its own vNICs and the
/// appliances stay longest.
/// @return endpoints that were removed
std::uint64_t cut(wire::Tables& tables, const std::string& host) {
    if (tables.guarantees.size() > kWholeGuaranteesMax)
        tables.guarantees.resize(kWholeGuaranteesMax);
    if (tables.endpoints.size() <= kWholeEndpointsMax)
        return 0;
    std::ranges::stable_partition(tables.endpoints, [&](const wire::Endpoint& end) {
        return end.kind == wire::Endpoint::Kind::kAppliance || end.host == host;
    });
    const std::size_t left_out = tables.endpoints.size() - kWholeEndpointsMax;
    tables.endpoints.resize(kWholeEndpointsMax);
    return left_out;
}

}  // namespace

void Controller::note_capabilities(Session& session, const wire::Hello& hello) {
    session.capabilities = hello.capabilities;
    session.tables_by_need = wire::has(hello.capabilities, wire::capability::kTablesByNeed);
    session.stated.clear();
    for (const wire::HelloVnic& vnic : hello.vnics)
        if (vnic.stated)
            session.stated.emplace(vnic.name, *vnic.stated);
    session.tracked.clear();
    for (const wire::HelloAppliance& appliance : hello.appliances)
        session.tracked.push_back(appliance.name);
    find_appliances(session);
}

void Controller::find_appliances(Session& session) const {
    const std::set<std::string_view> tracked(session.tracked.begin(), session.tracked.end());
    session.appliances.clear();
    for (std::uint32_t i = 0; i < world_->config.appliances.size(); ++i)
        if (tracked.contains(world_->config.appliances[i].name))
            session.appliances.push_back(world_->cluster.appliance_id(i));
    std::ranges::sort(session.appliances);
}

void Controller::note_moved(const ClusterEnd& vnic, HostIndex before, HostIndex now) {
    changed_tenants_.insert(vnic.tenant);
    refusals_may_end_ = true;
    world_->views.on_moved(vnic.id, before, now);
}

/// Floors of the host's vNICs in the TABLES of their peers follow a change of the plan of its link.
void Controller::note_link(HostIndex host) {
    const LinkPlan& now = world_->cluster.link_plan(host);
    World::StatedLink& stated = world_->stated_links[host];
    if (stated.planned == now.planned && stated.kept_part == now.kept_part)
        return;
    for (const std::uint32_t id : world_->cluster.vnics_of(host)) {
        changed_tenants_.insert(world_->cluster.find_end(id)->tenant);
        world_->views.on_moved(id, host, host);
    }
    const bool is_cut = now.kept_part < 1;
    if (is_cut || stated.kept_part < 1) {
        const std::string text = "host " + world_->config.hosts[host].name + ": " +
                                 (is_cut ? cut_text(now) : "all reservations fit its uplink again");
        if (audit("cut", text))
            is_cut ? spdlog::warn("{}", text) : spdlog::info("{}", text);
    }
    stated = {now.planned, now.kept_part};
}

void Controller::on_ask(Session& session, std::span<const std::uint8_t> body, Nanos now) {
    auto parsed = wire::parse_ask({reinterpret_cast<const char*>(body.data()), body.size()});
    const auto* ask = std::get_if<wire::Ask>(&parsed);
    if (ask == nullptr || !session.tables_by_need) {
        ++counters_.bad_json;
        return;
    }
    const std::size_t count = std::min<std::size_t>(ask->addresses.size(), kAskedMax - session.asked);
    counters_.asked_late += ask->addresses.size() - count;
    if (count == 0)
        return;
    session.asked += static_cast<std::uint32_t>(count);
    wire::Tables tables = world_->views.answer(session.host, std::span(ask->addresses).first(count), now);
    counters_.asked += count;
    counters_.asked_unknown += tables.unknown.size();
    send_tables(session, std::move(tables));
}

void Controller::send_tables(Session& session, wire::Tables tables) {
    for (const wire::Tables& part : wire::split(std::move(tables))) {
        const std::string text = wire::to_text(part);
        ++counters_.tables;
        counters_.tables_bytes += text.size();
        send_json(session, wire::Type::kTables, text);
    }
}

/// The refusals that a whole table states to the session's switch.
void Controller::add_refusals(const Session& session, wire::Tables& tables) const {
    add_billed_vnics(session, tables);
    if (!wire::has(session.capabilities, wire::capability::kRefusals))
        return;
    std::vector<wire::RefusedVnic>& refused = tables.refused_vnics.emplace();
    for (const Refusal& refusal : session.refused_vnics)
        if (refused.size() < kRefusalsMax)
            refused.push_back(
                {refusal.vnic.name, refusal.why, world_->cluster.find_vnic(refusal.vnic.name) == nullptr});
}

/// The whole table.
void Controller::send_tables(Session& session) {
    session.tables_due = false;
    session.endpoints_left_out = 0;
    if (session.tables_by_need) {
        wire::Tables tables = world_->views.whole(session.host, session.appliances);
        add_refusals(session, tables);
        add_promises(world_->cluster, session, tables);
        return send_tables(session, std::move(tables));
    }
    const std::string& host = world_->config.hosts[session.host].name;
    wire::Tables tables = world_->cluster.tables_of(
        session.host, wire::has(session.capabilities, wire::capability::kPairFloors));
    session.endpoints_left_out = cut(tables, host);
    add_refusals(session, tables);
    if (session.endpoints_left_out != 0 &&
        audit("tables", "the switch of host " + host + " has no capability " +
                            std::string(wire::capability::kTablesByNeed) + " and takes " +
                            std::to_string(kWholeEndpointsMax) +
                            " endpoints at most: its vNICs have no rates to some peers; upgrade weir-switch"))
        spdlog::warn("host {}: {} endpoints were left out of its TABLES; upgrade its weir-switch", host,
                     session.endpoints_left_out);
    const std::string text = wire::to_text(tables);
    ++counters_.tables;
    counters_.tables_bytes += text.size();
    send_json(session, wire::Type::kTables, text);
}

void Controller::send_changed_tables(Nanos now) {
    for (HostIndex host = 0; host < world_->config.hosts.size(); ++host)
        note_link(host);
    world_->views.remove_idle(world_->demands.flows(), now);
    TableViews::Updates updates = world_->views.take_updates();
    for (Session* session : sessions_.active()) {
        session->asked = 0;
        if (!session->tables_by_need)
            continue;
        if (session->tables_due || updates.whole.contains(session->host))
            send_tables(*session);
        else if (const auto at = updates.changes.find(session->host); at != updates.changes.end())
            send_tables(*session, std::move(at->second));
    }
    send_whole_tables_of_changed_tenants();
}

/// Sends TABLES to every switch without wire::capability::kTablesByNeed that has a vNIC of a tenant whose
/// vNICs changed, or a refusal that did.
void Controller::send_whole_tables_of_changed_tenants() {
    const auto has_changed = [this](const Session& session) {
        return !changed_tenants_.empty() &&
               std::ranges::any_of(world_->cluster.vnics_of(session.host), [this](auto id) {
                   return changed_tenants_.contains(world_->cluster.find_end(id)->tenant);
               });
    };
    for (Session* session : sessions_.active())
        if (!session->tables_by_need && (session->tables_due || has_changed(*session)))
            send_tables(*session);
    changed_tenants_.clear();
}

}  // namespace weir
