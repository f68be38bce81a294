// kernel_frames.cc - the way to the checksum field, and the two sums that show an unfinished checksum.
#include "vswitch/ports/kernel_frames.h"

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include <cstddef>
#include <cstring>
#include <optional>

#include "vswitch/ports/virtio/checksum.h"

namespace weir {
namespace {

constexpr unsigned kTagsMost = 4;
constexpr unsigned kExtensionsMost = 8;

/// A TCP or UDP packet in one frame.
struct Packet {
    std::uint32_t ip_at = 0;
    std::uint32_t upper_at = 0;
    std::uint32_t end = 0;  ///< of the IP packet; padding may follow
    std::uint8_t protocol = 0;

    [[nodiscard]] bool udp() const { return protocol == IPPROTO_UDP; }
    [[nodiscard]] std::uint32_t field() const {
        return upper_at + static_cast<std::uint32_t>(udp() ? offsetof(rte_udp_hdr, dgram_cksum)
                                                           : offsetof(rte_tcp_hdr, cksum));
    }
};

template <typename T>
const T* header_in(const rte_mbuf* frame, std::uint32_t at) {
    return at + sizeof(T) <= frame->data_len ? rte_pktmbuf_mtod_offset(frame, const T*, at) : nullptr;
}

bool is_tag(std::uint16_t type) {
    return type == RTE_BE16(RTE_ETHER_TYPE_VLAN) || type == RTE_BE16(RTE_ETHER_TYPE_QINQ) ||
           type == RTE_BE16(RTE_ETHER_TYPE_QINQ1);
}

/// @return false when it is a fragment or no IPv4
bool read_ip4(const rte_mbuf* frame, Packet& packet) {
    constexpr std::uint32_t kWordBytes = 4;
    const auto* ip = header_in<rte_ipv4_hdr>(frame, packet.ip_at);
    if (ip == nullptr || ip->version_ihl >> 4 != 4 ||
        (ip->fragment_offset & RTE_BE16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK)) != 0)
        return false;
    packet.protocol = ip->next_proto_id;
    packet.upper_at = packet.ip_at + (ip->version_ihl & 0x0F) * kWordBytes;
    packet.end = packet.ip_at + rte_be_to_cpu_16(ip->total_length);
    return packet.upper_at >= packet.ip_at + sizeof(rte_ipv4_hdr);
}

/// @return false when it is a fragment or no IPv6
bool read_ip6(const rte_mbuf* frame, Packet& packet) {
    constexpr std::uint32_t kUnitBytes = 8;
    struct Extension {
        std::uint8_t next;
        std::uint8_t units;
    };
    const auto* ip = header_in<rte_ipv6_hdr>(frame, packet.ip_at);
    if (ip == nullptr || (ip->vtc_flow & RTE_BE32(0xF000'0000)) != RTE_BE32(0x6000'0000))
        return false;
    packet.protocol = ip->proto;
    packet.upper_at = packet.ip_at + static_cast<std::uint32_t>(sizeof(rte_ipv6_hdr));
    packet.end = packet.upper_at + rte_be_to_cpu_16(ip->payload_len);
    for (unsigned i = 0; i < kExtensionsMost; ++i) {
        if (packet.protocol != IPPROTO_HOPOPTS && packet.protocol != IPPROTO_DSTOPTS &&
            packet.protocol != IPPROTO_ROUTING)
            return true;
        const auto* extension = header_in<Extension>(frame, packet.upper_at);
        if (extension == nullptr)
            return false;
        packet.protocol = extension->next;
        packet.upper_at += (extension->units + 1U) * kUnitBytes;
    }
    return false;
}

/// A whole packet with a checksum; none for all other frames.
std::optional<Packet> find_packet(const rte_mbuf* frame) {
    const auto* ethernet = header_in<rte_ether_hdr>(frame, 0);
    if (ethernet == nullptr)
        return std::nullopt;
    std::uint16_t type = ethernet->ether_type;
    Packet packet;
    packet.ip_at = sizeof(rte_ether_hdr);
    for (unsigned tags = 0; tags < kTagsMost && is_tag(type); ++tags) {
        const auto* tag = header_in<rte_vlan_hdr>(frame, packet.ip_at);
        if (tag == nullptr)
            return std::nullopt;
        type = tag->eth_proto;
        packet.ip_at += static_cast<std::uint32_t>(sizeof(rte_vlan_hdr));
    }
    const bool read = type == RTE_BE16(RTE_ETHER_TYPE_IPV4)   ? read_ip4(frame, packet)
                      : type == RTE_BE16(RTE_ETHER_TYPE_IPV6) ? read_ip6(frame, packet)
                                                              : false;
    if (!read || (packet.protocol != IPPROTO_TCP && packet.protocol != IPPROTO_UDP))
        return std::nullopt;
    const std::uint32_t header = packet.udp() ? sizeof(rte_udp_hdr) : sizeof(rte_tcp_hdr);
    const bool whole = packet.end <= frame->pkt_len && packet.upper_at + header <= packet.end &&
                       packet.upper_at + header <= frame->data_len;
    return whole ? std::optional(packet) : std::nullopt;
}

/// Folded sum of the pseudo header, as a sender's kernel begins a checksum.
std::uint16_t pseudo_sum(const rte_mbuf* frame, const Packet& packet) {
    const std::uint32_t bytes = packet.end - packet.upper_at;
    const auto* ip = rte_pktmbuf_mtod_offset(frame, const std::uint8_t*, packet.ip_at);
    const bool v4 = *ip >> 4 == 4;
    const std::uint16_t addresses = v4 ? rte_raw_cksum(ip + offsetof(rte_ipv4_hdr, src_addr), 8)
                                       : rte_raw_cksum(ip + offsetof(rte_ipv6_hdr, src_addr), 32);
    const std::uint32_t length_and_protocol = rte_cpu_to_be_16(static_cast<std::uint16_t>(bytes)) +
                                              std::uint32_t{rte_cpu_to_be_16(packet.protocol)};
    return checksums::fold(addresses + length_and_protocol);
}

/// Sum of the packet behind its IP header, without padding; none when padding may be in the way.
std::optional<std::uint32_t> upper_sum(const rte_mbuf* frame, const Packet& packet) {
    if (frame->nb_segs == 1)
        return rte_raw_cksum(rte_pktmbuf_mtod_offset(frame, const void*, packet.upper_at),
                             packet.end - packet.upper_at);
    if (packet.end == frame->pkt_len)
        return checksums::sum_from(frame, packet.upper_at);
    return std::nullopt;
}

void finish_kernel_checksum(rte_mbuf* frame) {
    const std::optional<Packet> packet = find_packet(frame);
    if (!packet)
        return;
    std::uint16_t field;
    std::memcpy(&field, rte_pktmbuf_mtod_offset(frame, const std::uint8_t*, packet->field()), sizeof(field));
    const std::uint16_t begun = pseudo_sum(frame, *packet);
    if (field != begun) [[likely]]
        return;
    constexpr std::uint16_t kRight = 0xFFFF;
    const std::optional<std::uint32_t> sum = upper_sum(frame, *packet);
    if (!sum || checksums::fold(*sum + begun) == kRight)  // it may hold this sum and be right
        return;
    checksums::write(frame, packet->field(), checksums::not_none(*sum));
}

}  // namespace

void finish_kernel_checksums(rte_mbuf* const* frames, std::uint16_t count) {
    for (std::uint16_t i = 0; i < count; ++i)
        finish_kernel_checksum(frames[i]);
}

}  // namespace weir
