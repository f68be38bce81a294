// controller.cc - messages in, rates out.
#include "ctrl/daemon/controller.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ctrl/daemon/session.h"

namespace weir {
namespace {

using wire::Header;
using wire::Type;

constexpr std::size_t kNotesMax = 1'000;
/// Whether the controller may hear it at all.
bool from_switch(Type type) {
    return type == Type::kHello || type == Type::kDemand || type == Type::kUsage || type == Type::kHeartbeat;
}

wire::Bytes bytes_of(const std::string& text) {
    return {text.begin(), text.end()};
}

}  // namespace

Controller::Controller(const ClusterConfig& config, Solver& solver, Store& store, std::int64_t unix_time)
    : config_(config),
      solver_(solver),
      store_(store),
      unix_time_(unix_time),
      epoch_(store.begin_epoch(unix_time)),
      cluster_(config, [&store](std::string_view kind,
                                std::string_view name) { return store.endpoint_id(kind, name); }),
      use_(store.use().load()),
      admission_(config, &use_),
      sessions_(config.hosts.size()),
      stored_(store.allocations()) {
    restore_pools();
}

Controller::~Controller() = default;

bool Controller::alive(const Session& session, Nanos now) const {
    return !session.silent && now - session.heard <= kValidity * config_.interval;
}

/// Into the audit trail: each thing when it happens first, and ever more seldom.
void Controller::note(const char* kind, const std::string& text) {
    if (notes_.size() >= kNotesMax)
        notes_.clear();
    const std::uint64_t times = ++notes_[kind + (": " + text)];
    if ((times & (times - 1)) == 0)
        store_.audit(kind, times == 1 ? text : text + " (" + std::to_string(times) + " times)", unix_time_);
}

void Controller::answer(const Peer& peer, Header header, wire::Bytes body) {
    header.count = static_cast<std::uint32_t>(body.size());
    counters_.bytes_out += wire::kHeaderBytes + body.size();
    outgoing_.push_back({peer.route, wire::encode_header(header), std::move(body)});
}

void Controller::send(Session& session, Header header, wire::Bytes body) {
    counters_.bytes_out += wire::kHeaderBytes + body.size();
    outgoing_.push_back({session.route, wire::encode_header(header), std::move(body)});
}

std::vector<Outgoing> Controller::take_outgoing() {
    return std::exchange(outgoing_, {});
}

void Controller::receive(const Peer& peer, std::span<const std::uint8_t> head,
                         std::span<const std::uint8_t> body, Nanos now) {
    ++counters_.messages;
    counters_.bytes_in += head.size() + body.size();
    Header header;
    const wire::Malformed malformed = wire::decode_header(head, body.size(), header);
    if (malformed != wire::Malformed::kNo) {
        ++counters_.malformed[static_cast<std::size_t>(malformed)];
        return;
    }
    if (!from_switch(header.type)) {
        ++counters_.wrong_type;
        return;
    }
    if (header.type == Type::kHello)
        return hello(peer, header, body, now);
    const auto known = routes_.find(peer.route);
    const bool ours = known != routes_.end() && sessions_[known->second]->number == header.session;
    const auto accepted = ours ? sessions_[known->second]->listener.accept(header) : wire::Accepted::kForeign;
    if (accepted == wire::Accepted::kForeign) {
        ++counters_.foreign;
        return answer(peer,
                      {.type = Type::kHeartbeat,
                       .flags = wire::flags::kAskHello,
                       .epoch = epoch_,
                       .session = header.session,
                       .interval = interval_},
                      {});
    }
    if (accepted == wire::Accepted::kStale) {
        ++counters_.stale;
        return;
    }
    Session& session = *sessions_[known->second];
    session.heard = now;
    if (header.has(wire::flags::kAskSnapshot)) {
        session.teller.start_over();
        send_tables(session);  // they may be what was missed
    }
    if (header.type == Type::kDemand)
        demand(session, header, body);
    if (header.type == Type::kUsage)
        usage(session, body);
}

void Controller::hello(const Peer& peer, const Header& header, std::span<const std::uint8_t> body,
                       Nanos now) {
    const auto parsed = wire::parse_hello({reinterpret_cast<const char*>(body.data()), body.size()});
    if (const Faults* faults = std::get_if<Faults>(&parsed)) {
        ++counters_.bad_json;
        return note("malformed", "HELLO" + (peer.host.empty() ? "" : " of " + peer.host) + ": " +
                                     faults->front().to_line());
    }
    const auto& hello = std::get<wire::Hello>(parsed);
    const std::string why = why_refused(peer, hello, now);
    if (why.empty())
        return open(peer, header, hello, now);
    ++counters_.refused_hosts;
    note("refused", why);
    answer(peer,
           {.type = Type::kWelcome,
            .epoch = epoch_,
            .session = header.session,
            .sequence = 1,
            .interval = interval_},
           bytes_of(wire::to_text(wire::Welcome{.cluster = config_.name, .refused = why})));
}

std::string Controller::why_refused(const Peer& peer, const wire::Hello& hello, Nanos now) const {
    const HostIndex host = cluster_.find_host(hello.host);
    if (host == kNowhere)
        return "there is no host " + hello.host + " in the cluster file";
    if (!peer.host.empty() && peer.host != hello.host)
        return "host " + hello.host + " is claimed with the key of " + peer.host;
    const Session* session = sessions_[host].get();
    if (session == nullptr || session->route == peer.route || !alive(*session, now) || !peer.host.empty())
        return "";
    return "host " + hello.host + " is connected already";
}

void Controller::open(const Peer& peer, const Header& header, const wire::Hello& hello, Nanos now) {
    const HostIndex host = cluster_.find_host(hello.host);
    if (sessions_[host])
        routes_.erase(sessions_[host]->route);
    const bool known = sessions_[host] && sessions_[host]->number == header.session &&
                       !sessions_[host]->silent && sessions_[host]->route == peer.route;
    if (!known) {
        // What it had it keeps until its first demands come; so do these, in the solver.
        auto session = std::make_unique<Session>();
        if (sessions_[host])
            session->rates = std::move(sessions_[host]->rates);
        else if (const auto last = stored_.find(hello.host); last != stored_.end())
            session->rates = last->second.flows;
        session->host = host;
        session->number = header.session;
        session->since = unix_time_ * static_cast<std::int64_t>(kNanosPerSec);
        session->origin = {.epoch = epoch_, .session = header.session};
        session->listener = wire::Listener(epoch_, header.session, header.sequence);
        sessions_[host] = std::move(session);
        note("welcome", "host " + hello.host);
    }
    Session& session = *sessions_[host];
    session.route = peer.route;
    session.proven = !peer.host.empty();
    session.version = hello.version;
    session.heard = now;
    routes_[peer.route] = host;
    place_vnics(session, hello, now);
    const wire::Welcome welcome{.cluster = config_.name,
                                .interval = config_.interval,
                                .validity = kValidity,
                                .billing_period = config_.billing_period};
    Header out = session.origin.next(Type::kWelcome, interval_);
    wire::Bytes text = bytes_of(wire::to_text(welcome));
    out.count = static_cast<std::uint32_t>(text.size());
    send(session, out, std::move(text));
    send_tables(session);
    session.teller.start_over();
    tell(session, false);
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
    if (end->host != kNowhere && end->host != host && sessions_[end->host] &&
        alive(*sessions_[end->host], now))
        return "host " + config_.hosts[end->host].name + " has it";
    return admission_.why_not(*end, host);
}

void Controller::place_vnics(Session& session, const wire::Hello& hello, Nanos now) {
    const std::set<std::uint32_t> before = cluster_.vnics_of(session.host);
    std::set<std::uint32_t> here;
    session.refused_vnics.clear();
    for (const wire::HelloVnic& vnic : hello.vnics) {
        const ClusterEnd* end = cluster_.find_vnic(vnic.name);
        const std::string why = why_not_placed(session.host, vnic, end, now);
        if (!why.empty()) {
            ++counters_.refused_vnics;
            session.refused_vnics.push_back(vnic.name + ": " + why);
            note("refused", "vNIC " + vnic.name + " of host " + hello.host + ": " + why);
            continue;
        }
        here.insert(end->id);
        if (end->host == session.host && end->mac == vnic.mac && end->vlan == vnic.vlan)
            continue;
        drop_demands_of(end->id);
        moved_.insert(end->tenant);
        admission_.place(*end, session.host);
        cluster_.place_vnic(end->id, session.host, vnic.mac, vnic.vlan);
    }
    for (const std::uint32_t id : before) {
        if (here.contains(id))
            continue;
        moved_.insert(cluster_.find_end(id)->tenant);
        drop_demands_of(id);
        admission_.remove(*cluster_.find_end(id));
        cluster_.remove_vnic(id);
    }
}

void Controller::send_tables(Session& session) {
    Header header = session.origin.next(Type::kTables, interval_);
    wire::Bytes text = bytes_of(wire::to_text(cluster_.tables_of(session.host)));
    header.count = static_cast<std::uint32_t>(text.size());
    send(session, header, std::move(text));
}

/// Whoever has a vNIC of a tenant whose vNICs moved hears of it.
void Controller::send_moved() {
    if (moved_.empty())
        return;
    for (const auto& session : sessions_) {
        if (!session || session->silent)
            continue;
        const auto& vnics = cluster_.vnics_of(session->host);
        if (std::any_of(vnics.begin(), vnics.end(),
                        [this](std::uint32_t id) { return moved_.contains(cluster_.find_end(id)->tenant); }))
            send_tables(*session);
    }
    moved_.clear();
}

void Controller::drop_demands_of(std::uint32_t vnic) {
    demands_.erase(demands_.lower_bound({vnic, 0}), demands_.upper_bound({vnic, UINT32_MAX}));
}

void Controller::drop_demands(const Session& session) {
    for (const std::uint32_t vnic : cluster_.vnics_of(session.host))
        drop_demands_of(vnic);
}

void Controller::demand(Session& session, const Header& header, std::span<const std::uint8_t> body) {
    counters_.refused_records += wire::decode(body, records_);
    session.has_told = true;
    const bool snapshot = header.has(wire::flags::kSnapshot);
    DemandTable gone;  // what a snapshot does not name; until then it tells what changed
    if (snapshot) {
        for (const std::uint32_t vnic : cluster_.vnics_of(session.host))
            for (auto at = demands_.lower_bound({vnic, 0}); at != demands_.end() && at->first.source == vnic;)
                gone.insert(demands_.extract(at++));
    }
    for (const wire::FlowDemand& record : records_) {
        const ClusterEnd* source = cluster_.find_end(record.flow.source);
        if (source == nullptr || source->host != session.host || !cluster_.allows(record.flow)) {
            ++counters_.foreign_flows;
            continue;
        }
        ++counters_.records;
        const DemandTable& before = snapshot ? gone : demands_;
        const auto old = before.find(record.flow);
        note_change(old == before.end() ? nullptr : &old->second, record);
        if (wire::is_gone(record))
            demands_.erase(record.flow);
        else
            demands_.insert_or_assign(record.flow, record);
    }
}

void Controller::note_change(const wire::FlowDemand* before, const wire::FlowDemand& now) {
    if (early_wanted_)
        return;
    const double seconds = to_seconds(config_.interval);
    cluster_.path_of(now.flow, path_);
    for (const PathStep& step : path_) {
        const auto part = static_cast<std::size_t>(step.part);
        const double was = before == nullptr ? 0 : double{before->used[part]} + double{before->backlog[part]};
        const double is = double{now.used[part]} + double{now.backlog[part]};
        const double capacity = cluster_.resources()[step.resource].capacity * seconds;
        early_wanted_ = early_wanted_ || std::abs(is - was) > capacity * config_.resolve_change;
    }
}

void Controller::expire(Nanos now) {
    for (const auto& session : sessions_) {
        if (!session || session->silent || alive(*session, now))
            continue;
        session->silent = true;
        routes_.erase(session->route);
        drop_demands(*session);
        note("lost", "host " + config_.hosts[session->host].name);
    }
}

void Controller::solve(bool whole) {
    ++counters_.solves;
    early_wanted_ = false;
    const std::vector<wire::FlowAllocation> rates = solver_.solve(cluster_, demands_, whole);
    for (const auto& session : sessions_)
        if (session && session->has_told)
            session->rates.clear();
    for (const wire::FlowAllocation& flow : rates) {
        const HostIndex host = cluster_.find_end(flow.flow.source)->host;
        if (host != kNowhere && sessions_[host] && sessions_[host]->has_told)
            sessions_[host]->rates.push_back(flow);
    }
    std::set<HostIndex> merged;
    for (const Solver::Window& window : solver_.windows(cluster_))
        if (sessions_[window.host] && sessions_[window.host]->has_told) {
            sessions_[window.host]->rates.push_back(window.record);
            merged.insert(window.host);
        }
    for (const HostIndex host : merged)
        std::sort(sessions_[host]->rates.begin(), sessions_[host]->rates.end(),
                  [](const auto& a, const auto& b) { return a.flow < b.flow; });
}

void Controller::tell(Session& session, bool even_nothing) {
    const bool snapshot = session.teller.changes(session.rates, changes_);
    if (changes_.empty() && !even_nothing)
        return;
    Header header = session.origin.next(Type::kAllocation, interval_);
    header.flags = static_cast<std::uint16_t>((snapshot ? wire::flags::kSnapshot : 0) |
                                              (session.listener.gap() ? wire::flags::kAskSnapshot : 0));
    header.count = static_cast<std::uint32_t>(changes_.size());
    counters_.records_out += changes_.size();
    session.unsaved = session.unsaved || !changes_.empty();
    wire::Bytes body;
    body.reserve(changes_.size() * wire::kAllocationBytes);
    for (const wire::FlowAllocation& record : changes_)
        wire::encode(record, body);
    send(session, header, std::move(body));
}

void Controller::tick(Nanos now, std::int64_t unix_time) {
    unix_time_ = unix_time;
    ++interval_;
    expire(now);
    send_moved();
    solve(true);
    for (const auto& session : sessions_)
        if (session && !session->silent)
            tell(*session, true);
    save();
}

void Controller::solve_early(Nanos now) {
    expire(now);
    ++counters_.early_solves;
    solve(false);
    for (const auto& session : sessions_)
        if (session && !session->silent)
            tell(*session, false);
}

void Controller::save() {
    std::map<std::string, StoredAllocation> by_host;
    for (const auto& session : sessions_)
        if (session && std::exchange(session->unsaved, false))
            by_host[config_.hosts[session->host].name] = {epoch_, interval_, session->rates};
    if (!by_host.empty())
        store_.save_allocations(by_host);
    save_use();
}

}  // namespace weir
