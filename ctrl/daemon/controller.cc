// controller.cc - handling of each message, billing periods, and the work of one interval.
#include "ctrl/daemon/controller.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "common/wire/records.h"

namespace weir {
namespace {

using wire::Header;
using wire::Type;

/// Different audit entries that are counted; beyond it counting starts again.
constexpr std::size_t kAuditedMax = 1'000;

bool is_of_switch(Type type) {
    return type == Type::kHello || type == Type::kDemand || type == Type::kUsage || type == Type::kHeartbeat;
}

/// Unix nanoseconds as "2026-11-26 11:20:00 UTC".
std::string utc(std::int64_t nanos) {
    const std::time_t seconds = nanos / static_cast<std::int64_t>(kNanosPerSec);
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    std::array<char, 32> text{};
    (void)std::strftime(text.data(), text.size(), "%F %T UTC", &parts);
    return text.data();
}

/// Measured use is stored in this many parts, one per interval, so that no interval waits long for the disk.
constexpr std::size_t kUseParts = 60;

}  // namespace

Controller::Controller(const ClusterConfig& config, Solver& solver, Store& store, std::int64_t unix_time)
    : config_(config),
      solver_(solver),
      store_(store),
      unix_time_(unix_time),
      epoch_(store.begin_epoch(unix_time)),
      cluster_(config, [&store](std::string_view kind,
                                std::string_view name) { return store.endpoint_id(kind, name); }),
      use_(store.measured_use()),
      admission_(config, &use_),
      sessions_(config),
      demands_(cluster_),
      stored_(store.allocations()) {
    restore_pools();
}

/// Applies what operators set of pools in earlier epochs. The audit trail names those that no longer count.
void Controller::restore_pools() {
    PoolRates* pools = solver_.pools();
    if (pools == nullptr)
        return;
    const std::vector<std::string> dropped = pools->restore(store_.pool_settings());
    for (const std::string& each : dropped)
        audit("pool", each);
    if (!dropped.empty())
        store_.save_pool_settings(pools->settings());
}

/// Writes an audit entry when the same thing happens for the 1st, 2nd, 4th, 8th ... time.
bool Controller::audit(const char* kind, const std::string& text) {
    if (audited_.size() >= kAuditedMax)
        audited_.clear();
    const std::uint64_t times = ++audited_[kind + (": " + text)];
    if ((times & (times - 1)) != 0)
        return false;
    store_.audit(kind, times == 1 ? text : text + " (" + std::to_string(times) + " times)", unix_time_);
    return times == 1;
}

void Controller::send(const std::string& route, const Header& header, wire::Bytes body) {
    counters_.bytes_out += wire::kHeaderBytes + body.size();
    outgoing_.push_back({route, wire::encode_header(header), std::move(body)});
}

void Controller::send_json(Session& session, Type type, const std::string& text) {
    Header header = session.sequencer.next(type, interval_);
    header.count = static_cast<std::uint32_t>(text.size());
    send(session.route, header, {text.begin(), text.end()});
}

void Controller::on_message(const Peer& peer, std::span<const std::uint8_t> head,
                            std::span<const std::uint8_t> body, Nanos now) {
    ++counters_.messages;
    counters_.bytes_in += head.size() + body.size();
    Header header;
    const wire::Malformed malformed = wire::decode_header(head, body.size(), header);
    if (malformed != wire::Malformed::kNo) {
        ++counters_.malformed[static_cast<std::size_t>(malformed)];
        return;
    }
    if (!is_of_switch(header.type)) {
        ++counters_.wrong_type;
        return;
    }
    if (header.type == Type::kHello)
        return on_hello(peer, header, body, now);
    Session* session = sessions_.of_peer(peer, header.session);
    const auto accepted = session == nullptr ? wire::Acceptance::kForeign : session->filter.accept(header);
    if (accepted == wire::Acceptance::kForeign) {
        ++counters_.foreign;
        return send(peer.route,
                    {.type = Type::kHeartbeat,
                     .flags = wire::flags::kAskHello,
                     .epoch = epoch_,
                     .session = header.session,
                     .interval = interval_},
                    {});
    }
    if (accepted == wire::Acceptance::kStale) {
        ++counters_.stale;
        return;
    }
    session->last_message = now;
    if (header.has(wire::flags::kAskSnapshot)) {
        session->sender.send_snapshot();
        send_tables(*session);  // TABLES may be what the switch missed
    }
    if (header.type == Type::kDemand)
        on_demand(*session, header, body);
    if (header.type == Type::kUsage)
        on_usage(*session, body);
}

void Controller::on_hello(const Peer& peer, const Header& header, std::span<const std::uint8_t> body,
                          Nanos now) {
    const auto parsed = wire::parse_hello({reinterpret_cast<const char*>(body.data()), body.size()});
    if (const Faults* faults = std::get_if<Faults>(&parsed)) {
        ++counters_.bad_json;
        audit("malformed",
              "HELLO" + (peer.host.empty() ? "" : " of " + peer.host) + ": " + faults->front().to_line());
        return;
    }
    const auto& hello = std::get<wire::Hello>(parsed);
    std::string why = sessions_.why_refused(peer, cluster_.find_host(hello.host), hello.host);
    if (why.empty())
        why = why_rival(peer, header, hello, now);
    if (why.empty())
        return open_session(peer, header, hello, now);
    ++counters_.refused_hosts;
    if (audit("refused", why))
        spdlog::warn("refused: {}", why);
    const std::string text = wire::to_text(wire::Welcome{.cluster = config_.name, .refused = why});
    send(peer.route,
         {.type = Type::kWelcome,
          .epoch = epoch_,
          .session = header.session,
          .sequence = 1,
          .interval = interval_,
          .count = static_cast<std::uint32_t>(text.size())},
         {text.begin(), text.end()});
}

/// A switch that was restarted is no rival of the one before, whose connection has ended.
std::string Controller::why_rival(const Peer& peer, const Header& header, const wire::Hello& hello,
                                  Nanos now) {
    Session* const rival = sessions_.rival(peer, cluster_.find_host(hello.host), header.session, now);
    if (rival == nullptr)
        return {};
    if (reach_ &&
        !reach_(
            {rival->route, wire::encode_header(rival->sequencer.next(Type::kHeartbeat, interval_)), {}})) {
        lose(*rival);
        sessions_.end(*rival);
        return {};
    }
    const auto from = [](const std::string& address) {
        return address.empty() ? std::string("a local socket") : address;
    };
    return "host " + hello.host + " is connected already, from " + from(rival->address) + " since " +
           utc(rival->since) + "; this switch, from " + from(peer.address) +
           ", has the same name and key: give one of them its own (was its machine cloned?)";
}

void Controller::open_session(const Peer& peer, const Header& header, const wire::Hello& hello, Nanos now) {
    const HostIndex host = cluster_.find_host(hello.host);
    const bool is_first = sessions_.of_host(host) == nullptr;
    const auto [session, is_new] = sessions_.open(peer, host, header.session, now);
    if (is_new) {
        // Until its first DEMAND a switch gets the rates of its last session, or of the last epoch.
        if (const auto last = stored_.find(hello.host); is_first && last != stored_.end())
            session.rates = last->second.flows;
        session.since = unix_time_ * static_cast<std::int64_t>(kNanosPerSec);
        session.sequencer = {.epoch = epoch_, .session = header.session};
        session.filter = wire::MessageFilter(epoch_, header.session, header.sequence);
        audit("welcome", "host " + hello.host);
    }
    session.version = hello.version;
    place_vnics(session, hello, now);
    send_json(session, Type::kWelcome,
              wire::to_text(wire::Welcome{.cluster = config_.name,
                                          .interval = config_.interval,
                                          .validity = Sessions::kValidity,
                                          .billing_period = config_.billing_period}));
    send_tables(session);
    session.sender.send_snapshot();
    send_rates(session, false);
}

std::string Controller::why_not_placed(HostIndex host, const wire::HelloVnic& vnic, const ClusterEnd* end,
                                       Nanos now) {
    if (end == nullptr)
        return "it is not in the cluster file";
    const TenantConfig& tenant = config_.tenants[end->tenant];
    if (!vnic.tenant.empty() && vnic.tenant != tenant.name)
        return "its tenant is " + tenant.name + ", not " + vnic.tenant;
    const std::string& wanted = tenant.vnics[end->index].host;
    if (!wanted.empty() && wanted != config_.hosts[host].name)
        return "its host is " + wanted;
    if (end->host != kNowhere && end->host != host && sessions_.is_alive(end->host, now))
        return "host " + config_.hosts[end->host].name + " has it";
    return admission_.why_not(*end, host);
}

/// The vNICs of a HELLO are all that the host has: accepted ones are placed there, missing ones leave.
void Controller::place_vnics(Session& session, const wire::Hello& hello, Nanos now) {
    std::set<std::uint32_t> left = cluster_.vnics_of(session.host);
    session.refused_vnics.clear();
    for (const wire::HelloVnic& vnic : hello.vnics) {
        const ClusterEnd* end = cluster_.find_vnic(vnic.name);
        const std::string why = why_not_placed(session.host, vnic, end, now);
        if (!why.empty()) {
            ++counters_.refused_vnics;
            session.refused_vnics.push_back(vnic.name + ": " + why);
            audit("refused", "vNIC " + vnic.name + " of host " + hello.host + ": " + why);
            continue;
        }
        left.erase(end->id);
        if (end->host == session.host && end->mac == vnic.mac && end->vlan == vnic.vlan)
            continue;
        demands_.remove_vnic(end->id);
        changed_tenants_.insert(end->tenant);
        admission_.place(*end, session.host);
        cluster_.place_vnic(end->id, session.host, vnic.mac, vnic.vlan);
    }
    for (const std::uint32_t id : left) {
        const ClusterEnd& end = *cluster_.find_end(id);
        demands_.remove_vnic(id);
        changed_tenants_.insert(end.tenant);
        admission_.remove(end);
        cluster_.remove_vnic(id);
    }
}

void Controller::on_demand(Session& session, const Header& header, std::span<const std::uint8_t> body) {
    counters_.refused_records += wire::decode(body, records_);
    const std::size_t applied = demands_.apply(session.host, records_, header.has(wire::flags::kSnapshot));
    counters_.records += applied;
    counters_.foreign_flows += records_.size() - applied;
    session.has_demands = true;
}

void Controller::send_tables(Session& session) {
    send_json(session, Type::kTables, wire::to_text(cluster_.tables_of(session.host)));
}

/// Sends TABLES to every switch with a vNIC of a tenant whose vNICs changed.
void Controller::send_changed_tables() {
    if (changed_tenants_.empty())
        return;
    for (Session* session : sessions_.active()) {
        const auto& vnics = cluster_.vnics_of(session->host);
        if (std::ranges::any_of(
                vnics, [this](auto id) { return changed_tenants_.contains(cluster_.find_end(id)->tenant); }))
            send_tables(*session);
    }
    changed_tenants_.clear();
}

void Controller::expire_sessions(Nanos now) {
    for (const Session* session : sessions_.expire(now))
        lose(*session);
}

void Controller::lose(const Session& session) {
    demands_.remove_host(session.host);
    audit("lost", "host " + config_.hosts[session.host].name);
}

/// Replaces the rates of all sessions that have sent demands in this epoch.
void Controller::solve(bool interval_ended) {
    ++counters_.solves;
    demands_.clear_change();
    const std::vector<wire::FlowAllocation> rates = solver_.solve(cluster_, demands_.flows(), interval_ended);
    for (const auto& session : sessions_.all())
        if (session && session->has_demands)
            session->rates.clear();
    const auto solved_for = [this](HostIndex host) {
        Session* session = host == kNowhere ? nullptr : sessions_.of_host(host);
        return session != nullptr && session->has_demands ? session : nullptr;
    };
    for (const wire::FlowAllocation& flow : rates)
        if (Session* session = solved_for(cluster_.find_end(flow.flow.source)->host))
            session->rates.push_back(flow);
    std::set<Session*> with_windows;
    for (const Solver::Window& window : solver_.windows(cluster_))
        if (Session* session = solved_for(window.host)) {
            session->rates.push_back(window.record);
            with_windows.insert(session);
        }
    for (Session* session : with_windows)
        std::ranges::sort(session->rates, {}, &wire::FlowAllocation::flow);
}

void Controller::send_rates(Session& session, bool even_without_changes) {
    const bool is_snapshot = session.sender.changes(session.rates, changes_);
    if (changes_.empty() && !even_without_changes)
        return;
    Header header = session.sequencer.next(Type::kAllocation, interval_);
    header.flags = static_cast<std::uint16_t>((is_snapshot ? wire::flags::kSnapshot : 0) |
                                              (session.filter.gap() ? wire::flags::kAskSnapshot : 0));
    header.count = static_cast<std::uint32_t>(changes_.size());
    counters_.records_out += changes_.size();
    session.is_unsaved = session.is_unsaved || !changes_.empty();
    wire::Bytes body;
    body.reserve(changes_.size() * wire::kAllocationBytes);
    for (const wire::FlowAllocation& record : changes_)
        wire::encode(record, body);
    send(session.route, header, std::move(body));
}

void Controller::tick(Nanos now, std::int64_t unix_time) {
    unix_time_ = unix_time;
    ++interval_;
    expire_sessions(now);
    send_changed_tables();
    solve(true);
    for (Session* session : sessions_.active())
        send_rates(*session, true);
    save();
}

void Controller::solve_early(Nanos now) {
    expire_sessions(now);
    ++counters_.early_solves;
    solve(false);
    for (Session* session : sessions_.active())
        send_rates(*session, false);
}

void Controller::save() {
    std::map<std::string, StoredAllocation> by_host;
    for (const auto& session : sessions_.all())
        if (session && std::exchange(session->is_unsaved, false))
            by_host[config_.hosts[session->host].name] = {epoch_, interval_, session->rates};
    if (!by_host.empty())
        store_.save_allocations(by_host);
    save_measured_use();
}

/// Answers with BILLED once the periods are stored. Without that answer the switch sends them again, so
/// nothing is lost while the store cannot be written.
void Controller::on_usage(Session& session, std::span<const std::uint8_t> body) {
    std::vector<wire::Usage> periods;
    counters_.refused_records += wire::decode(body, periods);
    std::uint64_t last_ended = 0;
    std::vector<billing::Record> records;
    for (const wire::Usage& period : periods) {
        last_ended = std::max(last_ended, period.ended);
        const ClusterEnd* end = cluster_.find_end(period.vnic);
        if (end == nullptr || end->is_appliance || end->host != session.host) {
            ++counters_.foreign_flows;
            continue;
        }
        const TenantConfig& tenant = config_.tenants[end->tenant];
        records.push_back({.vnic = tenant.vnics[end->index].name,
                           .tenant = tenant.name,
                           .guarantee_kind = period.guarantee,
                           .began = static_cast<std::int64_t>(period.began),
                           .ended = static_cast<std::int64_t>(period.ended),
                           .promised = period.promised,
                           .delivered = period.delivered});
        use_.add(records.back(), session.since);
    }
    try {
        if (config_.prices && !records.empty()) {
            const BillStore::Appended appended = store_.bill().append(records, *config_.prices);
            counters_.records += appended.added;
            if (appended.refused != 0)
                audit("refused", std::to_string(appended.refused) + " periods of host " +
                                     config_.hosts[session.host].name +
                                     ", which end before they begin or overlap others");
        }
    } catch (const HostError& error) {
        audit("store", std::string("billing periods were not written: ") + error.what());
        return;
    }
    wire::Header header = session.sequencer.next(wire::Type::kBilled, interval_);
    header.count = 1;
    send(session.route, header, wire::encode_billed(last_ended));
}

void Controller::save_measured_use() {
    try {
        store_.save_measured_use(use_.all(), interval_ % kUseParts, kUseParts);
    } catch (const HostError& error) {
        audit("store", std::string("measured use was not written: ") + error.what());
    }
}

}  // namespace weir
