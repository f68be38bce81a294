// controller_session.cc - states, timers, messages in and out, and the rates in force.
#include "vswitch/agent/controller_session.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <set>

#include "common/units.h"

namespace weir {
namespace {

using wire::Header;
using wire::Type;

/// Time after which an unanswered HELLO is repeated.
constexpr Nanos kHelloPeriod = kNanosPerSec;
/// Time between two HELLOs, however often the controller asks for them.
constexpr Nanos kHelloPeriodMin = 100'000'000;
/// A DEMAND is sent between two intervals at the earliest this part of the interval after another such one,
/// and half of that after the one of an interval.
constexpr Nanos kUpdatesPerInterval = 10;
/// Part of the interval between two ASKs, and addresses in all that are sent in an interval.
constexpr Nanos kAsksPerInterval = 10;
constexpr std::size_t kAddressesPerAsk = wire::kAskAddressesMax / kAsksPerInterval;
constexpr FlowTokens kNoRate{wire::kNoStatement, wire::kNoStatement, wire::kNoStatement};

std::string_view text_of(std::span<const std::uint8_t> body) {
    return {reinterpret_cast<const char*>(body.data()), body.size()};
}

/// An old controller that runs on, or a new one without the store of the old one.
std::string ignored_text(std::uint64_t epoch, std::uint64_t last) {
    return "a controller of epoch " + std::to_string(epoch) +
           " answers, and is ignored, because this switch has " + "followed one of epoch " +
           std::to_string(last) +
           ": end the old weir-ctrl if two run, or, if the store was lost, restart weir-ctrl with "
           "--epoch-above " +
           std::to_string(last);
}

}  // namespace

const char* name_of(ControllerSession::State state) {
    constexpr std::array<const char*, 5> kNames{"connecting", "refused", "welcomed", "connected", "silent"};
    return kNames[static_cast<std::size_t>(state)];
}

void ControllerSession::set_hello(const wire::Hello& hello) {
    if (hello == directory_.hello())
        return;
    directory_.set_hello(hello);
    sampler_.set_link(static_cast<double>(hello.uplink_bps) / kBitsPerByte);
    sampler_.forget_unknown(directory_.keys());
    rates_changed_ = true;
    begin_session();
}

void ControllerSession::restore(const wire::Welcome& welcome, const wire::Tables& tables) {
    welcome_ = welcome;
    sampler_.set_interval(welcome.interval);
    directory_.set_tables(tables);
    is_restored_ = true;
    state_ = State::kSilent;
    set_static();
}

void ControllerSession::begin_session() {
    sequencer_ = {.epoch = sequencer_.epoch, .session = sequencer_.session + 1};
    sender_.send_snapshot();
    hello_wanted_ = true;
    if (state_ == State::kConnected || state_ == State::kWelcomed)
        state_ = State::kConnecting;
}

void ControllerSession::tick(Nanos now) {
    if (valid_until_ != 0 && now > valid_until_) {
        valid_until_ = 0;
        if (state_ != State::kRefused)
            state_ = State::kSilent;
        set_static();
        hello_wanted_ = true;
    }
    const bool is_open = state_ == State::kConnected || state_ == State::kWelcomed;
    const Nanos since_hello = hello_at_ ? now - *hello_at_ : kNever;
    if (since_hello >= kHelloPeriod ? hello_wanted_ || !is_open
                                    : hello_wanted_ && since_hello >= kHelloPeriodMin)
        send_hello(now);
    if (!is_open)
        return;
    if (!tables_missing_) {
        send_usage(now);
        send_asks(now);
    }
    const Nanos interval = welcome_.interval;
    if (now >= demand_due_) {
        send_demands(sampler_.end_interval(directory_.keys(), now));
        demand_due_ += ((now - demand_due_) / interval + 1) * interval;
        update_due_ = std::max(update_due_, now + interval / kUpdatesPerInterval / 2);
    } else if (now >= update_due_ && sampler_.needs_update(directory_.keys(), now)) {
        send_demands(sampler_.update(directory_.keys(), now));
        update_due_ = now + interval / kUpdatesPerInterval;
    }
}

void ControllerSession::send(Header header, wire::Bytes body) {
    outgoing_.push_back({wire::encode_header(header), std::move(body)});
}

/// A report needs the id of its vNIC, which TABLES have no longer when it has left.
wire::Hello ControllerSession::with_unbilled(wire::Hello hello) const {
    std::set<std::string> names = usage_.vnics();
    for (const wire::HelloVnic& vnic : hello.vnics)
        names.erase(vnic.name);
    for (const std::string& name : names)
        if (hello.unbilled.size() < wire::kUnbilledMax)
            hello.unbilled.push_back(name);
    return hello;
}

void ControllerSession::send_hello(Nanos now) {
    hello_wanted_ = false;
    hello_at_ = now;
    const std::string text = wire::to_text(with_unbilled(directory_.hello()));
    Header header = sequencer_.next(Type::kHello, interval_);
    header.epoch = 0;
    header.count = static_cast<std::uint32_t>(text.size());
    send(header, {text.begin(), text.end()});
}

void ControllerSession::send_demands(const std::vector<wire::FlowDemand>& demands) {
    std::vector<wire::FlowDemand> changes;
    // Changes of a table that a silence has ended are not enough.
    const bool is_partial = is_static_ && state_ == State::kConnected;
    Header header = sequencer_.next(Type::kDemand, interval_);
    header.flags = static_cast<std::uint16_t>(
        (sender_.changes(demands, changes) ? wire::flags::kSnapshot : 0) |
        (filter_.gap() || tables_missing_ || is_partial ? wire::flags::kAskSnapshot : 0));
    header.count = static_cast<std::uint32_t>(changes.size());
    wire::Bytes body;
    for (const wire::FlowDemand& record : changes)
        wire::encode(record, body);
    send(header, std::move(body));
    ++counters_.demands;
}

void ControllerSession::send_usage(Nanos now) {
    wire::Bytes body = usage_.next_message(directory_.vnic_ids(), now);
    if (body.empty())
        return;
    Header header = sequencer_.next(Type::kUsage, interval_);
    header.count = static_cast<std::uint32_t>(body.size() / wire::kUsageBytes);
    send(header, std::move(body));
}

void ControllerSession::send_asks(Nanos now) {
    if (!by_need_ || now < ask_due_)
        return;
    const wire::Ask ask{directory_.due_asks(now, kAddressesPerAsk)};
    if (ask.addresses.empty())
        return;
    ask_due_ = now + welcome_.interval / kAsksPerInterval;
    ++counters_.asks;
    const std::string text = wire::to_text(ask);
    Header header = sequencer_.next(Type::kAsk, interval_);
    header.count = static_cast<std::uint32_t>(text.size());
    send(header, {text.begin(), text.end()});
}

void ControllerSession::add_destinations(std::span<const PeerPair> destinations, Nanos now) {
    if (directory_.note_destinations(destinations, now))
        rates_changed_ = true;
}

void ControllerSession::on_message(std::span<const std::uint8_t> head, std::span<const std::uint8_t> body,
                                   Nanos now) {
    Header header;
    if (wire::decode_header(head, body.size(), header) != wire::Malformed::kNo) {
        ++counters_.malformed;
        return on_other_version(head);
    }
    spdlog::debug("controller: {}, {} bytes", wire::name_of(header.type), body.size());
    if (header.type == Type::kWelcome)
        return on_welcome(header, text_of(body), now);
    if (header.type == Type::kHeartbeat && header.has(wire::flags::kAskHello) &&
        header.session == sequencer_.session)
        return on_heartbeat(now);
    const wire::Acceptance accepted = filter_.accept(header);
    if (accepted != wire::Acceptance::kAccepted) {
        ++(accepted == wire::Acceptance::kStale ? counters_.stale : counters_.foreign);
        return;
    }
    if (filter_.missed()) {
        tables_missing_ = true;
        tables_.reset();
    }
    interval_ = header.interval;
    if (header.has(wire::flags::kAskSnapshot))
        sender_.send_snapshot();
    if (header.type == Type::kTables)
        on_tables(text_of(body), now);
    else if (header.type == Type::kBilled)
        usage_.on_billed(wire::decode_billed(body));
    else if (header.type == Type::kAllocation)
        on_allocation(header, body, now);
}

/// A session that is open does not end because of one message of another version.
void ControllerSession::on_other_version(std::span<const std::uint8_t> header) {
    const auto other = wire::other_version(header);
    if (other && state_ != State::kConnected && state_ != State::kWelcomed)
        on_refused(wire::why_protocol("the controller's weir-ctrl", "this weir-switch", other->version));
}

void ControllerSession::on_refused(const std::string& why) {
    refusal_ = why;
    state_ = State::kRefused;
}

/// Handles a heartbeat with kAskHello: the controller restarted, or expired the session after three silent
/// intervals.
void ControllerSession::on_heartbeat(Nanos now) {
    if (!hello_at_ || now - *hello_at_ >= kHelloPeriodMin)
        begin_session();
}

void ControllerSession::on_welcome(const Header& header, std::string_view text, Nanos now) {
    if (header.session != sequencer_.session || header.epoch < sequencer_.epoch) {
        ++counters_.foreign;
        if (header.session == sequencer_.session)
            ignored_ = ignored_text(header.epoch, sequencer_.epoch);
        return;
    }
    ignored_.clear();
    auto parsed = wire::parse_welcome(text);
    auto* welcome = std::get_if<wire::Welcome>(&parsed);
    if (welcome == nullptr) {
        ++counters_.malformed;
        return;
    }
    if (!welcome->refused.empty())
        return on_refused(welcome->refused);
    if (welcome->protocol != wire::kProtocol)
        return on_refused(
            wire::why_protocol("the controller's weir-ctrl", "this weir-switch", welcome->protocol));
    refusal_.clear();
    promise_revision_ += welcome_ == *welcome ? 0 : 1;
    if (state_ == State::kSilent)
        allocations_.clear();  // others may have these rates now: the guarantees hold until new ones come
    welcome_ = std::move(*welcome);
    if (!wire::has(welcome_.capabilities, wire::capability::kRefusals))
        refusals_.clear();  // this controller does not state them
    sequencer_.epoch = header.epoch;
    interval_ = header.interval;
    filter_ = wire::MessageFilter(header.epoch, sequencer_.session, header.sequence);
    sender_.send_snapshot();
    usage_.resend();
    sampler_.set_interval(welcome_.interval);
    sampler_.set_states_blocked(wire::has(welcome_.capabilities, wire::capability::kBlocked));
    sampler_.restart();
    by_need_ = wire::has(welcome_.capabilities, wire::capability::kTablesByNeed) &&
               wire::has(directory_.hello().capabilities, wire::capability::kTablesByNeed);
    directory_.begin_session(by_need_, now);
    ask_due_ = now;
    tables_.reset();
    tables_missing_ = true;
    hello_wanted_ = false;
    if (state_ != State::kConnected)
        demand_due_ = now + welcome_.interval * (seed_ % 1'000) / 1'000;
    state_ = State::kWelcomed;
    valid_until_ = std::max(valid_until_, now + welcome_.validity * welcome_.interval);
}

/// A whole table may take several messages, the later ones with `changes`; one that lacks a message is never
/// applied. Changes are applied also while the whole table is missing: they are states.
void ControllerSession::on_tables(std::string_view text, Nanos now) {
    auto parsed = wire::parse_tables(text);
    auto* tables = std::get_if<wire::Tables>(&parsed);
    if (tables == nullptr) {
        ++counters_.malformed;
        return;
    }
    if (tables->refused_vnics) {
        refusals_.clear();
        for (const wire::RefusedVnic& vnic : *tables->refused_vnics)
            refusals_[vnic.name] = {vnic.why, vnic.is_unknown};
    }
    const wire::Tables before = directory_.tables();
    const bool goes_on = tables->more;
    if (!tables->changes) {
        tables_ = std::move(*tables);
    } else if (tables_) {
        tables_->endpoints.insert(tables_->endpoints.end(), tables->endpoints.begin(),
                                  tables->endpoints.end());
        tables_->guarantees.insert(tables_->guarantees.end(), tables->guarantees.begin(),
                                   tables->guarantees.end());
    } else {
        directory_.change_tables(*tables, now);
        rates_changed_ = true;
    }
    if (tables_ && !goes_on) {
        tables_missing_ = is_restored_ = false;
        directory_.set_tables(*tables_);
        tables_.reset();
        rates_changed_ = true;
    }
    promise_revision_ += directory_.tables() == before ? 0 : 1;
    sampler_.forget_unknown(directory_.keys());
}

void ControllerSession::on_allocation(const Header& header, std::span<const std::uint8_t> body, Nanos now) {
    std::vector<wire::FlowAllocation> records;
    counters_.refused_records += wire::decode(body, records);
    const bool is_snapshot = header.has(wire::flags::kSnapshot);
    wire::apply(is_snapshot, records, allocations_);
    ++counters_.allocations;
    is_static_ = is_static_ && !is_snapshot;
    rates_changed_ = rates_changed_ || !records.empty() || is_snapshot || state_ != State::kConnected;
    // Until WELCOME answers a new session, messages of the old one still count. They do not open the new one.
    if (header.session == sequencer_.session)
        state_ = State::kConnected;
    valid_until_ = now + welcome_.validity * welcome_.interval;
}

bool ControllerSession::update_rates(FlowRates& rates) {
    if (!std::exchange(rates_changed_, false))
        return false;
    rates.clear();
    // Traffic to a peer is counted in the data path only where it has an entry, with a rate or without.
    for (const auto& [flow, key] : directory_.keys())
        if (const FlowTokens rate = rate_of(flow, key); rate != kNoRate || !flow.peer.empty())
            rates[flow] = rate;
    return true;
}

void ControllerSession::set_static() {
    is_static_ = true;
    rates_changed_ = true;
    allocations_.clear();
}

FlowTokens ControllerSession::rate_of(const LocalFlow& flow, wire::FlowKey key) const {
    const auto allocation = allocations_.find(key);
    if (!is_static_ && allocation != allocations_.end())
        return allocation->second.rate;
    if (const wire::FlowAllocation* guarantee = directory_.guarantee(key); guarantee != nullptr)
        return guarantee->rate;
    FlowTokens rate = kNoRate;
    if (flow.peer.empty())
        return rate;
    // Also without silence: the pair has just begun, or was idle, and has its guarantee until it is solved
    // for.
    rate[wire::kThere] = directory_.pair_floor(key);
    return rate;
}

HostWindows ControllerSession::windows() const {
    HostWindows windows;
    if (is_static_)
        return windows;
    for (std::uint16_t i = 0; i < directory_.hello().appliances.size(); ++i)
        if (const auto id = directory_.appliance_id(i))
            if (const auto part = window_of({wire::kWholeHost, *id}))
                windows.tokens[i] = part->tokens;
    for (const auto& [flow, key] : directory_.keys())
        if (flow.peer.empty())
            if (const auto part = window_of({key.source, key.destination | wire::kReserved}))
                windows.reservations[flow] = *part;
    return windows;
}

std::optional<WindowPart> ControllerSession::window_of(wire::FlowKey key) const {
    const auto found = allocations_.find(key);
    if (found == allocations_.end() || found->second.rate[wire::kTokens] == wire::kNoStatement)
        return std::nullopt;
    const std::uint64_t shares = found->second.rate[wire::kThere];
    return WindowPart{found->second.rate[wire::kTokens], shares == wire::kNoStatement ? 0 : shares};
}

}  // namespace weir
