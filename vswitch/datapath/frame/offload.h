// offload.h - checksums and segments made in software, where the receiving side does not make them.
// Source: virtio 1.2 5.1.6.2; DPDK GSO library guide. Units: bytes. Threads: any worker; no state but the
// pool.
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cstdint>

#include "vswitch/ports/port.h"

namespace weir::offload {

/// Most segments that one super-frame may become: 64 KiB in segments of 256 bytes. One of a guest that would
/// become more is cut into several first (intake.h).
inline constexpr std::uint16_t kSegmentsMax = 256;
/// Least payload of a segment. Linux has none smaller (TCP_MIN_GSO_SIZE): 48 bytes of the smallest MSS, less
/// 40 of options.
inline constexpr std::uint16_t kSegmentBytesMin = 8;
using Segments = std::array<rte_mbuf*, kSegmentsMax>;

/// Whether the header lengths and the segment size that the guest stated fit the frame.
[[nodiscard]] bool fits(const rte_mbuf* frame);

/// Wire frames that the frame becomes: 1, or the segments of a super-frame. It fits().
[[nodiscard]] std::uint16_t wire_frames(const rte_mbuf* frame);

/// Whether the frame fits() and becomes at most kSegmentsMax wire frames.
[[nodiscard]] inline bool valid(const rte_mbuf* frame) {
    return fits(frame) && wire_frames(frame) <= kSegmentsMax;
}

/// Cost of splitting or copying the frame, with a plain frame in one buffer as the unit: its wire frames, or
/// its buffers if they are more. The frame is valid().
[[nodiscard]] inline std::uint16_t weight(const rte_mbuf* frame) {
    return RTE_MAX(wire_frames(frame), frame->nb_segs);
}

/// Header bytes that each further segment repeats.
[[nodiscard]] inline std::uint32_t header_bytes(const rte_mbuf* frame) {
    return static_cast<std::uint32_t>(frame->l2_len + frame->l3_len + frame->l4_len);
}

/// Bytes of all wire frames that the frame becomes, with `overhead` for each. @param frames wire_frames()
[[nodiscard]] inline std::uint32_t accounted_bytes(const rte_mbuf* frame, std::uint32_t frames,
                                                   std::uint32_t overhead) {
    return frame->pkt_len + (frames - 1) * header_bytes(frame) + frames * overhead;
}

/// Fills in the checksums that the flags ask for and clears those flags.
void fill_checksums(rte_mbuf* frame);

/// Splits a super-frame into wire frames whose checksums are still to be filled in, or into smaller
/// super-frames; on success the frame is consumed. Sequence numbers, IP ids, FIN, PSH and CWR are as one
/// split of the whole would have them.
/// @param bytes_max the longest piece; less than a segment counts as one segment
/// @return pieces in `out`, 0 when no buffer could be had (the frame stays the caller's)
[[nodiscard]] std::uint16_t split(rte_mbuf* frame, rte_mempool* pool, Segments& out,
                                  std::uint32_t bytes_max = 0);

/// Whether a receiver with these offloads can take a frame with these flags as it is.
[[nodiscard]] inline bool accepted_as_is(std::uint64_t flags, const PortOffloads& receiver) {
    return ((flags & RTE_MBUF_F_TX_TCP_SEG) == 0 || receiver.tso) &&
           ((flags & (RTE_MBUF_F_TX_L4_MASK | RTE_MBUF_F_TX_IP_CKSUM)) == 0 || receiver.checksum);
}

}  // namespace weir::offload
