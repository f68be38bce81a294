// waiting_frames_rings.cc - WaitingFrames: receivers with several rings, of which some are full.
// Source: EyeQ 3.3; docs/algorithms.md 4.6. Units: bytes as accounted. Threads: owning worker.
//
// A full ring has a line of its own, in which the frames of its flows wait in order; frames of the other
// rings pass. Senders are held back for it only if all that they send lately goes to rings whose lines are
// long. The receiver's own line holds frames that its `receive_limit` does not pay for yet, of all rings, and
// those of a full ring when all lines of the worker are in use; from there they go to the VM, or to the lines
// of rings that turn out to be full.
//
// Example: a VM has two rings and does not empty ring 1. Of a neighbor's flows, half go there: 512 KiB wait
// in the line of ring 1, and frames beyond are dropped; after 100 ms all of this half is. The other half is
// delivered.
#include <rte_mbuf.h>

#include <algorithm>
#include <array>

#include "vswitch/datapath/frame/frame.h"
#include "vswitch/datapath/output/vm_counts.h"
#include "vswitch/datapath/output/waiting_frames.h"
#include "vswitch/ports/flow_hash.h"

namespace weir {
namespace {

/// Frames that are picked of a mixed line at once, and buffers of one visit.
constexpr std::uint32_t kMixedPicked = 8;
constexpr unsigned kMixedPerVisit = 64;

std::uint16_t ring_of(const rte_mbuf* frame, std::uint16_t rings) {
    return FlowHash::ring(FlowHash::of(first_buffer(frame)), rings);
}

}  // namespace

/// The line of a ring that is full, or was until lately; kNoLine: there is none.
LineId WaitingFrames::line_of(VnicId vnic, std::uint16_t ring) const {
    const LineId line = waiting_[vnic].lines[ring];
    return line != kNoLine && lines_[line].vnic == vnic && lines_[line].ring == ring ? line : kNoLine;
}

/// The line of a ring, perhaps one that was another's. @return kNoLine: all are in use
LineId WaitingFrames::take_line(VnicId vnic, std::uint16_t ring, Nanos now) {
    if (const LineId line = line_of(vnic, ring); line != kNoLine)
        return line;
    for (std::uint32_t tries = 0; tries < limits::kRingLinesMax; ++tries) {
        next_line_ = next_line_ + 1 < limits::kRingLinesMax ? next_line_ + 1 : 0;
        const auto line = static_cast<LineId>(limits::kVnicsMax + next_line_);
        if (!idle(line, now))
            continue;
        fan_in_.assign(line, vnic);
        lines_[line] = {.vnic = vnic, .ring = ring};
        waiting_[vnic].lines[ring] = line;
        return line;
    }
    return kNoLine;
}

bool WaitingFrames::has_idle_line(Nanos now) const {
    for (std::uint32_t i = 0; i < limits::kRingLinesMax; ++i)
        if (idle(static_cast<LineId>(limits::kVnicsMax + i), now))
            return true;
    return false;
}

/// Frames wait for the vNIC in any line.
bool WaitingFrames::any_waits(VnicId vnic) const {
    if (fan_in_.waits(vnic))
        return true;
    for (std::uint16_t ring = 0; waiting_[vnic].rings > 1 && ring < waiting_[vnic].rings; ++ring)
        if (const LineId line = line_of(vnic, ring); line != kNoLine && fan_in_.waits(line))
            return true;
    return false;
}

/// Rings among which the frames for the VM are divided. While some wait it is the number of that time, so
/// that a flow stays in its line.
std::uint16_t WaitingFrames::rings_of(const VnicPath& to) {
    Waiting& state = waiting_[to.fixed.id];
    // A member whose rings the guest has just taken away has none.
    const auto rings = std::clamp<std::uint16_t>(to.fixed.port->rings(), 1, limits::kQueuesMax);
    if (state.rings != rings && !any_waits(to.fixed.id))
        state.rings = rings;
    return state.rings;
}

/// Bytes of a sender that wait for the vNIC; of one with several rings, in that line which is the shortest
/// among those of the rings that the sender uses. Holding it back stops no flow that has room then.
std::uint32_t WaitingFrames::bytes_of(VnicId vnic, SenderId sender, const RingUse& use, Nanos now) const {
    const Waiting& state = waiting_[vnic];
    const std::uint32_t own = fan_in_.bytes(vnic, sender);
    if (state.rings == 1) [[likely]]
        return own;
    const std::uint32_t used = use.used(now) & ((1U << state.rings) - 1);
    std::uint32_t least = UINT32_MAX;
    std::uint32_t sum = 0;
    for (std::uint16_t ring = 0; ring < state.rings; ++ring) {
        const LineId line = line_of(vnic, ring);
        const std::uint32_t bytes = line == kNoLine ? 0 : fan_in_.bytes(line, sender);
        sum += bytes;
        if ((used >> ring & 1) != 0)
            least = std::min(least, bytes);
    }
    return own + (used != 0 ? least : sum);
}

/// The VM is behind with frames of the wire: on all rings that they use.
bool WaitingFrames::wire_waits(VnicId vnic, Nanos now) const {
    return bytes_of(vnic, kFromWire, waiting_[vnic].from_wire, now) != 0;
}

/// The frame's sender uses these rings. Floods do not count: every VM sends some.
void WaitingFrames::note_rings(const Origin& origin, VnicId vnic, const rte_mbuf* frame,
                               std::uint32_t rings) {
    if (origin.copies)
        return;
    if (origin.vm != nullptr)
        origin.vm->backpressure.rings.note(rings, origin.now);
    else if (origin.inbox && FrameWord::of(frame).origin == FrameOrigin::kVm)
        waiting_[vnic].from_workers.note(rings, origin.now);
    else
        waiting_[vnic].from_wire.note(rings, origin.now);
}

/// To a receiver with several rings that has a limit, or for which frames wait, or did until lately.
void WaitingFrames::send_by_ring(const Origin& origin, VnicPath& to, rte_mbuf** frames, std::uint16_t count) {
    const VnicId id = to.fixed.id;
    const std::uint16_t rings = waiting_[id].rings;
    std::uint16_t passing = 0;
    for (std::uint16_t i = 0; i < count; ++i) {
        rte_mbuf* frame = frames[i];
        const std::uint16_t ring = ring_of(frame, rings);
        note_rings(origin, id, frame, 1U << ring);
        const LineId line = line_of(id, ring);
        if (line != kNoLine && fan_in_.waits(line))
            wait_or_drop(origin, to, line, &frame, 1, false);
        else if (fan_in_.waits(id))
            wait_or_drop(origin, to, id, &frame, 1, false);
        else
            frames[passing++] = frame;
    }
    if (passing == 0)
        return;
    const std::uint64_t bytes = accounted_bytes(to, frames, passing);
    if (!fan_in_.pays(id, static_cast<std::uint32_t>(bytes), origin.now)) {
        wait_or_drop(origin, to, id, frames, passing, false);
        return;
    }
    const std::uint16_t sent = offer(to, frames, passing);
    auto left = static_cast<std::uint16_t>(passing - sent);
    const std::uint64_t rest = accounted_bytes(to, frames + sent, left);
    fan_in_.give_back(id, static_cast<std::uint32_t>(rest));
    to.stats.to_vm.delivered.add(sent, bytes - rest);
    if (origin.vm == nullptr)
        waiting_[id].drain.took(static_cast<std::uint32_t>(bytes - rest));
    left = drop_too_long(setup_.tap, to, frames + sent, left);
    if (left != 0)
        wait_by_ring(origin, to, frames + sent, left, to.fixed.port->took());
}

/// Frames that rings of the VM have not taken. @param took bit n: ring n has taken others just now
[[gnu::noinline]] void WaitingFrames::wait_by_ring(const Origin& origin, VnicPath& to, rte_mbuf** frames,
                                                   std::uint16_t count, std::uint32_t took) {
    const VnicId id = to.fixed.id;
    const std::uint16_t rings = waiting_[id].rings;
    for (std::uint16_t i = 0; i < count; ++i) {
        const std::uint16_t ring = ring_of(frames[i], rings);
        note_rings(origin, id, frames[i], took | 1U << ring);
        const LineId line = take_line(id, ring, origin.now);
        wait_or_drop(origin, to, line == kNoLine ? id : line, frames + i, 1, (took >> ring & 1) != 0);
    }
}

/// The receiver's own line, whose frames go to several rings. @param full becomes true when its first frame
/// can go nowhere  @return buffers of the frames that left the line
unsigned WaitingFrames::serve_mixed(VnicPath& to, bool& full, Nanos now) {
    enum class Fate : std::uint8_t { kTaken, kWaits, kTooLong };
    struct Picked {
        rte_mbuf* frame;
        std::uint16_t ring;
        Fate fate;
    };
    const VnicId id = to.fixed.id;
    const std::uint16_t rings = waiting_[id].rings;
    unsigned moved = 0;
    while (!full && moved < kMixedPerVisit) {
        // Without a line for those that their rings refuse, one frame is offered after the other.
        const std::uint32_t most = has_idle_line(now) ? kMixedPicked : 1;
        if (fan_in_.stage(id, most, now) == 0)
            break;
        std::array<Picked, kMixedPicked> picked;
        std::array<rte_mbuf*, kMixedPicked> offered;
        std::array<Nanos, kMixedPicked> delays;
        std::uint16_t count = 0;
        std::uint16_t offers = 0;
        fan_in_.staged(id, [&](const PacketRef& ref) {
            if (count == most)
                return;
            auto* frame = static_cast<rte_mbuf*>(ref.packet);
            const std::uint16_t ring = ring_of(frame, rings);
            const LineId line = line_of(id, ring);
            const bool behind = line != kNoLine && fan_in_.waits(line);
            picked[count++] = {frame, ring, behind ? Fate::kWaits : Fate::kTaken};
            if (behind)
                return;
            delays[offers] = now - ref.enqueued;
            offered[offers++] = frame;
        });
        const std::uint16_t sent = offer(to, offered.data(), offers, delays.data());
        const std::uint16_t too_long = to.fixed.port->take_too_long();
        for (std::uint16_t i = sent; i < offers; ++i)
            std::ranges::find(picked, offered[i], &Picked::frame)->fate =
                i < offers - too_long ? Fate::kWaits : Fate::kTooLong;
        for (std::uint16_t i = 0; i < count && !full; ++i) {
            const bool waits = picked[i].fate == Fate::kWaits;
            const LineId line = waits ? take_line(id, picked[i].ring, now) : kNoLine;
            full = waits && line == kNoLine && most == 1;
            if (!full)
                moved += leave_mixed(to, picked[i].fate == Fate::kTaken, line,
                                     waits ? DropReason::kVmRingFull : DropReason::kVmBufferShort, now);
        }
    }
    return moved;
}

/// The first frame that is picked of the receiver's own line leaves it: the VM has taken it, or it goes to
/// the line of a ring, or is dropped. @return its buffers
unsigned WaitingFrames::leave_mixed(VnicPath& to, bool taken, LineId line, DropReason otherwise, Nanos now) {
    unsigned buffers = 0;
    fan_in_.pop(to.fixed.id, [&](const PacketRef& ref, SenderId sender) {
        buffers = ref.buffers;
        if (taken) {
            delivered(to, ref, sender);
            return;
        }
        fan_in_.give_back(to.fixed.id, ref.bytes);
        if (line != kNoLine && !fan_in_.waits(line))
            lines_[line].progress = now;
        if (line == kNoLine || !fan_in_.push(line, sender, claim_at(to, sender), ref, now))
            drop_left(to, ref, sender, otherwise);
    });
    return buffers;
}

}  // namespace weir
