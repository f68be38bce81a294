// net_header.cc - which headers a wish speaks of.
#include "vswitch/ports/virtio/net_header.h"

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include <cstddef>
#include <cstring>

#include "vswitch/ports/virtio/checksum.h"

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
    bool alone = false;  ///< no fragment
    bool exact = false;  ///< the IP packet ends where the frame ends
    bool options =
        false;  ///< of IPv4; a source route among them has another destination in the pseudo header
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
        if (ip == nullptr || ip->version_ihl >> 4 != 4 ||
            (ip->version_ihl & 0x0F) * kWordBytes < sizeof(rte_ipv4_hdr))
            return found;
        found.ip4 = true;
        found.protocol = ip->next_proto_id;
        found.upper_at = found.ip_at + (ip->version_ihl & 0x0F) * kWordBytes;
        found.alone = (ip->fragment_offset & RTE_BE16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK)) == 0;
        found.exact = found.ip_at + rte_be_to_cpu_16(ip->total_length) == frame->pkt_len;
        found.options = (ip->version_ihl & 0x0F) * kWordBytes > sizeof(rte_ipv4_hdr);
    } else if (type == RTE_BE16(RTE_ETHER_TYPE_IPV6)) {
        const auto* ip = header_at<rte_ipv6_hdr>(frame, found.ip_at);
        if (ip == nullptr || (ip->vtc_flow & RTE_BE32(0xF000'0000)) != RTE_BE32(0x6000'0000))
            return found;
        found.protocol = ip->proto;
        found.upper_at = found.ip_at + sizeof(rte_ipv6_hdr);
        found.alone = true;  // of a fragment the protocol is another
        found.exact = found.upper_at + rte_be_to_cpu_16(ip->payload_len) == frame->pkt_len;
    }
    return found;
}

/// No frame has an SCTP checksum to be filled in, and no header of no bytes: offload::valid() is false.
void refuse(rte_mbuf* frame) {
    frame->ol_flags = RTE_MBUF_F_TX_SCTP_CKSUM;
    frame->l2_len = 0;
    frame->l3_len = 0;
}

/// Whether the sum that a driver has put into the field at `field` is that of the pseudo header that the IP
/// header gives. Where there are no options nothing else is possible.
bool begun_as_usual(const Headers& found, std::uint32_t field, rte_mbuf* frame) {
    if (!found.options)
        return true;
    if (found.upper_at > field || field + sizeof(std::uint16_t) > frame->data_len)
        return false;
    std::uint16_t begun;
    std::memcpy(&begun, rte_pktmbuf_mtod_offset(frame, const std::uint8_t*, field), sizeof(begun));
    return begun ==
           checksums::pseudo_header(rte_pktmbuf_mtod_offset(frame, const std::uint8_t*, found.ip_at));
}

/// The flag with exactly the meaning of the driver's wish, 0 when there is none: a flag means TCP or UDP in
/// one IP packet right behind the IP header, with the pseudo header that this header gives.
std::uint64_t flag_of(const NetHeader& header, const Headers& found, rte_mbuf* frame) {
    if (found.upper_at == 0 || header.checksum_start != found.upper_at || !found.alone || !found.exact)
        return 0;
    const std::uint32_t field = found.upper_at + header.checksum_offset;
    if (found.protocol == kTcp && header.checksum_offset == offsetof(rte_tcp_hdr, cksum) &&
        header_at<rte_tcp_hdr>(frame, found.upper_at) != nullptr && begun_as_usual(found, field, frame))
        return RTE_MBUF_F_TX_TCP_CKSUM;
    if (found.protocol != kUdp || header.checksum_offset != offsetof(rte_udp_hdr, dgram_cksum))
        return 0;
    const auto* udp = header_at<rte_udp_hdr>(frame, found.upper_at);
    const bool fits = udp != nullptr && found.upper_at + rte_be_to_cpu_16(udp->dgram_len) == frame->pkt_len &&
                      begun_as_usual(found, field, frame);
    return fits ? RTE_MBUF_F_TX_UDP_CKSUM : 0;
}

/// @return false when the wish does not fit the frame
bool apply_checksum(const NetHeader& header, const Headers& found, rte_mbuf* frame) {
    const std::uint32_t field = std::uint32_t{header.checksum_start} + header.checksum_offset;
    if (field + sizeof(std::uint16_t) > frame->pkt_len)
        return false;
    const std::uint64_t flag = flag_of(header, found, frame);
    if (flag != 0)
        frame->ol_flags |= flag | (found.ip4 ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6);
    else
        checksums::finish(frame, header.checksum_start, field);
    return true;
}

