// controller.cc - handling of each message, billing periods, and the work of one interval.
#include "ctrl/daemon/controller.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "common/utc_text.h"
#include "common/wire/records.h"
#include "ctrl/daemon/promises.h"

namespace weir {
namespace {

using wire::Header;
using wire::Type;

/// Different audit entries that are counted; beyond it counting starts again.
constexpr std::size_t kAuditedMax = 1'000;
/// Connections whose messages have another version, of which each is answered once; then they are forgotten.
constexpr std::size_t kAnsweredMax = 4'096;

bool is_of_switch(Type type) {
    return type == Type::kHello || type == Type::kDemand || type == Type::kUsage ||
           type == Type::kHeartbeat || type == Type::kAsk;
}

/// Measured use is stored in this many parts, one per interval, so that no interval waits long for the disk.
constexpr std::size_t kUseParts = 60;

/// The lasting ids of the cluster's ends; those of new ones are stored together.
Cluster::IdOf ids_of(const ClusterConfig& config, Store& store) {
    std::vector<Store::Name> names;
    for (const ClusterApplianceConfig& appliance : config.appliances)
        names.emplace_back("appliance", appliance.name);
    for (const TenantConfig& tenant : config.tenants)
        for (const TenantVnicConfig& vnic : tenant.vnics)
            names.emplace_back("vnic", vnic.name);
    store.add_endpoints(names);
    return [&store](std::string_view kind, std::string_view name) { return store.endpoint_id(kind, name); };
}

/// In the audit trail; all connections without a key are one.
std::string audit_name(const Peer& peer) {
    return peer.host.empty() ? "local connections" : "host " + peer.host;
}

}  // namespace

Controller::Controller(const ClusterConfig& config, MakeSolver make, Store& store, std::int64_t unix_time)
    : store_(store),
      writes_(store),
      unix_time_(unix_time),
      epoch_(store.begin_epoch(unix_time)),
      use_(store.measured_use()),
      make_solver_(std::move(make)),
      world_(std::make_shared<World>(config, ids_of(config, store), use_, make_solver_)),
      revision_(store.revision()),
      sessions_(world_->config),
      stored_(store.allocations()),
      usage_desk_(world_->cluster, store.bill(), use_,
                  [this](const char* kind, const std::string& text, const std::string& host) {
                      audit(kind, text, host.empty() ? std::string() : "host " + host);
                  }) {
    restore_pools();
    set_removed_vnics(store.removed_vnics());
}

Controller::Controller(const ClusterConfig& config, Solver& solver, Store& store, std::int64_t unix_time)
    : Controller(
          config,
          [&solver](const ClusterConfig&) { return std::shared_ptr<Solver>(&solver, [](Solver*) {}); }, store,
          unix_time) {}

/// Applies the settings of pools that operators made in earlier epochs. A setting that no longer applies is
/// dropped, and the audit trail names it.
void Controller::restore_pools() {
    PoolRates* pools = world_->solver->pools();
    if (pools == nullptr)
        return;
    const std::vector<std::string> dropped = pools->restore(store_.pool_settings());
    for (const std::string& each : dropped)
        writes_.note_change({.unix_time = unix_time_, .kind = "pool", .text = each, .revision = revision_});
    if (!dropped.empty())
        writes_.set_pool_settings(pools->settings());
}

bool Controller::audit(const char* kind, const std::string& text, const std::string& peer) {
    if (audited_.size() >= kAuditedMax)
        audited_.clear();
    const std::uint64_t times = ++audited_[kind + (": " + text)];
    if ((times & (times - 1)) != 0)
        return false;
    writes_.note(kind, times == 1 ? text : text + " (" + std::to_string(times) + " times)", unix_time_, peer);
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
        return answer_version(peer, head);
    }
    if (!is_of_switch(header.type)) {
        ++counters_.wrong_type;
        return;
    }
    spdlog::debug("{} of {}, session {}, {} bytes", wire::name_of(header.type),
                  peer.host.empty() ? "a host without a key" : peer.host, header.session, body.size());
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
        send_tables(*session);  // the message that the switch missed may be TABLES
    }
    if (header.type == Type::kDemand)
        on_demand(*session, header, body);
    if (header.type == Type::kUsage)
        on_usage(*session, body, now);
    if (header.type == Type::kAsk)
        on_ask(*session, body, now);
}

