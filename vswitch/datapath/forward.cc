// forward.cc - where classified frames go: to a VM here, to another worker, to the uplink, to everybody.
#include <rte_mbuf.h>

#include <algorithm>
#include <numeric>

#include "vswitch/datapath/classifier.h"
#include "vswitch/datapath/flood.h"
#include "vswitch/datapath/frame.h"
#include "vswitch/datapath/offload.h"
#include "vswitch/datapath/one_frame.h"
#include "vswitch/datapath/worker.h"

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

/// The run of frames from `first` on that go to the same destination.
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

/// Of a run, the first `sent` went on; the rest did not fit the ring of another worker.
void account(DirectionStats& stats, const Run& run, std::uint16_t sent) {
    if (sent == run.count) [[likely]] {
        stats.delivered.add(run.count, run.bytes_total);
        return;
    }
    const std::uint64_t bytes = std::accumulate(run.bytes, run.bytes + sent, std::uint64_t{0});
    stats.delivered.add(sent, bytes);
    stats.drop(DropReason::kWorkerRingFull, static_cast<std::uint64_t>(run.count - sent),
               run.bytes_total - bytes);
}

}  // namespace

/// Classifies and forwards one burst of a VM. Long super-frames are split before they meet the limiter.
void Worker::take(VnicPath& from, rte_mbuf** frames, std::uint16_t count, Nanos now) {
    const std::uint32_t most = from.profile.super_frame_max;
    if (most == UINT32_MAX || std::none_of(frames, frames + count, [most](const rte_mbuf* frame) {
            return is_longer_super_frame(frame, most);
        })) [[likely]] {
        Batch batch;
        classify_from_vm(from, macs_, unknown_, frames, count, now, batch);
        forward(from, batch, now);
        return;
    }
    const std::uint64_t offered_before = from.stats.from_vm.offered.bytes;
    for (std::uint16_t i = 0; i < count; ++i) {
        offload::Segments segments;
        const bool splits = is_longer_super_frame(frames[i], most) && offload::valid(frames[i]);
        std::uint16_t made = splits ? offload::split(frames[i], setup_.pool, segments, most) : 0;
        if (made == 0) {
            segments[0] = frames[i];
            made = 1;
        }
        for (std::uint16_t at = 0; at < made; at = static_cast<std::uint16_t>(at + limits::kBurst)) {
            Batch batch;
            const auto part =
                static_cast<std::uint16_t>(RTE_MIN(static_cast<unsigned>(made - at), limits::kBurst));
            classify_from_vm(from, macs_, unknown_, segments.data() + at, part, now, batch);
            forward(from, batch, now);
        }
    }
    from.frame_bytes_mean = static_cast<std::uint32_t>((from.stats.from_vm.offered.bytes - offered_before) /
                                                       count);  // of what lies in the ring
}

void Worker::forward(VnicPath& from, Batch& batch, Nanos now) {
    if (from.profile.tracked && requests_) [[unlikely]]
        requests_->from_vm(from, batch, now);
    if (batch.count == 0)
        return;
    from.frame_bytes_mean = batch.bytes_total / batch.count;
    if (batch.same_destination) [[likely]] {
        route(from, whole_run(batch), batch.to[0], true, now);
        return;
    }
    for (std::uint16_t first = 0; first < batch.count;) {
        const Run run = run_at(batch, first);
        route(from, run, batch.to[first], false, now);
        first = static_cast<std::uint16_t>(first + run.count);
    }
}

void Worker::route(VnicPath& from, const Run& run, Destination to, bool whole, Nanos now) {
    if (to == kToUplink)
        uplink_->send(from, run, now);
    else if (to == kToAll)
        flood_from_vm(from, run, now);
    else
        to_local(from, run, to, whole, now);
}

/// To a VM on this host: passes the sender's limit, or waits for it.
void Worker::to_local(VnicPath& from, const Run& run, Destination to, bool whole, Nanos now) {
    DirectionStats& stats_from = from.stats.from_vm;
    const bool pays =
        !from.profile.limited ||
        ((!from.backlogged() || from.local.empty()) && run.bytes_total <= from.profile.run_bytes_max &&
         from.limiter.admit({run.bytes_total, run.wire_frames_total}, now));
    if (pays) [[likely]] {
        from.stats.admitted.add(run.count, run.bytes_total);
        account(stats_from, run, deliver(*directory_[to], run, whole));
        return;
    }
    for (std::uint16_t i = 0; i < run.count; ++i) {
        rte_mbuf* frame = run.frames[i];
        set_destination(frame, to);
        const PacketRef ref{frame, now, run.bytes[i], run.wire_frames[i], frame->nb_segs};
        if (!from.local.push(ref)) {
            stats_from.drop(DropReason::kQueueFull, 1, ref.bytes);
            rte_pktmbuf_free(frame);
            continue;
        }
        from.queued_buffers += ref.buffers;
        stats_from.queued.add(1, ref.bytes);
    }
    if (!from.parked)
        resume(from, now);
}

