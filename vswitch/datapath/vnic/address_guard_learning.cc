// address_guard_learning.cc - AddressGuard: addresses that DHCP servers and routers assign to the guest.
// Source: RFC 2131 3; RFC 2132 9; RFC 4861 4.6.2; RFC 4862 5.5.3; RFC 8415 18.2.10.
#include <algorithm>
#include <optional>

#include "common/byte_order.h"
#include "vswitch/datapath/vnic/address_guard.h"
#include "vswitch/datapath/vnic/address_guard_headers.h"

namespace weir {
namespace {

using namespace guard_headers;
using From = LearnedAddress::From;

// Places in LearnedAddresses.
constexpr std::size_t kDhcpPlace = 0;
constexpr std::size_t kDhcp6Place = 1;
constexpr std::size_t kRouterPlace = 2;

constexpr unsigned kOptionsMax = 128;  // of one message
constexpr std::uint32_t kInfinite = 0xFFFF'FFFF;

// Types of DHCP and DHCPv6 messages.
constexpr std::uint8_t kDiscoverMessage = 1;
constexpr std::uint8_t kRequestMessage = 3;
constexpr std::uint8_t kAckMessage = 5;
constexpr std::uint8_t kNakMessage = 6;
constexpr std::uint8_t kInformMessage = 8;
constexpr std::uint8_t kReply6 = 7;

Nanos end_of(std::uint32_t seconds, Nanos now) {
    return seconds == kInfinite ? kNever : now + seconds * kNanosPerSec;
}

IpAddress address4(const std::uint8_t* at) {
    IpAddress address;
    std::copy_n(at, 4, address.bytes.begin());
    return address;
}
IpAddress address6(const std::uint8_t* at) {
    IpAddress address{.v6 = true};
    std::copy_n(at, address.bytes.size(), address.bytes.begin());
    return address;
}

/// The fields of a DHCP message that name its sender, its client and the address that it assigns.
struct Dhcp {
    std::uint8_t operation = 0;  ///< 1: of a client, 2: of a server
    std::uint8_t type = 0;
    std::uint64_t mac = 0;
    const std::uint8_t* client = nullptr;   ///< ciaddr
    const std::uint8_t* address = nullptr;  ///< yiaddr
    const std::uint8_t* relay = nullptr;    ///< giaddr
    std::uint32_t lease = 0;                ///< seconds
};

/// @return nothing when the message is cut, or would be read in several ways: an option twice, or options in
/// other fields
std::optional<Dhcp> read_dhcp(FrameSpan message) {
    constexpr std::size_t kFixedBytes = 240;
    constexpr std::uint32_t kEthernet = 0x0106;
    constexpr std::uint32_t kCookie = 0x6382'5363;
    constexpr std::uint8_t kPad = 0;
    constexpr std::uint8_t kEnd = 255;
    constexpr std::uint8_t kLease = 51;
    constexpr std::uint8_t kOverload = 52;
    constexpr std::uint8_t kType = 53;
    if (message.size() < kFixedBytes || be16(message.data() + 1) != kEthernet ||
        be32(message.data() + 236) != kCookie)
        return std::nullopt;
    Dhcp found{.operation = message[0],
               .mac = read_mac(message.data() + 28),
               .client = message.data() + 12,
               .address = message.data() + 16,
               .relay = message.data() + 24};
    FrameSpan options = message.subspan(kFixedBytes);
    for (unsigned i = 0; i < kOptionsMax; ++i) {
        if (!options.empty() && options[0] == kPad) {
            options = options.subspan(1);
            continue;
        }
        if (options.empty() || options[0] == kEnd)
            return found.type != 0 ? std::optional(found) : std::nullopt;
        if (options.size() < 2 || options.size() < options[1] + std::size_t{2})
            return std::nullopt;
        const FrameSpan value = options.subspan(2, options[1]);
        const bool good_type = options[0] == kType && found.type == 0 && value.size() == 1;
        const bool good_lease = options[0] == kLease && found.lease == 0 && value.size() == 4;
        if (options[0] == kOverload || (options[0] == kType && !good_type) ||
            (options[0] == kLease && !good_lease))
            return std::nullopt;
        if (good_type)
            found.type = value[0];
        if (good_lease)
            found.lease = be32(value.data());
        options = options.subspan(2 + value.size());
    }
    return std::nullopt;
}

/// Calls visit(code, value) for each option of a DHCPv6 message. @return false when one is cut
template <class Visit>
bool each_option6(FrameSpan options, Visit&& visit) {
    constexpr std::size_t kHeadBytes = 4;
    for (unsigned i = 0; i < kOptionsMax && options.size() >= kHeadBytes; ++i) {
        const std::size_t bytes = be16(options.data() + 2);
        if (options.size() < kHeadBytes + bytes)
            return false;
        visit(be16(options.data()), options.subspan(kHeadBytes, bytes));
        options = options.subspan(kHeadBytes + bytes);
    }
    return options.empty();
}

/// The UDP payload in the frame's bytes from the IP header on, without padding; empty when it is cut.
FrameSpan payload_of(FrameSpan ip, std::size_t udp_at) {
    const std::size_t bytes = be16(ip.data() + udp_at + 4);
    return bytes < kUdpBytes || bytes > ip.size() - udp_at
               ? FrameSpan{}
               : ip.subspan(udp_at + kUdpBytes, bytes - kUdpBytes);
}

}  // namespace

/// The guest asks for the address that it sends from, with its own MAC address (RFC 2131 4.3.2, RENEWING and
/// REBINDING): the server knows whose it is, and answers no other guest. In one piece.
/// @param ip UDP from the client's to the server's port
bool AddressGuard::renews_lease4(const AddressRules& rules, FrameSpan ip, std::size_t udp_at) {
    if (!rules.learns || (be16(ip.data() + 6) & 0x3FFF) != 0)
        return false;
    const std::optional<Dhcp> dhcp = read_dhcp(payload_of(ip, udp_at));
    const std::uint8_t* source = ip.data() + 12;
    return dhcp && dhcp->operation == 1 && dhcp->type == kRequestMessage && dhcp->mac == rules.mac &&
           be32(dhcp->client) == be32(source) && be32(dhcp->relay) == 0 && address4(source).is_host();
}

void AddressGuard::restore(const AddressRules& rules, std::span<const LearnedAddress> before) {
    std::size_t router_place = kRouterPlace;
    for (const LearnedAddress& each : before) {
        const IpKey key = ip_key(each.address);
        if (!rules.learns || !each.address.is_host() || each.address.v6 == (each.from == From::kDhcp))
            continue;
        const bool derived = key.low == rules.link_local.low && key.high != rules.link_local.high;
        if (each.from == From::kDhcp)
            learned_[kDhcpPlace] = each;
        else if (each.from == From::kDhcp6)
            learned_[kDhcp6Place] = each;
        else if (each.from == From::kRouter && derived && router_place < learned_.size())
            learned_[router_place++] = each;
    }
}

/// A message that the guest's server may understand as the end of the lease must end it here, so that the
/// address can be another's: only messages that surely keep the lease keep it here.
void AddressGuard::on_client_message4(FrameSpan message) {
    const std::optional<Dhcp> dhcp = read_dhcp(message);
    if (!dhcp ||
        (dhcp->type != kDiscoverMessage && dhcp->type != kRequestMessage && dhcp->type != kInformMessage))
        learned_[kDhcpPlace] = {};
}

void AddressGuard::on_client_message6(FrameSpan message) {
    // Solicit, Request, Confirm, Renew, Rebind, Information-request.
    constexpr std::array<std::uint8_t, 6> kKeep{1, 3, 4, 5, 6, 11};
    if (message.empty() || std::ranges::find(kKeep, message[0]) == kKeep.end())
        learned_[kDhcp6Place] = {};
}

void AddressGuard::learn(const AddressRules& rules, FrameSpan frame, Nanos now) {
    const Packet packet = packet_in(frame);
    if (packet.type == kTypeIpv4)
        learn4(rules, frame.subspan(packet.at), now);
    else if (packet.type == kTypeIpv6 && frame.size() >= packet.at + kIp6HeaderBytes)
        learn6(rules, frame.subspan(packet.at), now);
}

/// A server's ACK to this guest, in one piece.
void AddressGuard::learn4(const AddressRules& rules, FrameSpan ip, Nanos now) {
    const std::size_t header = ip4_header_bytes(ip);
    UdpPorts ports;
    if (header == 0 || ip[9] != kUdp || (be16(ip.data() + 6) & 0x3FFF) != 0 ||
        !read_ports(ip, header, be16(ip.data() + 2), ports) || ports.source != kServer4 ||
        ports.destination != kClient4)
        return;
    const std::optional<Dhcp> dhcp = read_dhcp(payload_of(ip, header));
    if (!dhcp || dhcp->operation != 2 || dhcp->mac != rules.mac)
        return;
    if (dhcp->type == kNakMessage)
        learned_[kDhcpPlace] = {};
    const IpAddress assigned = address4(dhcp->address);
    if (dhcp->type == kAckMessage && dhcp->lease != 0 && assigned.is_host())
        learned_[kDhcpPlace] = {From::kDhcp, assigned, end_of(dhcp->lease, now)};
}

void AddressGuard::learn6(const AddressRules& rules, FrameSpan ip, Nanos now) {
    const std::size_t end = kIp6HeaderBytes + be16(ip.data() + 4);
    if (ip[0] >> 4 != 6 || end > ip.size())
        return;
    UdpPorts ports;
    if (ip[6] == kUdp && read_ports(ip, kIp6HeaderBytes, end, ports) && ports.source == kServer6 &&
        ports.destination == kClient6 && allows(rules, key6(ip.data() + 24), now))
        learn_from_server6(payload_of(ip, kIp6HeaderBytes), now);
    else if (ip[6] == kIcmp6)
        learn_from_router(rules, ip.first(end), now);
}

/// The first address of a reply.
void AddressGuard::learn_from_server6(FrameSpan message, Nanos now) {
    constexpr std::size_t kHeadBytes = 4;
    constexpr std::uint16_t kAddresses = 3;  // IA_NA: IAID, T1 and T2, then options
    constexpr std::size_t kAddressesHead = 12;
    constexpr std::uint16_t kAddress = 5;  // IAADDR: address, preferred and valid lifetime
    constexpr std::size_t kAddressBytes = 24;
    if (message.size() < kHeadBytes || message[0] != kReply6)
        return;
    LearnedAddress& place = learned_[kDhcp6Place];
    bool found = false;
    const auto take = [&](std::uint16_t code, FrameSpan value) {
        if (code != kAddress || value.size() < kAddressBytes || found)
            return;
        const IpAddress assigned = address6(value.data());
        const std::uint32_t valid = be32(value.data() + 20);
        if (valid != 0 && assigned.is_host()) {
            place = {From::kDhcp6, assigned, end_of(valid, now)};
            found = true;
        } else if (place.address == assigned) {
            place = {};
        }
    };
    (void)each_option6(message.subspan(kHeadBytes), [&](std::uint16_t code, FrameSpan value) {
        if (code == kAddresses && value.size() >= kAddressesHead)
            (void)each_option6(value.subspan(kAddressesHead), take);
    });
}

/// Of an advertised prefix the guest may use the address that is derived from its MAC address: every other
/// one may be another guest's.
/// @param ip the packet, which holds ICMPv6 behind its header
void AddressGuard::learn_from_router(const AddressRules& rules, FrameSpan ip, Nanos now) {
    constexpr std::size_t kMessageBytes = 16;
    constexpr std::uint8_t kHopsOfNeighbor = 255;
    constexpr std::uint8_t kPrefix = 3;
    constexpr std::size_t kPrefixBytes = 32;
    constexpr std::uint8_t kAutonomous = 0x40;
    if (ip.size() < kIp6HeaderBytes + kMessageBytes || ip[kIp6HeaderBytes] != kRouterAdvertisement ||
        ip[7] != kHopsOfNeighbor)
        return;
    FrameSpan options = ip.subspan(kIp6HeaderBytes + kMessageBytes);
    for (unsigned i = 0; i < kOptionsMax && options.size() >= 8; ++i) {
        const std::size_t bytes = options[1] * std::size_t{8};
        if (bytes == 0 || bytes > options.size())
            return;
        if (options[0] == kPrefix && bytes == kPrefixBytes && options[2] == 64 &&
            (options[3] & kAutonomous) != 0)
            learn_prefix(rules, options.data() + 16, be32(options.data() + 4), now);
        options = options.subspan(bytes);
    }
}

/// @param valid seconds; 0: no more
void AddressGuard::learn_prefix(const AddressRules& rules, const std::uint8_t* prefix, std::uint32_t valid,
                                Nanos now) {
    IpAddress derived = address6(prefix);
    for (std::size_t i = 0; i < 8; ++i)
        derived.bytes[8 + i] = static_cast<std::uint8_t>(rules.link_local.low >> (56 - 8 * i));
    if (!derived.is_host() || ip_key(derived).high == rules.link_local.high)
        return;
    const auto places = std::span(learned_).subspan(kRouterPlace);
    auto place = std::ranges::find_if(places, [&](const LearnedAddress& learned) {
        return learned.from == From::kRouter && learned.address == derived;
    });
    if (place == places.end())
        place = std::ranges::find_if(places, [now](const LearnedAddress& learned) {
            return learned.from == From::kNone || learned.until <= now;
        });
    if (place != places.end())
        *place = valid != 0 ? LearnedAddress{From::kRouter, derived, end_of(valid, now)} : LearnedAddress{};
}

}  // namespace weir
