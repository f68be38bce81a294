// uplink.cc - Uplink: frames fitted to the NIC, past the queues or through them, and the NIC's pending
// frames.
#include "vswitch/datapath/output/uplink.h"

#include <rte_mbuf.h>

#include <algorithm>

#include "vswitch/datapath/frame/frame.h"
#include "vswitch/datapath/frame/offload.h"
#include "vswitch/datapath/frame/traffic_class.h"
#include "vswitch/datapath/frame/vlan_tag.h"

namespace weir {
namespace {

constexpr auto address_of = [](const PacketRef& packet) {
    return read_head(static_cast<const rte_mbuf*>(packet.packet)).destination;
};

/// The tag of a vNIC with a VLAN: the vNIC's priority, or else the guest's.
std::uint16_t tag_of(const VnicPath& from, const rte_mbuf* frame) {
    constexpr unsigned kPcpShift = 13;
    constexpr std::uint16_t kPriorityBits = 0xF000;  // PCP and DEI
    const bool marked = (frame->ol_flags & kPriorityFlag) != 0;
    const unsigned priority = from.profile.pcp ? unsigned{*from.profile.pcp} << kPcpShift
                              : marked         ? unsigned{frame->vlan_tci} & kPriorityBits
                                               : 0U;
    return static_cast<std::uint16_t>(from.fixed.vlan | priority);
}

/// Inserts the tags of a run whose frames the NIC takes as they are; the headers are in the first-level
/// cache.
/// @return false when a frame has no room: none has a tag then
bool tag_run(const VnicPath& from, const Run& run) {
    const std::span frames(run.frames, run.count);
    if (!std::ranges::all_of(frames, takes_tag))
        return false;
    for (rte_mbuf* frame : frames)
        insert_tag(frame, tag_of(from, frame));
    return true;
}

}  // namespace

Uplink::Uplink(const Setup& setup)
    : device_(setup.device),
      nic_(setup.device, setup.queue, setup.wakeups),
      pool_(setup.pool),
      egress_(setup.egress),
      tap_(setup.tap),
      directory_(setup.directory),
      overhead_bytes_(setup.overhead_bytes),
      frame_bytes_max_(setup.mtu + kEthernetHeaderBytes),
      tunnels_(setup.tunnels),
      bill_(setup.bill) {}

Uplink::~Uplink() {
    rte_pktmbuf_free_bulk(pending_.data(), pending_count_);
}

void Uplink::remove(VnicPath& path, Nanos now) {
    egress_.remove(path.fixed.id, now, [&](const PacketRef& ref) {
        path.queued_buffers -= ref.buffers;
        path.stats.from_vm.queued.remove(1, ref.bytes);
        stats.tx.queued.remove(1, ref.bytes);
        stats.tx.drop(DropReason::kVnicRemoved, 1, ref.bytes);
        drop(path, static_cast<rte_mbuf*>(ref.packet), ref.bytes, DropReason::kVnicRemoved,
             now - ref.enqueued);
    });
}

DestinationLimits::Change Uplink::on_feedback(VnicId vnic, std::uint64_t address, std::uint64_t rate,
                                              std::uint32_t sequence, Nanos now) {
    return egress_.on_feedback(vnic, address, rate, sequence, now, address_of);
}

bool Uplink::allocate(VnicId vnic, std::uint64_t address, std::optional<std::uint64_t> rate, Nanos now) {
    return egress_.allocate(vnic, address, rate, now, address_of) != DestinationLimits::Change::kFull;
}

void Uplink::read_peer(VnicId vnic, PeerReading& peer) const {
    const Egress::Usage usage = egress_.usage(vnic, peer.address);
    peer.bytes = usage.bytes;
    peer.queued = usage.queued;
    peer.refused = usage.refused;
}

void Uplink::drop(VnicPath& from, rte_mbuf* frame, std::uint32_t bytes, DropReason reason, Nanos delay) {
    tap_.drop(from.stats.from_vm, CapturePoint::from_vm(from.fixed.id, true), frame, bytes, reason, delay);
}

/// Inserts the tag of a vNIC with a VLAN. @return false when the frame was dropped
bool Uplink::tag(VnicPath& from, rte_mbuf* frame, std::uint32_t bytes) {
    if (from.fixed.vlan == 0)
        return true;
    if (!takes_tag(frame)) {
        drop(from, frame, bytes, DropReason::kNoBuffer);
        return false;
    }
    insert_tag(frame, tag_of(from, frame));
    return true;
}

/// Checks the MTU, computes the checksums that the NIC does not, inserts the VLAN tag. @return false when the
/// frame was dropped
bool Uplink::prepare(VnicPath& from, rte_mbuf* frame, std::uint32_t bytes) {
    const bool super_frame = (frame->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
    const std::uint32_t longest =
        super_frame ? frame->tso_segsz + offload::header_bytes(frame) : frame->pkt_len;
    if (exceeds(longest, frame, frame_bytes_max_)) {
        drop(from, frame, bytes, DropReason::kMtuExceeded);
        return false;
    }
    if (!offload::accepted_as_is(frame->ol_flags & ~RTE_MBUF_F_TX_TCP_SEG, device_.offloads()))
        offload::fill_checksums(frame);
    if (!tag(from, frame, bytes))
        return false;
    if ((frame->ol_flags & kOffloadFlags) != 0 && nic_.prepare(&frame, 1) == 0) {
        drop(from, frame, bytes, DropReason::kBadOffload);
        return false;
    }
    return true;
}

/// Of a pending frame, as it was counted.
std::uint32_t Uplink::accounted_bytes(const rte_mbuf* frame, TunnelId tunnel) const {
    if (tunnel != kNoTunnel)
        return tunnels_->outer_bytes(tunnel, frame->pkt_len) + overhead_bytes_;
    return offload::accounted_bytes(frame, offload::wire_frames(frame), overhead_bytes_);
}

bool Uplink::nic_has_room(std::uint16_t frames) {
    if (pending_count_ + frames > kPendingMax)
        transmit();
    return pending_count_ + frames <= kPendingMax;
}

/// Drops the frames that have left the scheduler: a link that comes up would get them late. Their vNICs have
/// counted them as delivered.
[[gnu::noinline]] void Uplink::drop_pending() {
    for (std::uint16_t i = 0; i < pending_count_; ++i) {
        const rte_mbuf* frame = pending_[i];
        const std::uint64_t own = accounted_bytes(frame, pending_tunnel_[i]);
        const std::uint64_t bytes = i + 1 == pending_count_ ? pending_bytes_ : std::min(own, pending_bytes_);
        pending_bytes_ -= bytes;
        stats.tx.queued.remove(1, bytes);
        tap_.drop(stats.tx, CapturePoint::to_wire(), pending_[i], bytes, DropReason::kUplinkDown);
    }
    std::fill_n(pending_tunnel_.begin(), pending_count_, kNoTunnel);
    pending_count_ = 0;
    pending_ready_ = 0;
    pending_clear_ = false;
}

std::uint16_t Uplink::transmit_burst(rte_mbuf** frames, std::uint16_t count) {
    if (!tap_.of_uplink()) [[likely]]
        return nic_.tx_burst(frames, count);
    tap_.offer(CapturePoint::to_wire(), frames, count);
    const std::uint16_t taken = nic_.tx_burst(frames, count);
    tap_.settle(frames + taken, static_cast<std::uint16_t>(count - taken));
    return taken;
}

/// Gives the NIC the pending frames that it takes; the others stay, in order. Without a link none stays.
void Uplink::transmit() {
    if (!device_.link_up()) [[unlikely]] {
        drop_pending();
        return;
    }
    if (pending_clear_) [[unlikely]]
        encrypt_pending();
    if (pending_count_ == 0)
        return;
    std::uint64_t bytes = 0;
    std::uint16_t sent = 0;
    while (sent < pending_count_) {
        const auto burst =
            std::min<std::uint16_t>(limits::kBurst, static_cast<std::uint16_t>(pending_count_ - sent));
        const std::uint16_t taken = transmit_burst(pending_.data() + sent, burst);
        sent = static_cast<std::uint16_t>(sent + taken);
        if (taken < burst)
            break;
    }
    pending_count_ = static_cast<std::uint16_t>(pending_count_ - sent);
    std::copy_n(pending_.begin() + sent, pending_count_, pending_.begin());
    pending_ready_ = pending_count_;
    for (std::uint16_t i = 0; i < pending_count_; ++i)
        bytes += pending_[i]->pkt_len + overhead_bytes_;
    const std::uint64_t left = std::min(bytes, pending_bytes_);
    stats.tx.delivered.add(sent, pending_bytes_ - left);
    stats.tx.queued.remove(sent, pending_bytes_ - left);
    pending_bytes_ = left;
}

/// Queues a frame that cannot bypass, with a congestion mark if Egress asks for one; drops it when the queue
/// is full.
void Uplink::enqueue(VnicPath& from, DestinationId destination, rte_mbuf* frame, const PacketRef& ref,
                     Nanos now) {
    const VnicId id = from.fixed.id;
    set_source(frame, id);
    const auto mark = [&] { from.stats.ecn_marked += mark_congestion(frame); };
    if (const std::optional<DropReason> full = egress_.enqueue(id, destination, ref, now, mark)) {
        stats.tx.drop(*full, 1, ref.bytes);
        drop(from, frame, ref.bytes, *full);
        return;
    }
    from.queued_buffers += ref.buffers;
    from.stats.from_vm.queued.add(1, ref.bytes);
    stats.tx.queued.add(1, ref.bytes);
}

/// The NIC keeps up and Egress lets the bytes pass its queues; they are paid for then.
bool Uplink::try_bypass(VnicPath& from, DestinationId destination, std::uint32_t bytes,
                        std::uint32_t wire_frames, std::uint16_t frames, Nanos now) {
    if (!nic_has_room(frames))
        return false;
    const VnicId id = from.fixed.id;
    if (!from.profile.isolated)
        return egress_.try_bypass_unisolated(id, destination, bytes);
    Limiter* const limit = from.profile.limited ? &from.limiter : nullptr;
    return egress_.try_bypass(id, destination, limit, bytes, wire_frames, now);
}

/// Sends one fitted frame past the queues, or queues it.
void Uplink::send_one(VnicPath& from, rte_mbuf* frame, std::uint32_t bytes, std::uint16_t wire_frames,
                      Nanos now) {
    stats.tx.offered.add(1, bytes);
    const DestinationId destination = egress_.find_limit(from.fixed.id, read_head(frame).destination, now);
    if (!try_bypass(from, destination, bytes, wire_frames, 1, now)) {
        enqueue(from, destination, frame, {frame, now, bytes, wire_frames, buffers_of(frame)}, now);
        return;
    }
    if (from.captured) [[unlikely]]
        tap_.passed(CapturePoint::from_vm(from.fixed.id), &frame, 1);
    count_sent(from, 1, bytes);
    stats.tx.queued.add(1, bytes);
    add_pending(frame, bytes, from.fixed.encrypted ? tunnel_of(frame) : kNoTunnel);
}

/// The frame need not be split: it is none of several segments, or the NIC splits it and no slow limiter is
/// in its way.
bool Uplink::passes_whole(const VnicPath& from, const rte_mbuf* frame) const {
    return (frame->ol_flags & RTE_MBUF_F_TX_TCP_SEG) == 0 ||
           (device_.offloads().tso &&
            egress_.takes_super_frames(from.fixed.id, read_head(frame).destination));
}

/// Sends a run frame by frame; checksums and segments that the NIC does not make are made in software.
[[gnu::noinline]] void Uplink::send_adapted(VnicPath& from, const Run& run, Nanos now) {
    for (std::uint16_t i = 0; i < run.count; ++i) {
        rte_mbuf* frame = run.frames[i];
        if (!passes_whole(from, frame))
            send_split(from, frame, run.bytes[i], kNoTunnel, now);
        else if (prepare(from, frame, run.bytes[i]))
            send_one(from, frame, run.bytes[i], run.wire_frames[i], now);
    }
}

/// Splits a super-frame and sends its segments, each with its part of `bytes`.
/// @param tunnel kNoTunnel for a vNIC that does not encrypt
void Uplink::send_split(VnicPath& from, rte_mbuf* frame, std::uint32_t bytes, TunnelId tunnel, Nanos now) {
    offload::Segments segments;
    const std::uint16_t made = offload::split(frame, pool_, segments);
    if (made == 0) {
        drop(from, frame, bytes, DropReason::kNoBuffer);
        return;
    }
    // The guest offered one frame; from here on its segments are counted.
    from.stats.from_vm.offered.add(made - 1U, 0);
    for (std::uint16_t at = 0; at < made; ++at) {
        const std::uint32_t own = segments[at]->pkt_len + overhead_bytes_ + from.fixed.tag_bytes;
        const std::uint32_t share = at + 1 == made ? bytes : std::min(bytes, own);
        bytes -= share;
        if (tunnel != kNoTunnel)
            send_whole_into(from, segments[at], share, tunnel, now);
        else if (prepare(from, segments[at], share))
            send_one(from, segments[at], share, 1, now);
    }
}

/// Sends a run without super-frames of a vNIC that has limited destinations. Link and class are asked once
/// for the whole run, destinations frame by frame: one that cannot pay queues its frames, and the others
/// pass. A frame that the vNIC's own limit cannot pay stops all behind it.
void Uplink::send_by_destination(VnicPath& from, const Run& run, Nanos now) {
    const VnicId id = from.fixed.id;
    if (!from.profile.isolated || run.bytes_total > from.profile.run_bytes_max || !nic_has_room(run.count) ||
        !egress_.can_bypass(id, run.bytes_total, now)) {
        for (std::uint16_t i = 0; i < run.count; ++i)
            send_one(from, run.frames[i], run.bytes[i], run.wire_frames[i], now);
        return;
    }
    stats.tx.offered.add(run.count, run.bytes_total);
    std::uint64_t address = 0;  // no frame's
    DestinationId destination = kNoDestination;
    bool open = true;
    std::uint32_t passed = 0;
    std::uint32_t passed_bytes = 0;
    for (std::uint16_t i = 0; i < run.count; ++i) {
        rte_mbuf* const frame = run.frames[i];
        const std::uint32_t bytes = run.bytes[i];
        if (const std::uint64_t to = read_head(frame).destination; to != address) {
            address = to;
            destination = egress_.find_limit(id, to, now);
        }
        const bool pays = egress_.can_pay(destination, bytes, now);
        open =
            open && !(pays && from.profile.limited && !from.limiter.admit({bytes, run.wire_frames[i]}, now));
        if (!pays || !open) {
            enqueue(from, destination, frame, {frame, now, bytes, run.wire_frames[i], buffers_of(frame)},
                    now);
            continue;
        }
        if (from.captured) [[unlikely]]
            tap_.passed(CapturePoint::from_vm(id), &frame, 1);
        egress_.pay(destination, bytes, now);
        ++passed;
        passed_bytes += bytes;
        add_pending(frame, bytes);
    }
    egress_.charge_bypassed(id, passed_bytes, now);
    count_sent(from, passed, passed_bytes);
    stats.tx.queued.add(passed, passed_bytes);
}

void Uplink::send(VnicPath& from, const Run& run, Nanos now) {
    if (!device_.link_up()) [[unlikely]] {
        for (std::uint16_t i = 0; i < run.count; ++i)
            drop(from, run.frames[i], run.bytes[i], DropReason::kUplinkDown);
        return;
    }
    if (from.profile.dscp) [[unlikely]]
        std::for_each_n(run.frames, run.count, [&](rte_mbuf* frame) { set_dscp(frame, *from.profile.dscp); });
    if (from.fixed.encrypted) [[unlikely]] {
        send_encrypted(from, run, now);
        return;
    }
    if (run.longest > frame_bytes_max_ || !offload::accepted_as_is(run.offload_flags, device_.offloads()) ||
        (run.wire_frames_total != run.count && egress_.limits().has_any(from.fixed.id)) ||
        (from.fixed.vlan != 0 && (run.offload_flags != 0 || !tag_run(from, run))) ||
        (run.offload_flags != 0 && nic_.prepare(run.frames, run.count) != run.count)) {
        send_adapted(from, run, now);
        return;
    }
    if (egress_.limits().has_any(from.fixed.id)) {
        send_by_destination(from, run, now);
        return;
    }
    // The common case: Egress is asked once for the whole run.
    constexpr unsigned kTurns = 32;
    egress_.note_destination(from.fixed.id,
                             read_head(run.frames[++turn_ % kTurns * run.count / kTurns]).destination);
    if (run.bytes_total <= from.profile.run_bytes_max && !from.captured &&
        try_bypass(from, kNoDestination, run.bytes_total, run.wire_frames_total, run.count, now)) {
        stats.tx.offered.add(run.count, run.bytes_total);
        stats.tx.queued.add(run.count, run.bytes_total);
        count_sent(from, run.count, run.bytes_total);
        for (std::uint16_t i = 0; i < run.count; ++i)
            add_pending(run.frames[i], run.bytes[i]);
        return;
    }
    for (std::uint16_t i = 0; i < run.count; ++i)
        send_one(from, run.frames[i], run.bytes[i], run.wire_frames[i], now);
}

bool Uplink::send_control(rte_mbuf* frame, TunnelId tunnel, Nanos now) {
    const std::uint32_t bytes =
        (tunnel == kNoTunnel ? frame->pkt_len : tunnels_->outer_bytes(tunnel, frame->pkt_len)) +
        overhead_bytes_;
    set_source(frame, kNoVnic);
    stats.tx.offered.add(1, bytes);
    if (!device_.link_up() || !nic_has_room(1)) {
        tap_.drop(stats.tx, CapturePoint::to_wire(), frame, bytes,
                  device_.link_up() ? DropReason::kQueueFull : DropReason::kUplinkDown);
        return false;
    }
    egress_.charge_link(bytes, now);
    stats.tx.queued.add(1, bytes);
    add_pending(frame, bytes, tunnel);
    return true;
}

/// Moves frames that the scheduler lets leave now, a burst at most, from their vNICs' queues to the pending
/// frames. @return frames that left the scheduler
unsigned Uplink::depart(Nanos now) {
    std::array<PacketRef, limits::kBurst> refs;
    const std::size_t room = std::min<std::size_t>(refs.size(), kPendingMax - pending_count_);
    const std::size_t picked = egress_.dequeue_burst(now, std::span(refs).first(room));
    const bool up = device_.link_up();
    for (std::size_t i = 0; i < picked; ++i) {
        const PacketRef& ref = refs[i];
        auto* frame = static_cast<rte_mbuf*>(ref.packet);
        VnicPath& from = *directory_[source_of(frame)];
        from.queued_buffers -= ref.buffers;
        from.stats.from_vm.queued.remove(1, ref.bytes);
        if (!up) [[unlikely]] {
            stats.tx.queued.remove(1, ref.bytes);
            stats.tx.drop(DropReason::kUplinkDown, 1, ref.bytes);
            drop(from, frame, ref.bytes, DropReason::kUplinkDown, now - ref.enqueued);
            continue;
        }
        count_sent(from, 1, ref.bytes);
        egress_.count_departure(from.fixed.id, ref, address_of);
        from.note_delay(now - ref.enqueued);
        if (from.captured) [[unlikely]]
            tap_.passed(CapturePoint::from_vm(from.fixed.id), &frame, 1, now - ref.enqueued);
        add_pending(frame, ref.bytes, from.fixed.encrypted ? tunnel_of(frame) : kNoTunnel);
    }
    return static_cast<unsigned>(picked);
}

unsigned Uplink::flush(Nanos now) {
    transmit();
    unsigned moved = 0;
    while (moved < kDeparturesMax && egress_.backlogged() && pending_count_ < kPendingMax) {
        const unsigned picked = depart(now);
        moved += picked;
        transmit();
        if (picked < limits::kBurst)
            break;
    }
    return moved;
}

}  // namespace weir