/// Copies for the VMs of the VLAN; the frame itself goes to the uplink, if there is one.
void Worker::flood_from_vm(VnicPath& from, const Run& run, Nanos now) {
    for (std::uint16_t i = 0; i < run.count; ++i) {
        rte_mbuf* frame = run.frames[i];
        if (!from.flood.can_pay(1, now)) {
            from.stats.from_vm.drop(DropReason::kFloodLimited, 1, run.bytes[i]);
            rte_pktmbuf_free(frame);
            continue;
        }
        from.flood.pay(1, now);
        const bool group = (read_head(frame).destination & kMacGroupBit) != 0;
        const unsigned copies = flood(all_, &from, from.fixed.vlan, frame, setup_.pool, group,
                                      [&](VnicPath& to, rte_mbuf* copy) { deliver_copy(to, copy); });
        from.stats.flood_copies += copies;
        if (uplink_) {
            OneFrame one(frame, run.bytes[i]);
            uplink_->send(from, one.run(), now);
            continue;
        }
        if (copies != 0)
            from.stats.from_vm.delivered.add(1, run.bytes[i]);
        else
            from.stats.from_vm.drop(DropReason::kNoSuchMac, 1, run.bytes[i]);
        rte_pktmbuf_free(frame);
    }
}

/// To a vNIC of this worker, or into the inbox of the worker that owns it. All frames are consumed.
/// @return how many went on, the first ones
std::uint16_t Worker::deliver(VnicPath& to, const Run& run, bool whole) {
    if (to.fixed.owner != setup_.id)
        return hand_over(to, run, FrameOrigin::kVm);
    if (to.profile.tracked && requests_) [[unlikely]]
        requests_->to_vm(to, run, turn_);
    if (whole && to.staging.count == 0)
        delivery_.send(to, run);
    else
        stage(to, run);
    return run.count;
}

void Worker::stage(VnicPath& to, const Run& run) {
    if (to.staging.count == 0)
        touched_.push_back(&to);
    delivery_.stage(to, run);
}

std::uint16_t Worker::hand_over(VnicPath& to, const Run& run, FrameOrigin origin) {
    for (std::uint16_t i = 0; i < run.count; ++i)
        set_destination(run.frames[i], to.fixed.id, origin);
    const std::uint16_t posted = setup_.inboxes[to.fixed.owner]->post(run.frames, run.count);
    handoff_.posted += posted;
    rte_pktmbuf_free_bulk(run.frames + posted, static_cast<unsigned>(run.count - posted));
    return posted;
}

bool Worker::deliver_one(VnicPath& to, rte_mbuf* frame) {
    OneFrame one(frame, frame->pkt_len + to.fixed.overhead_bytes);
    return deliver(to, one.run(), false) != 0;
}

/// One of a flooded frame's copies; nullptr: there was no buffer for it. The frame counts as delivered.
void Worker::deliver_copy(VnicPath& to, rte_mbuf* copy) {
    if (copy == nullptr)
        ++handoff_.copies_without_buffer;
    else if (!deliver_one(to, copy))
        ++handoff_.copies_ring_full;
}

/// @return the reason when the frame ended here
std::optional<DropReason> Worker::deliver_queued(rte_mbuf* frame) {
    VnicPath* to = directory_[destination_of(frame)];
    if (to == nullptr) {
        rte_pktmbuf_free(frame);
        return DropReason::kVnicRemoved;
    }
    return deliver_one(*to, frame) ? std::nullopt : std::optional(DropReason::kWorkerRingFull);
}

/// Sends what was staged; who has caused it pays.
void Worker::flush_touched() {
    for (VnicPath* to : touched_)
        delivery_.flush(*to);
    touched_.clear();
}

/// The same for what nobody here has caused: each receiver pays; for what was for nobody, nobody does.
void Worker::flush_to_receivers() {
    for (VnicPath* to : touched_) {
        delivery_.flush(*to);
        bill_.charge(*to);
    }
    touched_.clear();
    bill_.start(rte_rdtsc());
}

