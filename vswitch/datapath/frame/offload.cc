// offload.cc - software checksums and segmentation, header by header.
#include "vswitch/datapath/frame/offload.h"

#include <rte_ethdev.h>
#include <rte_gso.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include <cstddef>
#include <cstring>

#include "vswitch/datapath/frame/frame.h"
#include "vswitch/datapath/frame/frame_word.h"

namespace weir::offload {
namespace {

std::uint32_t l4_offset(const rte_mbuf* frame) {
    return static_cast<std::uint32_t>(frame->l2_len + frame->l3_len);
}

bool is_udp(std::uint64_t flags) {
    return (flags & RTE_MBUF_F_TX_L4_MASK) == RTE_MBUF_F_TX_UDP_CKSUM;
}

std::size_t l4_header_bytes_min(std::uint64_t flags) {
    return is_udp(flags) ? sizeof(rte_udp_hdr) : sizeof(rte_tcp_hdr);
}

/// The IP header that the flags and lengths speak of is there, and whole.
bool ip_header_fits(const rte_mbuf* frame) {
    constexpr unsigned kWordBytes = 4;
    const unsigned first = *rte_pktmbuf_mtod_offset(frame, const std::uint8_t*, frame->l2_len);
    if (first >> 4 == 4)
        return (first & 0x0F) * kWordBytes >= sizeof(rte_ipv4_hdr) &&
               (first & 0x0F) * kWordBytes <= frame->l3_len;
    return first >> 4 == 6 && frame->l3_len >= sizeof(rte_ipv6_hdr) &&
           (frame->ol_flags & (RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM)) == 0;
}

void write_l4_checksum(rte_mbuf* frame, std::uint16_t checksum) {
    const std::size_t field =
        is_udp(frame->ol_flags) ? offsetof(rte_udp_hdr, dgram_cksum) : offsetof(rte_tcp_hdr, cksum);
    std::memcpy(rte_pktmbuf_mtod_offset(frame, std::uint8_t*, l4_offset(frame) + field), &checksum,
                sizeof(checksum));
}

std::uint16_t l4_checksum(const rte_mbuf* frame) {
    const auto* ip = rte_pktmbuf_mtod_offset(frame, const std::uint8_t*, frame->l2_len);
    const std::uint32_t sum = checksums::sum_from(frame, l4_offset(frame)) + checksums::pseudo_header(ip);
    return is_udp(frame->ol_flags) ? checksums::not_none(sum)
                                   : static_cast<std::uint16_t>(~checksums::fold(sum));
}

/// Gives a piece the super-frame's flags that hold for it, its IP id, and the checksum of the pseudo header
/// for its length. The first piece alone keeps CWR: the congestion window was reduced once, before it (RFC
/// 3168 6.1.2).
/// @param before segments of the whole that come before the piece
void finish_piece(rte_mbuf* piece, const rte_mbuf* whole, std::uint32_t before) {
    const std::uint16_t segment_bytes = whole->tso_segsz;
    piece->ol_flags |= RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_IPV4;
    const auto* first = rte_pktmbuf_mtod_offset(whole, const rte_ipv4_hdr*, whole->l2_len);
    rte_pktmbuf_mtod_offset(piece, rte_ipv4_hdr*, whole->l2_len)->packet_id =
        rte_cpu_to_be_16(static_cast<std::uint16_t>(rte_be_to_cpu_16(first->packet_id) + before));
    if (before != 0)
        rte_pktmbuf_mtod_offset(piece, rte_tcp_hdr*, l4_offset(whole))->tcp_flags &=
            static_cast<std::uint8_t>(~RTE_TCP_CWR_FLAG);
    const auto* ip = rte_pktmbuf_mtod_offset(piece, const std::uint8_t*, whole->l2_len);
    write_l4_checksum(piece, checksums::pseudo_header(ip));
    if (piece->pkt_len > segment_bytes + header_bytes(whole)) {
        piece->ol_flags |= RTE_MBUF_F_TX_TCP_SEG;
        piece->tso_segsz = segment_bytes;
    }
    carry_on(piece, whole);
}

}  // namespace

bool fits(const rte_mbuf* frame) {
    const std::uint64_t flags = frame->ol_flags;
    if ((flags & kOffloadFlags) == 0)
        return true;
    const bool segmented = (flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
    const std::uint64_t l4 = flags & RTE_MBUF_F_TX_L4_MASK;
    if (l4 == RTE_MBUF_F_TX_SCTP_CKSUM || frame->l2_len < sizeof(rte_ether_hdr) ||
        frame->l3_len < sizeof(rte_ipv4_hdr))
        return false;
    const std::size_t l4_bytes = segmented                         ? frame->l4_len
                                 : l4 != RTE_MBUF_F_TX_L4_NO_CKSUM ? l4_header_bytes_min(flags)
                                                                   : 0;
    if (l4_offset(frame) + l4_bytes > frame->data_len || !ip_header_fits(frame))
        return false;
    if (!segmented)
        return true;
    return frame->tso_segsz >= kSegmentBytesMin && frame->l4_len >= sizeof(rte_tcp_hdr) &&
           frame->tso_segsz + header_bytes(frame) <= UINT16_MAX &&
           frame->pkt_len - frame->l2_len <= UINT16_MAX && (flags & RTE_MBUF_F_TX_IPV4) != 0;
}

std::uint16_t wire_frames(const rte_mbuf* frame) {
    if ((frame->ol_flags & RTE_MBUF_F_TX_TCP_SEG) == 0)
        return 1;
    const std::uint32_t payload = frame->pkt_len - header_bytes(frame);
    const std::uint32_t segments = (payload + frame->tso_segsz - 1) / frame->tso_segsz;
    return static_cast<std::uint16_t>(RTE_MAX(1U, RTE_MIN(segments, 0xFFFFU)));
}

void fill_checksums(rte_mbuf* frame) {
    if ((frame->ol_flags & RTE_MBUF_F_TX_IP_CKSUM) != 0 ||
        ((frame->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0 && (frame->ol_flags & RTE_MBUF_F_TX_IPV4) != 0)) {
        auto* ip = rte_pktmbuf_mtod_offset(frame, rte_ipv4_hdr*, frame->l2_len);
        ip->hdr_checksum = 0;
        ip->hdr_checksum = rte_ipv4_cksum(ip);
    }
    if ((frame->ol_flags & RTE_MBUF_F_TX_L4_MASK) != RTE_MBUF_F_TX_L4_NO_CKSUM) {
        write_l4_checksum(frame, 0);
        write_l4_checksum(frame, l4_checksum(frame));
    }
    frame->ol_flags &= ~(RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK | RTE_MBUF_F_TX_TCP_SEG);
}

std::uint16_t split(rte_mbuf* frame, rte_mempool* pool, Segments& out, std::uint32_t bytes_max) {
    const std::uint16_t segment_bytes = frame->tso_segsz;
    const std::uint32_t headers = header_bytes(frame);
    const std::uint32_t segments =
        RTE_MAX(1U, (RTE_MAX(bytes_max, headers) - headers) / segment_bytes);  // of one piece
    rte_gso_ctx context{};
    context.direct_pool = pool;
    context.indirect_pool = pool;
    context.gso_types = RTE_ETH_TX_OFFLOAD_TCP_TSO;
    context.gso_size = static_cast<std::uint16_t>(segments * segment_bytes + headers);
    const int made = rte_gso_segment(frame, &context, out.data(), kSegmentsMax);
    if (made < 0)
        return 0;
    if (made == 0) {  // it fits: only the flag may be in the way
        if (segments == 1)
            frame->ol_flags &= ~RTE_MBUF_F_TX_TCP_SEG;
        frame->ol_flags |= RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_IP_CKSUM;
        out[0] = frame;
        return 1;
    }
    for (int i = 0; i < made; ++i)
        finish_piece(out[static_cast<std::size_t>(i)], frame, static_cast<std::uint32_t>(i) * segments);
    rte_pktmbuf_free(frame);
    return static_cast<std::uint16_t>(made);
}

}  // namespace weir::offload
