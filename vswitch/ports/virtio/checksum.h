// checksum.h - checksums over frames in several buffers, and the flags that ask for them.
// Source: RFC 768; RFC 1071; virtio 1.2 5.1.6.2; DPDK mbuf library guide. Units: bytes. Threads: any (pure).
//
// Sums are ones' complement sums of 16-bit words in the order of the wire, not inverted. Offsets count from
// the frame's first byte and may lie in any of its buffers.
#pragma once

#include <rte_ip.h>
#include <rte_mbuf.h>

#include <cstdint>

namespace weir {

/// The offloads a sender asked for: flags of dequeued frames, and of frames on their way to a NIC.
inline constexpr std::uint64_t kOffloadFlags =
    RTE_MBUF_F_TX_L4_MASK | RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IP_CKSUM;

namespace checksums {

[[nodiscard]] inline std::uint16_t fold(std::uint32_t sum) {
    sum = (sum & 0xFFFF) + (sum >> 16);
    return static_cast<std::uint16_t>((sum & 0xFFFF) + (sum >> 16));
}

/// The checksum that belongs to a sum, as UDP sends it: its 0 says that there is none, so that 0 becomes
/// 0xFFFF, which is the same to all others.
[[nodiscard]] inline std::uint16_t not_none(std::uint32_t sum) {
    const auto inverted = static_cast<std::uint16_t>(~fold(sum));
    return inverted == 0 ? 0xFFFF : inverted;
}

/// Sum of the bytes from `at` to the frame's end. rte_raw_cksum_mbuf loses carries (seen in DPDK 22.11) when
/// a buffer of the chain has an odd length, as segments of odd sizes do.
[[nodiscard]] inline std::uint32_t sum_from(const rte_mbuf* frame, std::uint32_t at) {
    std::uint32_t sum = 0;
    bool odd = false;
    for (const rte_mbuf* part = frame; part != nullptr; part = part->next) {
        const std::uint32_t begin = RTE_MIN(at, std::uint32_t{part->data_len});
        const std::uint32_t bytes = part->data_len - begin;
        const std::uint16_t of_part = rte_raw_cksum(rte_pktmbuf_mtod_offset(part, const void*, begin), bytes);
        sum += odd ? rte_bswap16(of_part) : of_part;
        odd ^= bytes % 2 != 0;
        at -= begin;
    }
    return sum;
}

/// Sum of the pseudo header for the bytes behind the IP header at `ip`, by the IP header's own length.
/// @param ip the IPv4 header with its options, or the IPv6 header, in one piece
[[nodiscard]] inline std::uint16_t pseudo_header(const std::uint8_t* ip) {
    return *ip >> 4 == 4 ? rte_ipv4_phdr_cksum(reinterpret_cast<const rte_ipv4_hdr*>(ip), 0)
                         : rte_ipv6_phdr_cksum(reinterpret_cast<const rte_ipv6_hdr*>(ip), 0);
}

/// Writes a checksum or a sum, whose two bytes the frame has at `at`, perhaps in two buffers.
inline void write(rte_mbuf* frame, std::uint32_t at, std::uint16_t value) {
    rte_mbuf* part = frame;
    for (unsigned byte = 0; byte < sizeof(value); ++byte) {
        for (; at >= part->data_len; part = part->next)
            at -= part->data_len;
        *rte_pktmbuf_mtod_offset(part, std::uint8_t*, at++) = static_cast<std::uint8_t>(value >> 8 * byte);
    }
}

/// Finishes a checksum that its sender has begun: sums the bytes from `start` on, among them the begun sum in
/// the two bytes at `field`, which the frame has.
inline void finish(rte_mbuf* frame, std::uint32_t start, std::uint32_t field) {
    write(frame, field, not_none(sum_from(frame, start)));
}

}  // namespace checksums
}  // namespace weir