unsigned Worker::poll_wire(Nanos now) {
    std::array<rte_mbuf*, limits::kBurst> frames;
    const std::uint16_t count = uplink_->rx_burst(frames.data(), limits::kBurst);
    if (count == 0)
        return 0;
    Batch batch;
    std::array<std::uint16_t, limits::kBurst> vlans;
    FeedbackBurst feedback;
    EspBurst esp;
    classify_from_wire({macs_, directory_.data(), setup_.overhead_bytes, uplink_->stats.rx,
                        feedback_ ? &feedback : nullptr, tunnels_.get(), &esp},
                       frames.data(), count, now, batch, vlans.data());
    for (std::uint16_t i = 0; i < feedback.count; ++i)
        feedback_->hear(feedback.frames[i], feedback.vlans[i], false, now);
    from_wire(batch, vlans.data(), now);
    if (esp.count != 0)
        from_tunnels(esp, now);
    flush_to_receivers();
    stats.packets += count;
    ++stats.bursts;
    return count;
}

void Worker::from_wire(Batch& batch, const std::uint16_t* vlans, Nanos now) {
    if (batch.count == 0)
        return;
    for (std::uint16_t first = 0; first < batch.count;) {
        const Run run = run_at(batch, first);
        if (batch.to[first] == kToAll) {
            for (std::uint16_t i = 0; i < run.count; ++i)
                flood_from_wire(run.frames[i], run.bytes[i], vlans[first + i], now);
        } else {
            from_wire_to(*directory_[batch.to[first]], run, run.count == batch.count, now);
        }
        first = static_cast<std::uint16_t>(first + run.count);
    }
}

/// Metered by the vNIC's own worker; without the tag that it had on the wire.
void Worker::from_wire_to(VnicPath& to, const Run& run, bool whole, Nanos now) {
    DirectionStats& rx = uplink_->stats.rx;
    if (to.fixed.encrypted) [[unlikely]] {
        rx.drop(DropReason::kClearText, run.count, run.bytes_total);
        rte_pktmbuf_free_bulk(run.frames, run.count);
        return;
    }
    if (to.fixed.owner != setup_.id) {
        account(rx, run, hand_over(to, run, FrameOrigin::kWire));
        return;
    }
    if (feedback_)
        feedback_->meter(to, run, now);
    Run untagged = run;
    untagged.bytes_total -= static_cast<std::uint32_t>(run.count) * to.fixed.tag_bytes;
    rx.delivered.add(run.count, run.bytes_total);
    deliver(to, untagged, whole);
    if (whole)
        bill_.charge(to);
}

void Worker::flood_from_wire(rte_mbuf* frame, std::uint32_t bytes, std::uint16_t vlan, Nanos now) {
    DirectionStats& rx = uplink_->stats.rx;
    const bool group = (read_head(frame).destination & kMacGroupBit) != 0;
    if (!wire_flood_.can_pay(1, now)) {
        rx.drop(DropReason::kFloodLimited, 1, bytes);
    } else {
        const auto takes = [=](const VnicPath& to) {
            return !to.fixed.encrypted && takes_flood(to, vlan, group);
        };
        const unsigned copies = flood_to(all_, nullptr, frame, setup_.pool, takes,
                                         [&](VnicPath& to, rte_mbuf* copy) { deliver_copy(to, copy); });
        if (copies != 0) {
            wire_flood_.pay(1, now);
            rx.delivered.add(1, bytes);
        } else {
            rx.drop(DropReason::kNoSuchMac, 1, bytes);
        }
    }
    rte_pktmbuf_free(frame);
}

unsigned Worker::poll_inbox(Nanos now) {
    std::array<rte_mbuf*, limits::kBurst> frames;
    const std::uint16_t count = setup_.inboxes[setup_.id]->take(frames.data(), limits::kBurst);
    if (count == 0)
        return 0;
    EspBurst esp;
    for (std::uint16_t i = 0; i < count; ++i) {
        if (origin_of(frames[i]) == FrameOrigin::kTunnel) {
            esp.bytes[esp.count] = frames[i]->pkt_len + setup_.overhead_bytes;
            esp.frames[esp.count++] = frames[i];
        } else {
            take_from_worker(frames[i], now);
        }
    }
    if (esp.count != 0)
        decrypt(esp, now);
    flush_to_receivers();
    return count;
}

/// Frames that reached the wrong worker's NIC queue do here what they could not do there.
void Worker::take_from_worker(rte_mbuf* frame, Nanos now) {
    const FrameOrigin origin = origin_of(frame);
    const VnicPath* to = directory_[destination_of(frame)];
    if (to != nullptr && feedback_ && origin == FrameOrigin::kFeedback) {
        feedback_->hear(frame, to->fixed.vlan, to->fixed.encrypted, now);
        return;
    }
    if (to != nullptr && feedback_ && origin == FrameOrigin::kWire) {
        OneFrame one(frame, frame->pkt_len + to->fixed.overhead_bytes + to->fixed.tag_bytes);
        feedback_->meter(*to, one.run(), now);
    }
    handoff_.vnic_gone += deliver_queued(frame).has_value();
}

}  // namespace weir
