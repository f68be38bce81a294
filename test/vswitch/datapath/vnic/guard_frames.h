// guard_frames.h - frames with chosen addresses, for the tests of the address guard.
// Source: RFC 826; RFC 2131; RFC 4861; RFC 8415. Units: bytes. Threads: tests only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "common/ip_address.h"
#include "test/support/frames.h"

namespace weir::testing {

inline constexpr std::uint8_t kIcmp6 = 58;

// The types of neighbor discovery.
inline constexpr std::uint8_t kRouterSolicitation = 133;
inline constexpr std::uint8_t kRouterAdvertisement = 134;
inline constexpr std::uint8_t kNeighborSolicitation = 135;
inline constexpr std::uint8_t kNeighborAdvertisement = 136;
inline constexpr std::uint8_t kRedirect = 137;

inline FrameBytes operator+(FrameBytes first, const FrameBytes& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

/// The bytes of an address, as in a packet.
inline FrameBytes ip_bytes(const std::string& text) {
    const IpAddress address = IpAddress::parse(text).value();
    return {address.bytes.begin(), address.bytes.begin() + (address.v6 ? 16 : 4)};
}
inline FrameBytes mac_bytes(std::uint64_t mac) {
    FrameBytes bytes(6);
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::uint8_t>(mac >> 8 * i);
    return bytes;
}

inline FrameBytes udp_between(std::uint16_t from, std::uint16_t to, const FrameBytes& payload) {
    FrameBytes datagram = udp(payload);
    write16(datagram, 0, from);
    write16(datagram, 2, to);
    return datagram;
}

/// A packet of either family, by the family of the source.
inline FrameBytes ip_from(const std::string& source, std::uint8_t protocol, const FrameBytes& content) {
    const FrameBytes address = ip_bytes(source);
    FrameBytes packet = address.size() == 4 ? ipv4(protocol, content) : ipv6(protocol, content);
    std::copy(address.begin(), address.end(), packet.begin() + (address.size() == 4 ? 12 : 8));
    return packet;
}
inline FrameBytes frame_of(const FrameBytes& packet, std::uint64_t from = mac(1), std::uint64_t to = mac(2)) {
    return ethernet(to, from, packet[0] >> 4 == 4 ? kIpv4 : kIpv6, packet);
}
inline FrameBytes frame_from(const std::string& source, std::uint8_t protocol = kUdp,
                             const FrameBytes& content = udp(pattern(20))) {
    return frame_of(ip_from(source, protocol, content));
}

inline FrameBytes arp_from(std::uint64_t hardware, const std::string& sender, const std::string& target,
                           std::uint16_t operation = 1, std::uint16_t type = kArp) {
    FrameBytes packet = arp_request();
    write16(packet, 6, operation);
    const FrameBytes names = mac_bytes(hardware) + ip_bytes(sender) + FrameBytes(6) + ip_bytes(target);
    std::copy(names.begin(), names.end(), packet.begin() + 8);
    return ethernet(kBroadcast, mac(1), type, packet);
}

/// A link-layer option: 1 of the source, 2 of the target.
inline FrameBytes link_option(std::uint8_t type, std::uint64_t hardware) {
    return FrameBytes{type, 1} + mac_bytes(hardware);
}
/// A message of neighbor discovery. @param target empty: the type has none
inline FrameBytes neighbor_message(std::uint8_t type, const std::string& target, const FrameBytes& options) {
    FrameBytes message(type == kRouterAdvertisement ? 16 : 8);
    message[0] = type;
    return (target.empty() ? message : message + ip_bytes(target)) + options;
}
inline FrameBytes neighbor_frame(const std::string& source, std::uint8_t type, const std::string& target,
                                 const FrameBytes& options) {
    FrameBytes packet = ip_from(source, kIcmp6, neighbor_message(type, target, options));
    packet[7] = 255;
    return frame_of(packet);
}
/// A prefix for SLAAC, in a router advertisement.
inline FrameBytes prefix_option(const std::string& prefix, std::uint32_t valid, std::uint8_t flags = 0xC0,
                                std::uint8_t bits = 64) {
    FrameBytes option{3, 4, bits, flags};
    option.resize(16);
    write32(option, 4, valid);
    return option + ip_bytes(prefix);
}

/// A DHCP message with the type, followed by the other options.
inline FrameBytes dhcp(std::uint8_t operation, std::uint8_t type, std::uint64_t client,
                       const std::string& assigned, const FrameBytes& options = {}) {
    FrameBytes message(240);
    message[0] = operation;
    message[1] = 1;
    message[2] = 6;
    const FrameBytes address = ip_bytes(assigned);
    std::copy(address.begin(), address.end(), message.begin() + 16);
    const FrameBytes hardware = mac_bytes(client);
    std::copy(hardware.begin(), hardware.end(), message.begin() + 28);
    write32(message, 236, 0x6382'5363);
    return message + FrameBytes{53, 1, type} + options + FrameBytes{255};
}
inline FrameBytes lease_option(std::uint32_t seconds) {
    FrameBytes option{51, 4, 0, 0, 0, 0};
    write32(option, 2, seconds);
    return option;
}
/// A server's ACK of a lease in seconds, on its way to the client.
inline FrameBytes dhcp_ack(std::uint64_t client, const std::string& assigned, std::uint32_t seconds) {
    return frame_of(
        ip_from("10.0.0.254", kUdp, udp_between(67, 68, dhcp(2, 5, client, assigned, lease_option(seconds)))),
        mac(0xFE), client);
}
/// A client's message with a type to the server.
inline FrameBytes dhcp_ask(const std::string& source, std::uint8_t type) {
    return frame_from(source, kUdp, udp_between(68, 67, dhcp(1, type, mac(1), "0.0.0.0")));
}

/// A DHCPv6 message with one address in an IA_NA. @param to the guest's link-local address
inline FrameBytes dhcp6_reply(const std::string& to, const std::string& assigned, std::uint32_t valid,
                              std::uint8_t type = 7) {
    FrameBytes address{0, 5, 0, 24};
    address = address + ip_bytes(assigned) + FrameBytes(8);
    write32(address, 24, valid);
    FrameBytes list{0, 3, 0, static_cast<std::uint8_t>(12 + address.size())};
    list = list + FrameBytes(12) + address;
    FrameBytes packet = ip_from("fe80::fe", kUdp, udp_between(547, 546, FrameBytes{type, 0, 0, 9} + list));
    const FrameBytes destination = ip_bytes(to);
    std::copy(destination.begin(), destination.end(), packet.begin() + 24);
    return frame_of(packet, mac(0xFE), mac(1));
}

}  // namespace weir::testing
