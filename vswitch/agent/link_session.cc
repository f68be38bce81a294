// link_session.cc - HELLO until welcomed, demands every interval, rates until they are no longer valid.
#include "vswitch/agent/link_session.h"

#include <algorithm>

namespace weir {
namespace {

using wire::Header;
using wire::Type;

constexpr Nanos kHelloAgain = kNanosPerSec;
constexpr Nanos kHelloApart = 100'000'000;  // however often it is asked for
constexpr Nanos kSampleLeast = 10'000'000;
constexpr Nanos kEarlyPart = 10;  // demands between two intervals: so many at most
constexpr Nanos kIdleIntervals = 3;

std::string_view text_of(std::span<const std::uint8_t> body) {
    return {reinterpret_cast<const char*>(body.data()), body.size()};
}

bool works(const FlowSample& sample, const FlowSample& before) {
    return sample.used != before.used || sample.queued != std::array<std::uint64_t, wire::kParts>{} ||
           sample.outstanding != 0;
}

float tokens(double value) {
    return static_cast<float>(std::clamp(value, 0.0, double{wire::kTokensMax}));
}

}  // namespace

const char* name_of(LinkSession::State state) {
    constexpr std::array<const char*, 5> kNames{"connecting", "refused", "welcomed", "connected", "silent"};
    return kNames[static_cast<std::size_t>(state)];
}

void LinkSession::set_hello(const wire::Hello& hello) {
    if (hello == hello_)
        return;
    hello_ = hello;
    names_.clear();
    for (const wire::HelloVnic& vnic : hello.vnics)
        for (std::size_t i = 0; i < hello.appliances.size(); ++i)
            names_[{vnic.name, static_cast<std::uint16_t>(i)}] = hello.appliances[i].name;
    peers_.clear();  // TABLES come again
    std::erase_if(tallies_, [this](const auto& each) { return !names_.contains(each.first); });
    rates_changed_ = true;
    begin_session();
}

void LinkSession::begin_session() {
    ++session_;
    ++counters_.sessions;
    origin_ = {.epoch = origin_.epoch, .session = session_};
    teller_.start_over();
    hello_wanted_ = true;
    if (state_ == State::kConnected || state_ == State::kWelcomed)
        state_ = State::kConnecting;
}

void LinkSession::send(Header header, wire::Bytes body) {
    outgoing_.push_back({wire::encode_header(header), std::move(body)});
}

void LinkSession::say_hello(Nanos now) {
    hello_wanted_ = false;
    hello_at_ = now;
    const std::string text = wire::to_text(hello_);
    Header header = origin_.next(Type::kHello, interval_);
    header.epoch = 0;
    header.count = static_cast<std::uint32_t>(text.size());
    send(header, {text.begin(), text.end()});
}

void LinkSession::sample(std::span<const FlowSample> samples, Nanos now) {
    for (const FlowSample& sample : samples) {
        auto [at, fresh] = tallies_.try_emplace(sample.flow);
        Tally& tally = at->second;
        const bool reset = !fresh &&  // the vNIC came again
                           (sample.used[wire::kTokens] < tally.last.used[wire::kTokens] ||
                            sample.used[wire::kThere] < tally.last.used[wire::kThere]);
        if (fresh || reset) {
            tally = Tally{};
            tally.last = sample;
            tally.sampled = now;
            restart(tally);
        }
        if (works(sample, tally.last)) {
            if (idle(tally, now))
                restart(tally);
            tally.active = now;
        }
        tally.last = sample;
        tally.sampled = now;
        for (std::size_t i = 0; i < wire::kParts; ++i)
            tally.queued[i] += static_cast<double>(sample.queued[i]);
        tally.outstanding_tokens += static_cast<double>(sample.outstanding_tokens);
        tally.outstanding += static_cast<double>(sample.outstanding);
        ++tally.samples;
    }
}

void LinkSession::restart(Tally& tally) {
    Tally next;
    next.last = next.began = tally.last;
    next.since = next.sampled = tally.sampled;
    next.active = tally.active;
    tally = next;
}

std::optional<wire::FlowKey> LinkSession::key_of(const LocalFlow& flow) const {
    const auto vnic = vnic_ids_.find(flow.vnic);
    if (const auto peer = peers_.find(flow); peer != peers_.end() && vnic != vnic_ids_.end())
        return wire::FlowKey{vnic->second, peer->second};
    const auto name = names_.find(flow);
    if (name == names_.end())
        return std::nullopt;
    const auto appliance = appliance_ids_.find(name->second);
    if (vnic == vnic_ids_.end() || appliance == appliance_ids_.end())
        return std::nullopt;
    return wire::FlowKey{vnic->second, appliance->second};
}

bool LinkSession::idle(const Tally& tally, Nanos now) const {
    return tally.active == 0 || now - tally.active > kIdleIntervals * welcome_.interval;
}

wire::FlowDemand LinkSession::record_of(const Tally& tally, wire::FlowKey key, Nanos now) const {
    // As if the whole interval had gone on like the part of it that was seen.
    const Nanos elapsed = std::max(now - tally.since, kSampleLeast);
    const double scale = static_cast<double>(welcome_.interval) / static_cast<double>(elapsed);
    const double samples = std::max(1U, tally.samples);
    wire::FlowDemand record{.flow = key};
    for (std::size_t i = 0; i < wire::kParts; ++i) {
        record.used[i] = tokens(static_cast<double>(tally.last.used[i] - tally.began.used[i]) * scale);
        record.backlog[i] = tokens(static_cast<double>(tally.last.queued[i]));
        record.queued[i] = tokens(tally.queued[i] / samples);
    }
    // What was let through and not answered was not served: so an appliance shows that falls behind.
    const double owed = static_cast<double>(tally.last.outstanding_tokens) -
                        static_cast<double>(tally.began.outstanding_tokens);
    record.used[wire::kTokens] = tokens(std::max(0.0, double{record.used[wire::kTokens]} - owed * scale));
    record.outstanding[wire::kTokens] = tokens(tally.outstanding_tokens / samples);
    // What is on its way is known in tokens; its bytes are in proportion to what passed, so that eq. 6 says
    // of all parts the same.
    for (std::size_t i = 0; i < wire::kParts; ++i)
        if (i != wire::kTokens && record.used[wire::kTokens] > 0)
            record.outstanding[i] = tokens(double{record.outstanding[wire::kTokens]} *
                                           double{record.used[i]} / double{record.used[wire::kTokens]});
    // Little's law: the mean time of a request is what is on its way over what comes back.
    const auto responses = static_cast<double>(tally.last.responses - tally.began.responses);
    if (responses > 0)
        record.latency_us = static_cast<std::uint32_t>(
            std::min(tally.outstanding / samples * static_cast<double>(elapsed) / 1e3 / responses, 4e9));
    return record;
}

/// A flow that nobody knows yet, or one that has more waiting than all that was said of it.
bool LinkSession::early_due(Nanos now) const {
    if (now < demand_at_ + welcome_.interval / kEarlyPart)
        return false;
    return std::any_of(tallies_.begin(), tallies_.end(), [&](const auto& each) {
        const auto key = key_of(each.first);
        if (!key || idle(each.second, now))
            return false;
        const auto said = records_.find(*key);
        if (said == records_.end())
            return true;
        const auto waiting = static_cast<double>(each.second.last.queued[wire::kTokens]);
        return waiting >
               2 * (double{said->second.used[wire::kTokens]} + double{said->second.backlog[wire::kTokens]});
    });
}

void LinkSession::say_demands(Nanos now, bool whole) {
    std::map<wire::FlowKey, wire::FlowDemand> records;
    for (auto& [flow, tally] : tallies_) {
        const auto key = key_of(flow);
        if (!key || idle(tally, now))
            continue;
        const auto said = records_.find(*key);
        const bool known = said != records_.end();
        const bool grown = known && tally.last.queued[wire::kTokens] > 0;
        records[*key] = whole || !known || grown ? record_of(tally, *key, now) : said->second;
        records[*key].marks = known ? 0 : wire::FlowDemand::kNew;
        if (!whole)
            continue;
        restart(tally);
    }
    std::vector<wire::FlowDemand> all;
    for (const auto& [key, record] : records)
        all.push_back(record);
    std::vector<wire::FlowDemand> changes;
    Header header = origin_.next(Type::kDemand, interval_);
    header.flags =
        static_cast<std::uint16_t>((teller_.changes(all, changes) ? wire::flags::kSnapshot : 0) |
                                   (listener_.gap() || tables_missing_ ? wire::flags::kAskSnapshot : 0));
    header.count = static_cast<std::uint32_t>(changes.size());
    wire::Bytes body;
    for (const wire::FlowDemand& record : changes)
        wire::encode(record, body);
    send(header, std::move(body));
    records_ = std::move(records);
    demand_at_ = now;
    ++counters_.demands;
}

void LinkSession::say_usage(Nanos now) {
    wire::Bytes body = usage_.say(vnic_ids_, now);
    if (body.empty())
        return;
    Header header = origin_.next(Type::kUsage, interval_);
    header.count = static_cast<std::uint32_t>(body.size() / wire::kUsageBytes);
    send(header, std::move(body));
}

void LinkSession::turn(Nanos now) {
    if (valid_until_ != 0 && now > valid_until_ && state_ != State::kSilent) {
        state_ = State::kSilent;
        rates_changed_ = true;
        hello_wanted_ = true;
    }
    const bool unknown = state_ != State::kConnected && state_ != State::kWelcomed;
    const Nanos since = hello_at_ ? now - *hello_at_ : kNever;
    if (since >= kHelloAgain ? hello_wanted_ || unknown : hello_wanted_ && since >= kHelloApart)
        say_hello(now);
    if (unknown)
        return;
    if (!tables_missing_)
        say_usage(now);
    if (now >= demand_due_) {
        say_demands(now, true);
        demand_due_ += ((now - demand_due_) / welcome_.interval + 1) * welcome_.interval;
    } else if (early_due(now)) {
        say_demands(now, false);
    }
}

void LinkSession::receive(std::span<const std::uint8_t> head, std::span<const std::uint8_t> body, Nanos now) {
    Header header;
    if (wire::decode_header(head, body.size(), header) != wire::Malformed::kNo) {
        ++counters_.malformed;
        return;
    }
    if (header.type == Type::kWelcome)
        return take_welcome(header, text_of(body), now);
    if (header.type == Type::kHeartbeat && header.has(wire::flags::kAskHello) && header.session == session_) {
        // Of a controller that does not know us: it is new, or we were silent for too long.
        if (!hello_at_ || now - *hello_at_ >= kHelloApart)
            begin_session();
        return;
    }
    switch (listener_.accept(header)) {
        case wire::Accepted::kForeign:
            ++counters_.foreign;
            return;
        case wire::Accepted::kStale:
            ++counters_.stale;
            return;
        case wire::Accepted::kYes:
            tables_missing_ = tables_missing_ || listener_.missed();
            return take(header, body, now);
    }
}

void LinkSession::take_welcome(const Header& header, std::string_view text, Nanos now) {
    if (header.session != session_ || header.epoch < origin_.epoch) {
        ++counters_.foreign;
        return;
    }
    auto parsed = wire::parse_welcome(text);
    auto* welcome = std::get_if<wire::Welcome>(&parsed);
    if (welcome == nullptr) {
        ++counters_.bad_json;
        return;
    }
    refusal_ = welcome->refused;
    if (!refusal_.empty()) {
        if (state_ != State::kSilent)
            state_ = State::kRefused;
        return;
    }
    welcome_ = std::move(*welcome);
    origin_.epoch = header.epoch;
    interval_ = header.interval;
    listener_ = wire::Listener(header.epoch, session_, header.sequence);
    teller_.start_over();
    usage_.start_over();
    tables_missing_ = true;
    hello_wanted_ = false;
    if (state_ != State::kConnected)
        demand_due_ = now + welcome_.interval * (seed_ % 1'000) / 1'000;
    state_ = State::kWelcomed;
    valid_until_ = std::max(valid_until_, now + welcome_.validity * welcome_.interval);
    for (auto& [flow, tally] : tallies_)  // what came before is no part of an interval
        restart(tally);
}

void LinkSession::take_tables(std::string_view text) {
    const auto parsed = wire::parse_tables(text);
    const auto* tables = std::get_if<wire::Tables>(&parsed);
    if (tables == nullptr) {
        ++counters_.bad_json;
        return;
    }
    tables_missing_ = false;
    vnic_ids_.clear();
    appliance_ids_.clear();
    guarantees_.clear();
    for (const wire::Endpoint& end : tables->endpoints)
        (end.kind == wire::Endpoint::Kind::kVnic ? vnic_ids_ : appliance_ids_)[end.name] = end.id;
    for (const wire::FlowAllocation& guarantee : tables->guarantees)
        guarantees_[guarantee.flow] = guarantee;
    take_peers(*tables);
    rates_changed_ = true;
}

void LinkSession::take(const Header& header, std::span<const std::uint8_t> body, Nanos now) {
    interval_ = header.interval;
    if (header.has(wire::flags::kAskSnapshot))
        teller_.start_over();
    if (header.type == Type::kTables)
        return take_tables(text_of(body));
    if (header.type == Type::kBilled)
        usage_.billed(wire::decode_billed(body));
    if (header.type != Type::kAllocation)
        return;
    std::vector<wire::FlowAllocation> records;
    counters_.refused_records += wire::decode(body, records);
    wire::apply(header.has(wire::flags::kSnapshot), records, allocations_);
    ++counters_.allocations;
    rates_changed_ = rates_changed_ || !records.empty() || header.has(wire::flags::kSnapshot) ||
                     state_ != State::kConnected;
    state_ = State::kConnected;
    valid_until_ = now + welcome_.validity * welcome_.interval;
}

}  // namespace weir
