// weir_edge.cc - WeirEdge: a poll loop that runs only when it would find work.
#include "bench/sim/weir_edge.h"

#include <algorithm>
#include <array>
#include <bit>

#include "vswitch/base/limits.h"

namespace weir::sim {
namespace {

/// Time of one turn of a busy poll loop.
constexpr Nanos kTurn = 200;
/// Bytes of a feedback frame: Ethernet, IPv4, payload, and the overhead that accounting adds.
constexpr std::uint32_t kFeedbackBytes = 14 + 20 + 32 + limits::kWireOverheadBytes;

std::uint64_t capacity(std::uint64_t rate_bps, double headroom) {
    return static_cast<std::uint64_t>(static_cast<double>(rate_bps) / 8 * (1 - headroom));
}

/// Places that the switch's table needs here, a power of two: a table of the switch's size in each of many
/// hosts would only take memory.
std::uint32_t places(std::size_t vnics, std::size_t peers) {
    return std::clamp(static_cast<std::uint32_t>(std::bit_ceil(vnics * peers)), 2U, 4'096U);
}

/// Addresses in the tables are not 0.
std::uint64_t address_of(EndpointId endpoint) {
    return std::uint64_t{endpoint} + 1;
}

constexpr auto destination_of = [](const PacketRef& ref) {
    return address_of(static_cast<const Packet*>(ref.packet)->to);
};

ReceiverProfile receiver_profile(const HostsSpec& spec, std::uint64_t rate_bps, Isolation isolation) {
    ReceiverProfile profile{.capacity = capacity(rate_bps, spec.headroom),
                            .line_rate = rate_bps / 8,
                            .period = spec.feedback_period,
                            .law = {.rate_min = DestinationLimits::Profile{}.rate_min}};
    if (isolation == Isolation::kEyeqLinear)
        profile.law.law = make_rate_law(*find_rate_law("linear"));
    return profile;
}

}  // namespace

WeirEdge::WeirEdge(World& world, Host& host, const HostsSpec& spec, std::uint64_t rate_bps,
                   Isolation isolation, std::size_t peers)
    : world_(world),
      host_(host),
      feedback_delay_(spec.feedback_delay),
      housekeeping_period_(spec.feedback_period / 2),
      vnics_(static_cast<std::uint32_t>(host.profiles().size())),
      destinations_(places(vnics_, peers)),
      wheel_(vnics_ + destinations_),
      egress_({.scheduler = spec.scheduler,
               .wheel = &wheel_,
               .vnics = vnics_,
               .destinations = destinations_,
               .destination_wheel_id = vnics_,
               .limits = {.line_rate = rate_bps / 8}}),
      receiver_({.endpoints = vnics_, .senders = 2 * destinations_},
                receiver_profile(spec, rate_bps, isolation)),
      outlet_(host),
      delayed_(world.engine, outlet_) {
    egress_.set_capacity(capacity(rate_bps, spec.headroom), 0);
    for (std::uint32_t id = 0; id < vnics_; ++id)
        add_vnic(static_cast<VnicId>(id));
    // The hosts' sweeps are spread over the period.
    const Nanos phase = mix(host.profiles()[0].endpoint) % housekeeping_period_;
    world.engine.at(phase, *this, kHousekeeping);
}

void WeirEdge::add_vnic(VnicId id) {
    const VnicProfile& profile = host_.profiles()[id];
    const std::uint64_t reservation = profile.reservation_bps / 8;
    const std::uint64_t limit = profile.limit_bps / 8;
    Limiter& own = limits_.emplace_back();
    if (limit != 0)
        own.set_profiles(make_profile(limit, burst_for_rate(limit)), unlimited_profile(), 0);
    egress_.add(id, {.reservation = reservation, .shares = profile.shares}, &own, 0);
    receiver_.add(id, {.reservation = reservation,
                       .limit = limit == 0 ? Claim::kNoLimit : limit,
                       .shares = profile.shares});
}

void WeirEdge::send(VnicId id, Packet& packet) {
    const Nanos now = world_.now();
    const DestinationId destination = egress_.find_limit(id, address_of(packet.to), now);
    if (egress_.try_bypass(id, destination, &limits_[id], packet.bytes, 1, now)) {
        host_.nic().send(packet);
        return;
    }
    const auto mark = [&packet] { packet.congestion_marked |= packet.ecn_capable; };
    if (egress_.enqueue(id, destination, {&packet, now, packet.bytes, 1, 1}, now, mark)) {
        ++dropped_;
        world_.pool.give_back(packet);
        return;
    }
    ++queued_;
    plan(now);
}

void WeirEdge::received(VnicId id, const Packet& packet) {
    const Nanos now = world_.now();
    if (receiver_.due(now))
        receiver_.sweep(now);
    Feedback feedback{};
    if (!receiver_.received(id, address_of(packet.from), packet.bytes,
                            packet.congestion_marked ? packet.bytes : 0, now, feedback))
        return;
    Packet& answer = world_.pool.take();
    answer.kind = PacketKind::kFeedback;
    answer.from = packet.to;
    answer.to = packet.from;
    answer.to_host = world_.endpoints[packet.from].host;
    answer.bytes = kFeedbackBytes;
    answer.ack = feedback.rate;
    answer.sequence = feedback.sequence;
    ++world_.feedback_created;
    egress_.charge_link(answer.bytes, now);
    if (feedback_delay_ == 0)
        host_.nic().send(answer);
    else
        delayed_.send(answer, now + feedback_delay_);
}

void WeirEdge::on_feedback(VnicId id, const Packet& feedback) {
    const Nanos now = world_.now();
    using Change = DestinationLimits::Change;
    const Change change =
        egress_.on_feedback(id, address_of(feedback.from), feedback.ack,
                            static_cast<std::uint32_t>(feedback.sequence), now, destination_of);
    if (change == Change::kOpened || change == Change::kChanged)
        plan(now);
}

/// Sweeps the destination limits, and the receiver when no packet has done it in time.
void WeirEdge::housekeeping(Nanos now) {
    if (receiver_.due(now))
        receiver_.sweep(now);
    egress_.sweep(now);
    plan(now);
    world_.engine.after(housekeeping_period_, *this, kHousekeeping);
}

void WeirEdge::poll_at(Nanos when) {
    if (when >= poll_due_)
        return;
    poll_due_ = when;
    world_.engine.at(when, *this, kPoll);
}

/// The next turn is when a packet may leave, but not before `earliest`.
void WeirEdge::plan(Nanos earliest) {
    const Nanos ready = std::min(wheel_.next_due(), egress_.next_ready(world_.now()));
    if (ready != kNever)
        poll_at(std::max(ready, earliest));
}

void WeirEdge::fire(std::uint32_t what) {
    const Nanos now = world_.now();
    if (what == kHousekeeping)
        housekeeping(now);
    else if (now == poll_due_)  // else an earlier turn has replaced this one
        poll(now);
}

void WeirEdge::wake(TimingWheel::Ids ids, Nanos now) {
    for (const std::uint32_t id : ids) {
        if (id < vnics_)
            egress_.wake(static_cast<VnicId>(id), now);
        else
            egress_.wake_destination(id - vnics_, now);
    }
}

void WeirEdge::poll(Nanos now) {
    poll_due_ = kNever;
    if (wheel_.next_due() <= now)
        wheel_.advance(now, limits::kWakesPerIteration, [&](TimingWheel::Ids ids) { wake(ids, now); });
    std::array<PacketRef, limits::kBurst> out;
    for (std::size_t sent = out.size(); sent == out.size();) {
        sent = egress_.dequeue_burst(now, out);
        queued_ -= sent;
        for (std::size_t i = 0; i < sent; ++i)
            host_.nic().send(*static_cast<Packet*>(out[i].packet));
    }
    host_.pump();
    plan(now + kTurn);
}

}  // namespace weir::sim