void Controller::on_hello(const Peer& peer, const Header& header, std::span<const std::uint8_t> body,
                          Nanos now) {
    const auto parsed = wire::parse_hello({reinterpret_cast<const char*>(body.data()), body.size()});
    if (const Faults* faults = std::get_if<Faults>(&parsed)) {
        ++counters_.bad_json;
        audit("malformed",
              "HELLO" + (peer.host.empty() ? "" : " of " + peer.host) + ": " + faults->front().to_line(),
              audit_name(peer));
        return;
    }
    const auto& hello = std::get<wire::Hello>(parsed);
    std::string why = hello.protocol == wire::kProtocol
                          ? sessions_.why_refused(peer, world_->cluster.find_host(hello.host), hello.host)
                          : (hello.host.empty() ? "" : "host " + hello.host + ": ") +
                                wire::why_protocol("its weir-switch", "this weir-ctrl", hello.protocol);
    if (why.empty())
        why = why_rival(peer, header, hello, now);
    if (why.empty())
        return open_session(peer, header, hello, now);
    send_refusal(peer, header.session, why);
}

/// A WELCOME of version 1, once for each connection: the other end may not read it, and must not make the
/// controller write on and on.
void Controller::answer_version(const Peer& peer, std::span<const std::uint8_t> header) {
    const auto other = wire::other_version(header);
    if (!other || answered_versions_.contains(peer.route))
        return;
    if (answered_versions_.size() >= kAnsweredMax)
        answered_versions_.clear();
    answered_versions_.insert(peer.route);
    send_refusal(peer, other->session,
                 (peer.host.empty() ? "" : "host " + peer.host + ": ") +
                     wire::why_protocol("a program on this connection", "this weir-ctrl", other->version));
}

void Controller::send_refusal(const Peer& peer, std::uint32_t session, const std::string& why) {
    ++counters_.refused_hosts;
    if (audit("refused", why, audit_name(peer)))
        spdlog::warn("refused: {}", why);
    const std::string text = wire::to_text(wire::Welcome{.cluster = world_->config.name, .refused = why});
    send(peer.route,
         {.type = Type::kWelcome,
          .epoch = epoch_,
          .session = session,
          .sequence = 1,
          .interval = interval_,
          .count = static_cast<std::uint32_t>(text.size())},
         {text.begin(), text.end()});
}

/// A switch that was restarted is no rival of the one before, whose connection has ended.
std::string Controller::why_rival(const Peer& peer, const Header& header, const wire::Hello& hello,
                                  Nanos now) {
    Session* const rival = sessions_.rival(peer, world_->cluster.find_host(hello.host), header.session, now);
    if (rival == nullptr)
        return {};
    if (reach_ &&
        !reach_(
            {rival->route, wire::encode_header(rival->sequencer.next(Type::kHeartbeat, interval_)), {}})) {
        lose(*rival, now);
        sessions_.end(*rival);
        return {};
    }
    const auto from = [](const std::string& address) {
        return address.empty() ? std::string("a local socket") : address;
    };
    return "host " + hello.host + " is connected already, from " + from(rival->address) + " since " +
           utc_text(rival->since / static_cast<std::int64_t>(kNanosPerSec)) + "; this switch, from " +
           from(peer.address) +
           ", has the same name and key: give one of them its own (was its machine cloned?)";
}

