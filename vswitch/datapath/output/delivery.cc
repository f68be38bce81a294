// delivery.cc - Delivery: one call to the VM's port per burst, one more attempt at a full ring.
#include "vswitch/datapath/output/delivery.h"

#include <rte_mbuf.h>

#include "vswitch/datapath/frame/offload.h"
#include "vswitch/datapath/output/vm_counts.h"
#include "vswitch/datapath/requests/request_path.h"
#include "vswitch/ports/virtio/left_payload.h"

namespace weir {
Delivery::Delivery(const Setup& setup)
    : setup_(setup),
      waiting_({.worker = setup.worker,
                .bill = setup.bill,
                .tap = setup.tap,
                .directory = setup.directory,
                .source_key = setup.source_key,
                .line_rate = setup.line_rate}) {
    staged_.reserve(limits::kVnicsMax);
}

bool Delivery::gather(Batch& batch, std::uint16_t* vlans) {
    if (batch.same_destination)
        return true;
    if (!group(batch, vlans))
        return false;
    prefetch(batch);
    return true;
}

void Delivery::prefetch(const Batch& batch) {
    std::array<Port*, limits::kBurst> ports;
    std::size_t count = 0;
    for (std::uint16_t i = 0; i < batch.count; ++i) {
        if (batch.to[i] >= limits::kVnicsMax || (i != 0 && batch.to[i] == batch.to[i - 1]))
            continue;
        const VnicPath& to = *setup_.directory[batch.to[i]];
        if (is_mine(to))
            ports[count++] = to.fixed.port;
    }
    for (const auto stage : {Port::Prefetch::kIndex, Port::Prefetch::kDescriptor, Port::Prefetch::kBuffer})
        for (std::size_t i = 0; i < count; ++i)
            ports[i]->prefetch(stage);
}

std::uint16_t Delivery::deliver(const Origin& origin, VnicPath& to, const Run& run, bool whole) {
    if (!is_mine(to))
        return hand_over(to, run, FrameOrigin::kVm, origin.vm != nullptr ? origin.vm->fixed.id : kNoVnic,
                         origin.copies);
    if (to.profile.observed) [[unlikely]]
        observe(to, run, origin.now);
    if (whole && to.staging.count == 0)
        send(origin, to, run);
    else
        stage(origin, to, run);
    return run.count;
}

/// Frames that the VM will receive may answer its requests, or assign an address to it.
[[gnu::noinline]] void Delivery::observe(VnicPath& to, const Run& run, Nanos now) {
    if (to.profile.tracked && setup_.requests != nullptr)
        setup_.requests->to_vm(to, run, now);
    for (std::uint16_t i = 0; i < run.count && to.profile.addresses.learns; ++i)
        to.guard.learn(to.profile.addresses, first_buffer(run.frames[i]), now);
}

std::uint16_t Delivery::hand_over(const VnicPath& to, const Run& run, FrameOrigin kind, VnicId source,
                                  bool copies) {
    return post(to.fixed.owner, to.fixed, run, kind, source, copies);
}

std::uint16_t Delivery::hand_home(const VnicPath& member, const VnicPath& home, const Run& run) {
    return post(home.fixed.owner, member.fixed, run, FrameOrigin::kVm, member.fixed.id, false);
}

std::uint16_t Delivery::post(WorkerId worker, const VnicFixed& to, const Run& run, FrameOrigin kind,
                             VnicId source, bool copies) {
    for (std::uint16_t i = 0; i < run.count; ++i) {
        set_destination(run.frames[i], to, kind);
        set_source(run.frames[i], source);
    }
    const std::uint16_t posted = setup_.inboxes[worker]->post(run.frames, run.count);
    handoff.posted += posted;
    if (posted != run.count) [[unlikely]]
        lose(run, posted, kind, source, copies);
    return posted;
}

/// Frees frames that did not fit into the inbox; the caller counts them.
[[gnu::noinline]] void Delivery::lose(const Run& run, std::uint16_t posted, FrameOrigin kind, VnicId source,
                                      bool copies) {
    const CapturePoint point =
        kind == FrameOrigin::kWire ? CapturePoint::from_wire() : CapturePoint::from_vm(source);
    for (std::uint16_t i = posted; i < run.count && !copies; ++i)
        setup_.tap.lost(point, run.frames[i], DropReason::kWorkerRingFull);
    rte_pktmbuf_free_bulk(run.frames + posted, static_cast<unsigned>(run.count - posted));
}

/// The second attempt at a full ring, charged to the receiving VM; then the frames wait or are dropped.
/// @param sent frames that the first attempt sent  @param bytes of all `count` frames
[[gnu::noinline]] void Delivery::retry(const Origin& origin, VnicPath& to, rte_mbuf** frames,
                                       std::uint16_t count, std::uint16_t sent, std::uint64_t bytes) {
    const std::uint64_t start = setup_.bill.read();
    DirectionStats& stats = to.stats.to_vm;
    std::uint32_t took = to.fixed.port->took();
    frames += sent;
    count = static_cast<std::uint16_t>(count - sent);
    fetch_payloads({frames, count});  // they may wait
    stats.delivered.add(sent, bytes - accounted_bytes(to, frames, count));
    std::uint16_t left = drop_too_long(setup_.tap, to, frames, count);
    if (left != 0) {
        const std::uint64_t offered = accounted_bytes(to, frames, left);
        const std::uint16_t again = to.fixed.port->tx_burst(frames, left);
        frames += again;
        left = static_cast<std::uint16_t>(left - again);
        stats.delivered.add(again, offered - accounted_bytes(to, frames, left));
        left = drop_too_long(setup_.tap, to, frames, left);
        sent = static_cast<std::uint16_t>(sent + again);
        took |= to.fixed.port->took();
    }
    if (left != 0)
        waiting_.take_left(origin, to, frames, left, took, sent != 0);
    (void)to.fixed.port->take_excess();  // within the time of this call
    setup_.bill.divert_since(to, start);
}

/// A receiver whose ring is made of needless descriptors pays for them itself.
void Delivery::charge_excess(VnicPath& to) {
    if (const std::uint32_t excess = to.fixed.port->take_excess(); excess != 0) [[unlikely]]
        setup_.bill.divert(to, excess * limits::kDescriptorCycles);
}

void Delivery::send_plain(const Origin& origin, VnicPath& to, rte_mbuf** frames, std::uint16_t count,
                          std::uint64_t bytes) {
    DirectionStats& stats = to.stats.to_vm;
    stats.offered.add(count, bytes);
    if (to.pressure.receives_slowly) [[unlikely]] {
        fetch_payloads({frames, count});
        waiting_.send(origin, to, frames, count, bytes);
        charge_excess(to);
        return;
    }
    const std::uint16_t sent = to.fixed.port->tx_burst(frames, count);
    charge_excess(to);
    if (sent == count) [[likely]]
        stats.delivered.add(sent, bytes);
    else
        retry(origin, to, frames, count, sent, bytes);
}

/// A frame or super-frame, if the VM may get it: one that exceeds its MTU is dropped. Its checksums are
/// filled in when the VM does not take unfinished ones.
void Delivery::fit(const Origin& origin, VnicPath& to, rte_mbuf* frame, Fitted& fitted) {
    const bool super_frame = (frame->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
    const std::uint32_t bytes = frame->pkt_len + to.fixed.overhead_bytes;
    if (!super_frame && exceeds(frame->pkt_len, frame, to.fixed.frame_bytes_max)) {
        to.stats.to_vm.offered.add(1, bytes);
        drop_to_vm(setup_.tap, to, &frame, 1, DropReason::kMtuExceeded);
        return;
    }
    if (!offload::accepted_as_is(frame->ol_flags, to.fixed.port->offloads()))
        offload::fill_checksums(frame);
    fitted.frames[fitted.count++] = frame;
    fitted.bytes += bytes;
    if (fitted.count == limits::kBurst)
        send_fitted(origin, to, fitted);
}

void Delivery::send_fitted(const Origin& origin, VnicPath& to, Fitted& fitted) {
    send_plain(origin, to, fitted.frames.data(), fitted.count, fitted.bytes);
    fitted.count = 0;
    fitted.bytes = 0;
}

/// Fits the frames to the VM, and splits super-frames when it has no TSO; its ring is written once per burst.
[[gnu::noinline]] void Delivery::send_adapted(const Origin& origin, VnicPath& to, rte_mbuf** frames,
                                              std::uint16_t count) {
    fetch_payloads({frames, count});
    const bool splits = !to.fixed.port->offloads().tso;
    Fitted fitted;
    for (std::uint16_t i = 0; i < count; ++i) {
        rte_mbuf* frame = frames[i];
        if (!splits || (frame->ol_flags & RTE_MBUF_F_TX_TCP_SEG) == 0) {
            fit(origin, to, frame, fitted);
            continue;
        }
        offload::Segments segments;
        const std::uint16_t made = offload::split(frame, setup_.pool, segments);
        if (made == 0) {
            to.stats.to_vm.offered.add(1, frame->pkt_len + to.fixed.overhead_bytes);
            drop_to_vm(setup_.tap, to, &frame, 1, DropReason::kNoBuffer);
            continue;
        }
        for (std::uint16_t at = 0; at < made; ++at)
            fit(origin, to, segments[at], fitted);
    }
    if (fitted.count != 0)
        send_fitted(origin, to, fitted);
}

void Delivery::send(const Origin& origin, VnicPath& to, const Run& run) {
    if (run.longest > to.fixed.frame_bytes_max ||
        !offload::accepted_as_is(run.offload_flags, to.fixed.port->offloads())) [[unlikely]] {
        send_adapted(origin, to, run.frames, run.count);
    } else if (run.wire_frames_total == run.count) {
        send_plain(origin, to, run.frames, run.count, run.bytes_total);
    } else {  // super-frames pass whole: the receiver's counters count each as one frame
        send_plain(origin, to, run.frames, run.count, accounted_bytes(to, run.frames, run.count));
    }
}

void Delivery::stage(const Origin& origin, VnicPath& to, const Run& run) {
    Staging& staging = to.staging;
    if (staging.count != 0 && staging.copies != origin.copies)
        flush(origin, to);
    else if (staging.count == 0)
        staged_.push_back(&to);
    staging.copies = origin.copies;
    for (std::uint16_t i = 0; i < run.count; ++i) {
        if (staging.count == limits::kBurst)
            flush(origin, to);
        staging.frames[staging.count++] = run.frames[i];
        staging.bytes += run.frames[i]->pkt_len + to.fixed.overhead_bytes;
        staging.longest = RTE_MAX(staging.longest, run.longest);  // per frame: flush() clears both
        staging.offload_flags |= run.offload_flags;
    }
}

void Delivery::flush(const Origin& origin, VnicPath& to) {
    Staging& staging = to.staging;
    if (staging.count == 0)
        return;
    const std::uint16_t count = staging.count;
    const Run run{staging.frames.data(), nullptr, nullptr,         count,
                  staging.bytes,         count,   staging.longest, staging.offload_flags};
    staging.count = 0;
    staging.bytes = 0;
    staging.longest = 0;
    staging.offload_flags = 0;
    Origin staged = origin;
    staged.copies = staging.copies;
    send(staged, to, run);
}

void Delivery::flush(const Origin& origin) {
    for (VnicPath* to : staged_)
        flush(origin, *to);
    staged_.clear();
}

void Delivery::flush_to_receivers(const Origin& origin) {
    for (VnicPath* to : staged_) {
        flush(origin, *to);
        setup_.bill.charge(*to);
    }
    staged_.clear();
    setup_.bill.restart();
}

}  // namespace weir
