// weir_edge.cc - a poll loop that is called only when it would find something to do.
#include "bench/sim/weir_edge.h"

#include <algorithm>
#include <array>

namespace weir::sim {
namespace {

/// A turn of a busy poll loop.
constexpr Nanos kTurn = 200;
constexpr unsigned kWakeBudget = 256;
constexpr std::uint32_t kQueuePackets = 1024;

std::uint64_t capacity(std::uint64_t rate_bps, double headroom) {
    return static_cast<std::uint64_t>(static_cast<double>(rate_bps) / 8 * (1 - headroom));
}

}  // namespace

WeirEdge::WeirEdge(World& world, Host& host, const HostsSpec& spec, std::uint64_t rate_bps, Isolation)
    : world_(world),
      host_(host),
      wheel_(static_cast<std::uint32_t>(host.profiles().size())),
      scheduler_(make_link_scheduler(
          "wrr", {.classes = host.profiles().size(), .queue_packets = kQueuePackets, .limits = &wheel_})) {
    scheduler_->set_capacity(capacity(rate_bps, spec.headroom), 0);
    for (std::size_t id = 0; id < host.profiles().size(); ++id) {
        const VnicProfile& profile = host.profiles()[id];
        Limiter& limiter = limiters_.emplace_back();
        const std::uint64_t limit = profile.limit_bps / 8;
        if (limit != 0)
            limiter.set_profiles(make_profile(limit, burst_for_rate(limit)), unlimited_profile(), 0);
        scheduler_->add(static_cast<VnicId>(id),
                        {.reservation = profile.reservation_bps / 8, .shares = profile.shares}, &limiter, 0);
    }
}

void WeirEdge::send(VnicId id, Packet& packet) {
    const Nanos now = world_.now();
    if (scheduler_->can_bypass(id, packet.bytes, now) && limiters_[id].admit({packet.bytes, 1}, now)) {
        scheduler_->bypass(id, packet.bytes, now);
        host_.nic().send(packet);
        return;
    }
    if (!scheduler_->enqueue(id, {&packet, now, packet.bytes, 1, 1}, now)) {
        ++dropped_;
        world_.pool.give_back(packet);
        return;
    }
    ++queued_;
    plan(now);
}

void WeirEdge::received(VnicId, const Packet&) {}
void WeirEdge::hear(VnicId, const Packet&) {}

void WeirEdge::poll_at(Nanos when) {
    if (when >= poll_due_)
        return;
    poll_due_ = when;
    world_.engine.at(when, *this);
}

/// The next turn is when something may leave, but not before `earliest`.
void WeirEdge::plan(Nanos earliest) {
    const Nanos ready = std::min(wheel_.next_due(), scheduler_->next_ready(world_.now()));
    if (ready != kNever)
        poll_at(std::max(ready, earliest));
}

void WeirEdge::fire(std::uint32_t) {
    const Nanos now = world_.now();
    if (now != poll_due_)
        return;  // an earlier turn was wanted, and has been
    poll_due_ = kNever;
    if (wheel_.next_due() <= now)
        wheel_.advance(now, kWakeBudget, [&](TimingWheel::Ids ids) {
            for (const std::uint32_t id : ids)
                scheduler_->wake(static_cast<VnicId>(id), now);
        });
    std::array<PacketRef, 32> out;
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
