// rate_limit_edge.cc - RateLimitEdge: packets pass a bucket per vNIC; each period sets its rate by the NIC's
// queue or losses.
#include "bench/sim/rate_limit_edge.h"

#include <algorithm>

#include "bench/sim/random.h"
#include "vswitch/base/limits.h"

namespace weir::sim {

RateLimitEdge::RateLimitEdge(World& world, Host& host, const PeriodicLimitSpec& spec, std::uint64_t rate_bps,
                             std::uint32_t places)
    : world_(world), host_(host), spec_(spec), places_(places) {
    const auto ceiling = static_cast<std::uint64_t>(static_cast<double>(rate_bps) / 8 * spec.ceiling);
    for (const VnicProfile& profile : host.profiles()) {
        const std::uint64_t most =
            profile.limit_bps == 0 ? ceiling : std::min(ceiling, profile.limit_bps / 8);
        // A VM without a guarantee has one hundredth of the link to begin with: a cubic of 0 stays there.
        const std::uint64_t least = std::max(profile.reservation_bps / 8, ceiling / 100);
        const PeriodicLimit limit(spec, least, most);
        vnics_.push_back({.limit = limit,
                          .bucket = TokenBucket(make_profile(limit.rate(), burst_for_rate(limit.rate()))),
                          .queue = {}});
    }
    // Hosts do not end their periods in step.
    world.engine.at(mix(host.profiles()[0].endpoint) % spec.period, *this, kPeriod);
}

bool RateLimitEdge::room(VnicId vnic) const {
    return vnics_[vnic].bytes < limits::kQueueBytesMax;
}

void RateLimitEdge::send(VnicId id, Packet& packet) {
    Vnic& vnic = vnics_[id];
    vnic.queue.push(packet);
    vnic.bytes += packet.bytes;
    ++queued_;
    if (!vnic.waiting)
        release(id);
}

void RateLimitEdge::release(std::uint32_t id) {
    Vnic& vnic = vnics_[id];
    const Nanos now = world_.now();
    while (!vnic.queue.empty() && vnic.bucket.can_pay(vnic.queue.front().bytes, now)) {
        Packet& packet = vnic.queue.pop();
        vnic.bucket.pay(packet.bytes, now);
        vnic.bytes -= packet.bytes;
        --queued_;
        give(packet);
    }
    vnic.waiting = !vnic.queue.empty();
    vnic.limited |= vnic.waiting;
    if (vnic.waiting)
        world_.engine.at(std::max(now, vnic.bucket.ready_at(vnic.queue.front().bytes, now)), *this, id);
}

void RateLimitEdge::give(Packet& packet) {
    const std::uint64_t before = host_.nic().waiting();
    congested_ |= before >= (spec_.signal == CongestionSignal::kLoss ? places_ : spec_.queue);
    if (before < places_) {
        host_.nic().send(packet);
        return;
    }
    ++dropped_;
    world_.pool.give_back(packet);
}

void RateLimitEdge::end_period() {
    const Nanos now = world_.now();
    for (Vnic& vnic : vnics_) {
        vnic.limit.update(congested_, vnic.limited);
        const std::uint64_t rate = vnic.limit.rate();
        vnic.bucket.set_profile(make_profile(rate, burst_for_rate(rate)), now);
        vnic.limited = vnic.waiting;
    }
    congested_ = false;
    world_.engine.after(spec_.period, *this, kPeriod);
}

/// The wheel fires again later for a bucket whose rate fell meanwhile.
void RateLimitEdge::fire(std::uint32_t what) {
    if (what == kPeriod) {
        end_period();
        return;
    }
    release(what);
    host_.pump();
}

}  // namespace weir::sim
