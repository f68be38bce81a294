// forwarder.cc - Forwarder's work per burst: runs of one destination, the vNICs' own limits, requests.
#include "vswitch/datapath/loop/forwarder.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <numeric>

#include "vswitch/datapath/frame/frame.h"
#include "vswitch/datapath/frame/offload.h"

namespace weir {
namespace {

bool is_longer_super_frame(const rte_mbuf* frame, std::uint32_t bytes) {
    return (frame->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0 && frame->pkt_len > bytes;
}

Run whole_run(Batch& batch) {
    return {batch.frames.data(), batch.bytes.data(), batch.wire_frames.data(),
            batch.count,         batch.bytes_total,  batch.wire_frames_total,
            batch.longest,       batch.offload_flags};
}

/// A single frame as a run, which points into this.
struct OneFrame {
    OneFrame(rte_mbuf* what, std::uint32_t accounted_bytes)
        : frame(what), bytes(accounted_bytes), wire_frames(offload::wire_frames(what)) {}
    [[nodiscard]] Run run() {
        const bool super_frame = (frame->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
        return {&frame,
                &bytes,
                &wire_frames,
                1,
                bytes,
                wire_frames,
                super_frame ? 0 : frame->pkt_len,
                frame->ol_flags & kOffloadFlags};
    }
    rte_mbuf* frame;
    std::uint32_t bytes;
    std::uint16_t wire_frames;
};

/// The longest run of one destination that starts at `first`.
Run run_at(Batch& batch, std::uint16_t first) {
    Run run{batch.frames.data() + first,
            batch.bytes.data() + first,
            batch.wire_frames.data() + first,
            0,
            0,
            0,
            batch.longest,
            batch.offload_flags};
    for (std::uint16_t i = first; i < batch.count && batch.to[i] == batch.to[first]; ++i) {
        ++run.count;
        run.bytes_total += batch.bytes[i];
        run.wire_frames_total += batch.wire_frames[i];
    }
    return run;
}

/// Counts the first `delivered` frames of the run as delivered; the rest did not fit into another worker's
/// inbox.
void account(DirectionStats& stats, const Run& run, std::uint16_t delivered) {
    if (delivered == run.count) [[likely]] {
        stats.delivered.add(run.count, run.bytes_total);
        return;
    }
    const std::uint64_t bytes = std::accumulate(run.bytes, run.bytes + delivered, std::uint64_t{0});
    stats.delivered.add(delivered, bytes);
    stats.drop(DropReason::kWorkerRingFull, static_cast<std::uint64_t>(run.count - delivered),
               run.bytes_total - bytes);
}

}  // namespace

/// Super-frames longer than the vNIC's limiter can take at once are split first.
void Forwarder::from_vm(VnicPath& from, rte_mbuf** frames, std::uint16_t count, Nanos now) {
    delivery_.begin_vm(from, now);
    if (vnics_away_ != 0 && away_[from.fixed.id]) [[unlikely]]
        set_away(from, false);
    const std::uint32_t most = from.profile.super_frame_max;
    if (most == UINT32_MAX || std::none_of(frames, frames + count, [most](const rte_mbuf* frame) {
            return is_longer_super_frame(frame, most);
        })) [[likely]] {
        Batch batch;
        classify_from_vm(from, macs_, unknown_, frames, count, feedback_.has_value(), now, batch);
        forward(from, batch, now);
        delivery_.flush();
        return;
    }
    const std::uint64_t offered_before = from.stats.from_vm.offered.bytes;
    for (std::uint16_t i = 0; i < count; ++i) {
        offload::Segments segments;
        const bool splits = is_longer_super_frame(frames[i], most) && offload::valid(frames[i]);
        std::uint16_t made = splits ? offload::split(frames[i], pool_, segments, most) : 0;
        if (made == 0) {
            segments[0] = frames[i];
            made = 1;
        }
        for (std::uint16_t at = 0; at < made; at = static_cast<std::uint16_t>(at + limits::kBurst)) {
            Batch batch;
            const auto part =
                static_cast<std::uint16_t>(RTE_MIN(static_cast<unsigned>(made - at), limits::kBurst));
            classify_from_vm(from, macs_, unknown_, segments.data() + at, part, feedback_.has_value(), now,
                             batch);
            forward(from, batch, now);
        }
    }
    // Frames in the ring are as long as these were, not as their segments are.
    from.note_frame_bytes(
        static_cast<std::uint32_t>((from.stats.from_vm.offered.bytes - offered_before) / count), now);
    delivery_.flush();
}

bool Forwarder::next_goes_elsewhere(const VnicPath& vnic) {
    const std::optional<std::uint64_t> destination = vnic.intake.empty()
                                                         ? vnic.fixed.port->peek_destination()
                                                         : read_head(vnic.intake.front()).destination;
    if (!destination || (*destination & kMacGroupBit) != 0)
        return true;
    const Destination found = macs_.find(mac_key(*destination, vnic.fixed.vlan));
    if (found < limits::kVnicsMax && directory_[found]->fixed.port->rings() > 1)
        return true;  // perhaps to another ring
    return (found == kNowhere ? unknown_ : found) != vnic.pressure.last;
}

void Forwarder::forward(VnicPath& from, Batch& batch, Nanos now) {
    if (from.profile.tracked && requests_) [[unlikely]] {
        for (std::uint16_t i = 0; i < batch.count; ++i)
            note_destination(batch.frames[i], batch.to[i]);
        requests_->from_vm(from, batch, now);
    }
    if (batch.count == 0)
        return;
    from.note_frame_bytes(batch.bytes_total / batch.count, now);
    if (batch.same_destination) [[likely]] {
        from.note_destination(batch.to[0], now);
        route(from, whole_run(batch), batch.to[0], true, now);
        return;
    }
    from.backpressure.changed = now;
    for (std::uint16_t first = 0; first < batch.count;) {
        const Run run = run_at(batch, first);
        route(from, run, batch.to[first], false, now);
        first = static_cast<std::uint16_t>(first + run.count);
    }
}

void Forwarder::route(VnicPath& from, const Run& run, Destination to, bool whole, Nanos now) {
    if (to == kToAll)
        flood_from_vm(from, run, false, now);
    else if (!floods_.idle() && reached_by_floods(from, to)) [[unlikely]]
        route_behind_floods(from, run, to, now);
    else
        route_known(from, run, to, whole, now);
}

void Forwarder::route_known(VnicPath& from, const Run& run, Destination to, bool whole, Nanos now) {
    if (to != kToUplink)
        to_local(from, run, to, whole, now);
    else if (copies_for_tunnels(from)) [[unlikely]]
        to_tunnels(from, run, now);
    else
        uplink_->send(from, run, now);
}

/// Some frames to one host are for all hosts by their IP addresses. They are copied for every tunnel, so they
/// are floods: bounded, and copied in turn.
[[gnu::noinline]] void Forwarder::to_tunnels(VnicPath& from, const Run& run, Nanos now) {
    for (std::uint16_t i = 0; i < run.count; ++i) {
        OneFrame one(run.frames[i], run.bytes[i]);
        if (tunnels_->route(run.frames[i]) == kAllTunnels)
            flood_routed(from, one.run(), kToUplink, true, now);
        else
            uplink_->send(from, one.run(), now);
    }
}

[[gnu::noinline]] void Forwarder::route_behind_floods(VnicPath& from, const Run& run, Destination to,
                                                      Nanos now) {
    for (std::uint16_t i = 0; i < run.count; ++i) {
        OneFrame one(run.frames[i], run.bytes[i]);
        if (!flood_behind(from, one.run(), to, now))
            route_known(from, one.run(), to, false, now);
    }
}

/// To a VM on this host: delivered when the sender's limit pays for the whole run, else queued for the limit.
void Forwarder::to_local(VnicPath& from, const Run& run, Destination to, bool whole, Nanos now) {
    DirectionStats& stats = from.stats.from_vm;
    const bool pays =
        !from.profile.limited ||
        ((!from.backlogged() || from.local.empty()) && run.bytes_total <= from.profile.run_bytes_max &&
         from.limiter.admit({run.bytes_total, run.wire_frames_total}, now));
    if (pays) [[likely]] {
        from.stats.admitted.add(run.count, run.bytes_total);
        account(stats, run, delivery_.deliver(*directory_[to], run, whole, now));
        return;
    }
    for (std::uint16_t i = 0; i < run.count; ++i) {
        rte_mbuf* frame = run.frames[i];
        set_destination(frame, directory_[to]->fixed);
        const PacketRef ref{frame, now, run.bytes[i], run.wire_frames[i], buffers_of(frame)};
        if (!from.local.push(ref)) {
            stats.drop(DropReason::kQueueFull, 1, ref.bytes);
            rte_pktmbuf_free(frame);
            continue;
        }
        from.queued_buffers += ref.buffers;
        stats.queued.add(1, ref.bytes);
    }
    if (!from.parked)
        release_local(from, now);
}

void Forwarder::park(VnicPath& vnic, const Limiter::Costs& costs, Nanos now) {
    vnic.hold(HoldReason::kLimit, now);
    if (vnic.parked)
        return;
    vnic.parked = true;
    if (const Nanos at = vnic.limiter.ready_at(costs); at != kNever)
        wheel_.insert(vnic.fixed.id, at, now);
}

void Forwarder::release_local(VnicPath& from, Nanos now) {
    if (from.local.empty())
        return;
    delivery_.begin_vm(from, now);
    while (!from.local.empty()) {
        const PacketRef ref = from.local.front();
        const Limiter::Costs costs{ref.bytes, ref.frames};
        if (!from.limiter.admit(costs, now)) {
            park(from, costs, now);
            break;
        }
        from.local.pop();
        from.queued_buffers -= ref.buffers;
        from.stats.from_vm.queued.remove(1, ref.bytes);
        from.stats.admitted.add(1, ref.bytes);
        from.queue_delay.add(now - ref.enqueued);
        const std::optional<DropReason> ended = deliver_queued(static_cast<rte_mbuf*>(ref.packet), now);
        if (ended)
            from.stats.from_vm.drop(*ended, 1, ref.bytes);
        else
            from.stats.from_vm.delivered.add(1, ref.bytes);
    }
    delivery_.flush();
    bill_.charge(from);
}

/// A frame to the uplink that does not come in a run.
void Forwarder::send_single(VnicPath& from, rte_mbuf* frame, std::uint32_t bytes, Nanos now) {
    OneFrame one(frame, bytes);
    uplink_->send(from, one.run(), now);
}

bool Forwarder::deliver_one(VnicPath& to, rte_mbuf* frame, Nanos now) {
    OneFrame one(frame, frame->pkt_len + to.fixed.overhead_bytes);
    return delivery_.deliver(to, one.run(), false, now) != 0;
}

/// Writes the destination into a frame that may have to wait.
void Forwarder::note_destination(rte_mbuf* frame, Destination to) const {
    if (to < limits::kVnicsMax)
        set_destination(frame, directory_[to]->fixed);
    else
        set_destination(frame, to, 0, FrameOrigin::kVm);
}

/// The vNIC that a frame has waited for, nullptr when it has gone, though another may have its id.
VnicPath* Forwarder::addressee(const rte_mbuf* frame) const {
    VnicPath* const to = directory_[destination_of(frame)];
    return to != nullptr && to->fixed.generation == generation_of(frame) ? to : nullptr;
}

/// A frame that carries its destination. @return the drop reason when it was not delivered
std::optional<DropReason> Forwarder::deliver_queued(rte_mbuf* frame, Nanos now) {
    VnicPath* to = addressee(frame);
    if (to == nullptr) {
        rte_pktmbuf_free(frame);
        return DropReason::kVnicRemoved;
    }
    return deliver_one(*to, frame, now) ? std::nullopt : std::optional(DropReason::kWorkerRingFull);
}

unsigned Forwarder::poll_wire(Nanos now, WorkerStats& stats) {
    std::array<rte_mbuf*, limits::kBurst> frames;
    const std::uint16_t count = uplink_->rx_burst(frames.data(), limits::kBurst);
    if (count == 0)
        return 0;
    delivery_.begin_wire(now);
    Batch batch;
    std::array<std::uint16_t, limits::kBurst> vlans;
    FeedbackBurst feedback;
    EspBurst esp;
    classify_from_wire(
        {macs_, directory_.data(), overhead_bytes_, uplink_->stats.rx, feedback_ ? &feedback : nullptr,
         tunnels_ ? &*tunnels_ : nullptr, &esp, learns_wire()},
        frames.data(), count, now, batch, vlans.data());
    for (std::uint16_t i = 0; i < feedback.count; ++i)
        feedback_->on_feedback(feedback.frames[i], feedback.vlans[i], false, now);
    from_wire(batch, vlans.data(), now);
    if (esp.count != 0) {
        ClearBurst clear;
        tunnels_->receive(esp, uplink_->stats.rx, clear);
        from_tunnels(clear, now);
    }
    delivery_.flush_to_receivers();
    stats.packets += count;
    ++stats.bursts;
    return count;
}

void Forwarder::from_wire(Batch& batch, const std::uint16_t* vlans, Nanos now) {
    for (std::uint16_t first = 0; first < batch.count;) {
        const Run run = run_at(batch, first);
        if (batch.to[first] == kToAll) {
            for (std::uint16_t i = 0; i < run.count; ++i)
                flood_from_outside(uplink_->stats.rx, run.frames[i], run.bytes[i], vlans[first + i], false,
                                   now);
        } else {
            from_wire_to(*directory_[batch.to[first]], run, run.count == batch.count, now);
        }
        first = static_cast<std::uint16_t>(first + run.count);
    }
}

/// The owner meters the run with the VLAN tags that its frames had on the wire, and delivers it without them.
void Forwarder::from_wire_to(VnicPath& to, const Run& run, bool whole, Nanos now) {
    DirectionStats& rx = uplink_->stats.rx;
    if (to.fixed.encrypted) [[unlikely]] {
        rx.drop(DropReason::kClearText, run.count, run.bytes_total);
        rte_pktmbuf_free_bulk(run.frames, run.count);
        return;
    }
    if (to.fixed.owner != worker_) {
        account(rx, run, delivery_.hand_over(to, run, FrameOrigin::kWire));
        return;
    }
    if (feedback_)
        feedback_->meter(to, run, now);
    Run untagged = run;
    untagged.bytes_total -= static_cast<std::uint32_t>(run.count) * to.fixed.tag_bytes;
    rx.delivered.add(run.count, run.bytes_total);
    delivery_.deliver(to, untagged, whole, now);
    if (whole)
        bill_.charge(to);
}

unsigned Forwarder::poll_inbox(Nanos now) {
    std::array<rte_mbuf*, limits::kBurst> frames;
    std::span<rte_mbuf*> piece;
    if (inbox_pieces_.empty()) {
        piece = std::span(frames).first(inboxes_[worker_]->take(frames.data(), limits::kBurst));
        if (piece.empty())
            return 0;
        if (Intake::needed_for(piece)) [[unlikely]]
            inbox_pieces_.fill(piece);
    }
    if (!inbox_pieces_.empty()) [[unlikely]]
        piece = inbox_pieces_.next(UINT32_MAX, limits::kBurst, true);
    delivery_.begin_inbox(now);
    EspBurst esp;
    for (rte_mbuf* frame : piece) {
        if (origin_of(frame) == FrameOrigin::kTunnel)
            esp.add(frame, frame->pkt_len + overhead_bytes_);
        else
            from_worker(frame, now);
    }
    if (esp.count != 0) {
        ClearBurst clear;
        delivery_.handoff.vnic_gone += tunnels_->decrypt(esp, clear);
        from_tunnels(clear, now);
    }
    delivery_.flush_to_receivers();
    return static_cast<unsigned>(piece.size());
}

/// Does for a frame what the worker that received it could not: frames of the wire are metered by their
/// vNIC's owner.
void Forwarder::from_worker(rte_mbuf* frame, Nanos now) {
    const FrameOrigin origin = origin_of(frame);
    const VnicPath* to = addressee(frame);
    if (to != nullptr && feedback_ && origin == FrameOrigin::kFeedback) {
        feedback_->on_feedback(frame, to->fixed.vlan, to->fixed.encrypted, now);
        return;
    }
    if (to != nullptr && feedback_ && origin == FrameOrigin::kWire) {
        OneFrame one(frame, frame->pkt_len + to->fixed.overhead_bytes + to->fixed.tag_bytes);
        feedback_->meter(*to, one.run(), now);
    }
    delivery_.handoff.vnic_gone += deliver_queued(frame, now).has_value();
}

void Forwarder::from_tunnels(const ClearBurst& burst, Nanos now) {
    for (std::uint16_t i = 0; i < burst.count; ++i)
        from_tunnel(burst.frames[i], burst.bytes[i], burst.tunnels[i], now);
}

/// @param bytes of the ESP frame: the frame is metered as it was on the wire
void Forwarder::from_tunnel(rte_mbuf* frame, std::uint32_t bytes, TunnelId tunnel, Nanos now) {
    DirectionStats& in = tunnels_->stats[tunnel].in;
    const TunnelFrame found = classify_from_tunnel(
        {macs_, directory_.data(), *tunnels_, feedback_.has_value(), learns_wire()}, frame, tunnel, now);
    if (found.refused != DropReason::kCount) {
        in.drop(found.refused, 1, bytes);
        rte_pktmbuf_free(frame);
    } else if (found.is_feedback) {
        in.delivered.add(1, bytes);
        feedback_->on_feedback(frame, found.vlan, true, now);
    } else if (found.to == kToAll) {
        flood_from_outside(in, frame, bytes, found.vlan, true, now);
    } else {
        from_tunnel_to(*directory_[found.to], in, frame, bytes, now);
    }
}

void Forwarder::from_tunnel_to(VnicPath& to, DirectionStats& in, rte_mbuf* frame, std::uint32_t bytes,
                               Nanos now) {
    OneFrame one(frame, bytes);
    const Run run = one.run();
    if (to.fixed.owner != worker_) {
        account(in, run, delivery_.hand_over(to, run, FrameOrigin::kWire));
        return;
    }
    in.delivered.add(1, bytes);
    if (feedback_)
        feedback_->meter(to, run, now);
    deliver_one(to, frame, now);
}

unsigned Forwarder::serve_waiting(Nanos now) {
    const unsigned moved = delivery_.serve_waiting(now);
    if (feedback_)
        for (const VnicId vnic : delivery_.measured())
            feedback_->change(*directory_[vnic]);
    delivery_.forget_free();
    return moved;
}

unsigned Forwarder::serve_requests(Nanos now) {
    delivery_.begin_wire(now);
    requests_->reopen_windows(now,
                              [&](VnicId vnic, rte_mbuf* update) { deliver_own(*directory_[vnic], update); });
    return requests_->serve_windows(
        now, [&](VnicId vnic, const PacketRef& ref) { release_request(*directory_[vnic], ref, now); });
}

void Forwarder::wake_request(std::uint32_t flow, Nanos now) {
    requests_->wake(flow, now,
                    [&](VnicId vnic, const PacketRef& ref) { release_request(*directory_[vnic], ref, now); });
}

/// A frame that the switch made for one of its VMs.
void Forwarder::deliver_own(VnicPath& to, rte_mbuf* frame) {
    OneFrame one(frame, frame->pkt_len + to.fixed.overhead_bytes);
    delivery_.stage(to, one.run());
    delivery_.flush();
}

/// A request that waited for its tokens is routed as if it came out of the VM's ring now.
void Forwarder::release_request(VnicPath& from, const PacketRef& ref, Nanos now) {
    auto* frame = static_cast<rte_mbuf*>(ref.packet);
    from.queued_buffers -= ref.buffers;
    from.stats.from_vm.queued.remove(1, ref.bytes);
    from.queue_delay.add(now - ref.enqueued);
    const Destination to = destination_of(frame);
    if (to < limits::kVnicsMax && addressee(frame) == nullptr) {
        from.stats.from_vm.drop(DropReason::kVnicRemoved, 1, ref.bytes);
        rte_pktmbuf_free(frame);
        return;
    }
    OneFrame one(frame, ref.bytes);
    delivery_.begin_vm(from, now);
    route(from, one.run(), to, false, now);
    delivery_.flush();
    bill_.charge(from);
}

}  // namespace weir
