// address_guard.cc - AddressGuard: one judge for each kind of frame that claims an address.
#include "vswitch/datapath/vnic/address_guard.h"

#include <algorithm>

#include "common/byte_order.h"
#include "vswitch/datapath/vnic/address_guard_headers.h"

namespace weir {
namespace {

using namespace guard_headers;

constexpr std::uint16_t kArpRequest = 1;
constexpr std::uint16_t kArpReply = 2;
constexpr std::uint16_t kReverseRequest = 3;
constexpr std::size_t kArpBytes = 28;
constexpr std::uint8_t kIgmp = 2;
/// Extension headers of an honest packet are two or three.
constexpr unsigned kExtensionsMax = 8;
constexpr std::uint8_t kFragment = 44;
constexpr std::size_t kFragmentBytes = 8;

constexpr std::uint8_t kListenerReport = 131;
constexpr std::uint8_t kListenerDone = 132;
constexpr std::uint8_t kListenerReport2 = 143;

/// Extension headers with a length behind the next header. Behind AH (51) and ESP (50) hosts look only with
/// keys.
bool is_extension(std::uint8_t next) {
    constexpr std::array<std::uint8_t, 6> kExtensions{0, 43, 60, 135, 139, 140};
    return std::ranges::find(kExtensions, next) != kExtensions.end();
}

/// The header behind the extension headers of an IPv6 packet.
struct Upper {
    bool known = false;
    std::uint8_t protocol = 0;
    bool fragment = false;
    bool first = true;   ///< false: a fragment that does not begin with the upper header
    std::size_t at = 0;  ///< from the IP header
};

/// Behind a fragment header no other extension header is accepted: a later fragment might overwrite the upper
/// header that it hides.
Upper find_upper(FrameSpan ip) {
    Upper upper{.protocol = ip[6], .at = kIp6HeaderBytes};
    for (unsigned i = 0; i <= kExtensionsMax; ++i) {
        const bool is_fragment = upper.protocol == kFragment;
        if (!is_fragment && !is_extension(upper.protocol)) {
            upper.known = true;
            return upper;
        }
        if (upper.fragment || ip.size() < upper.at + kFragmentBytes)
            return upper;
        const std::uint8_t* header = ip.data() + upper.at;
        upper.protocol = header[0];
        upper.at += is_fragment ? kFragmentBytes : (header[1] + std::size_t{1}) * 8;
        upper.fragment = is_fragment;
        upper.first = !is_fragment || (be16(header + 2) & 0xFFF8) == 0;
        if (upper.at > ip.size())
            return upper;
    }
    return upper;
}

bool is_mapped(const IpKey& address) {
    return address.high == 0 && address.low >> 32 == 0xFFFF;
}

/// A message as servers send it: clients take answers from any port.
bool is_dhcp_server(const UdpPorts& ports) {
    return ports.source == kServer4 || ports.destination == kClient4;
}
bool is_dhcp6_server(const UdpPorts& ports) {
    return ports.source == kServer6 || ports.destination == kClient6;
}

/// Why the packet's upper header is refused. @param ports are set if it is UDP
DropReason judge_message4(const AddressRules& rules, FrameSpan ip, std::size_t at, UdpPorts& ports) {
    constexpr std::uint8_t kIcmp = 1;
    constexpr std::uint8_t kRedirect4 = 5;
    constexpr std::uint8_t kRouterAdvertisement4 = 9;
    const std::size_t end = be16(ip.data() + 2);
    if (ip[9] == kIcmp) {
        if (at == ip.size() || at >= end)
            return DropReason::kUnreadable;
        const bool of_router = ip[at] == kRedirect4 || ip[at] == kRouterAdvertisement4;
        return of_router && !rules.routes ? DropReason::kRouterSpoof : DropReason::kCount;
    }
    if (ip[9] != kUdp)
        return DropReason::kCount;
    if (!read_ports(ip, at, end, ports))
        return DropReason::kUnreadable;
    return is_dhcp_server(ports) && !rules.serves_dhcp ? DropReason::kDhcpSpoof : DropReason::kCount;
}

/// Every link-layer address in the options is the guest's.
bool options_name(std::uint64_t mac, FrameSpan options) {
    constexpr unsigned kOptionsMax = 32;
    constexpr std::uint8_t kSourceLink = 1;
    constexpr std::uint8_t kTargetLink = 2;
    for (unsigned i = 0; i < kOptionsMax && !options.empty(); ++i) {
        const std::size_t bytes = options.size() < 8 ? 0 : options[1] * std::size_t{8};
        if (bytes == 0 || bytes > options.size())
            return false;
        if ((options[0] == kSourceLink || options[0] == kTargetLink) &&
            (bytes != 8 || read_mac(options.data() + 2) != mac))
            return false;
        options = options.subspan(bytes);
    }
    return options.empty();
}

}  // namespace

IpKey ip_key(const IpAddress& address) {
    return address.v6 ? key6(address.bytes.data()) : key4(address.bytes.data());
}

bool AddressRules::allow(const IpNetwork& network) {
    if (count == ranges.size())
        return false;
    constexpr unsigned kMappedBits = 96;
    const unsigned bits = network.bits + (network.base.v6 ? 0 : kMappedBits);
    const auto mask = [](unsigned set) {
        return set == 0 ? 0 : ~std::uint64_t{0} << (64 - std::min(set, 64U));
    };
    ranges[count++] = {ip_key(network.base), {mask(bits), mask(bits > 64 ? bits - 64 : 0)}};
    return true;
}

void AddressRules::set_mac(std::uint64_t bits) {
    constexpr std::uint64_t kLinkLocal = 0xFE80'0000'0000'0000;
    mac = bits;
    link_local = {kLinkLocal, interface_id(bits)};
}

AddressGuard::Judgement AddressGuard::judge(const AddressRules& rules, FrameSpan frame, Nanos now) {
    const Packet packet = packet_in(frame);
    const FrameSpan bytes = frame.subspan(packet.at);
    Judgement judged;
    if (packet.type == kTypeIpv4)
        judged = judge_ip4(rules, bytes, now);
    else if (packet.type == kTypeIpv6)
        judged = judge_ip6(rules, bytes, now);
    else if (packet.type == kTypeArp || packet.type == kTypeReverseArp)
        return {.refused = judge_arp(rules, bytes, packet.type == kTypeReverseArp, now)};
    else
        return {.refused = DropReason::kUnreadable};
    judged.ip_at = packet.at;
    judged.upper_at = static_cast<std::uint16_t>(judged.upper_at + packet.at);
    return judged;
}

bool AddressGuard::allows(const AddressRules& rules, const IpKey& address, Nanos now) const {
    for (std::size_t i = 0; i < rules.count; ++i) {
        const AddressRules::Range& range = rules.ranges[i];
        if (((address.high ^ range.base.high) & range.mask.high) == 0 &&
            ((address.low ^ range.base.low) & range.mask.low) == 0)
            return true;
    }
    if (address == rules.link_local)
        return true;
    return std::ranges::any_of(learned_, [&](const LearnedAddress& learned) {
        return learned.from != LearnedAddress::From::kNone && now < learned.until &&
               ip_key(learned.address) == address;
    });
}

/// A probe (RFC 5227) names no sender and claims the address that it asks for. In reverse ARP only the
/// request that a hypervisor sends for a guest that has moved here is accepted.
DropReason AddressGuard::judge_arp(const AddressRules& rules, FrameSpan arp, bool reverse, Nanos now) const {
    constexpr std::uint32_t kEthernetIpv4 = 0x0001'0800;
    constexpr std::uint16_t kLengths = 0x0604;
    if (arp.size() < kArpBytes || be32(arp.data()) != kEthernetIpv4 || be16(arp.data() + 4) != kLengths)
        return DropReason::kUnreadable;
    const std::uint16_t operation = be16(arp.data() + 6);
    if (reverse ? operation != kReverseRequest : operation != kArpRequest && operation != kArpReply)
        return DropReason::kUnreadable;
    if (!rules.checks_sources)
        return DropReason::kCount;
    const std::uint8_t* sender = arp.data() + 14;
    const bool probe = be32(sender) == 0 && operation == kArpRequest;
    const std::uint8_t* claimed = probe ? arp.data() + 24 : sender;
    const bool names_none = reverse && be32(sender) == 0;
    const bool own =
        read_mac(arp.data() + 8) == rules.mac && (names_none || allows(rules, key4(claimed), now));
    return own ? DropReason::kCount : DropReason::kArpSpoof;
}

/// Without an address the guest may ask for one, and join groups.
AddressGuard::Judgement AddressGuard::judge_ip4(const AddressRules& rules, FrameSpan ip, Nanos now) {
    const std::size_t header = ip4_header_bytes(ip);
    if (header == 0)
        return {.refused = DropReason::kUnreadable};
    Judgement judged{.protocol = ip[9], .upper_at = static_cast<std::uint16_t>(header)};
    UdpPorts ports;
    const bool first = (be16(ip.data() + 6) & 0x1FFF) == 0;
    if (first)
        judged.refused = judge_message4(rules, ip, header, ports);
    if (judged.refused != DropReason::kCount)
        return judged;
    const bool asks = ports.source == kClient4 && ports.destination == kServer4;
    const IpKey source = key4(ip.data() + 12);
    const bool none = be32(ip.data() + 12) == 0 && (asks || judged.protocol == kIgmp);
    if (rules.checks_sources && !rules.routes && !none && !allows(rules, source, now) &&
        !(asks && renews_lease4(rules, ip, header)))
        judged.refused = DropReason::kIpSpoof;
    else if (rules.learns && ports.destination == kServer4)
        on_client_message4(ip.subspan(header + kUdpBytes));
    return judged;
}

AddressGuard::Judgement AddressGuard::judge_ip6(const AddressRules& rules, FrameSpan ip, Nanos now) {
    if (ip.size() < kIp6HeaderBytes || ip[0] >> 4 != 6)
        return {.refused = DropReason::kUnreadable};
    const Upper upper = find_upper(ip);
    Judgement judged{.protocol = upper.protocol, .upper_at = static_cast<std::uint16_t>(upper.at)};
    UdpPorts ports;
    if (!upper.known || (upper.protocol == kUdp && upper.first &&
                         !read_ports(ip, upper.at, kIp6HeaderBytes + be16(ip.data() + 4), ports)))
        judged.refused = DropReason::kUnreadable;
    else if (is_dhcp6_server(ports) && !rules.serves_dhcp)
        judged.refused = DropReason::kDhcpSpoof;
    else if (upper.protocol == kIcmp6 && upper.first)
        judged.refused = judge_icmp6(rules, ip, upper.at, upper.fragment, now);
    else if (rules.checks_sources && !rules.routes &&
             (is_mapped(key6(ip.data() + 8)) || !allows(rules, key6(ip.data() + 8), now)))
        judged.refused = DropReason::kIpSpoof;
    if (judged.refused == DropReason::kCount && rules.learns && ports.destination == kServer6)
        on_client_message6(ip.subspan(upper.at + kUdpBytes));
    return judged;
}

/// @param at of the message, from the IP header
DropReason AddressGuard::judge_icmp6(const AddressRules& rules, FrameSpan ip, std::size_t at, bool fragment,
                                     Nanos now) const {
    if (ip.size() < at + kIcmp6Bytes)
        return DropReason::kUnreadable;
    const std::uint8_t type = ip[at];
    if ((type == kRouterAdvertisement || type == kRedirect) && !rules.routes)
        return DropReason::kRouterSpoof;
    const bool neighbor = type >= kRouterSolicitation && type <= kRedirect;
    if (neighbor && fragment)  // hosts ignore these (RFC 6980)
        return DropReason::kUnreadable;
    if (!rules.checks_sources)
        return DropReason::kCount;
    const IpKey source = key6(ip.data() + 8);
    const bool may_have_none = type == kListenerReport || type == kListenerDone || type == kListenerReport2 ||
                               type == kRouterSolicitation || type == kNeighborSolicitation;
    const bool allowed = source == IpKey{} ? may_have_none : !is_mapped(source) && allows(rules, source, now);
    if (neighbor)
        return allowed ? judge_neighbor(rules, ip, at, now) : DropReason::kNdSpoof;
    return allowed || rules.routes ? DropReason::kCount : DropReason::kIpSpoof;
}

/// A solicitation without a source claims its target (RFC 4862 5.4), as an advertisement does. A redirect
/// names another router.
DropReason AddressGuard::judge_neighbor(const AddressRules& rules, FrameSpan ip, std::size_t at,
                                        Nanos now) const {
    constexpr std::size_t kTargetAt = 8;
    const std::uint8_t type = ip[at];
    const std::size_t end = kIp6HeaderBytes + be16(ip.data() + 4);
    const std::size_t options_at = at + (type == kRouterSolicitation      ? 8
                                         : type == kRouterAdvertisement   ? 16
                                         : type == kNeighborSolicitation  ? 24
                                         : type == kNeighborAdvertisement ? 24
                                                                          : 40);
    if (end > ip.size() || end < options_at)
        return DropReason::kUnreadable;
    if (type == kRedirect)
        return DropReason::kCount;
    const bool claims =
        type == kNeighborAdvertisement || (type == kNeighborSolicitation && key6(ip.data() + 8) == IpKey{});
    const IpKey target = claims ? key6(ip.data() + at + kTargetAt) : IpKey{};
    if (claims && (is_mapped(target) || !allows(rules, target, now)))
        return DropReason::kNdSpoof;
    return options_name(rules.mac, ip.subspan(options_at, end - options_at)) ? DropReason::kCount
                                                                             : DropReason::kNdSpoof;
}

}  // namespace weir