/// Some drivers leave the length of a super-frame to the device; receivers go by it.
/// @return false when the IP header has another length than the frame
bool state_length(const Headers& found, rte_mbuf* frame) {
    auto* ip = rte_pktmbuf_mtod_offset(frame, rte_ipv4_hdr*, found.ip_at);
    if (found.exact)
        return true;
    if (ip->total_length != 0)
        return false;
    ip->total_length = rte_cpu_to_be_16(static_cast<std::uint16_t>(frame->pkt_len - found.ip_at));
    frame->ol_flags |= RTE_MBUF_F_TX_IP_CKSUM;
    return true;
}

/// Segments have the checksums that their own headers give, so that the sum that the driver has begun does
/// not matter; unless IP options leave open which pseudo header it is of.
/// @return false when the wish does not fit the frame
bool apply_segmentation(const NetHeader& header, const HeaderRights& rights, const Headers& found,
                        rte_mbuf* frame) {
    const auto kind = static_cast<std::uint8_t>(header.segmentation & ~segmentation::kEcn);
    if (kind != segmentation::kTcp4 || !rights.tso4 || header.segment_bytes == 0 || !found.ip4 ||
        !found.alone || found.upper_at == 0 || found.protocol != kTcp ||
        (header.flags & net_flag::kNeedsChecksum) == 0 || header.checksum_start != found.upper_at ||
        header.checksum_offset != offsetof(rte_tcp_hdr, cksum))
        return false;
    const auto* tcp = header_at<rte_tcp_hdr>(frame, found.upper_at);
    if (tcp == nullptr || frame->pkt_len - found.ip_at > UINT16_MAX)
        return false;
    frame->l4_len = static_cast<std::uint8_t>((tcp->data_off >> 4) * kWordBytes);
    frame->tso_segsz = header.segment_bytes;
    frame->ol_flags |= RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_IPV4;
    return state_length(found, frame) &&
           begun_as_usual(found, found.upper_at + header.checksum_offset, frame);
}

}  // namespace

void apply(const NetHeader& header, const HeaderRights& rights, rte_mbuf* frame) {
    const bool checksum = (header.flags & net_flag::kNeedsChecksum) != 0;
    const Headers found = find_headers(frame);
    constexpr std::uint32_t kL2Mask = (1U << RTE_MBUF_L2_LEN_BITS) - 1;
    constexpr std::uint32_t kL3Mask = (1U << RTE_MBUF_L3_LEN_BITS) - 1;
    frame->l2_len = found.ip_at & kL2Mask;
    frame->l3_len = (found.upper_at != 0 ? found.upper_at - found.ip_at : 0) & kL3Mask;
    const bool segments = header.segmentation != segmentation::kNone;
    if ((checksum && !rights.checksum) || (segments && !apply_segmentation(header, rights, found, frame)) ||
        (checksum && !segments && !apply_checksum(header, found, frame)))
        refuse(frame);
}

NetHeader header_of(rte_mbuf* frame) {
    NetHeader header{};
    header.buffers = 1;
    const std::uint64_t flags = frame->ol_flags;
    const bool segmented = (flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
    const std::uint64_t l4 = segmented ? RTE_MBUF_F_TX_TCP_CKSUM : flags & RTE_MBUF_F_TX_L4_MASK;
    if (l4 != RTE_MBUF_F_TX_L4_NO_CKSUM) {
        header.flags = net_flag::kNeedsChecksum;
        header.checksum_start = static_cast<std::uint16_t>(frame->l2_len + frame->l3_len);
        header.checksum_offset =
            l4 == RTE_MBUF_F_TX_UDP_CKSUM ? offsetof(rte_udp_hdr, dgram_cksum) : offsetof(rte_tcp_hdr, cksum);
        // Of a super-frame, too, with the length of the whole: a guest that cuts it again goes by it.
        checksums::write(
            frame, std::uint32_t{header.checksum_start} + header.checksum_offset,
            checksums::pseudo_header(rte_pktmbuf_mtod_offset(frame, const std::uint8_t*, frame->l2_len)));
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
