// ring_poller.cc - RingPoller: the frames that one ring may give, and the rounds over all rings.
#include "vswitch/datapath/loop/ring_poller.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <utility>

#include "vswitch/ports/virtio/left_payload.h"

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

RingPoller::RingPoller(const Setup& setup)
    : stages_(setup.stages),
      from_vms_(setup.from_vms),
      from_outside_(setup.from_outside),
      bill_(setup.bill),
      stats_(setup.stats),
      access_(setup.access),
      shared_(setup.shared),
      coalesce_cycles_(setup.coalesce_cycles),
      turn_(setup.turn),
      promise_order_(limits::kVnicsMax) {
    mine_.reserve(limits::kVnicsMax);
    polled_.reserve(limits::kVnicsMax);
    promised_.reserve(limits::kVnicsMax);
}

void RingPoller::add(VnicPath& vnic) {
    mine_.push_back(&vnic);
    polled_.push_back(&vnic);
    promise_order_.add(vnic.fixed.id);
    change(vnic);
}

void RingPoller::change(VnicPath& vnic) {
    if (silent_.remove(vnic))
        polled_.push_back(&vnic);
    std::erase(promised_, &vnic);
    if (vnic.promised)
        promised_.push_back(&vnic);
    promised_next_ = 0;
}

void RingPoller::remove(VnicPath& vnic) {
    std::erase(mine_, &vnic);
    silent_.remove(vnic);
    std::erase(polled_, &vnic);
    next_ = 0;
    std::erase(promised_, &vnic);
    promised_next_ = 0;
}

/// Devices have come or gone, whose words were looked at.
[[gnu::noinline]] void RingPoller::poll_changed(std::uint64_t changes) {
    silent_.wake_changed([this](VnicPath& vnic) { polled_.push_back(&vnic); });
    changes_ = changes;
}

/// Its ring was empty for long and nothing else is to be done at a poll.
bool RingPoller::falls_silent(VnicPath& vnic) {
    if (vnic.empty_polls < SilentRings::kAfterPolls || vnic.promised || vnic.held || !vnic.intake.empty())
        return false;
    vnic.empty_polls = 0;  // the port is asked again after as many
    return silent_.add(vnic);
}

/// A vNIC that is refused sends nothing from its ring.
Port::Wake RingPoller::ask_for_wakes() {
    asked_for_wakes_ = true;
    Port::Wake all = Port::Wake::kWill;
    for (VnicPath* const vnic : mine_) {
        if (vnic->profile.refused)
            continue;
        const Port::Wake wake = vnic->fixed.port->ask_for_wake();
        if (wake == Port::Wake::kReady)
            return wake;
        if (wake == Port::Wake::kCannot)
            all = wake;
    }
    return all;
}

void RingPoller::forget_wakes() {
    if (!std::exchange(asked_for_wakes_, false))
        return;
    for (VnicPath* const vnic : mine_)
        vnic->fixed.port->forget_wake();
}

/// Between two VMs of a long turn: promised packets and frames from outside do not wait for its end; nor do
/// frames that may leave, or that a VM takes now.
unsigned RingPoller::serve_between(Nanos now) {
    unsigned moved = poll_outside(now);
    moved += poll_promised(now);
    return moved + serve_leaving(now);
}

unsigned RingPoller::serve_leaving(Nanos now) {
    unsigned moved = 0;
    if (stages_.delivery.waiting().busy())
        moved += stages_.serve_waiting(now);
    if (stages_.uplink) {
        moved += stages_.uplink->flush(now);
        bill_.restart();  // the next busy vNIC does not pay for it
    }
    return moved;
}

