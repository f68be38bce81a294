// frames.h - frames as bytes and as mbufs, and an independent judge of their checksums.
// Source: IEEE 802.3; IEEE 802.1Q; RFC 768, 791, 793, 826, 1071, 4861, 8200; virtio 1.2 5.1.6.2.
// Units: bytes. Threads: tests only.
#pragma once

#include <cstdint>
#include <vector>

struct rte_mbuf;
struct rte_mempool;

namespace weir::testing {

using FrameBytes = std::vector<std::uint8_t>;

/// 52:54:00:00:00:nn as MacAddress::bits: first wire byte lowest.
[[nodiscard]] constexpr std::uint64_t mac(unsigned n) {
    return 0x52U | 0x54U << 8 | static_cast<std::uint64_t>(n & 0xFFU) << 40;
}
inline constexpr std::uint64_t kBroadcast = 0xFFFF'FFFF'FFFF;

inline constexpr std::uint16_t kIpv4 = 0x0800;
inline constexpr std::uint16_t kArp = 0x0806;
inline constexpr std::uint16_t kVlan = 0x8100;
inline constexpr std::uint16_t kQinQ = 0x88A8;
inline constexpr std::uint16_t kIpv6 = 0x86DD;
inline constexpr std::uint8_t kTcp = 6;
inline constexpr std::uint8_t kUdp = 17;
inline constexpr std::uint8_t kFin = 0x01;
inline constexpr std::uint8_t kPsh = 0x08;
inline constexpr std::uint8_t kAck = 0x10;

// Layers, outermost last: ethernet(to, from, kIpv4, ipv4(kUdp, udp(pattern(100)))).

/// `count` bytes, each with a value that depends on its place.
[[nodiscard]] FrameBytes pattern(std::size_t count);
[[nodiscard]] FrameBytes tcp(const FrameBytes& payload, std::uint32_t sequence = 1,
                             std::uint8_t flags = kAck);
[[nodiscard]] FrameBytes udp(const FrameBytes& payload);
[[nodiscard]] FrameBytes ipv4(std::uint8_t protocol, const FrameBytes& content, std::uint16_t id = 1);
[[nodiscard]] FrameBytes ipv6(std::uint8_t protocol, const FrameBytes& content);
[[nodiscard]] FrameBytes arp_request();
[[nodiscard]] FrameBytes neighbor_solicitation();
[[nodiscard]] FrameBytes ethernet(std::uint64_t to, std::uint64_t from, std::uint16_t type,
                                  const FrameBytes& content);
/// Puts a tag behind the MAC addresses.
[[nodiscard]] FrameBytes tagged(FrameBytes frame, std::uint16_t vlan, std::uint16_t tag_type = kVlan);
/// A plain IPv4/UDP frame of exactly `bytes` (>= 42) that carries `number` in its last four bytes.
[[nodiscard]] FrameBytes numbered(std::uint64_t to, std::uint64_t from, std::size_t bytes,
                                  std::uint32_t number);
[[nodiscard]] std::uint32_t number_of(const rte_mbuf* frame);

/// @param piece bytes per buffer of the chain; 0 = as few buffers as possible
[[nodiscard]] rte_mbuf* to_mbuf(rte_mempool* pool, const FrameBytes& frame, std::size_t piece = 0);
[[nodiscard]] FrameBytes bytes_of(const rte_mbuf* frame);

// These set the offload fields as vhost's legacy parsing leaves them on a dequeued mbuf. The frame is
// Ethernet (untagged) and IPv4 or IPv6 without options.

/// Asks for the TCP or UDP checksum.
rte_mbuf* ask_checksum(rte_mbuf* frame);
/// Asks for TCP segments with `payload` bytes each.
rte_mbuf* ask_segments(rte_mbuf* frame, std::uint16_t payload);

// The judge: RFC 1071 over plain bytes, shares nothing with the switch.

[[nodiscard]] std::uint16_t checksum(const FrameBytes& data, std::uint32_t start = 0);
[[nodiscard]] bool ip_checksum_good(const FrameBytes& frame);
/// TCP or UDP over IPv4 or IPv6; a UDP checksum of zero is no checksum and not good.
[[nodiscard]] bool l4_checksum_good(const FrameBytes& frame);

// Fields of a frame, by offset.
[[nodiscard]] std::uint16_t read16(const FrameBytes& data, std::size_t at);
[[nodiscard]] std::uint32_t read32(const FrameBytes& data, std::size_t at);
void write16(FrameBytes& data, std::size_t at, std::uint16_t value);
void write32(FrameBytes& data, std::size_t at, std::uint32_t value);

}  // namespace weir::testing
