// ecn.h - congestion marks instead of drops, for flows that understand them.
// Source: RFC 3168 (ECN), RFC 1624 (checksum update). Threads: any; no state.
#pragma once

#include <rte_ip.h>
#include <rte_mbuf.h>

#include <cstdint>

#include "vswitch/datapath/frame.h"

namespace weir {

/// Sets CE in an IPv4 or IPv6 frame (with or without one VLAN tag) whose sender is ECN-capable.
/// @return whether the frame is marked now
inline bool mark_congestion(rte_mbuf* frame) {
    constexpr std::uint8_t kEcnMask = 3;
    constexpr std::uint16_t kIpv4 = 0x0008;  // EtherTypes in wire order, read as little-endian words
    constexpr std::uint16_t kIpv6 = 0xDD86;
    FrameHead head = read_head(frame);
    auto* ip = rte_pktmbuf_mtod_offset(frame, std::uint8_t*, kEthernetHeaderBytes);
    if (head.tagged()) {
        std::memcpy(&head.type, ip + 2, sizeof(head.type));
        ip += kVlanTagBytes;
    }
    const auto before = static_cast<std::uint32_t>(ip - rte_pktmbuf_mtod(frame, std::uint8_t*));
    if (head.type == kIpv4 && frame->data_len >= before + sizeof(rte_ipv4_hdr)) {
        if ((ip[1] & kEcnMask) == 0)
            return false;
        std::uint16_t old_word;
        std::memcpy(&old_word, ip, sizeof(old_word));
        ip[1] |= kEcnMask;
        std::uint16_t new_word;
        std::memcpy(&new_word, ip, sizeof(new_word));
        constexpr std::size_t kChecksumAt = 10;
        std::uint16_t checksum;
        std::memcpy(&checksum, ip + kChecksumAt, sizeof(checksum));
        std::uint32_t sum = static_cast<std::uint16_t>(~checksum) +
                            static_cast<std::uint32_t>(static_cast<std::uint16_t>(~old_word)) + new_word;
        sum = (sum & 0xFFFF) + (sum >> 16);
        checksum = static_cast<std::uint16_t>(~((sum & 0xFFFF) + (sum >> 16)));
        std::memcpy(ip + kChecksumAt, &checksum, sizeof(checksum));
        return true;
    }
    if (head.type == kIpv6 && frame->data_len >= before + sizeof(rte_ipv6_hdr)) {
        constexpr unsigned kTrafficClassShift = 4;  // the low half of the traffic class leads the second byte
        if ((ip[1] >> kTrafficClassShift & kEcnMask) == 0)
            return false;
        ip[1] |= static_cast<std::uint8_t>(kEcnMask << kTrafficClassShift);
        return true;
    }
    return false;
}

}  // namespace weir