/// @return frames that may be taken from the VM's ring now; 0: the ring is held back
std::uint16_t RingPoller::allowance(VnicPath& vnic, Nanos now) {
    if (vnic.leaving) [[unlikely]]
        return 0;
    if (vnic.profile.refused) [[unlikely]] {
        vnic.release(now);  // the time is counted while it lasts, as it may last for days
        vnic.hold(HoldReason::kRefused, now);
        return 0;
    }
    if (vnic.backlogged() && stages_.uplink && !stages_.uplink->egress().has_room(vnic.fixed.id)) {
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
    from_vms_.park(vnic, {batch * vnic.frame_bytes_mean, 1}, now);
    return 0;
}

/// @return frames that moved, for which the caller charges; 0: none
unsigned RingPoller::poll_vnic(VnicPath& vnic, Nanos now) {
    const bool looks =
        vnic.pressure.pressed.load(std::memory_order_relaxed) && stages_.delivery.waiting().holds(vnic, now);
    if (looks && !vnic.held_for_as_long(HoldReason::kReceiver, Backpressure::kLookPeriod, now)) [[unlikely]] {
        vnic.hold(HoldReason::kReceiver, now);
        return 0;
    }
    if (looks && !from_vms_.next_goes_elsewhere(vnic)) [[unlikely]] {
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
    Port& port = *vnic.fixed.port;
    const std::uint16_t count = port.rx_burst(frames.data(), asked);
    if (count == 0) {
        ++vnic.empty_polls;
        return 0;
    }
    ++vnic.stats.bursts;
    if (port.ring_is_disabled()) [[unlikely]] {
        drop_disabled(vnic, {frames.data(), count});
        return 0;
    }
    const bool in_pieces = Intake::needed_for({frames.data(), count});
    // Guards, trackers and captures read bytes behind the head.
    if (port.owes_chains() &&
        (in_pieces || vnic.profile.guarded || vnic.profile.tracked || stages_.tap.on())) {
        fetch_payloads({frames.data(), count});
        port.return_chains();
    }
    if (in_pieces) [[unlikely]] {
        vnic.intake.fill({frames.data(), count});
        return forward_piece(vnic, looks ? 1 : limits::kBurst, now);
    }
    from_vms_.forward(vnic, frames.data(), count, now);
    if (port.owes_chains())
        port.return_chains();
    return count;
}

/// Frames of a ring that the guest has disabled: they would be old when it is enabled again. The guest pays
/// for the poll.
[[gnu::noinline]] void RingPoller::drop_disabled(VnicPath& vnic, std::span<rte_mbuf*> frames) {
    Port& port = *vnic.fixed.port;
    if (port.owes_chains()) {
        if (stages_.tap.on())
            fetch_payloads(frames);
        port.return_chains();
    }
    for (rte_mbuf* frame : frames) {
        const std::uint64_t bytes = frame->pkt_len + vnic.fixed.overhead_bytes;
        vnic.stats.from_vm.offered.add(1, bytes);
        stages_.tap.drop(vnic.stats.from_vm, CapturePoint::from_vm(vnic.fixed.id), frame, bytes,
                         DropReason::kRingDisabled);
    }
}

/// Forwards a piece of a burst with super-frames, at most `most` frames, if the vNIC's quota has room for the
/// buffers of their segments. @return frames; 0: the ring is held back
unsigned RingPoller::forward_piece(VnicPath& vnic, std::size_t most, Nanos now) {
    const std::uint32_t held = vnic.queued_buffers + vnic.intake.buffers();
    const std::uint32_t room = vnic.profile.buffers_max - std::min(vnic.profile.buffers_max, held);
    const std::span<rte_mbuf*> piece = vnic.intake.next(room, most, vnic.queued_buffers == 0);
    if (piece.empty()) {
        vnic.hold(HoldReason::kBuffers, now);
        return 0;
    }
    from_vms_.forward(vnic, piece.data(), static_cast<std::uint16_t>(piece.size()), now);
    return static_cast<unsigned>(piece.size());
}

/// Counts a poll that moved frames and was paid for.
inline void RingPoller::finish_poll(VnicPath& vnic, unsigned frames) {
    // A ring that gave more than one frame but fewer than this is left to fill for a moment
    // (`poll_coalesce`): a burst of 1 costs seven times the cycles per frame of a burst of 32, as the ring's
    // cache lines travel either way. A core that had an empty turn of late has cycles for that, and a ring
    // with single frames gains nothing by the wait: both are polled at once, as there latency counts.
    constexpr unsigned kBusyTurns = 64;
    const unsigned small_burst = vnic.burst_max * 3 / 4;
    const bool fills = busy_turns_ >= kBusyTurns && frames > 1 && frames < small_burst && vnic.intake.empty();
    vnic.quiet_until = fills ? bill_.mark() + coalesce_cycles_ : 0;
    vnic.empty_polls = 0;
    stats_.packets += frames;
    ++stats_.bursts;
}

/// A promise that could pay for the poll is charged for it; the other one counts it, as for polls by credit.
/// The order charges the time of the promise that needs more.
/// @param tokens of encryption that its frames cost
void RingPoller::pay_by_promise(VnicPath& vnic, std::uint64_t tokens, unsigned frames, Nanos now) {
    const std::uint64_t cycles = bill_.count(vnic);
    const bool by_packets = vnic.promise.given() && vnic.promise.may_poll(now);
    const bool by_encryption = vnic.encryption_promise.given() && vnic.encryption_promise.may_poll(now);
    FineTime time = 0;
    if (by_packets)
        time = vnic.promise.pay(frames, cycles, now);
    else if (vnic.promise.given())
        vnic.promise.count(frames, now);
    if (by_encryption)
        time = std::max(
            time, vnic.encryption_promise.pay(tokens, frames, cycles,
                                              stages_.tunnels ? stages_.tunnels->least_tokens() : 1, now));
    else if (vnic.encryption_promise.given())
        vnic.encryption_promise.count(tokens, now);
    promise_order_.charge(vnic.fixed.id, time);
}

unsigned RingPoller::poll_promised(Nanos now) {
    // Rings of one call: bounds the time that it adds to a turn. The next call continues with the next ring.
    constexpr unsigned kRingsMax = 16;
    promises_late_ = false;
    if (promised_.empty())
        return 0;
    unsigned moved = 0;
    std::size_t idle = 0;  // rings in a row that were empty, or whose promises could not pay
    for (unsigned rings = 0; rings < kRingsMax && idle < promised_.size(); ++rings) {
        ++idle;
        if (promised_next_ == promised_.size()) {
            promise_order_.end_round();
            promised_next_ = 0;
        }
        VnicPath& vnic = *promised_[promised_next_++];
        if (vnic.parked || bill_.mark() < vnic.quiet_until || !vnic.promise_pays(now))
            continue;
        if (!promise_order_.may_poll(vnic.fixed.id)) {
            idle = 0;  // it comes at the latest when all others were asked
            continue;
        }
        const std::uint64_t tokens = vnic.stats.encryption_tokens;
        const unsigned count = poll_vnic(vnic, now);
        if (count == 0) {
            if (!vnic.fixed.port->take_wasted()) [[likely]]
                continue;
            pay_by_promise(vnic, 0, 1, now);
            if (turn_.over(bill_.mark())) {
                promises_late_ = true;
                break;
            }
            if (turn_.outside_due(bill_.mark()))
                moved += poll_outside(now) + serve_leaving(now);
            continue;
        }
        pay_by_promise(vnic, vnic.stats.encryption_tokens - tokens, count, now);
        finish_poll(vnic, count);
        moved += count;
        idle = 0;
        if (turn_.over(bill_.mark())) {
            promises_late_ = true;
            break;
        }
        if (turn_.outside_due(bill_.mark()))
            moved += poll_outside(now) + serve_leaving(now);
    }
    bill_.restart();  // the next busy vNIC does not pay for rings that were empty
    return moved;
}

unsigned RingPoller::poll_vnics(Nanos now) {
    // Cycles are charged from the last mark on: after this many vNICs that were passed over or had empty
    // rings (35 ns each) a new mark is set, so that the next busy vNIC does not pay for them.
    constexpr std::size_t kUnmarkedVnicsMax = 8;
    // While promises need whole turns, the others have a poll in one turn of so many.
    constexpr unsigned kTurnsOfPromises = 8;
    if (promises_late_ && ++turns_of_promises_ % kTurnsOfPromises != 0)
        return 0;
    silent_.sweep(access_, [this](VnicPath& vnic) { polled_.push_back(&vnic); });
    unsigned moved = 0;
    CycleShare& share = bill_.share();
    std::size_t marked = next_;
    for (std::size_t at = next_; at < polled_.size(); ++at) {
        VnicPath* const vnic = polled_[at];
        if (vnic->parked || bill_.mark() < vnic->quiet_until ||
            (vnic->profile.isolated && !share.may_poll(vnic->fixed.id)))
            continue;
        if (at - marked >= kUnmarkedVnicsMax) {
            bill_.restart();
            marked = at;
        }
        // Read only with a promise: no other line of the vNIC is needed for a ring that is empty.
        const std::uint64_t tokens = vnic->promised ? vnic->stats.encryption_tokens : 0;
        const unsigned count = poll_vnic(*vnic, now);
        if (count == 0) {
            if (vnic->fixed.port->take_wasted()) [[unlikely]] {
                bill_.charge(*vnic);
                if (at + 1 < polled_.size() && turn_.over(bill_.mark())) {
                    next_ = at + 1;
                    return moved;
                }
                if (turn_.outside_due(bill_.mark()))
                    moved += serve_between(now);
            } else if (falls_silent(*vnic)) [[unlikely]] {
                polled_.erase(polled_.begin() + static_cast<std::ptrdiff_t>(at));
                --at;
                marked = std::min(marked, at + 1);
            }
            continue;
        }
        marked = at + 1;
        bill_.charge(*vnic);
        if (vnic->promised) [[unlikely]] {
            if (vnic->promise.given())
                vnic->promise.count(count, now);
            if (vnic->encryption_promise.given())
                vnic->encryption_promise.count(vnic->stats.encryption_tokens - tokens, now);
        }
        finish_poll(*vnic, count);
        moved += count;
        if (at + 1 < polled_.size() && turn_.over(bill_.mark())) {
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

unsigned RingPoller::poll_outside(Nanos now) {
    const std::uint64_t from = bill_.mark();
    unsigned moved = 0;
    if (stages_.uplink)
        moved += from_outside_.poll_wire(now, stats_);
    if (shared_)
        moved += from_outside_.poll_inbox(now);
    turn_.outside_polled(from, bill_.mark());
    return moved;
}

}  // namespace weir
