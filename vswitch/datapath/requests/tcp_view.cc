// tcp_view.cc - segments whose headers are unusual: behind VLAN tags and IPv6 extension headers, and those
// that cannot be read. Source: RFC 791; RFC 8200; RFC 6946; IEEE 802.1Q 9.
#include "vswitch/datapath/requests/tcp_view.h"

namespace weir {
namespace tcp_view {
namespace {

constexpr std::uint8_t kProtocolIcmp4 = 1;
constexpr std::uint8_t kProtocolUdp = 17;
constexpr std::uint8_t kProtocolIcmp6 = 58;
constexpr std::uint8_t kHopByHop = 0;
constexpr std::uint8_t kRouting = 43;
constexpr std::uint8_t kFragment = 44;
constexpr std::uint8_t kDestinationOptions = 60;
constexpr std::uint32_t kExtensionBytes = 8;
/// Extension headers that are skipped; RFC 8200 names four kinds, and honest clients of a service send none.
constexpr unsigned kExtensionsMax = 6;
constexpr unsigned kTagsMax = 2;

/// A transport header, found behind the others.
struct Found {
    TcpReading reading = TcpReading::kUnreadable;
    std::uint8_t protocol = 0;
    std::uint32_t at = 0;  ///< from the IP header
};

/// @param room bytes of the first buffer from the IP header on
Found skip_extensions(const std::uint8_t* ip, std::uint32_t room) {
    std::uint8_t next = ip[6];
    std::uint32_t at = kIp6Bytes;
    for (unsigned left = kExtensionsMax;; --left) {
        const bool is_fragment = next == kFragment;
        if (!is_fragment && next != kHopByHop && next != kRouting && next != kDestinationOptions)
            return {TcpReading::kTcp, next, at};
        if (left == 0 || at + kExtensionBytes > room)
            return {};
        const std::uint8_t* const header = ip + at;
        // An atomic fragment is a whole packet. A route that goes on would lead elsewhere.
        const bool is_part = is_fragment && (be16(header + 2) & 0xFFF9) != 0;
        if (is_part || (next == kRouting && header[3] != 0))
            return {header[0] == kProtocolIcmp6 ? TcpReading::kOther : TcpReading::kUnreadable};
        next = header[0];
        at += is_fragment ? kExtensionBytes : (header[1] + 1U) * kExtensionBytes;
    }
}

Found find_transport(const std::uint8_t* ip, std::uint32_t room, TcpView& view, std::uint32_t& end) {
    if (!view.ip6) {
        view.addresses = ip + 12;
        end = be16(ip + 2);
        const bool is_part = (be16(ip + 6) & 0x3FFF) != 0;
        if (is_part || (ip[0] & 0x0FU) * 4U < kIp4Bytes)
            return {ip[9] == kProtocolIcmp4 ? TcpReading::kOther : TcpReading::kUnreadable};
        return {TcpReading::kTcp, ip[9], (ip[0] & 0x0FU) * 4U};
    }
    view.addresses = ip + 8;
    end = kIp6Bytes + be16(ip + 4);
    return skip_extensions(ip, room);
}

}  // namespace
}  // namespace tcp_view

TcpReading read_unusual(const rte_mbuf* frame, bool tags, TcpView& view) {
    using namespace tcp_view;
    const auto* bytes = rte_pktmbuf_mtod(frame, const std::uint8_t*);
    std::uint32_t ip_at = kEthernetHeaderBytes;
    for (unsigned left = tags ? kTagsMax : 0; left != 0 && frame->data_len >= ip_at + kVlanTagBytes; --left) {
        const std::uint16_t type = be16(bytes + ip_at - 2);
        if (type != RTE_ETHER_TYPE_VLAN && type != RTE_ETHER_TYPE_QINQ)
            break;
        ip_at += kVlanTagBytes;
    }
    if (frame->data_len < ip_at + kIp4Bytes)
        return TcpReading::kOther;
    const std::uint16_t type = be16(bytes + ip_at - 2);
    const std::uint8_t* const ip = bytes + ip_at;
    const std::uint32_t room = frame->data_len - ip_at;
    view.ip6 = type == RTE_ETHER_TYPE_IPV6;
    const bool is_ip =
        view.ip6 ? ip[0] >> 4 == 6 && room >= kIp6Bytes : type == RTE_ETHER_TYPE_IPV4 && ip[0] >> 4 == 4;
    if (!is_ip)
        return TcpReading::kOther;
    view.ports = 0;
    std::uint32_t end = 0;
    const Found found = find_transport(ip, room, view, end);
    if (found.reading != TcpReading::kTcp)
        return found.reading;
    if (found.protocol == (view.ip6 ? kProtocolIcmp6 : kProtocolIcmp4))
        return TcpReading::kOther;
    if (found.protocol == kProtocolUdp && found.at + sizeof view.ports <= room) {
        view.ports = be32(ip + found.at);
        return TcpReading::kUnreadable;
    }
    if (found.protocol != kProtocolTcp || end > frame->pkt_len - ip_at)
        return TcpReading::kUnreadable;
    return read_header(ip, found.at, room, end, ip_at, view) ? TcpReading::kTcp : TcpReading::kUnreadable;
}

}  // namespace weir
