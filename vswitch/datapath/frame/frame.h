// frame.h - the few header fields that a switch reads, straight from the frame.
// Source: IEEE 802.3, 802.1Q. Units: bytes, without FCS. Threads: any (values).
//
// The functions borrow the frame, the first mbuf of its chain, from its holder: they free and write nothing.
// They read data of the first buffer only, and check no length: the classifier has refused frames whose first
// buffer has less than kEthernetHeaderBytes.
//
// Example: a frame from 52:54:00:00:00:01 has the source 0x0100'0000'5452, and with IPv4 the type kTypeIp4.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <cstring>
#include <span>

#include "common/types.h"
#include "vswitch/base/limits.h"
#include "vswitch/ports/virtio/checksum.h"

namespace weir {

using limits::kEthernetHeaderBytes;
using limits::kVlanTagBytes;

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "frames are read as little-endian words");

inline constexpr std::uint16_t kTypeIp4 = 0x0008;  // EtherTypes in wire order, read as little-endian words
inline constexpr std::uint16_t kTypeIp6 = 0xDD86;
inline constexpr std::uint16_t kTypeTag = 0x0081;         // 802.1Q
inline constexpr std::uint16_t kTypeServiceTag = 0xA888;  // 802.1ad

[[nodiscard]] inline bool is_tag(std::uint16_t type) {
    return type == kTypeTag || type == kTypeServiceTag;
}

struct FrameHead {
    std::uint64_t destination;  ///< 48 bits, first wire byte lowest
    std::uint64_t source;       ///< likewise
    std::uint16_t type;         ///< EtherType in wire order

    [[nodiscard]] bool tagged() const { return is_tag(type); }
};

/// Reads the Ethernet header; the frame has at least kEthernetHeaderBytes in its first buffer.
[[nodiscard]] inline FrameHead read_head(const rte_mbuf* frame) {
    const auto* bytes = rte_pktmbuf_mtod(frame, const std::uint8_t*);
    std::uint64_t first;
    std::uint64_t second;
    std::memcpy(&first, bytes, sizeof(first));
    std::memcpy(&second, bytes + 6, sizeof(second));
    constexpr std::uint64_t kLow48 = 0x0000'FFFF'FFFF'FFFF;
    return {first & kLow48, second & kLow48, static_cast<std::uint16_t>(second >> 48)};
}

/// Bytes of the VLAN tags in front of the EtherType that an MTU does not count: 0, 4 or 8, at most two tags
/// (802.1ad). The frame has an Ethernet header; a tag beyond the first buffer is none.
[[nodiscard]] inline std::uint32_t tag_bytes(const rte_mbuf* frame) {
    constexpr std::uint32_t kFirstTypeAt = kEthernetHeaderBytes - sizeof(std::uint16_t);
    std::uint16_t type = read_head(frame).type;
    std::uint32_t bytes = 0;
    while (is_tag(type) && bytes < limits::kFreeTags * kVlanTagBytes &&
           frame->data_len >= kEthernetHeaderBytes + bytes + kVlanTagBytes) {
        bytes += kVlanTagBytes;
        std::memcpy(&type, rte_pktmbuf_mtod_offset(frame, const std::uint8_t*, kFirstTypeAt + bytes),
                    sizeof(type));
    }
    return bytes;
}

/// Whether a wire frame of `bytes` is longer than an MTU allows, besides its tags. The tags of a frame
/// are read only when it is too long with them.
/// @param head the frame, or the super-frame that it is a segment of  @param bytes_max MTU + Ethernet header
[[nodiscard]] inline bool exceeds(std::uint32_t bytes, const rte_mbuf* head, std::uint32_t bytes_max) {
    return bytes > bytes_max && bytes - tag_bytes(head) > bytes_max;
}

/// The bytes of the first buffer, perhaps fewer than the frame's; valid until its holder frees, adjusts or
/// passes on the frame.
[[nodiscard]] inline std::span<const std::uint8_t> first_buffer(const rte_mbuf* frame) {
    return {rte_pktmbuf_mtod(frame, const std::uint8_t*), frame->data_len};
}

/// Buffers (mbufs) that the frame keeps from the pool, as quotas count them: its own, and for each indirect
/// one, which rte_gso and flooding make, the one that holds the data.
[[nodiscard]] inline std::uint16_t buffers_of(const rte_mbuf* frame) {
    if (RTE_MBUF_CLONED(frame)) [[unlikely]]
        return static_cast<std::uint16_t>(2 * frame->nb_segs);
    if (frame->nb_segs == 1) [[likely]]
        return 1;
    return static_cast<std::uint16_t>(RTE_MBUF_CLONED(frame->next) ? 2 * frame->nb_segs - 1 : frame->nb_segs);
}

/// Other frames read the data of this buffer, of the chain this one alone: it must not be written.
[[nodiscard]] inline bool is_shared(const rte_mbuf* buffer) {
    return RTE_MBUF_CLONED(buffer) || rte_mbuf_refcnt_read(buffer) != 1;
}

/// 01:80:C2:00:00:00 .. 0F: never forwarded by a bridge.
[[nodiscard]] inline bool is_reserved_multicast(std::uint64_t destination) {
    return (destination & 0xF0FF'FFFF'FFFF) == 0x0000'00C2'8001;
}

}  // namespace weir
