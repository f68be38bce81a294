// left_payload.h - a frame whose payload is still in its sender's memory: one copy from guest to guest.
// Source: docs/design.md 4. Units: bytes. Threads: the frame's holder.
//
// A burst of a guest may be taken with the heads of its long frames alone (Port::rx_burst()). A decision is
// made on the private copy of the head, and a frame that goes straight into another guest's ring is copied
// there from its sender's memory: its length was fixed before, and the payload is no one's decision. A frame
// on any other way has its payload fetched first, so that all other code sees whole frames. The sender may
// change a payload until then, as it may before it sends a frame.
//
// Example: of a frame of 1,500 bytes 128 are in the buffer (data_len), and left_payload() points to 1,372.
#pragma once

#include <rte_mbuf.h>
#include <rte_memcpy.h>

#include <cstdint>
#include <span>

namespace weir {

/// Bytes of a frame that are copied at once: every header that decides where it goes.
inline constexpr std::uint32_t kHeadBytes = 128;
/// The payload of shorter frames is not left: two copies of so little cost less than the detour.
inline constexpr std::uint32_t kLeftFromBytes = 384;

[[nodiscard]] inline bool payload_is_left(const rte_mbuf* frame) {
    return frame->data_len != frame->pkt_len && frame->nb_segs == 1;
}
/// Where its bytes behind data_len are. DPDK reads the field of attached buffers alone.
[[nodiscard]] inline const std::uint8_t* left_payload(const rte_mbuf* frame) {
    return reinterpret_cast<const std::uint8_t*>(frame->shinfo);
}
/// Of the frame's pkt_len bytes data_len are in its buffer, which has room for all; the others are here.
inline void leave_payload(rte_mbuf* frame, std::uint8_t* payload) {
    frame->shinfo = reinterpret_cast<rte_mbuf_ext_shared_info*>(payload);
}
/// Makes the frame whole.
inline void fetch_payload(rte_mbuf* frame) {
    if (!payload_is_left(frame))
        return;
    const std::uint32_t left = frame->pkt_len - frame->data_len;
    rte_memcpy(rte_pktmbuf_mtod_offset(frame, void*, frame->data_len), left_payload(frame), left);
    frame->data_len = static_cast<std::uint16_t>(frame->pkt_len);
}
inline void fetch_payloads(std::span<rte_mbuf* const> frames) {
    for (rte_mbuf* frame : frames)
        fetch_payload(frame);
}

}  // namespace weir
