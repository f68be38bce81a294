// weir_edge.cc - a poll loop that is called only when it would find something to do.
#include "bench/sim/weir_edge.h"

#include <algorithm>
#include <array>
#include <bit>

#include "vswitch/config/scheduler_words.h"
#include "vswitch/limits.h"

namespace weir::sim {
namespace {

/// A turn of a busy poll loop.
constexpr Nanos kTurn = 200;
constexpr unsigned kWakeBudget = 256;
constexpr std::uint32_t kQueuePackets = 1024;
constexpr std::uint32_t kFlowPackets = 16'384;
constexpr unsigned kFlowsPerSweep = 64;
constexpr std::uint64_t kRateMin = 1'250'000;  // 10 Mbit/s
/// Ethernet, IPv4, payload; FCS, preamble, gap.
constexpr std::uint32_t kFeedbackBytes = 14 + 20 + 32 + limits::kWireOverheadBytes;
/// Backlog of a vNIC at which the switch marks what can be marked, before its ring is held back.
constexpr std::uint32_t kMarkBytes = limits::kQueueBytesMax * 3 / 4;

std::uint64_t capacity(std::uint64_t rate_bps, double headroom) {
    return static_cast<std::uint64_t>(static_cast<double>(rate_bps) / 8 * (1 - headroom));
}

/// Of both tables: a power of two.
std::uint32_t places(std::size_t vnics, std::size_t peers) {
    return std::clamp(static_cast<std::uint32_t>(std::bit_ceil(vnics * peers)), 2U, 4'096U);
}

/// Addresses in the tables are not 0.
std::uint64_t address_of(EndpointId endpoint) {
    return std::uint64_t{endpoint} + 1;
}

ReceiverProfile receiver_profile(const HostsSpec& spec, std::uint64_t rate_bps, Isolation isolation) {
    ReceiverProfile profile{.capacity = capacity(rate_bps, spec.headroom),
                            .line_rate = rate_bps / 8,
                            .period = spec.feedback_period,
                            .law = {.rate_min = kRateMin}};
    if (isolation == Isolation::kEyeqLinear) {
        profile.law.law = RateLaw::kLinear;
        profile.law.gain = 0.5;
        profile.knows_senders = false;
    }
    return profile;
}

}  // namespace

WeirEdge::WeirEdge(World& world, Host& host, const HostsSpec& spec, std::uint64_t rate_bps,
                   Isolation isolation, std::size_t peers)
    : world_(world),
      host_(host),
      feedback_delay_(spec.feedback_delay),
      housekeeping_(spec.feedback_period / 2),
      vnics_(static_cast<std::uint32_t>(host.profiles().size())),
      wheel_(vnics_ + places(vnics_, peers)),
      flows_(places(vnics_, peers), vnics_, {.rate_min = kRateMin, .line_rate = rate_bps / 8}),
      scheduler_(make_link_scheduler(scheduler_name(spec.scheduler), {.classes = vnics_,
                                                                      .queue_packets = kQueuePackets,
                                                                      .wheel = &wheel_,
                                                                      .destinations = flows_.capacity(),
                                                                      .destination_packets = kFlowPackets,
                                                                      .destination_wheel_id = vnics_})),
      receiver_({.endpoints = vnics_, .senders = places(vnics_, peers)},
                receiver_profile(spec, rate_bps, isolation)),
      outlet_(host),
      delayed_(world.engine, outlet_) {
    scheduler_->set_capacity(capacity(rate_bps, spec.headroom), 0);
    for (std::uint32_t id = 0; id < vnics_; ++id)
        add_vnic(static_cast<VnicId>(id));
    // Hosts do not sweep in step.
    const Nanos phase = mix(host.profiles()[0].endpoint) % housekeeping_;
    world.engine.at(phase, *this, kHousekeeping);
}

void WeirEdge::add_vnic(VnicId id) {
    const VnicProfile& profile = host_.profiles()[id];
    const std::uint64_t reservation = profile.reservation_bps / 8;
    const std::uint64_t limit = profile.limit_bps / 8;
    Limiter& limiter = limiters_.emplace_back();
    if (limit != 0)
        limiter.set_profiles(make_profile(limit, burst_for_rate(limit)), unlimited_profile(), 0);
    scheduler_->add(id, {.reservation = reservation, .shares = profile.shares}, &limiter, 0);
    receiver_.add(id, {.reservation = reservation,
                       .limit = limit == 0 ? Claim::kNoLimit : limit,
                       .shares = profile.shares});
}

void WeirEdge::send(VnicId id, Packet& packet) {
    const Nanos now = world_.now();
    const DestinationId flow = flows_.find(id, address_of(packet.to));
    if (bypass(id, flow, packet, now)) {
        host_.nic().send(packet);
        return;
    }
    if (!enqueue(id, flow, packet, now)) {
        drop(packet);
        return;
    }
    ++queued_;
    plan(now);
}

bool WeirEdge::bypass(VnicId id, DestinationId flow, const Packet& packet, Nanos now) {
    const bool may = flow == kNoDestination ? scheduler_->can_bypass(id, packet.bytes, now)
                                            : scheduler_->can_bypass(id, flow, packet.bytes, now);
    if (!may || !limiters_[id].admit({packet.bytes, 1}, now))
        return false;
    if (flow == kNoDestination) {
        scheduler_->bypass(id, packet.bytes, now);
    } else {
        scheduler_->bypass(id, flow, packet.bytes, now);
        flows_.touch(flow, now);
    }
    return true;
}

bool WeirEdge::enqueue(VnicId id, DestinationId flow, Packet& packet, Nanos now) {
    const bool limited = flow != kNoDestination;
    packet.congestion_marked |= packet.ecn_capable && !limited && scheduler_->backlog_bytes(id) > kMarkBytes;
    const PacketRef ref{&packet, now, packet.bytes, 1, 1};
    if (!limited)
        return scheduler_->enqueue(id, ref, now);
    flows_.touch(flow, now);
    return scheduler_->enqueue(id, flow, ref, now);
}

void WeirEdge::drop(Packet& packet) {
    ++dropped_;
    world_.pool.give_back(packet);
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
    scheduler_->charge_link(answer.bytes, now);
    if (feedback_delay_ == 0)
        host_.nic().send(answer);
    else
        delayed_.send(answer, now + feedback_delay_);
}

void WeirEdge::on_feedback(VnicId id, const Packet& feedback) {
    const Nanos now = world_.now();
    const auto [change, flow] = flows_.on_feedback(id, address_of(feedback.from), feedback.ack,
                                                   static_cast<std::uint32_t>(feedback.sequence), now);
    const auto belongs = [&](const PacketRef& waiting) {
        return static_cast<const Packet*>(waiting.packet)->to == feedback.from;
    };
    if (change == DestinationLimits::Change::kOpened) {
        if (!scheduler_->open_destination(flow, id, &flows_.limiter(flow), now, belongs)) {
            flows_.erase(flow);
            return;
        }
    } else if (change == DestinationLimits::Change::kChanged) {
        scheduler_->rate_changed(flow, now);
    } else {
        return;
    }
    plan(now);
}

/// Halves the rates of flows that hear nothing, forgets idle ones, and measures when no packet does it.
void WeirEdge::keep_house(Nanos now) {
    if (receiver_.due(now))
        receiver_.sweep(now);
    flows_.sweep(
        now, kFlowsPerSweep,
        [&](DestinationId flow) {
            if (scheduler_->destination_backlog_packets(flow) != 0)
                return false;
            scheduler_->close_destination(flow, now, [](const PacketRef&) {});
            return true;
        },
        [&](DestinationId flow) { scheduler_->rate_changed(flow, now); });
    plan(now);
    world_.engine.after(housekeeping_, *this, kHousekeeping);
}

void WeirEdge::poll_at(Nanos when) {
    if (when >= poll_due_)
        return;
    poll_due_ = when;
    world_.engine.at(when, *this, kPoll);
}

/// The next turn is when something may leave, but not before `earliest`.
void WeirEdge::plan(Nanos earliest) {
    const Nanos ready = std::min(wheel_.next_due(), scheduler_->next_ready(world_.now()));
    if (ready != kNever)
        poll_at(std::max(ready, earliest));
}

void WeirEdge::fire(std::uint32_t what) {
    const Nanos now = world_.now();
    if (what == kHousekeeping)
        keep_house(now);
    else if (now == poll_due_)  // else an earlier turn was wanted, and has been
        poll(now);
}

void WeirEdge::wake(TimingWheel::Ids ids, Nanos now) {
    for (const std::uint32_t id : ids) {
        if (id < vnics_)
            scheduler_->wake(static_cast<VnicId>(id), now);
        else
            scheduler_->wake_destination(id - vnics_, now);
    }
}

void WeirEdge::poll(Nanos now) {
    poll_due_ = kNever;
    if (wheel_.next_due() <= now)
        wheel_.advance(now, kWakeBudget, [&](TimingWheel::Ids ids) { wake(ids, now); });
    std::array<PacketRef, limits::kBurst> out;
    for (std::size_t sent = out.size(); sent == out.size();) {
        sent = scheduler_->dequeue_burst(now, out);
        queued_ -= sent;
        for (std::size_t i = 0; i < sent; ++i)
            host_.nic().send(*static_cast<Packet*>(out[i].packet));
    }
    host_.pump();
    plan(now + kTurn);
}

}  // namespace weir::sim
