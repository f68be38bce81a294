// delivery.cc - one enqueue call per burst, one retry, then drop.
#include "vswitch/datapath/delivery.h"

#include <rte_mbuf.h>

#include "vswitch/datapath/frame.h"
#include "vswitch/datapath/offload.h"

namespace weir {

void Delivery::drop(VnicPath& to, rte_mbuf** frames, std::uint16_t count, DropReason reason) {
    std::uint64_t bytes = 0;
    for (std::uint16_t i = 0; i < count; ++i)
        bytes += frames[i]->pkt_len + to.fixed.overhead_bytes;
    to.stats.to_vm.drop(reason, count, bytes);
    rte_pktmbuf_free_bulk(frames, count);
}

/// Once more towards a ring that was full, then they are dropped; the VM pays for it. @return frames sent
[[gnu::noinline]] std::uint16_t Delivery::retry(VnicPath& to, rte_mbuf** frames, std::uint16_t count) {
    const std::uint64_t start = rte_rdtsc();
    const std::uint16_t sent = to.fixed.port->tx_burst(frames, count);
    if (sent < count)
        drop(to, frames + sent, static_cast<std::uint16_t>(count - sent),
             to.fixed.port->up() ? DropReason::kVmRingFull : DropReason::kVmDown);
    bill_.divert(to, rte_rdtsc() - start);
    return sent;
}

void Delivery::send_plain(VnicPath& to, rte_mbuf** frames, std::uint16_t count, std::uint64_t bytes) {
    DirectionStats& stats = to.stats.to_vm;
    stats.offered.add(count, bytes);
    const std::uint64_t dropped_before = stats.dropped.bytes;
    std::uint16_t sent = to.fixed.port->tx_burst(frames, count);
    if (sent < count) [[unlikely]]
        sent = static_cast<std::uint16_t>(sent +
                                          retry(to, frames + sent, static_cast<std::uint16_t>(count - sent)));
    stats.delivered.add(sent, bytes - (stats.dropped.bytes - dropped_before));
}

/// Refused when it is too long, with the checksums that the receiver wants.
void Delivery::send_one(VnicPath& to, rte_mbuf* frame) {
    const bool super_frame = (frame->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
    const std::uint32_t bytes = frame->pkt_len + to.fixed.overhead_bytes;
    if (!super_frame && frame->pkt_len > to.fixed.frame_bytes_max) {
        to.stats.to_vm.offered.add(1, bytes);
        drop(to, &frame, 1, DropReason::kMtuExceeded);
        return;
    }
    if (!offload::accepted_as_is(frame->ol_flags, to.fixed.port->offloads()))
        offload::fill_checksums(frame);
    send_plain(to, &frame, 1, bytes);
}

/// Frame by frame: super-frames are split where the receiver does not take them.
[[gnu::noinline]] void Delivery::send_adapted(VnicPath& to, rte_mbuf** frames, std::uint16_t count) {
    const bool splits = !to.fixed.port->offloads().tso;
    for (std::uint16_t i = 0; i < count; ++i) {
        rte_mbuf* frame = frames[i];
        if (!splits || (frame->ol_flags & RTE_MBUF_F_TX_TCP_SEG) == 0) {
            send_one(to, frame);
            continue;
        }
        offload::Segments segments;
        const std::uint16_t made = offload::split(frame, pool_, segments);
        if (made == 0) {
            to.stats.to_vm.offered.add(1, frame->pkt_len + to.fixed.overhead_bytes);
            drop(to, &frame, 1, DropReason::kNoBuffer);
            continue;
        }
        for (std::uint16_t at = 0; at < made; ++at)
            send_one(to, segments[at]);
    }
}

void Delivery::send(VnicPath& to, const Run& run) {
    if (run.longest > to.fixed.frame_bytes_max ||
        !offload::accepted_as_is(run.offload_flags, to.fixed.port->offloads())) [[unlikely]] {
        send_adapted(to, run.frames, run.count);
    } else if (run.wire_frames_total == run.count) {
        send_plain(to, run.frames, run.count, run.bytes_total);
    } else {  // super-frames pass whole: to the receiver each counts as the one frame that it gets
        std::uint64_t bytes = 0;
        for (std::uint16_t i = 0; i < run.count; ++i)
            bytes += run.frames[i]->pkt_len + to.fixed.overhead_bytes;
        send_plain(to, run.frames, run.count, bytes);
    }
}

void Delivery::stage(VnicPath& to, const Run& run) {
    Staging& staging = to.staging;
    for (std::uint16_t i = 0; i < run.count; ++i) {
        if (staging.count == limits::kBurst)
            flush(to);
        staging.frames[staging.count++] = run.frames[i];
        staging.bytes += run.frames[i]->pkt_len + to.fixed.overhead_bytes;
        staging.longest = RTE_MAX(staging.longest, run.longest);  // flush() has forgotten them
        staging.offload_flags |= run.offload_flags;
    }
}

void Delivery::flush(VnicPath& to) {
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
    send(to, run);
}

}  // namespace weir
