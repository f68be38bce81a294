// waiting_frames.cc - WaitingFrames: frames wait for a VM, and senders on this host are held back meanwhile.
//
// How many bytes may wait depends on their sender. A vNIC of this worker is held back at 64 KiB: these wait,
// one burst, and half a burst for each 5 ms that the receiver needs longer, up to 512 KiB. Of a vNIC that
// sends to several receivers 128 KiB wait for each, and the rest is dropped. vNICs of other workers share one
// claim; at 64 KiB of it their rings are left alone, too. Frames of the wire cannot be held back: 256 KiB of
// them wait, chosen by their sources' shares.
#include "vswitch/datapath/output/waiting_frames.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <array>

#include "common/byte_order.h"
#include "vswitch/datapath/frame/frame.h"
#include "vswitch/datapath/frame/traffic_class.h"
#include "vswitch/datapath/output/vm_counts.h"

namespace weir {
namespace {

/// Bytes to one receiver from which on the sender's ring is left alone: half a millisecond at 1 Gbit/s, more
/// than a turn of the poll loop at 10.
constexpr std::uint32_t kHoldBytes = 64 * 1024;
/// Bytes to one receiver of a sender that is held back: 20 half bursts, which looks at its ring take in 100
/// ms.
constexpr std::uint32_t kSingleBytes = 512 * 1024;
/// Bytes to one receiver of a sender that is not held back.
constexpr std::uint32_t kSeveralBytes = limits::kQueueBytesMax;
/// Bytes to one receiver above which frames that wait for it are marked.
constexpr std::uint32_t kMarkBytes = kSeveralBytes * 3 / 4;
/// Of a sender's floods, so that they do not hold it back.
constexpr std::uint32_t kFloodBytes = kHoldBytes / 2;
/// Bytes of all other workers' vNICs: seven of them are held back at 64 KiB in one moment, each with a burst
/// on its way.
constexpr std::uint32_t kWorkersBytes = 1024 * 1024;
constexpr std::uint32_t kWireBytes = 256 * 1024;
/// A VM that takes nothing for so long is not waited for: those that send to it, too, need not.
constexpr Nanos kStall = 100'000'000;
/// Frames that are picked at once: so many may leave before a frame with a reservation, besides the ring's.
constexpr std::uint32_t kPicked = 8;
/// Buffers of the frames for one receiver, and for all, and receivers, in one call. With plain frames it
/// takes 10 us at most, in which the wire waits. The last pick may exceed the buffers: eight super-frames
/// have 264.
constexpr unsigned kPerVisit = 64;
constexpr unsigned kPerCall = 128;
constexpr std::size_t kVisitsPerCall = 16;

/// The address that a source is known by: of IP, else of Ethernet.
SourceAddress source_address(const rte_mbuf* frame) {
    constexpr std::size_t kSource4 = kEthernetHeaderBytes + 12;
    constexpr std::size_t kSource6 = kEthernetHeaderBytes + 8;
    const FrameHead head = read_head(frame);
    const std::span<const std::uint8_t> bytes = first_buffer(frame);
    if (head.type == kTypeIp4 && bytes.size() >= kSource4 + 4)
        return {1, load_little<std::uint32_t>(&bytes[kSource4])};
    if (head.type == kTypeIp6 && bytes.size() >= kSource6 + 16)
        return {load_little<std::uint64_t>(&bytes[kSource6]),
                load_little<std::uint64_t>(&bytes[kSource6 + 8])};
    return {2, head.source};
}

SenderClaim claim_of(const VnicPath& sender) {
    return {sender.profile.uplink.reservation, sender.profile.uplink.shares};
}

/// The receiver's reservation of the downlink: it is no use if VMs of this host take the receiver's ring.
SenderClaim wire_claim(const VnicPath& receiver) {
    return {.reservation = receiver.profile.receive_reservation};
}

}  // namespace

WaitingFrames::WaitingFrames(const Setup& setup)
    : setup_(setup),
      fan_in_(kRoom),
      source_shares_(limits::kVnicsMax, setup.source_key),
      waiting_(limits::kVnicsMax),
      lines_(limits::kVnicsMax + limits::kRingLinesMax) {
    for (std::size_t id = 0; id < limits::kVnicsMax; ++id)
        lines_[id].vnic = static_cast<VnicId>(id);
    measured_.reserve(limits::kVnicsMax);
}

WaitingFrames::~WaitingFrames() {
    while (!fan_in_.empty())
        fan_in_.drain_receiver(fan_in_.waiting().front(), [](const PacketRef& ref, SenderId) {
            rte_pktmbuf_free(static_cast<rte_mbuf*>(ref.packet));
        });
}

void WaitingFrames::change(VnicPath& path, Nanos now) {
    const VnicId id = path.fixed.id;
    fan_in_.set_limit(id, path.profile.receive_bucket, now, path.member ? &path.member->receive : nullptr);
    fan_in_.change(id, claim_of(path), now);
    fan_in_.change(id, kFromWire, wire_claim(path), now);
    for (std::uint16_t ring = 0; ring < waiting_[id].rings; ++ring)
        if (const LineId line = line_of(id, ring); line != kNoLine)
            fan_in_.change(line, kFromWire, wire_claim(path), now);
    refresh(path);
}

void WaitingFrames::remove(VnicPath& path) {
    const VnicId id = path.fixed.id;
    for (const LineId line : fan_in_.waiting())
        waiting_[lines_[line].vnic].held.clear(id);
    if (path.fixed.owner != setup_.worker)
        return;
    fan_in_.drain_sender(id, [&](const PacketRef& ref, LineId line) {
        VnicPath& receiver = *setup_.directory[lines_[line].vnic];
        drop_left(receiver, ref, id, DropReason::kVnicRemoved);
        refresh(receiver);
    });
    drop_waiting(path, DropReason::kVnicRemoved);
    forget(id);
    fan_in_.forget_limit(id);
}

void WaitingFrames::forget(VnicId id) {
    std::erase(measured_, id);
    for (Line& line : lines_)
        if (line.vnic == id)
            line = {};
    lines_[id].vnic = id;
    waiting_[id] = {};
    source_shares_.forget(id);
}

bool WaitingFrames::workers_wait() const {
    return std::ranges::any_of(fan_in_.waiting(),
                               [this](LineId line) { return fan_in_.bytes(line, kFromWorkers) != 0; });
}

/// The flag that every delivery asks.
void WaitingFrames::refresh(VnicPath& to) {
    const VnicId id = to.fixed.id;
    to.pressure.receives_slowly =
        to.receive_limited() || any_waits(id) || waiting_[id].measured || to.captured;
}

/// Offers frames to the VM's rings; captures see those that it takes.
/// @param delays time that each has waited; nullptr: none has
std::uint16_t WaitingFrames::offer(VnicPath& to, rte_mbuf** frames, std::uint16_t count,
                                   const Nanos* delays) {
    if (!to.captured) [[likely]]
        return to.fixed.port->tx_burst(frames, count);
    setup_.tap.offer(CapturePoint::to_vm(to.fixed.id), frames, count, delays);
    const std::uint16_t sent = to.fixed.port->tx_burst(frames, count);
    setup_.tap.settle(frames + sent, static_cast<std::uint16_t>(count - sent));
    return sent;
}

[[gnu::noinline]] void WaitingFrames::send(const Origin& origin, VnicPath& to, rte_mbuf** frames,
                                           std::uint16_t count, std::uint64_t bytes) {
    const VnicId id = to.fixed.id;
    if (rings_of(to) > 1) {
        send_by_ring(origin, to, frames, count);
        return;
    }
    std::uint16_t sent = 0;
    std::uint16_t left = count;
    if (fan_in_.admit(id, static_cast<std::uint32_t>(bytes), origin.now)) {
        sent = offer(to, frames, count);
        const std::uint64_t rest =
            accounted_bytes(to, frames + sent, static_cast<std::uint16_t>(count - sent));
        fan_in_.give_back(id, static_cast<std::uint32_t>(rest));
        to.stats.to_vm.delivered.add(sent, bytes - rest);
        if (origin.vm == nullptr)
            waiting_[id].drain.took(static_cast<std::uint32_t>(bytes - rest));
        left = drop_too_long(setup_.tap, to, frames + sent, static_cast<std::uint16_t>(count - sent));
    }
    if (left != 0)
        wait_or_drop(origin, to, id, frames + sent, left, sent != 0);
}

void WaitingFrames::take_left(const Origin& origin, VnicPath& to, rte_mbuf** frames, std::uint16_t count,
                              std::uint32_t took, bool took_some) {
    if (rings_of(to) > 1)
        wait_by_ring(origin, to, frames, count, took);
    else
        wait_or_drop(origin, to, to.fixed.id, frames, count, took_some);
}

/// @param took_some the VM, or the line's ring, has taken other frames just now
void WaitingFrames::wait_or_drop(const Origin& origin, VnicPath& to, LineId line, rte_mbuf** frames,
                                 std::uint16_t count, bool took_some) {
    Line& state = lines_[line];
    const bool up = to.fixed.port->up();
    const bool stalled = !took_some && origin.now < state.stalled_until;
    state.stalled_until = stalled ? origin.now + kStall : 0;
    const bool waits = up && to.profile.isolated && setup_.directory != nullptr && !stalled;
    if (waits && !fan_in_.waits(line))
        state.progress = origin.now;
    for (std::uint16_t i = 0; i < count; ++i)
        if (!waits || !wait(origin, to, line, frames[i]))
            drop_to_vm(setup_.tap, to, frames + i, 1, up ? DropReason::kVmRingFull : DropReason::kVmDown);
    refresh(to);
}

/// @return false when the frame may not wait; it is the caller's
bool WaitingFrames::wait(const Origin& origin, VnicPath& to, LineId line, rte_mbuf* frame) {
    const PacketRef ref{frame, origin.now, frame->pkt_len + to.fixed.overhead_bytes, 1, buffers_of(frame)};
    const auto bytes = ref.bytes;  // the frame may be another's once it was taken
    bool taken = false;
    if (origin.vm != nullptr)
        taken = wait_from_vm(origin, line, ref);
    else if (origin.inbox && FrameWord::of(frame).origin == FrameOrigin::kVm && source_of(frame) != kNoVnic)
        taken = wait_from_worker(origin, to, line, ref, source_of(frame));
    else
        taken = wait_from_wire(origin, to, line, ref);
    if (taken)
        to.stats.to_vm.queued.add(1, bytes);
    return taken;
}

bool WaitingFrames::wait_from_vm(const Origin& origin, LineId line, const PacketRef& ref) {
    VnicPath& from = *origin.vm;
    const VnicId id = from.fixed.id;
    if (from.queued_buffers + ref.buffers > from.profile.buffers_max)
        return false;
    const std::uint32_t bytes = fan_in_.bytes(line, id) + ref.bytes;
    // The poll that took its last burst from the ring made sure that the quota has room for that, but not for
    // copies, too.
    constexpr std::uint32_t kBurstBuffers = limits::kBurst * limits::kFrameBuffersMax;
    if (origin.copies && from.queued_buffers + ref.buffers + kBurstBuffers > from.profile.buffers_max)
        return false;
    const bool single = !origin.copies && !from.backpressure.several(origin.now);
    if (bytes > (single ? kSingleBytes : origin.copies ? kFloodBytes : kSeveralBytes))
        return false;
    // Half of its quota is for frames to others, which it sends now or will when it turns to them.
    if ((!single || bytes > kSeveralBytes) &&
        2 * (from.backpressure.buffers + ref.buffers) > from.profile.buffers_max)
        return false;
    if (!fan_in_.push(line, id, claim_of(from), ref, origin.now))
        return false;
    if (bytes > kMarkBytes)  // copies may share their data; of them less waits
        from.stats.ecn_marked += mark_congestion(static_cast<rte_mbuf*>(ref.packet));
    from.queued_buffers += ref.buffers;
    from.backpressure.buffers += ref.buffers;
    from.pressure.pressed.store(true, std::memory_order_relaxed);
    return true;
}

bool WaitingFrames::wait_from_worker(const Origin& origin, VnicPath& to, LineId line, const PacketRef& ref,
                                     std::uint16_t source) {
    const Waiting& state = waiting_[to.fixed.id];
    const std::uint32_t bytes = fan_in_.bytes(line, kFromWorkers) + ref.bytes;
    const bool taken = bytes <= kWorkersBytes && fan_in_.push(line, kFromWorkers, {}, ref, origin.now);
    const std::uint32_t held =
        state.rings == 1 ? bytes : bytes_of(to.fixed.id, kFromWorkers, state.from_workers, origin.now);
    if (held > kHoldBytes && fan_in_.waits(line))  // visit() will release it
        hold_other(to, source);
    return taken;
}

bool WaitingFrames::wait_from_wire(const Origin& origin, VnicPath& to, LineId line, const PacketRef& ref) {
    const VnicId id = to.fixed.id;
    const auto* frame = static_cast<const rte_mbuf*>(ref.packet);
    const std::uint32_t queued = fan_in_.bytes(line, kFromWire);
    Waiting& state = waiting_[id];
    // All floods have one ring: it would fill with them the buffers that the others' frames may need.
    if (state.rings > 1 && origin.copies && queued + ref.bytes > kFloodBytes)
        return false;
    if (!source_shares_.may_enter(id, source_address(frame), ref.bytes, queued, kWireBytes, origin.now) ||
        !fan_in_.push(line, kFromWire, wire_claim(to), ref, origin.now))
        return false;
    if (setup_.line_rate != 0 && !state.measured && wire_waits(id, origin.now)) {
        state.measured = true;
        measured_.push_back(id);
        state.drain.update(true, setup_.line_rate, origin.now);
    }
    return true;
}

bool WaitingFrames::holds(VnicPath& sender, Nanos now) const {
    const Backpressure& pressure = sender.backpressure;
    if (!pressure.check(sender.pressure) || pressure.several(now))
        return false;
    const Destination to = sender.pressure.last;
    if (to >= limits::kVnicsMax)
        return false;
    if (pressure.held_for(to))
        return true;
    const std::uint32_t most = fan_in_.has_room(sender.fixed.id, limits::kBurst) ? kHoldBytes : 1;
    return bytes_of(static_cast<VnicId>(to), sender.fixed.id, pressure.rings, now) >= most;
}

/// The vNIC of another worker sees it at its next poll.
void WaitingFrames::hold_other(const VnicPath& receiver, std::uint16_t vnic) {
    if (setup_.directory[vnic] == nullptr)
        return;
    VnicPath& sender = *setup_.directory[vnic];
    sender.backpressure.holder.store(receiver.fixed.id, std::memory_order_relaxed);
    BitmapTree<limits::kVnicsMax>& held = waiting_[receiver.fixed.id].held;
    if (held.test(vnic))
        return;
    held.set(vnic);
    sender.backpressure.hold(sender.pressure);
}

void WaitingFrames::release_others(VnicId receiver) {
    BitmapTree<limits::kVnicsMax>& held = waiting_[receiver].held;
    while (!held.empty()) {
        const std::size_t vnic = held.find_from(0);
        held.clear(vnic);
        setup_.directory[vnic]->backpressure.release(receiver);
    }
}

SenderClaim WaitingFrames::claim_at(const VnicPath& to, SenderId sender) const {
    if (sender == kFromWire)
        return wire_claim(to);
    return sender == kFromWorkers ? SenderClaim{} : claim_of(*setup_.directory[sender]);
}

/// A frame waits no more.
void WaitingFrames::left(VnicPath& to, const PacketRef& ref, SenderId sender) {
    to.stats.to_vm.queued.remove(1, ref.bytes);
    if (sender >= kFromWorkers)
        return;
    VnicPath& from = *setup_.directory[sender];
    from.queued_buffers -= ref.buffers;
    from.backpressure.buffers -= ref.buffers;
}

void WaitingFrames::drop_left(VnicPath& to, const PacketRef& ref, SenderId sender, DropReason reason) {
    left(to, ref, sender);
    setup_.tap.drop(to.stats.to_vm, CapturePoint::to_vm(to.fixed.id), static_cast<rte_mbuf*>(ref.packet),
                    ref.bytes, reason);
}

void WaitingFrames::drop_line(VnicPath& to, LineId line, DropReason reason) {
    fan_in_.drain_receiver(
        line, [&](const PacketRef& ref, SenderId sender) { drop_left(to, ref, sender, reason); });
}

void WaitingFrames::drop_waiting(VnicPath& to, DropReason reason) {
    const VnicId id = to.fixed.id;
    drop_line(to, id, reason);
    for (std::uint16_t ring = 0; ring < waiting_[id].rings; ++ring)
        if (const LineId line = line_of(id, ring); line != kNoLine)
            drop_line(to, line, reason);
    release_others(id);
    refresh(to);
}

unsigned WaitingFrames::serve(Nanos now) {
    unsigned moved = 0;
    setup_.bill.restart();
    for (std::size_t visits = std::min(fan_in_.waiting().size(), kVisitsPerCall);
         visits != 0 && moved < kPerCall; --visits) {
        turn_ = turn_ < fan_in_.waiting().size() ? turn_ : 0;
        const LineId line = fan_in_.waiting()[turn_];
        moved += visit(line, now);
        VnicPath& to = *setup_.directory[lines_[line].vnic];
        (void)to.fixed.port->take_excess();  // within the time that it pays
        setup_.bill.charge(to);
        turn_ += fan_in_.waits(line);  // else another has its place
    }
    for (const VnicId id : measured_) {
        Waiting& state = waiting_[id];
        state.drain.update(wire_waits(id, now), setup_.line_rate, now);
        setup_.directory[id]->drain_rate = state.drain.rate();
    }
    setup_.bill.restart();
    return moved;
}

/// A frame that waited is the VM's now.
void WaitingFrames::delivered(VnicPath& to, const PacketRef& ref, SenderId sender) {
    left(to, ref, sender);
    to.stats.to_vm.delivered.add(1, ref.bytes);
    if (sender == kFromWire)
        waiting_[to.fixed.id].drain.took(ref.bytes);
}

/// Gives the VM the frames of the line that it takes now. @return buffers of these frames
unsigned WaitingFrames::visit(LineId line, Nanos now) {
    VnicPath& to = *setup_.directory[lines_[line].vnic];
    if (!to.fixed.port->up()) {
        drop_waiting(to, DropReason::kVmDown);
        return 0;
    }
    bool full = false;
    const bool mixed = line == to.fixed.id && waiting_[to.fixed.id].rings > 1;
    const unsigned moved = mixed ? serve_mixed(to, full, now) : serve_line(to, line, full, now);
    end_visit(to, line, moved != 0 || !full, now);
    return moved;
}

/// @param full becomes true when the ring has no room  @return buffers of the frames that left
unsigned WaitingFrames::serve_line(VnicPath& to, LineId line, bool& full, Nanos now) {
    const VnicId id = to.fixed.id;
    // If the VM has changed the number of its rings, the line's frames may go to several.
    const std::uint32_t most = waiting_[id].rings == to.fixed.port->rings() ? kPicked : 1;
    unsigned moved = 0;
    while (!full && moved < kPerVisit) {
        std::array<rte_mbuf*, kPicked> frames;
        std::array<Nanos, kPicked> delays;
        std::uint16_t count = 0;
        if (fan_in_.stage(line, most, now) == 0)
            break;
        fan_in_.staged(line, [&](const PacketRef& ref) {
            delays[count] = now - ref.enqueued;
            frames[count++] = static_cast<rte_mbuf*>(ref.packet);
        });
        count = static_cast<std::uint16_t>(std::min<std::uint32_t>(count, most));
        const std::uint16_t sent = offer(to, frames.data(), count, delays.data());
        const std::uint16_t too_long = to.fixed.port->take_too_long();
        const std::span<rte_mbuf* const> lost = std::span(frames).subspan(count - too_long, too_long);
        // In the order in which they were picked, which the array has no more.
        for (std::uint16_t i = 0; i < sent + too_long; ++i)
            fan_in_.pop(line, [&](const PacketRef& ref, SenderId sender) {
                moved += ref.buffers;
                if (too_long == 0 || std::ranges::find(lost, ref.packet) == lost.end()) {
                    delivered(to, ref, sender);
                    return;
                }
                fan_in_.give_back(id, ref.bytes);
                drop_left(to, ref, sender, DropReason::kVmBufferShort);
            });
        full = sent + too_long < count;
    }
    return moved;
}

/// @param moved frames left the line, or could have
void WaitingFrames::end_visit(VnicPath& to, LineId line, bool moved, Nanos now) {
    const VnicId id = to.fixed.id;
    Waiting& state = waiting_[id];
    Line& visited = lines_[line];
    if (moved)
        visited.progress = now;
    if (!state.held.empty() && bytes_of(id, kFromWorkers, state.from_workers, now) < kHoldBytes / 2)
        release_others(id);
    if (now - visited.progress >= kStall) {
        visited.stalled_until = now + kStall;
        drop_line(to, line, DropReason::kVmRingFull);
        if (!any_waits(id))
            release_others(id);
    }
    refresh(to);
}

void WaitingFrames::forget_free() {
    std::erase_if(measured_, [this](VnicId id) {
        Waiting& state = waiting_[id];
        state.measured = !state.drain.idle();
        if (!state.measured)
            refresh(*setup_.directory[id]);
        return !state.measured;
    });
}

}  // namespace weir