void Controller::open_session(const Peer& peer, const Header& header, const wire::Hello& hello, Nanos now) {
    const HostIndex host = world_->cluster.find_host(hello.host);
    const Session* const before = sessions_.of_host(host);
    const bool is_first = before == nullptr;
    // A controller that has run for so long had no message of a host that comes first now.
    const bool was_silent = is_first
                                ? interval_ > Sessions::kValidity
                                : now - before->last_message > Sessions::kValidity * world_->config.interval;
    const bool has_demands = !was_silent && before != nullptr && before->has_demands;
    const auto [session, is_new] = sessions_.open(peer, host, header.session, now);
    if (is_new) {
        session.has_demands = has_demands;
        session.adopted_at = std::int64_t{interval_} - 1;
        // Until its first DEMAND a switch gets the rates of its last session, or of the last epoch.
        if (const auto last = stored_.find(hello.host);
            is_first && last != stored_.end() && last->second.is_usable(unix_time_))
            session.rates = last->second.flows;
        session.since = unix_time_ * static_cast<std::int64_t>(kNanosPerSec);
        session.sequencer = {.epoch = epoch_, .session = header.session};
        session.filter = wire::MessageFilter(epoch_, header.session, header.sequence);
        audit("welcome", "host " + hello.host, "host " + hello.host);
    }
    session.version = hello.version;
    session.unbilled = hello.unbilled;
    session.uplink_bps = hello.uplink_bps;
    world_->cluster.set_uplink(host, hello.uplink_bps);
    world_->admission.set_uplink(host, world_->cluster.uplink_bytes(host));
    note_capabilities(session, hello);
    session.is_first = is_first;
    place_vnics(session, hello, now);
    session.is_first = false;
    note_link(host);
    if (is_new && was_silent)
        fall_back_to_floors(session);
    wire::Welcome welcome{.cluster = world_->config.name,
                          .interval = world_->config.interval,
                          .validity = Sessions::kValidity,
                          .billing_period = world_->config.billing_period};
    if (!hello.capabilities.empty())  // a switch that has none may not know the key
        welcome.capabilities = {std::string(wire::capability::kRefusals),
                                std::string(wire::capability::kBlocked)};
    if (session.tables_by_need)
        welcome.capabilities.emplace_back(wire::capability::kTablesByNeed);
    if (takes_promises(session))
        welcome.capabilities.emplace_back(wire::capability::kVnicPromises);
    send_json(session, Type::kWelcome, wire::to_text(welcome));
    send_tables(session);
    session.sender.send_snapshot();
    send_rates(session, false);
}

void Controller::on_demand(Session& session, const Header& header, std::span<const std::uint8_t> body) {
    // The first one of a session is a snapshot. If it was lost, this one asks for another, and until then
    // kept demands stay.
    if (header.has(wire::flags::kSnapshot)) {
        end_kept(session.host);
        session.demands_due = false;
    }
    // A switch that missed a message asks for a snapshot.
    if (header.interval > session.adopted_at && !session.tables_due && !header.has(wire::flags::kAskSnapshot))
        session.revision = revision_;
    counters_.refused_records += wire::decode(body, records_);
    const DemandTable::Outcome outcome =
        world_->demands.apply(session.host, records_, header.has(wire::flags::kSnapshot));
    counters_.records += outcome.applied;
    counters_.foreign_flows += outcome.foreign;
    counters_.surplus_flows += outcome.surplus;
    if (outcome.surplus != 0 && !std::exchange(session.states_surplus, true))
        audit("refused",
              "host " + world_->config.hosts[session.host].name + " states more than " +
                  std::to_string(DemandTable::kPairsMax) + " pairs of vNICs: further ones have no allocation",
              "host " + world_->config.hosts[session.host].name);
    session.has_demands = true;
}

void Controller::expire_sessions(Nanos now) {
    for (const Session* session : sessions_.expire(now))
        lose(*session, now);
    expire_kept(now);
}

/// The host's switch forwards by its guarantees from now on: they count as its demands for `keep_silent`.
void Controller::lose(const Session& session, Nanos now) {
    const HostIndex host = session.host;
    end_kept(host);
    if (world_->config.keep_silent == 0) {
        world_->demands.remove_host(host);
    } else {
        const std::size_t before = idle_pairs_left_;
        world_->demands.replace_host(
            host, kept_demands(world_->cluster, host, world_->demands.flows(), idle_pairs_left_));
        kept_[host] = {.until = now + world_->config.keep_silent, .idle_pairs = before - idle_pairs_left_};
    }
    refusals_may_end_ = true;
    audit("lost", "host " + world_->config.hosts[host].name);
}

/// The kept demands stay in the table of demands, for the caller to replace or remove.
void Controller::end_kept(HostIndex host) {
    const auto kept = kept_.find(host);
    if (kept == kept_.end())
        return;
    idle_pairs_left_ += kept->second.idle_pairs;
    kept_.erase(kept);
}

void Controller::expire_kept(Nanos now) {
    for (auto at = kept_.begin(); at != kept_.end();) {
        const auto [host, kept] = *at++;
        if (now < kept.until)
            continue;
        end_kept(host);
        world_->demands.remove_host(host);
    }
}

