// address_guard_headers.h - the header fields that the address guard reads, in frames from and to the guest.
// Source: RFC 768; RFC 791; RFC 2131; RFC 4291 A; RFC 4861; RFC 8200; RFC 8415; IEEE 802.1Q. Units: bytes.
// Threads: any (pure functions).
#pragma once

#include <cstdint>
#include <span>

#include "common/byte_order.h"
#include "vswitch/base/limits.h"
#include "vswitch/datapath/vnic/address_guard.h"

namespace weir::guard_headers {

using FrameSpan = std::span<const std::uint8_t>;

inline constexpr std::uint16_t kTypeIpv4 = 0x0800;
inline constexpr std::uint16_t kTypeArp = 0x0806;
inline constexpr std::uint16_t kTypeReverseArp = 0x8035;
inline constexpr std::uint16_t kTypeVlan = 0x8100;
inline constexpr std::uint16_t kTypeIpv6 = 0x86DD;
inline constexpr std::uint8_t kUdp = 17;
inline constexpr std::uint8_t kIcmp6 = 58;
inline constexpr std::size_t kIp4HeaderBytes = 20;
inline constexpr std::size_t kIp6HeaderBytes = 40;
inline constexpr std::size_t kUdpBytes = 8;
inline constexpr std::size_t kIcmp6Bytes = 4;

// UDP ports of DHCP and DHCPv6.
inline constexpr std::uint16_t kServer4 = 67;
inline constexpr std::uint16_t kClient4 = 68;
inline constexpr std::uint16_t kClient6 = 546;
inline constexpr std::uint16_t kServer6 = 547;

// Types of ICMPv6 messages of neighbor discovery.
inline constexpr std::uint8_t kRouterSolicitation = 133;
inline constexpr std::uint8_t kRouterAdvertisement = 134;
inline constexpr std::uint8_t kNeighborSolicitation = 135;
inline constexpr std::uint8_t kNeighborAdvertisement = 136;
inline constexpr std::uint8_t kRedirect = 137;

/// EtherType and position of the packet behind the Ethernet header and at most one tag. A frame that is too
/// short has type 0.
struct Packet {
    std::uint16_t type = 0;
    std::uint16_t at = 0;
};
[[nodiscard]] inline Packet packet_in(FrameSpan frame) {
    constexpr std::uint16_t kHead = limits::kEthernetHeaderBytes;
    constexpr std::uint16_t kTagged = kHead + limits::kVlanTagBytes;
    if (frame.size() < kHead)
        return {};
    const std::uint16_t type = be16(frame.data() + kHead - 2);
    if (type != kTypeVlan)
        return {type, kHead};
    return frame.size() < kTagged ? Packet{} : Packet{be16(frame.data() + kTagged - 2), kTagged};
}

[[nodiscard]] inline IpKey key4(const std::uint8_t* at) {
    return {0, std::uint64_t{0xFFFF} << 32 | be32(at)};
}
[[nodiscard]] inline IpKey key6(const std::uint8_t* at) {
    return {load_big<std::uint64_t>(at), load_big<std::uint64_t>(at + 8)};
}

/// As MacAddress::bits: the first byte on the wire lowest.
[[nodiscard]] inline std::uint64_t read_mac(const std::uint8_t* at) {
    return load_little<std::uint32_t>(at) | std::uint64_t{load_little<std::uint16_t>(at + 4)} << 32;
}

/// The modified EUI-64 of a MAC address (RFC 4291 A): 52:54:00:00:00:01 gives 5054:ff:fe00:1.
[[nodiscard]] inline std::uint64_t interface_id(std::uint64_t mac) {
    const std::uint64_t big = swap_bytes(mac) >> 16;  // the first byte highest
    constexpr std::uint64_t kMiddle = 0xFF'FE00'0000;
    constexpr std::uint64_t kUniversal = 0x0200'0000'0000'0000;
    return ((big >> 24 << 40) | kMiddle | (big & 0xFF'FFFF)) ^ kUniversal;
}

/// @return length of the IPv4 header; 0: it is cut, or none
[[nodiscard]] inline std::size_t ip4_header_bytes(FrameSpan ip) {
    if (ip.size() < kIp4HeaderBytes || ip[0] >> 4 != 4)
        return 0;
    const std::size_t bytes = (ip[0] & 0x0FU) * std::size_t{4};
    return bytes >= kIp4HeaderBytes && bytes <= ip.size() ? bytes : 0;
}

struct UdpPorts {
    std::uint16_t source = 0;
    std::uint16_t destination = 0;
};
/// @param end of the packet by its own length, from the IP header. @return false: the UDP header is not
/// whole
[[nodiscard]] inline bool read_ports(FrameSpan ip, std::size_t at, std::size_t end, UdpPorts& ports) {
    if (at + kUdpBytes > ip.size() || at + kUdpBytes > end)
        return false;
    ports = {be16(ip.data() + at), be16(ip.data() + at + 2)};
    return true;
}

}  // namespace weir::guard_headers
