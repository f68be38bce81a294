// worker.cc - the poll loop: wake, wire, other workers, VMs in turn, uplink.
#include "vswitch/datapath/worker.h"

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <utility>

#include "vswitch/datapath/classifier.h"
#include "vswitch/datapath/offload.h"
#include "vswitch/qos/buckets/rate_profile.h"

namespace weir {
namespace {

/// The wheel's ids: a vNIC's own limit, the same vNIC's class in the uplink's scheduler, destinations with
/// limiters, flows of requests.
constexpr std::uint32_t kClassIds = limits::kVnicsMax;
constexpr std::uint32_t kDestinationIds = 2 * limits::kVnicsMax;
constexpr std::uint32_t kRequestIds = kDestinationIds + limits::kDestinationLimitsMax;
constexpr std::uint32_t kWheelIds = kRequestIds + limits::kRequestFlowsMax;
/// A ring that gave more than one frame but fewer than this is left to fill for a moment (`poll_coalesce`): a
/// burst of 1 costs seven times the cycles per frame of a burst of 32, as the ring's cache lines travel
/// either way. A ring with single frames is polled at once: there latency counts, and nothing is gained.
constexpr unsigned kSmallBurst = limits::kBurst * 3 / 4;

}  // namespace

Worker::Worker(const Setup& setup)
    : setup_(setup),
      shared_(setup.inboxes.size() > 1),
      macs_(setup.id, setup.mac_ageing, shared_ ? &news_ : nullptr),
      wheel_(kWheelIds),
      delivery_(setup.pool, bill_),
      wire_flood_(make_profile(setup.flood_pps, flood_burst())) {
    all_.reserve(limits::kVnicsMax);
    mine_.reserve(limits::kVnicsMax);
    touched_.reserve(limits::kVnicsMax);
}

Worker::~Worker() = default;

void Worker::set_uplink(const UplinkPart& part) {
    const bool told = part.feedback != nullptr;
    const bool ruled = part.ruled_below != 0;
    DestinationLimits::Profile unasked;
    unasked.line_rate = std::max<std::uint64_t>(part.ruled_below, 2);
    unasked.rate_min = std::min(unasked.rate_min, unasked.line_rate);
    uplink_ = std::make_unique<Uplink>(
        Uplink::Setup{.device = part.device,
                      .queue = setup_.id,
                      .pool = setup_.pool,
                      .directory = directory_.data(),
                      .overhead_bytes = setup_.overhead_bytes,
                      .mtu = part.mtu,
                      .egress = {.scheduler = part.scheduler,
                                 .wheel = &wheel_,
                                 .vnics = limits::kVnicsMax,
                                 .vnic_wheel_id = kClassIds,
                                 .destinations = told || ruled ? limits::kDestinationLimitsMax : 0,
                                 .destination_wheel_id = kDestinationIds,
                                 .limits = told ? part.feedback->flows : unasked}});
    out_share_ = &part.out;
    in_share_ = &part.in;
    uplink_->set_capacity(out_share_->allocation(setup_.id), 0);
    if (told) {
        feedback_ = std::make_unique<RateFeedback>(
            RateFeedback::Setup{setup_.id, setup_.pool, *uplink_, macs_, directory_.data(), setup_.inboxes},
            *part.feedback);
        feedback_->set_capacity(in_share_->allocation(setup_.id));
    }
    update_unknown();
}

void Worker::set_appliances(const std::vector<Appliance>& appliances, const ConnectionKey& key) {
    if (appliances.empty())
        return;
    constexpr std::uint32_t kTcpIp4HeaderBytes = 54;
    requests_ = std::make_unique<RequestPath>(
        RequestPath::Setup{.appliances = appliances,
                           .pool = setup_.pool,
                           .key = key,
                           .worker = setup_.id,
                           .shared = shared_,
                           .wheel = wheel_,
                           .wheel_id = kRequestIds,
                           .header_bytes = kTcpIp4HeaderBytes + setup_.overhead_bytes});
}

void Worker::set_tunnels(const std::vector<TunnelEnd>& tunnels, std::vector<EspEngine*> engines) {
    if (tunnels.empty())
        return;
    tunnels_ = std::make_unique<TunnelPath>(TunnelPath::Setup{
        tunnels, setup_.id, static_cast<WorkerId>(setup_.inboxes.size()), std::move(engines)});
    uplink_->use_tunnels(*tunnels_, bill_);
}

unsigned Worker::run_once(Nanos now, std::uint64_t start) {
    turn_ = now;
    setup_.quiescence.checkpoint(setup_.id);
    bill_.start(start);
    unsigned moved = 0;
    if (now >= wheel_.next_due())
        moved += wake_due(now);
    if (uplink_)
        moved += poll_wire(now);
    if (shared_)
        moved += poll_inbox(now);
    moved += poll_vnics(now);
    if (requests_)
        moved += serve_requests(now);
    if (shared_ && uplink_ && now >= share_due_)
        negotiate_share(now);
    if (feedback_)
        feedback_->sweep(now);
    if (uplink_)
        moved += uplink_->flush(now);
    ++iterations_;
    if (--until_housekeeping_ == 0)
        housekeeping(now);
    return moved;
}

bool Worker::drained() const {
    return wheel_.size() == 0 && (!uplink_ || !uplink_->backlogged());
}

unsigned Worker::wake_due(Nanos now) {
    return wheel_.advance(
        now, limits::kWakesPerIteration,
        [&](TimingWheel::Ids ids) {
            for (const std::uint32_t id : ids) {
                if (id >= kRequestIds)
                    requests_->wake(id - kRequestIds, now, [&](VnicId vnic, const PacketRef& ref) {
                        let_go(*directory_[vnic], ref, now);
                    });
                else if (id >= kDestinationIds)
                    uplink_->wake_destination(id - kDestinationIds, now);
                else if (id >= kClassIds)
                    uplink_->wake(static_cast<VnicId>(id - kClassIds), now);
                else
                    resume(*directory_[id], now);
            }
        },
        [&](TimingWheel::Ids next) {
            for (const std::uint32_t id : next)
                if (id < limits::kVnicsMax)
                    rte_prefetch0(&directory_[id]->limiter);
        });
}

/// Leaves the VM's ring alone until its limit can pay `costs`.
void Worker::park(VnicPath& vnic, const Limiter::Costs& costs, Nanos now) {
    vnic.hold(HoldReason::kLimit, now);
    if (vnic.parked)
        return;
    vnic.parked = true;
    const Nanos at = vnic.limiter.ready_at(costs);
    if (at != kNever)
        wheel_.insert(vnic.fixed.id, at, now);
}

/// The limit may pay again: first what has been taken from the ring already.
void Worker::resume(VnicPath& vnic, Nanos now) {
    vnic.parked = false;
    if (vnic.local.empty())
        return;
    while (!vnic.local.empty()) {
        const PacketRef ref = vnic.local.front();
        const Limiter::Costs costs{ref.bytes, ref.frames};
        if (!vnic.limiter.admit(costs, now)) {
            park(vnic, costs, now);
            break;
        }
        vnic.local.pop();
        vnic.queued_buffers -= ref.buffers;
        vnic.stats.from_vm.queued.remove(1, ref.bytes);
        vnic.stats.admitted.add(1, ref.bytes);
        vnic.queue_delay.add(now - ref.enqueued);
        const std::optional<DropReason> ended = deliver_queued(static_cast<rte_mbuf*>(ref.packet));
        if (ended)
            vnic.stats.from_vm.drop(*ended, 1, ref.bytes);
        else
            vnic.stats.from_vm.delivered.add(1, ref.bytes);
    }
    flush_touched();
    bill_.charge(vnic);
}

/// How many frames may be taken from the VM's ring now: what its limit pays, 0 when it must wait.
std::uint16_t Worker::allowance(VnicPath& vnic, Nanos now) {
    if (vnic.backlogged() && uplink_ && !uplink_->has_room(vnic.fixed.id)) {
        vnic.hold(HoldReason::kUplink, now);
        return 0;
    }
    if (vnic.queued_buffers >= vnic.profile.buffers_max) {
        vnic.hold(HoldReason::kBuffers, now);
        return 0;
    }
    if (vnic.profile.encryption_limited && !vnic.encryption.can_pay(1, now)) {
        vnic.hold(HoldReason::kEncryption, now);
        return 0;
    }
    if (!vnic.profile.limited) {
        vnic.release(now);
        return limits::kBurst;
    }
    for (std::uint32_t frames = limits::kBurst; frames != 0; frames /= 2) {
        if (vnic.limiter.can_pay({frames * vnic.frame_bytes_mean, frames}, now)) {
            vnic.release(now);
            return static_cast<std::uint16_t>(frames);
        }
    }
    const std::uint32_t batch =
        std::clamp<std::uint32_t>(vnic.profile.wake_bytes / vnic.frame_bytes_mean, 1, limits::kBurst);
    park(vnic, {batch * vnic.frame_bytes_mean, 1}, now);
    return 0;
}

unsigned Worker::poll_vnic(VnicPath& vnic, Nanos now) {
    const std::uint16_t most = allowance(vnic, now);
    if (most == 0)
        return 0;
    std::array<rte_mbuf*, limits::kBurst> frames;
    const std::uint16_t count = vnic.fixed.port->rx_burst(frames.data(), most);
    if (count == 0)
        return 0;
    ++vnic.stats.bursts;
    take(vnic, frames.data(), count, now);
    flush_touched();
    bill_.charge(vnic);
    return count;
}

/// Every VM's ring in turn, as far as its share of this core's cycles goes.
unsigned Worker::poll_vnics(Nanos now) {
    unsigned moved = 0;
    CycleShare& share = bill_.share();
    for (VnicPath* vnic : mine_) {
        if (vnic->parked || bill_.mark() < vnic->quiet_until ||
            (vnic->profile.isolated && !share.may_poll(vnic->fixed.id)))
            continue;
        const unsigned count = poll_vnic(*vnic, now);
        if (count == 0)
            continue;
        vnic->quiet_until = count > 1 && count < kSmallBurst ? bill_.mark() + setup_.coalesce_cycles : 0;
        stats.packets += count;
        ++stats.bursts;
        moved += count;
    }
    share.end_round();
    return moved;
}

/// Says what this worker needs of the wire, each way, and takes what it was given; worker 0 divides.
void Worker::negotiate_share(Nanos now) {
    const Nanos span = now + LinkShare::kPeriod - share_due_;
    share_due_ = now + LinkShare::kPeriod;
    const auto rate = [span](std::uint64_t total, std::uint64_t& before) {
        const std::uint64_t more = total - std::exchange(before, total);
        return static_cast<std::uint64_t>(Wide{more} * kNanosPerSec / span);
    };
    LinkDemand demand;
    for (const VnicPath* vnic : mine_) {
        demand.reservation += vnic->profile.uplink.reservation;
        demand.shares += vnic->profile.uplink.shares;
    }
    LinkDemand in = demand;
    demand.used = rate(uplink_->stats.tx.delivered.bytes, sent_before_);
    demand.backlogged = uplink_->backlogged();
    out_share_->report(setup_.id, demand);
    if (feedback_) {
        in.used = rate(feedback_->received_total(), received_before_);
        in.backlogged = feedback_->hungry();
        in_share_->report(setup_.id, in);
    }
    if (setup_.id == 0) {
        out_share_->divide();
        in_share_->divide();
    }
    uplink_->set_capacity(out_share_->allocation(setup_.id), now);
    if (feedback_)
        feedback_->set_capacity(in_share_->allocation(setup_.id));
}

/// Once in 256 iterations, busy or not.
void Worker::housekeeping(Nanos now) {
    until_housekeeping_ = limits::kHousekeepingIterations;
    run_commands(now);
    macs_.age(now);
    if (feedback_)
        feedback_->keep_house(now);
    else if (uplink_)
        uplink_->sweep_limits(now);
    if (requests_)
        requests_->housekeeping(now);
    for (VnicPath* vnic : mine_)
        vnic->fixed.port->housekeeping();
}

}  // namespace weir