/// After a silence the host's old rates would take capacity that other flows have been given since: until the
/// first solve it has its flows' floors, as it had while it was silent.
void Controller::fall_back_to_floors(Session& session) {
    std::vector<wire::FlowAllocation> floors;
    for (const wire::FlowAllocation& old : session.rates) {
        const ClusterEnd* source = world_->cluster.find_end(old.flow.source);
        if (source == nullptr || source->host != session.host || !world_->cluster.allows(old.flow))
            continue;  // no flow of the host: one that was moved, or a record of a window
        wire::FlowAllocation& floor = floors.emplace_back(wire::FlowAllocation{.flow = old.flow});
        if (world_->cluster.find_end(old.flow.destination)->is_appliance)
            floor.rate[wire::kTokens] = world_->cluster.floor_tokens(old.flow);
        else
            floor.rate[wire::kThere] = world_->cluster.floor_bytes(old.flow);
    }
    session.rates = std::move(floors);
}

/// The rates of the store were valid for as long as any allocation. Other hosts have been given the capacity
/// above the guarantees of a host that has sent no demand since.
void Controller::expire_stored_rates() {
    for (Session* session : sessions_.active())
        if (!session->has_demands)
            fall_back_to_floors(*session);
}

/// Replaces the rates of all sessions that have sent demands in this epoch. Silent ones keep theirs.
void Controller::solve(bool interval_ended) {
    ++counters_.solves;
    world_->demands.clear_change();
    const std::vector<wire::FlowAllocation> rates =
        world_->solver->solve(world_->cluster, world_->demands.flows(), interval_ended);
    if (const auto solution = world_->solver->solution(); solution)
        world_->shortages.update(*solution, unix_time_);
    for (const auto& session : sessions_.all())
        if (session && session->has_demands && !session->is_silent)
            session->rates.clear();
    const auto solved_for = [this](HostIndex host) {
        Session* session = host == kNowhere ? nullptr : sessions_.of_host(host);
        return session != nullptr && session->has_demands && !session->is_silent ? session : nullptr;
    };
    for (const wire::FlowAllocation& flow : rates)
        if (Session* session = solved_for(world_->cluster.find_end(flow.flow.source)->host))
            session->rates.push_back(flow);
    std::set<Session*> with_windows;
    for (const Solver::Window& window : world_->solver->windows(world_->cluster))
        if (Session* session = solved_for(window.host)) {
            session->rates.push_back(window.record);
            with_windows.insert(session);
        }
    for (Session* session : with_windows)
        std::ranges::sort(session->rates, {}, &wire::FlowAllocation::flow);
}

void Controller::send_rates(Session& session, bool even_without_changes) {
    const bool is_snapshot = session.sender.changes(session.rates, changes_);
    if (changes_.empty() && !even_without_changes) {
        if (is_snapshot)  // still due: it was not sent
            session.sender.send_snapshot();
        return;
    }
    Header header = session.sequencer.next(Type::kAllocation, interval_);
    header.flags = static_cast<std::uint16_t>(
        (is_snapshot ? wire::flags::kSnapshot : 0) |
        (session.filter.gap() || session.demands_due ? wire::flags::kAskSnapshot : 0));
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
    ticked_at_ = now;
    ++interval_;
    expire_sessions(now);
    if (interval_ == Sessions::kValidity + 1)
        expire_stored_rates();
    retry_refused_vnics(now);
    send_changed_tables(now);
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
    for (const auto& session : sessions_.all())
        if (session && std::exchange(session->is_unsaved, false))
            writes_.set_allocation(world_->config.hosts[session->host].name,
                                   {epoch_, interval_, session->rates, unix_time_});
    std::size_t index = 0;
    for (const auto& [vnic, use] : use_.all())
        if (index++ % kUseParts == interval_ % kUseParts)
            writes_.set_use(vnic, use);
    const bool was_failing = writes_.state().is_failing();
    writes_.end_tick(unix_time_);
    if (writes_.state().is_failing() && !was_failing)
        spdlog::error("{}; rates are allocated all the same, and weir-ctrl tries again every interval",
                      writes_.state().fault);
    if (!writes_.state().is_failing() && was_failing)
        spdlog::info("the store is written again");
}

}  // namespace weir
