// net_header.cc - which headers a wish speaks of.
#include "vswitch/ports/virtio/net_header.h"

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_net.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include <cstddef>

namespace weir::virtio {
namespace {

constexpr std::uint8_t kTcp = IPPROTO_TCP;
constexpr std::uint8_t kUdp = IPPROTO_UDP;
constexpr std::uint32_t kWordBytes = 4;
constexpr unsigned kTagsMost = 2;

/// The headers that begin a frame, as far as its first buffer has them.
struct Headers {
    std::uint32_t ip_at = 0;
    std::uint32_t upper_at = 0;  ///< 0: no IP header that is whole
    std::uint8_t protocol = 0;
    bool ip4 = false;
};

template <typename T>
const T* header_at(const rte_mbuf* frame, std::uint32_t at) {
    return at + sizeof(T) <= frame->data_len ? rte_pktmbuf_mtod_offset(frame, const T*, at) : nullptr;
}

Headers find_headers(const rte_mbuf* frame) {
    Headers found;
    const auto* ethernet = header_at<rte_ether_hdr>(frame, 0);
    if (ethernet == nullptr)
        return found;
    std::uint16_t type = ethernet->ether_type;
    found.ip_at = sizeof(rte_ether_hdr);
    for (unsigned tags = 0;
         tags < kTagsMost && (type == RTE_BE16(RTE_ETHER_TYPE_VLAN) || type == RTE_BE16(RTE_ETHER_TYPE_QINQ));
         ++tags) {
        const auto* tag = header_at<rte_vlan_hdr>(frame, found.ip_at);
        if (tag == nullptr)
            return found;
        type = tag->eth_proto;
        found.ip_at += sizeof(rte_vlan_hdr);
    }
    if (type == RTE_BE16(RTE_ETHER_TYPE_IPV4)) {
        const auto* ip = header_at<rte_ipv4_hdr>(frame, found.ip_at);
        if (ip == nullptr || (ip->version_ihl & 0x0F) * kWordBytes < sizeof(rte_ipv4_hdr))
            return found;
        found.ip4 = true;
        found.protocol = ip->next_proto_id;
        found.upper_at = found.ip_at + (ip->version_ihl & 0x0F) * kWordBytes;
    } else if (type == RTE_BE16(RTE_ETHER_TYPE_IPV6)) {
        const auto* ip = header_at<rte_ipv6_hdr>(frame, found.ip_at);
        if (ip == nullptr)
            return found;
        found.protocol = ip->proto;
        found.upper_at = found.ip_at + sizeof(rte_ipv6_hdr);
    }
    return found;
}

/// No frame has an SCTP checksum to be filled in, and no header of no bytes: offload::valid() is false.
void refuse(rte_mbuf* frame) {
    frame->ol_flags = RTE_MBUF_F_TX_SCTP_CKSUM;
    frame->l2_len = 0;
    frame->l3_len = 0;
}

/// The checksum over all from `start` on, which the driver has begun with that of the pseudo header, at once.
void fill_in(rte_mbuf* frame, std::uint32_t start, std::uint32_t field) {
    std::uint32_t sum = 0;
    bool odd = false;
    std::uint32_t skip = start;
    for (const rte_mbuf* part = frame; part != nullptr; part = part->next) {
        const std::uint32_t begin = RTE_MIN(skip, std::uint32_t{part->data_len});
        const std::uint32_t bytes = part->data_len - begin;
        const std::uint16_t of_part = rte_raw_cksum(rte_pktmbuf_mtod_offset(part, const void*, begin), bytes);
        sum += odd ? rte_bswap16(of_part) : of_part;
        odd ^= bytes % 2 != 0;
        skip -= begin;
    }
    sum = (sum & 0xFFFF) + (sum >> 16);
    auto checksum = static_cast<std::uint16_t>(~((sum & 0xFFFF) + (sum >> 16)));
    if (checksum == 0)
        checksum = 0xFFFF;  // UDP's zero says: none; the same for the others
    std::memcpy(rte_pktmbuf_mtod_offset(frame, std::uint8_t*, field), &checksum, sizeof(checksum));
}

/// @return false when the wish does not fit the frame
bool apply_checksum(const NetHeader& header, const Headers& found, rte_mbuf* frame) {
    const std::uint32_t field = std::uint32_t{header.checksum_start} + header.checksum_offset;
    if (header.checksum_start >= frame->pkt_len || field + sizeof(std::uint16_t) > frame->data_len)
        return false;
    const bool usual = found.upper_at != 0 && header.checksum_start == found.upper_at;
    if (usual && found.protocol == kTcp && header.checksum_offset == offsetof(rte_tcp_hdr, cksum)) {
        frame->ol_flags |= RTE_MBUF_F_TX_TCP_CKSUM;
    } else if (usual && found.protocol == kUdp &&
               header.checksum_offset == offsetof(rte_udp_hdr, dgram_cksum)) {
        frame->ol_flags |= RTE_MBUF_F_TX_UDP_CKSUM;
    } else {
        fill_in(frame, header.checksum_start, field);
        return true;
    }
    frame->ol_flags |= found.ip4 ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6;
    return true;
}

/// @return false when the wish does not fit the frame
bool apply_segmentation(const NetHeader& header, const HeaderRights& rights, const Headers& found,
                        rte_mbuf* frame) {
    const auto kind = static_cast<std::uint8_t>(header.segmentation & ~segmentation::kEcn);
    if (kind != segmentation::kTcp4 || !rights.tso4 || header.segment_bytes == 0 || !found.ip4 ||
        (frame->ol_flags & RTE_MBUF_F_TX_L4_MASK) != RTE_MBUF_F_TX_TCP_CKSUM)
        return false;
    const auto* tcp = header_at<rte_tcp_hdr>(frame, found.upper_at);
    if (tcp == nullptr)
        return false;
    frame->ol_flags |= RTE_MBUF_F_TX_TCP_SEG;
    frame->tso_segsz = header.segment_bytes;
    frame->l4_len = static_cast<std::uint8_t>((tcp->data_off >> 4) * kWordBytes);
    return true;
}

}  // namespace

void apply(const NetHeader& header, const HeaderRights& rights, rte_mbuf* frame) {
    const bool checksum = (header.flags & net_flag::kNeedsChecksum) != 0;
    const Headers found = find_headers(frame);
    constexpr std::uint32_t kL2Mask = (1U << RTE_MBUF_L2_LEN_BITS) - 1;
    constexpr std::uint32_t kL3Mask = (1U << RTE_MBUF_L3_LEN_BITS) - 1;
    frame->l2_len = found.ip_at & kL2Mask;
    frame->l3_len = (found.upper_at != 0 ? found.upper_at - found.ip_at : 0) & kL3Mask;
    if ((checksum && (!rights.checksum || !apply_checksum(header, found, frame))) ||
        (header.segmentation != segmentation::kNone && !apply_segmentation(header, rights, found, frame)))
        refuse(frame);
}

NetHeader header_of(rte_mbuf* frame) {
    NetHeader header{};
    header.buffers = 1;
    const std::uint64_t flags = frame->ol_flags;
    const bool segmented = (flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
    const std::uint64_t l4 = segmented ? RTE_MBUF_F_TX_TCP_CKSUM : flags & RTE_MBUF_F_TX_L4_MASK;
    if (l4 != RTE_MBUF_F_TX_L4_NO_CKSUM) {
        rte_net_intel_cksum_prepare(frame);
        header.flags = net_flag::kNeedsChecksum;
        header.checksum_start = static_cast<std::uint16_t>(frame->l2_len + frame->l3_len);
        header.checksum_offset =
            l4 == RTE_MBUF_F_TX_UDP_CKSUM ? offsetof(rte_udp_hdr, dgram_cksum) : offsetof(rte_tcp_hdr, cksum);
    }
    if ((flags & RTE_MBUF_F_TX_IP_CKSUM) != 0) {
        auto* ip = rte_pktmbuf_mtod_offset(frame, rte_ipv4_hdr*, frame->l2_len);
        ip->hdr_checksum = 0;
        ip->hdr_checksum = rte_ipv4_cksum(ip);
    }
    if (segmented) {
        header.segmentation = segmentation::kTcp4;
        header.segment_bytes = frame->tso_segsz;
        header.header_bytes = static_cast<std::uint16_t>(header.checksum_start + frame->l4_len);
    }
    return header;
}

}  // namespace weir::virtio
