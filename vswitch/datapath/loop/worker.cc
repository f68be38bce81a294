// worker.cc - one iteration of the poll loop, the housekeeping once in 256 of them, and the thread that
// repeats them.
#include "vswitch/datapath/loop/worker.h"

#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <sys/prctl.h>

#include <algorithm>
#include <ctime>
#include <utility>

namespace weir {
namespace {

/// Buffers of a burst of the largest frames, of which one is split and the others wait in the intake.
constexpr std::uint32_t burst_buffers(std::uint32_t frames) {
    return limits::kVnicBuffersMin + (frames - 1) * limits::kFrameBuffersMax;
}

/// Frames that may be taken from the ring though each were of the largest size.
std::uint32_t burst_within_quota(const VnicPath& vnic) {
    const std::uint32_t quota = vnic.profile.buffers_max;
    if (vnic.queued_buffers == 0 && quota >= burst_buffers(limits::kBurst)) [[likely]]
        return vnic.burst_max;
    const std::uint32_t room = quota - std::min(quota, vnic.queued_buffers);
    const std::uint32_t beside_split =
        1 + (std::max(quota, limits::kVnicBuffersMin) - limits::kVnicBuffersMin) / limits::kFrameBuffersMax;
    const std::uint32_t frames = std::min(room / limits::kFrameBuffersMax, beside_split);
    return std::min<std::uint32_t>(frames != 0 || vnic.queued_buffers != 0 ? frames : 1, vnic.burst_max);
}

}  // namespace

Worker::Worker(const Setup& setup)
    : id_(setup.forwarding.worker),
      shared_(setup.forwarding.inboxes.size() > 1),
      quiescence_(setup.quiescence),
      coalesce_cycles_(setup.coalesce_cycles),
      turn_(setup.turn),
      wheel_(Forwarder::kWheelIds),
      bill_(setup.counter),
      out_share_(setup.forwarding.uplink ? &setup.forwarding.uplink->out : nullptr),
      in_share_(setup.forwarding.uplink ? &setup.forwarding.uplink->in : nullptr),
      forwarder_(setup.forwarding, wheel_, bill_) {
    mine_.reserve(limits::kVnicsMax);
    promised_.reserve(limits::kVnicsMax);
}

unsigned Worker::run_once(Nanos now, std::uint64_t start) {
    quiescence_.checkpoint(id_);
    bill_.start(start);
    turn_.begin(start);
    unsigned moved = 0;
    if (now >= wheel_.next_due())
        moved += wake_due(now);
    if (forwarder_.frames_wait_for_vms()) [[unlikely]]
        moved += forwarder_.serve_waiting(now);
    moved += poll_outside(now);
    moved += poll_promised(now);
    moved += poll_vnics(now);
    moved += forwarder_.serve_floods(now);
    if (forwarder_.requests())
        moved += forwarder_.serve_requests(now);
    if (shared_ && forwarder_.uplink() && now >= share_due_)
        negotiate_share(now);
    if (forwarder_.feedback())
        forwarder_.feedback()->sweep(now);
    if (forwarder_.uplink())
        moved += forwarder_.uplink()->flush(now);
    ++stats.iterations;
    if (--until_housekeeping_ == 0)
        housekeeping(now);
    return moved;
}

bool Worker::drained() {
    return wheel_.size() == 0 && !forwarder_.floods_wait() && !forwarder_.inbox_pieces_wait() &&
           !forwarder_.frames_wait_for_vms() && (!forwarder_.uplink() || !forwarder_.uplink()->backlogged());
}

unsigned Worker::wake_due(Nanos now) {
    return wheel_.advance(
        now, limits::kWakesPerIteration,
        [&](TimingWheel::Ids ids) {
            for (const std::uint32_t id : ids)
                wake(id, now);
        },
        [&](TimingWheel::Ids next) {
            for (const std::uint32_t id : next)
                if (id < limits::kVnicsMax)
                    rte_prefetch0(&forwarder_.vnic(static_cast<VnicId>(id))->limiter);
        });
}

inline void Worker::wake(std::uint32_t id, Nanos now) {
    if (id >= Forwarder::kRequestIds)
        forwarder_.wake_request(id - Forwarder::kRequestIds, now);
    else if (id >= Forwarder::kDestinationIds)
        forwarder_.uplink()->wake_destination(id - Forwarder::kDestinationIds, now);
    else if (id >= Forwarder::kClassIds)
        forwarder_.uplink()->wake(static_cast<VnicId>(id - Forwarder::kClassIds), now);
    else
        resume(*forwarder_.vnic(static_cast<VnicId>(id)), now);
}

/// The vNIC's limit may pay again: frames that were taken from the ring already go first.
void Worker::resume(VnicPath& vnic, Nanos now) {
    vnic.parked = false;
    forwarder_.release_local(vnic, now);
}

/// A burst of the wire, and one of the other workers' frames.
unsigned Worker::poll_outside(Nanos now) {
    const std::uint64_t from = bill_.mark();
    unsigned moved = 0;
    if (forwarder_.uplink())
        moved += forwarder_.poll_wire(now, stats);
    if (shared_)
        moved += forwarder_.poll_inbox(now);
    turn_.outside_polled(from, bill_.mark());
    return moved;
}

/// Between two VMs of a long turn: what was promised, or comes from outside, does not wait for its end; nor
/// do frames that may leave, or that a VM takes now.
unsigned Worker::serve_between(Nanos now) {
    unsigned moved = poll_outside(now);
    moved += poll_promised(now);
    if (forwarder_.frames_wait_for_vms())
        moved += forwarder_.serve_waiting(now);
    if (forwarder_.uplink()) {
        moved += forwarder_.uplink()->flush(now);
        bill_.restart();  // the next busy vNIC does not pay for it
    }
    return moved;
}

/// @return frames that may be taken from the VM's ring now; 0: the ring is held back
std::uint16_t Worker::allowance(VnicPath& vnic, Nanos now) {
    if (vnic.backlogged() && forwarder_.uplink() && !forwarder_.uplink()->has_room(vnic.fixed.id)) {
        vnic.hold(HoldReason::kUplink, now);
        return 0;
    }
    const std::uint32_t most = burst_within_quota(vnic);
    if (most == 0) {
        vnic.hold(HoldReason::kBuffers, now);
        return 0;
    }
    if (vnic.profile.encryption_limited && !vnic.encryption.can_pay(1, now)) {
        vnic.hold(HoldReason::kEncryption, now);
        return 0;
    }
    if (!vnic.profile.limited) {
        vnic.release(now);
        return static_cast<std::uint16_t>(most);
    }
    for (std::uint32_t frames = most; frames != 0; frames /= 2) {
        if (vnic.limiter.can_pay({frames * vnic.frame_bytes_mean, frames}, now)) {
            vnic.release(now);
            return static_cast<std::uint16_t>(frames);
        }
    }
    const std::uint32_t batch =
        std::clamp<std::uint32_t>(vnic.profile.wake_bytes / vnic.frame_bytes_mean, 1, limits::kBurst);
    forwarder_.park(vnic, {batch * vnic.frame_bytes_mean, 1}, now);
    return 0;
}

/// @return frames that moved, for which the caller charges; 0: none
unsigned Worker::poll_vnic(VnicPath& vnic, Nanos now) {
    const bool looks =
        vnic.pressure.pressed.load(std::memory_order_relaxed) && forwarder_.held_by_receiver(vnic, now);
    if (looks && !vnic.held_for_as_long(HoldReason::kReceiver, Backpressure::kLookPeriod, now)) [[unlikely]] {
        vnic.hold(HoldReason::kReceiver, now);
        return 0;
    }
    if (looks && !forwarder_.next_goes_elsewhere(vnic)) [[unlikely]] {
        vnic.release(now);
        vnic.hold(HoldReason::kReceiver, now);  // until the next look
        return 0;
    }
    const std::uint16_t most = allowance(vnic, now);
    if (most == 0)
        return 0;
    if (!vnic.intake.empty()) [[unlikely]]
        return forward_piece(vnic, looks ? 1 : limits::kBurst, now);
    std::array<rte_mbuf*, limits::kBurst> frames;
    const auto asked = static_cast<std::uint16_t>(looks ? (most + 1) / 2 : most);
    const std::uint16_t count = vnic.fixed.port->rx_burst(frames.data(), asked);
    if (count == 0)
        return 0;
    ++vnic.stats.bursts;
    if (Intake::needed_for({frames.data(), count})) [[unlikely]] {
        vnic.intake.fill({frames.data(), count});
        return forward_piece(vnic, looks ? 1 : limits::kBurst, now);
    }
    forwarder_.from_vm(vnic, frames.data(), count, now);
    return count;
}

/// A piece of a burst with super-frames, of at most so many, if the vNIC's quota has room for what they may
/// become.
unsigned Worker::forward_piece(VnicPath& vnic, std::size_t most, Nanos now) {
    const std::uint32_t held = vnic.queued_buffers + vnic.intake.buffers();
    const std::uint32_t room = vnic.profile.buffers_max - std::min(vnic.profile.buffers_max, held);
    const std::span<rte_mbuf*> piece = vnic.intake.next(room, most, vnic.queued_buffers == 0);
    if (piece.empty()) {
        vnic.hold(HoldReason::kBuffers, now);
        return 0;
    }
    forwarder_.from_vm(vnic, piece.data(), static_cast<std::uint16_t>(piece.size()), now);
    return static_cast<unsigned>(piece.size());
}

/// Counts a poll that moved frames and was paid for.
inline void Worker::finish_poll(VnicPath& vnic, unsigned frames) {
    // A ring that gave more than one frame but fewer than this is left to fill for a moment
    // (`poll_coalesce`): a burst of 1 costs seven times the cycles per frame of a burst of 32, as the ring's
    // cache lines travel either way. A ring with single frames is polled at once: there latency counts, and
    // waiting gains nothing.
    const unsigned small_burst = vnic.burst_max * 3 / 4;
    vnic.quiet_until =
        frames > 1 && frames < small_burst && vnic.intake.empty() ? bill_.mark() + coalesce_cycles_ : 0;
    stats.packets += frames;
    ++stats.bursts;
}

/// Polls the rings of vNICs with promised packets, one after the other, while their promises can pay. Neither
/// the round nor the shares of cycles can refuse such a poll. The wire is polled between two rings as in a
/// round.
unsigned Worker::poll_promised(Nanos now) {
    // Rings of one call: bounds the time that it adds to a turn. The next call continues with the next ring.
    constexpr unsigned kRingsMax = 16;
    if (promised_.empty())
        return 0;
    unsigned moved = 0;
    std::size_t idle = 0;  // rings in a row that were empty, or whose promises could not pay
    for (unsigned rings = 0; rings < kRingsMax && idle < promised_.size(); ++rings) {
        ++idle;
        VnicPath& vnic = *promised_[promised_next_];
        promised_next_ = promised_next_ + 1 < promised_.size() ? promised_next_ + 1 : 0;
        if (vnic.parked || bill_.mark() < vnic.quiet_until || !vnic.promise.may_poll(now))
            continue;
        const unsigned count = poll_vnic(vnic, now);
        if (count == 0) {
            if (vnic.fixed.port->take_wasted()) [[unlikely]]
                vnic.promise.pay(1, bill_.count(vnic), now);
            continue;
        }
        vnic.promise.pay(count, bill_.count(vnic), now);
        finish_poll(vnic, count);
        moved += count;
        idle = 0;
        if (turn_.outside_due(bill_.mark()))
            moved += poll_outside(now);
    }
    bill_.restart();  // the next busy vNIC does not pay for rings that were empty
    return moved;
}

/// Every VM's ring in turn, as far as its share of this core's cycles goes. A round may take several turns.
unsigned Worker::poll_vnics(Nanos now) {
    // Cycles are charged from the last mark on: after this many vNICs that were passed over or had empty
    // rings (35 ns each) a new mark is set, so that the next busy vNIC does not pay for them.
    constexpr std::size_t kUnmarkedVnicsMax = 8;
    unsigned moved = 0;
    CycleShare& share = bill_.share();
    std::size_t marked = next_;
    for (std::size_t at = next_; at < mine_.size(); ++at) {
        VnicPath* const vnic = mine_[at];
        if (vnic->parked || bill_.mark() < vnic->quiet_until ||
            (vnic->profile.isolated && !share.may_poll(vnic->fixed.id)))
            continue;
        if (at - marked >= kUnmarkedVnicsMax) {
            bill_.restart();
            marked = at;
        }
        const unsigned count = poll_vnic(*vnic, now);
        if (count == 0) {
            if (vnic->fixed.port->take_wasted()) [[unlikely]]
                bill_.charge(*vnic);
            continue;
        }
        marked = at + 1;
        bill_.charge(*vnic);
        if (vnic->promised) [[unlikely]]
            vnic->promise.count(count, now);
        finish_poll(*vnic, count);
        moved += count;
        if (at + 1 < mine_.size() && turn_.over(bill_.mark())) {
            next_ = at + 1;
            return moved;
        }
        if (turn_.outside_due(bill_.mark()))
            moved += serve_between(now);
    }
    next_ = 0;
    share.end_round();
    return moved;
}

/// Reports what this worker used of the wire and still needs, each way, and applies its allocation; worker 0
/// divides.
void Worker::negotiate_share(Nanos now) {
    Uplink& uplink = *forwarder_.uplink();
    std::optional<RateFeedback>& feedback = forwarder_.feedback();
    const Nanos span = now + LinkShare::kPeriod - share_due_;
    share_due_ = now + LinkShare::kPeriod;
    const auto rate = [span](std::uint64_t total, std::uint64_t& before) {
        const std::uint64_t more = total - std::exchange(before, total);
        return static_cast<std::uint64_t>(Wide{more} * kNanosPerSec / span);
    };
    LinkDemand demand = claim_;
    LinkDemand in = receive_claim_;
    demand.used = rate(uplink.stats.tx.delivered.bytes, sent_before_);
    demand.backlogged = uplink.backlogged();
    out_share_->report(id_, demand);
    if (feedback) {
        in.used = rate(feedback->received_total(), received_before_);
        in.backlogged = feedback->backlogged();
        in_share_->report(id_, in);
    }
    if (id_ == 0) {
        out_share_->divide();
        in_share_->divide();
    }
    uplink.set_capacity(out_share_->allocation(id_), out_share_->reservable(id_), now);
    if (feedback)
        feedback->set_capacity(in_share_->allocation(id_));
}

/// Once in 256 iterations, busy or not.
void Worker::housekeeping(Nanos now) {
    until_housekeeping_ = limits::kHousekeepingIterations;
    run_commands(now);
    forwarder_.housekeeping(now);
    for (VnicPath* vnic : mine_)
        vnic->fixed.port->housekeeping(now);
}

void WorkerThread::run() {
    prctl(PR_SET_TIMERSLACK, 1UL);  // a nap of 100 us should not last 150
    quiescence_.online(worker_.id());
    std::uint64_t tick = rte_rdtsc();
    Nanos last_moved = ticks_.to_nanos(tick);
    WorkerStats& stats = worker_.stats;
    while (!stop_.load(std::memory_order_relaxed)) {
        const Nanos now = ticks_.to_nanos(tick);
        const unsigned moved = worker_.run_once(now, tick);
        std::uint64_t after = rte_rdtsc();
        if (moved != 0) {
            stats.busy_cycles += after - tick;
            ++stats.busy_iterations;
            last_moved = now;
        } else {
            stats.idle_cycles += after - tick;
            if (poll_ == PollMode::kAdaptive && rest(now, last_moved))
                after = rte_rdtsc();
        }
        tick = after;
    }
    quiescence_.offline(worker_.id());
}

bool WorkerThread::rest(Nanos now, Nanos last_moved) {
    // Time without a frame after which a worker with `poll: adaptive` sleeps: longer than the gaps between
    // the bursts of a busy guest.
    constexpr Nanos kIdleBeforeSleep = 200'000;
    if (now - last_moved < kIdleBeforeSleep || !worker_.drained())
        return false;
    const timespec nap{0, static_cast<long>(sleep_max_)};
    quiescence_.offline(worker_.id());  // the agent need not wait until the sleep ends
    nanosleep(&nap, nullptr);
    quiescence_.online(worker_.id());
    worker_.housekeeping_next();
    return true;
}

}  // namespace weir
