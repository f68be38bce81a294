// uplink.cc - bypass when idle, scheduler when not, nothing lost towards a NIC that is behind.
#include "vswitch/datapath/uplink.h"

#include <rte_ether.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <utility>

#include "vswitch/datapath/frame.h"
#include "vswitch/datapath/offload.h"
#include "vswitch/datapath/traffic_class.h"

namespace weir {
namespace {

/// Backlog at which ECN-capable senders are told, before their ring is held back (EyeQ marks at 100 KB of
/// 128).
constexpr std::uint64_t kMarkBytes = limits::kQueueBytesMax * 3 / 4;
/// Bytes per second of a flow below which its super-frames are split: 1 Gbit/s.
constexpr std::uint64_t kSplitBelow = 125'000'000;

}  // namespace

Uplink::Uplink(Setup setup)
    : device_(setup.device),
      nic_(setup.device, setup.queue),
      pool_(setup.pool),
      scheduler_(std::move(setup.scheduler)),
      flows_(setup.flows, limits::kVnicsMax, setup.flow_profile),
      directory_(setup.directory),
      overhead_bytes_(setup.overhead_bytes),
      frame_bytes_max_(setup.mtu + kEthernetHeaderBytes) {}

Uplink::~Uplink() {
    rte_pktmbuf_free_bulk(pending_.data(), pending_count_);
}

void Uplink::add(VnicPath& path, Nanos now) {
    scheduler_->add(path.fixed.id, path.profile.uplink, &path.limiter, now);
}

void Uplink::change(const VnicPath& path, Nanos now) {
    scheduler_->change(path.fixed.id, path.profile.uplink, now);
}

void Uplink::remove(VnicPath& path, Nanos now) {
    const auto end = [&](const PacketRef& ref) { take_out(path, ref); };
    flows_.erase_vnic(path.fixed.id,
                      [&](DestinationId flow) { scheduler_->close_destination(flow, now, end); });
    scheduler_->drain(path.fixed.id, end);
    scheduler_->remove(path.fixed.id, now);
}

/// Ends a packet that waited when its vNIC went.
void Uplink::take_out(VnicPath& path, const PacketRef& ref) {
    path.stats.from_vm.queued.remove(1, ref.bytes);
    path.queued_buffers -= ref.buffers;
    stats.tx.queued.remove(1, ref.bytes);
    stats.tx.drop(DropReason::kVnicRemoved, 1, ref.bytes);
    path.stats.from_vm.drop(DropReason::kVnicRemoved, 1, ref.bytes);
    rte_pktmbuf_free(static_cast<rte_mbuf*>(ref.packet));
}

void Uplink::set_capacity(std::uint64_t bytes_per_sec, Nanos now) {
    capacity_ = bytes_per_sec;
    scheduler_->set_capacity(bytes_per_sec, now);
}

void Uplink::drop(VnicPath& from, rte_mbuf* frame, std::uint32_t bytes, DropReason reason) {
    from.stats.from_vm.drop(reason, 1, bytes);
    rte_pktmbuf_free(frame);
}

/// The vNIC's VLAN, if it has one. @return false when the frame was dropped
bool Uplink::tag(VnicPath& from, rte_mbuf*& frame, std::uint32_t bytes) {
    constexpr unsigned kPcpShift = 13;
    if (from.fixed.vlan == 0)
        return true;
    frame->vlan_tci = static_cast<std::uint16_t>(from.fixed.vlan | from.profile.pcp << kPcpShift);
    if (rte_vlan_insert(&frame) == 0)
        return true;
    drop(from, frame, bytes, DropReason::kNoBuffer);
    return false;
}

/// VLAN tag, MTU, checksums that the NIC does not make. @return false when the frame was dropped
bool Uplink::prepare(VnicPath& from, rte_mbuf*& frame, std::uint32_t& bytes) {
    const bool super_frame = (frame->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
    const std::uint32_t longest =
        super_frame ? frame->tso_segsz + offload::header_bytes(frame) : frame->pkt_len;
    if (longest > frame_bytes_max_) {
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

/// There is room: the caller asked nic_has_room() or took no more than there was.
void Uplink::hand_over(rte_mbuf* frame, std::uint32_t bytes, TunnelId tunnel) {
    pending_tunnel_[pending_count_] = tunnel;
    pending_clear_ |= tunnel != kNoTunnel;
    pending_[pending_count_++] = frame;
    pending_bytes_ += bytes;
}

bool Uplink::nic_has_room(std::uint16_t frames) {
    if (pending_count_ + frames > kPendingMax)
        transmit();
    return pending_count_ + frames <= kPendingMax;
}

/// Gives the NIC what it takes; the rest waits here, and then in the scheduler, and then in the guests'
/// rings.
void Uplink::transmit() {
    if (pending_clear_) [[unlikely]]
        encrypt_pending();
    if (pending_count_ == 0)
        return;
    std::uint64_t bytes = 0;
    std::uint16_t sent = 0;
    while (sent < pending_count_) {
        const auto burst =
            std::min<std::uint16_t>(limits::kBurst, static_cast<std::uint16_t>(pending_count_ - sent));
        const std::uint16_t taken = nic_.tx_burst(pending_.data() + sent, burst);
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

/// Where many wait already, those that can hear it are told; beyond the bound a flow's own packets are lost,
/// and nobody else's.
void Uplink::queue(VnicPath& from, DestinationId flow, rte_mbuf* frame, const PacketRef& ref, Nanos now) {
    const VnicId id = from.fixed.id;
    set_source(frame, id);
    const bool limited = flow != kNoDestination;
    const std::uint64_t backlog = scheduler_->backlog_bytes(id);
    // A mark made here in a limited flow would look to the receiver, who set the limit, like a queue in the
    // network: it would lower the limit, which would lengthen this queue.
    if (!limited && backlog > kMarkBytes)
        from.stats.ecn_marked += mark_congestion(frame);
    if (!(limited ? scheduler_->enqueue(id, flow, ref, now) : scheduler_->enqueue(id, ref, now))) {
        const DropReason reason = limited ? DropReason::kDestinationCongested : DropReason::kQueueFull;
        stats.tx.drop(reason, 1, ref.bytes);
        drop(from, frame, ref.bytes, reason);
        return;
    }
    from.queued_buffers += ref.buffers;
    from.stats.from_vm.queued.add(1, ref.bytes);
    stats.tx.queued.add(1, ref.bytes);
}

/// Around the scheduler: nothing waits before it, the NIC keeps up, and every bucket pays, and has then paid.
bool Uplink::goes_directly(VnicPath& from, DestinationId flow, std::uint32_t bytes, std::uint32_t wire_frames,
                           std::uint16_t frames, Nanos now) {
    if (!nic_has_room(frames))
        return false;
    const VnicId id = from.fixed.id;
    if (!from.profile.isolated)
        return scheduler_->backlog_packets(id) == 0;
    const bool limited = flow != kNoDestination;
    if (!(limited ? scheduler_->can_bypass(id, flow, bytes, now) : scheduler_->can_bypass(id, bytes, now)) ||
        (from.profile.limited && !from.limiter.admit({bytes, wire_frames}, now)))
        return false;
    if (limited)
        scheduler_->bypass(id, flow, bytes, now);
    else
        scheduler_->bypass(id, bytes, now);
    return true;
}

/// One frame on its way: around the scheduler when nothing waits and everybody pays, else through it.
void Uplink::send_one(VnicPath& from, rte_mbuf* frame, std::uint32_t bytes, std::uint16_t wire_frames,
                      Nanos now) {
    stats.tx.offered.add(1, bytes);
    const DestinationId flow = flows_.find(from.fixed.id, read_head(frame).destination);
    if (flow != kNoDestination)
        flows_.touch(flow, now);
    if (!goes_directly(from, flow, bytes, wire_frames, 1, now)) {
        queue(from, flow, frame, {frame, now, bytes, wire_frames, frame->nb_segs}, now);
        return;
    }
    if (flow != kNoDestination)
        flows_.count(flow, bytes);
    count_sent(from, 1, bytes);
    stats.tx.queued.add(1, bytes);
    hand_over(frame, bytes, from.fixed.encrypted ? tunnel_of(frame) : kNoTunnel);
}

/// A super-frame needs a NIC that splits it, and no limiter below 1 Gbit/s in its way (EyeQ 4.2).
bool Uplink::passes_whole(const VnicPath& from, const rte_mbuf* frame) const {
    if ((frame->ol_flags & RTE_MBUF_F_TX_TCP_SEG) == 0)
        return true;
    const DestinationId flow = flows_.find(from.fixed.id, read_head(frame).destination);
    return device_.offloads().tso && (flow == kNoDestination || flows_.rate(flow) >= kSplitBelow);
}

/// Frame by frame: what the NIC does not do is done here.
[[gnu::noinline]] void Uplink::send_adapted(VnicPath& from, const Run& run, Nanos now) {
    for (std::uint16_t i = 0; i < run.count; ++i) {
        rte_mbuf* frame = run.frames[i];
        std::uint32_t bytes = run.bytes[i];
        if (passes_whole(from, frame)) {
            if (prepare(from, frame, bytes))
                send_one(from, frame, bytes, run.wire_frames[i], now);
            continue;
        }
        offload::Segments segments;
        const std::uint16_t made = offload::split(frame, pool_, segments);
        if (made == 0) {
            drop(from, frame, bytes, DropReason::kNoBuffer);
            continue;
        }
        // The guest offered one frame; from here on its segments are what is counted.
        from.stats.from_vm.offered.add(made - 1U, 0);
        std::uint32_t left = bytes;
        for (std::uint16_t at = 0; at < made; ++at) {
            std::uint32_t share =
                at + 1 == made ? left : segments[at]->pkt_len + overhead_bytes_ + from.fixed.tag_bytes;
            left -= std::min(left, share);
            if (prepare(from, segments[at], share))
                send_one(from, segments[at], share, 1, now);
        }
    }
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
    if (from.fixed.vlan != 0 || run.longest > frame_bytes_max_ ||
        !offload::accepted_as_is(run.offload_flags, device_.offloads()) ||
        (run.wire_frames_total != run.count && flows_.has_any(from.fixed.id)) ||
        (run.offload_flags != 0 && nic_.prepare(run.frames, run.count) != run.count)) {
        send_adapted(from, run, now);
        return;
    }
    if (flows_.has_any(from.fixed.id)) {
        send_by_flow(from, run, now);
        return;
    }
    // The common case costs one question for the whole run.
    if (run.bytes_total <= from.profile.run_bytes_max &&
        goes_directly(from, kNoDestination, run.bytes_total, run.wire_frames_total, run.count, now)) {
        stats.tx.offered.add(run.count, run.bytes_total);
        stats.tx.queued.add(run.count, run.bytes_total);
        count_sent(from, run.count, run.bytes_total);
        for (std::uint16_t i = 0; i < run.count; ++i)
            hand_over(run.frames[i], run.bytes[i]);
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
        stats.tx.drop(device_.link_up() ? DropReason::kQueueFull : DropReason::kUplinkDown, 1, bytes);
        rte_pktmbuf_free(frame);
        return false;
    }
    scheduler_->charge_link(bytes, now);
    stats.tx.queued.add(1, bytes);
    hand_over(frame, bytes, tunnel);
    return true;
}

/// Lets what the scheduler picks leave its vNIC's queue.
unsigned Uplink::depart(Nanos now) {
    std::array<PacketRef, limits::kBurst> refs;
    const std::size_t room = std::min<std::size_t>(refs.size(), kPendingMax - pending_count_);
    const std::size_t picked = scheduler_->dequeue_burst(now, std::span(refs).first(room));
    for (std::size_t i = 0; i < picked; ++i) {
        const PacketRef& ref = refs[i];
        auto* frame = static_cast<rte_mbuf*>(ref.packet);
        VnicPath& from = *directory_[source_of(frame)];
        from.queued_buffers -= ref.buffers;
        from.stats.from_vm.queued.remove(1, ref.bytes);
        count_sent(from, 1, ref.bytes);
        if (flows_.has_allocated(from.fixed.id))
            if (const DestinationId flow = flows_.find(from.fixed.id, read_head(frame).destination);
                flow != kNoDestination)
                flows_.count(flow, ref.bytes);
        from.queue_delay.add(now - ref.enqueued);
        hand_over(frame, ref.bytes, from.fixed.encrypted ? tunnel_of(frame) : kNoTunnel);
    }
    return static_cast<unsigned>(picked);
}

unsigned Uplink::flush(Nanos now) {
    transmit();
    unsigned moved = 0;
    while (scheduler_->backlogged() && pending_count_ < kPendingMax) {
        const unsigned picked = depart(now);
        moved += picked;
        transmit();
        if (picked < limits::kBurst)
            break;
    }
    return moved;
}

}  // namespace weir
