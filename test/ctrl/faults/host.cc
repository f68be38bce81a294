// host.cc - fluid traffic at the rates in force, samples of it, and billing periods.
#include "test/ctrl/faults/host.h"

#include <algorithm>

namespace weir::faults {
namespace {

/// Seconds of its demand that a flow keeps waiting; the rest is dropped.
constexpr double kWaitMost = 2;
constexpr std::uint64_t kPeriod = kNanosPerSec;

double stated(std::uint64_t rate) {
    return rate == wire::kNoStatement ? 1e18 : static_cast<double>(rate);
}

std::uint64_t whole(double amount) {
    return static_cast<std::uint64_t>(std::max(amount, 0.0));
}

}  // namespace

Host::Host(const Plan& plan, std::uint32_t number)
    : plan_(plan), number_(number), name_(plan.config.hosts[number].name) {
    for (std::uint32_t v = 0; v < plan.vnics.size(); ++v)
        if (plan.vnics[v].home == number)
            vnics_.push_back(v);
    for (const PlannedFlow& planned : plan.flows) {
        if (plan.vnics[planned.vnic].home != number)
            continue;
        HostFlow flow{.planned = &planned, .local = {.vnic = plan.vnics[planned.vnic].name}};
        if (planned.peer != kNone)
            flow.local.peer = plan.vnics[planned.peer].mac;
        else
            flow.local.appliance = static_cast<std::uint16_t>(planned.appliance);
        flows_.push_back(std::move(flow));
    }
}

void Host::start(std::uint32_t first, std::uint64_t unix_now, bool is_time_right, Nanos now) {
    session_ = std::make_unique<ControllerSession>(first, first);
    unix_at_start_ = unix_now;
    is_time_right_ = is_time_right;
    started_ = now;
    period_began_ = 0;
    rates_.clear();
    for (HostFlow& flow : flows_)
        flow.waiting = flow.sent = flow.outstanding = flow.answered = 0;
    set_hello();
}

void Host::make_waiting_uncertain() {
    if (session_ == nullptr)
        return;
    const std::size_t waiting = std::min(session_->usage().waiting(), periods_.size());
    for (std::size_t i = periods_.size() - waiting; i < periods_.size(); ++i)
        periods_[i].is_certain = false;
}

void Host::set_certain(bool is_certain) {
    if (!is_certain)
        make_waiting_uncertain();
    is_certain_ = is_certain;
}

void Host::kill() {
    make_waiting_uncertain();
    session_.reset();
    rates_.clear();
}

void Host::make_uncertain() {
    for (BilledPeriod& period : periods_)
        period.is_certain = false;
}

void Host::set_present(std::uint32_t vnic, bool is_present) {
    std::erase(vnics_, vnic);
    if (is_present)
        vnics_.push_back(vnic);
    std::ranges::sort(vnics_);
    if (session_ != nullptr)
        set_hello();
}

bool Host::has(std::uint32_t vnic) const {
    return std::ranges::find(vnics_, vnic) != vnics_.end();
}

void Host::set_hello() {
    wire::Hello hello{
        .host = name_, .version = "seeds", .uplink_bps = plan_.config.hosts[number_].uplink_bps};
    hello.capabilities = {std::string(wire::capability::kPairFloors),
                          std::string(wire::capability::kRefusals)};
    constexpr std::uint32_t kOlder = 3;  // each third switch is of a version without TABLES by need
    if (number_ % kOlder != kOlder - 1)
        hello.capabilities.emplace_back(wire::capability::kTablesByNeed);
    for (const std::uint32_t v : vnics_)
        hello.vnics.push_back({.name = plan_.vnics[v].name,
                               .tenant = plan_.config.tenants[plan_.vnics[v].tenant].name,
                               .mac = plan_.vnics[v].mac});
    for (const ClusterApplianceConfig& appliance : plan_.config.appliances)
        hello.appliances.push_back({.name = appliance.name});
    session_->set_hello(hello);
}

/// Moves waiting tokens as far as the rates of all parts allow; without a rate, as fast as the uplink.
void Host::send(HostFlow& flow, double seconds) const {
    if (!has(flow.planned->vnic)) {
        flow.waiting = 0;
        return;
    }
    const auto found = rates_.find(flow.local);
    const bool is_peer = flow.planned->peer != kNone;
    double rate = static_cast<double>(plan_.config.hosts[number_].uplink_bps) / 8;
    if (!is_peer)
        rate /= std::max(flow.planned->bytes_there, 1e-6);
    if (found != rates_.end()) {
        rate = std::min(rate, stated(found->second[is_peer ? wire::kThere : wire::kTokens]));
        if (!is_peer) {
            rate = std::min(rate, stated(found->second[wire::kThere]) / flow.planned->bytes_there);
            rate = std::min(rate, stated(found->second[wire::kBack]) / flow.planned->bytes_back);
        }
    }
    flow.waiting = std::min(flow.waiting + flow.asks * seconds, flow.asks * kWaitMost);
    const double moved = std::min(flow.waiting, rate * seconds);
    flow.waiting -= moved;
    flow.sent += moved;
    (is_peer ? flow.answered : flow.outstanding) += moved;
}

void Host::sample(Nanos now) {
    samples_.clear();
    destinations_.clear();
    for (const HostFlow& flow : flows_) {
        if (!has(flow.planned->vnic))
            continue;
        const bool is_peer = flow.planned->peer != kNone;
        if (is_peer && !rates_.contains(flow.local)) {  // not counted apart from other traffic yet
            if (flow.asks > 0)
                destinations_.push_back({flow.local.vnic, flow.local.peer});
            continue;
        }
        FlowSample& sample = samples_.emplace_back(FlowSample{.flow = flow.local});
        if (is_peer) {
            sample.used = {whole(flow.sent), 0, 0};
            sample.queued = {whole(flow.waiting), 0, 0};
            continue;
        }
        const PlannedFlow& planned = *flow.planned;
        sample.used = {whole(flow.sent * planned.bytes_there), whole(flow.sent),
                       whole(flow.answered * planned.bytes_back)};
        sample.queued = {whole(flow.waiting * planned.bytes_there), whole(flow.waiting),
                         whole(flow.waiting * planned.bytes_back)};
        sample.outstanding = sample.outstanding_tokens = whole(flow.outstanding);
        sample.responses = whole(flow.answered);
    }
    session_->add_samples(samples_, now);
    if (session_->wants_destinations())
        session_->add_destinations(destinations_, now);
}

/// Ends the billing period when the switch's own clock passes a whole second.
void Host::bill(Nanos now, Random32& random) {
    const std::uint64_t second = (unix_at_start_ + (now - started_)) / kPeriod * kPeriod;
    if (period_began_ != 0 && second > period_began_)
        for (const std::uint32_t v : vnics_) {
            if (one_in(random, 4))  // no traffic, so no period
                continue;
            const std::uint64_t reserved = plan_.vnic_config(v).reservation_bps;
            const std::uint64_t delivered = 1 + random() % 1'000'000;
            session_->add_usage(
                {plan_.vnics[v].name,
                 {.guarantee = reserved != 0 ? GuaranteeKind::kStrict : GuaranteeKind::kFairness,
                  .began = second - kPeriod,
                  .ended = second,
                  .promised = reserved / 8,
                  .delivered = delivered}});
            periods_.push_back({.vnic = v,
                                .began = second - kPeriod,
                                .ended = second,
                                .delivered = delivered,
                                .is_certain = is_time_right_ && is_certain_});
        }
    period_began_ = second;
}

void Host::tick(Nanos span, Nanos now, Random32& random) {
    for (HostFlow& flow : flows_)
        send(flow, to_seconds(span));
    sample(now);
    bill(now, random);
    session_->tick(now);
    (void)session_->update_rates(rates_);
}

void Host::on_message(const LineMessage& message, Nanos now) {
    session_->on_message(message.header, message.body, now);
    (void)session_->update_rates(rates_);
}

std::vector<LineMessage> Host::take_outgoing() {
    std::vector<LineMessage> out;
    for (ControllerSession::Message& message : session_->take_outgoing())
        out.push_back({message.header, std::move(message.body)});
    return out;
}

}  // namespace weir::faults
