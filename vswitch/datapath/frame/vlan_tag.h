// vlan_tag.h - puts a VLAN tag into a frame and takes it out: 12 bytes of addresses move, nothing else.
// Source: IEEE 802.1Q. Units: bytes. Threads: the frame's holder.
//
// The switch inserts the tag, not the NIC: the addresses are in the first-level cache, while a device with
// the offload on leaves its vectorized send function (ixgbe, i40e) or inserts the tag in software, too
// (virtio).
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "common/byte_order.h"
#include "vswitch/datapath/frame/frame.h"
#include "vswitch/datapath/frame/frame_word.h"

namespace weir {

inline constexpr std::size_t kAddressesBytes = 12;  // in front of a tag
inline constexpr std::uint64_t kL2LengthMask = (1U << RTE_MBUF_L2_LEN_BITS) - 1;

/// The frame's buffer is its own, and has room in front.
[[nodiscard]] inline bool takes_tag(const rte_mbuf* frame) {
    return !is_shared(frame) && !RTE_MBUF_HAS_EXTBUF(frame) && rte_pktmbuf_headroom(frame) >= kVlanTagBytes;
}

/// @param frame takes_tag()  @param control the tag's PCP, DEI and VLAN
inline void insert_tag(rte_mbuf* frame, std::uint16_t control) {
    auto* begin = reinterpret_cast<std::uint8_t*>(rte_pktmbuf_prepend(frame, kVlanTagBytes));
    std::array<std::uint8_t, kAddressesBytes> addresses;
    std::memcpy(addresses.data(), begin + kVlanTagBytes, kAddressesBytes);
    std::memcpy(begin, addresses.data(), kAddressesBytes);
    std::memcpy(begin + kAddressesBytes, &kTypeTag, sizeof(kTypeTag));
    put_be16(begin + kAddressesBytes + sizeof(kTypeTag), control);
    frame->l2_len = (frame->l2_len + kVlanTagBytes) & kL2LengthMask;
    frame->ol_flags &= ~kPriorityFlag;
}

/// Takes the outermost tag off. @param frame has one, of kTypeTag, in its first buffer
/// @return the tag's PCP, DEI and VLAN
inline std::uint16_t remove_tag(rte_mbuf* frame) {
    auto* begin = rte_pktmbuf_mtod(frame, std::uint8_t*);
    const std::uint16_t control = be16(begin + kEthernetHeaderBytes);
    std::array<std::uint8_t, kAddressesBytes> addresses;
    std::memcpy(addresses.data(), begin, kAddressesBytes);
    std::memcpy(begin + kVlanTagBytes, addresses.data(), kAddressesBytes);
    rte_pktmbuf_adj(frame, kVlanTagBytes);
    if (frame->l2_len >= kEthernetHeaderBytes + kVlanTagBytes)
        frame->l2_len = (frame->l2_len - kVlanTagBytes) & kL2LengthMask;
    return control;
}

}  // namespace weir
