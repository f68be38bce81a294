// batch.h - one burst of classified frames, as parallel arrays on the worker's stack, and runs of it.
// Units: bytes as accounted. Threads: owning worker.
//
// A classifier fills a batch, its caller takes runs from it (classifier.h has the loop), and each run goes to
// one function that consumes its frames: Uplink::send(), Delivery::deliver(), Floods::from_vm(). Batches and
// runs own no frame and free none. A run points into its batch or OneFrame, which outlives it.
//
// Example: a burst for B, B, C, B has three runs; grouped, B, B, B, C, it has two. Each is delivered, counted
// and paid as one.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>

#include "vswitch/base/burst_groups.h"
#include "vswitch/base/limits.h"
#include "vswitch/base/stats.h"
#include "vswitch/datapath/frame/destination.h"
#include "vswitch/datapath/frame/frame.h"
#include "vswitch/datapath/frame/offload.h"

namespace weir {

/// The first `count` entries of the arrays are valid. RequestPath::from_vm() takes frames out, and corrects
/// arrays, `count` and totals. `longest` and `offload_flags` are bounds: they include frames that were
/// refused or taken out.
struct Batch {
    std::array<rte_mbuf*, limits::kBurst> frames;
    std::array<std::uint32_t, limits::kBurst> bytes;        ///< accounted, of all its wire frames together
    std::array<std::uint16_t, limits::kBurst> wire_frames;  ///< > 1 for a TSO super-frame
    std::array<Destination, limits::kBurst> to;
    std::uint16_t count = 0;
    std::uint32_t bytes_total = 0;
    std::uint32_t wire_frames_total = 0;
    std::uint32_t longest = 0;        ///< single frame without FCS, for the MTU check; super-frames excluded
    std::uint64_t offload_flags = 0;  ///< OR of the senders' kOffloadFlags
    bool same_destination = true;     ///< false: `to` may differ
};

/// A run of frames inside a batch that go to one destination; fields as in Batch. The consumer may reorder
/// the pointers.
struct Run {
    rte_mbuf** frames;
    const std::uint32_t* bytes;        ///< nullptr inside of Delivery
    const std::uint16_t* wire_frames;  ///< likewise
    std::uint16_t count;               ///< 1 at least
    std::uint32_t bytes_total;
    std::uint32_t wire_frames_total;
    std::uint32_t longest;
    std::uint64_t offload_flags;
};

/// All frames of a batch that has some; with `same_destination` only.
[[nodiscard]] inline Run whole_run(Batch& batch) {
    return {batch.frames.data(), batch.bytes.data(), batch.wire_frames.data(),
            batch.count,         batch.bytes_total,  batch.wire_frames_total,
            batch.longest,       batch.offload_flags};
}

/// The longest run of one destination that starts at `first`, which is below `count`. Its `longest` and
/// `offload_flags` are the batch's.
[[nodiscard]] inline Run run_at(Batch& batch, std::uint16_t first) {
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

/// Brings the frames for one destination together: destinations by their first frames, the frames of each in
/// their order. A burst with a frame for all is left as it is, since that one may not overtake nor be
/// overtaken.
/// @param vlans nullptr, or one more array of the batch  @return whether each destination has one run
[[nodiscard]] inline bool group(Batch& batch, std::uint16_t* vlans = nullptr) {
    constexpr std::size_t kSlots = 2 * limits::kBurst;  // a power of two
    constexpr std::uint8_t kFree = UINT8_MAX;
    std::array<std::uint8_t, kSlots> groups;  // by hash of the destination
    groups.fill(kFree);
    std::array<std::uint8_t, limits::kBurst> group_of;
    std::array<Destination, limits::kBurst> destinations;
    std::uint8_t count = 0;
    for (std::uint16_t i = 0; i < batch.count; ++i) {
        const Destination to = batch.to[i];
        if (to == kToAll)
            return false;
        std::size_t slot = to % kSlots;
        while (groups[slot] != kFree && destinations[groups[slot]] != to)
            slot = (slot + 1) % kSlots;
        if (groups[slot] == kFree) {
            destinations[count] = to;
            groups[slot] = count++;
        }
        group_of[i] = groups[slot];
    }
    const BurstGroups places({group_of.data(), batch.count});
    const Batch before = batch;
    std::array<std::uint16_t, limits::kBurst> vlans_before;
    if (vlans != nullptr)
        std::copy_n(vlans, batch.count, vlans_before.begin());
    for (std::uint16_t i = 0; i < batch.count; ++i) {
        const std::uint8_t at = places.place(i);
        batch.frames[at] = before.frames[i];
        batch.bytes[at] = before.bytes[i];
        batch.wire_frames[at] = before.wire_frames[i];
        batch.to[at] = before.to[i];
        if (vlans != nullptr)
            vlans[at] = vlans_before[i];
    }
    return true;
}

/// Counts the first `delivered` frames of the run as delivered; the rest did not fit into another worker's
/// inbox. Reads no frame: Delivery has consumed them, as in account(stats, run, delivery.deliver(...)).
inline void account(DirectionStats& stats, const Run& run, std::uint16_t delivered) {
    if (delivered == run.count) [[likely]] {
        stats.delivered.add(run.count, run.bytes_total);
        return;
    }
    const std::uint64_t bytes = std::accumulate(run.bytes, run.bytes + delivered, std::uint64_t{0});
    stats.delivered.add(delivered, bytes);
    stats.drop(DropReason::kWorkerRingFull, static_cast<std::uint64_t>(run.count - delivered),
               run.bytes_total - bytes);
}

/// A single frame as a run, which points into this. The frame is offload::valid(), and the caller's until the
/// run is consumed. @param accounted_bytes of all its wire frames together
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

}  // namespace weir
