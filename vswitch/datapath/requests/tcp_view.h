// tcp_view.h - the TCP segment in a frame: addresses, ports, sequence numbers and the position of its
// payload. Source: RFC 791; RFC 8200; RFC 9293. Units: bytes; ports in host order, addresses as on the wire.
// Threads: any.
//
// A header whose lengths exceed the frame is rejected. read_tcp() reads the usual frame; frames that it
// rejects go to read_unusual(), so that no wrapping hides a segment: VLAN tags and extension headers are
// skipped, and a packet that may hold a segment all the same (a fragment, IPsec, a tunnel) is unreadable.
#pragma once

#include <rte_ether.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "common/byte_order.h"
#include "cost_functions/tracker/tracked_connection.h"
#include "vswitch/datapath/frame/frame.h"

namespace weir {

struct TcpView {
    static constexpr std::uint32_t kIp4AddressBytes = 4;
    static constexpr std::uint32_t kIp6AddressBytes = 16;

    bool ip6;
    std::uint8_t flags;           ///< TCP's own bits
    std::uint16_t tcp_at;         ///< from the start of the frame
    std::uint16_t payload_at;     ///< likewise
    std::uint32_t payload_bytes;  ///< by the IP header's length, without Ethernet padding
    std::uint32_t ports;          ///< source << 16 | destination: written and compared as one word
    std::uint32_t seq;
    std::uint32_t ack;
    const std::uint8_t* addresses;  ///< in the frame: source followed by destination

    [[nodiscard]] std::uint16_t source_port() const { return static_cast<std::uint16_t>(ports >> 16); }
    [[nodiscard]] std::uint16_t destination_port() const { return static_cast<std::uint16_t>(ports); }
    [[nodiscard]] std::uint32_t address_bytes() const { return ip6 ? kIp6AddressBytes : kIp4AddressBytes; }
    [[nodiscard]] const std::uint8_t* source() const { return addresses; }
    [[nodiscard]] const std::uint8_t* destination() const { return addresses + address_bytes(); }
    /// Both segments belong to one direction of one connection.
    [[nodiscard]] bool same_way(const TcpView& other) const {
        if (ip6 != other.ip6 || ports != other.ports)
            return false;
        return ip6 ? std::memcmp(addresses, other.addresses, 2 * kIp6AddressBytes) == 0
                   : std::memcmp(addresses, other.addresses, 2 * kIp4AddressBytes) == 0;
    }
};

namespace tcp_view {

inline constexpr std::uint8_t kProtocolTcp = 6;
inline constexpr std::uint32_t kIp4Bytes = 20;
inline constexpr std::uint32_t kIp6Bytes = 40;
inline constexpr std::uint32_t kTcpBytes = 20;

/// Sets `end` to the end of the packet, counted from `ip`. @return start of the TCP header; 0 when there is
/// none
inline std::uint32_t read_ip4(const std::uint8_t* ip, TcpView& view, std::uint32_t& end) {
    if (ip[0] >> 4 != 4 || ip[9] != kProtocolTcp || (be16(ip + 6) & 0x3FFF) != 0)
        return 0;
    view.ip6 = false;
    view.addresses = ip + 12;
    end = be16(ip + 2);
    const std::uint32_t header = (ip[0] & 0x0FU) * 4;
    return header >= kIp4Bytes ? header : 0;
}

inline std::uint32_t read_ip6(const std::uint8_t* ip, std::uint32_t room, TcpView& view, std::uint32_t& end) {
    if (room < kIp6Bytes || ip[0] >> 4 != 6 || ip[6] != kProtocolTcp)
        return 0;
    view.ip6 = true;
    view.addresses = ip + 8;
    end = kIp6Bytes + be16(ip + 4);
    return kIp6Bytes;
}

/// Reads the TCP header at `at`; this and the other lengths are counted from the IP header.
/// @return false when the header exceeds the packet or the first buffer
inline bool read_header(const std::uint8_t* ip, std::uint32_t at, std::uint32_t room, std::uint32_t end,
                        std::uint32_t ip_at, TcpView& view) {
    if (room < at + kTcpBytes)
        return false;
    const std::uint8_t* tcp = ip + at;
    const std::uint32_t payload = at + (tcp[12] >> 4) * 4U;
    if (payload < at + kTcpBytes || payload > end || payload > room)
        return false;
    view.ports = be32(tcp);
    view.seq = be32(tcp + 4);
    view.ack = be32(tcp + 8);
    view.flags = tcp[13];
    view.tcp_at = static_cast<std::uint16_t>(ip_at + at);
    view.payload_at = static_cast<std::uint16_t>(ip_at + payload);
    view.payload_bytes = end - payload;
    return true;
}

}  // namespace tcp_view

/// Reads the segment in an untagged frame, whose headers must lie in the first buffer.
/// @return false, and an undefined view, when the frame holds no TCP, an IP fragment or extension headers, or
/// is shorter than its headers state
[[nodiscard]] inline bool read_tcp(const rte_mbuf* frame, TcpView& view) {
    using namespace tcp_view;
    if (frame->data_len < kEthernetHeaderBytes + kIp4Bytes + kTcpBytes)
        return false;
    const auto* bytes = rte_pktmbuf_mtod(frame, const std::uint8_t*);
    std::uint16_t type = 0;
    std::memcpy(&type, bytes + 12, sizeof type);
    const std::uint8_t* ip = bytes + kEthernetHeaderBytes;
    const std::uint32_t room = frame->data_len - kEthernetHeaderBytes;
    std::uint32_t end = 0;
    std::uint32_t at = 0;
    if (type == kTypeIp4)
        at = read_ip4(ip, view, end);
    else if (type == kTypeIp6)
        at = read_ip6(ip, room, view, end);
    if (at == 0 || end > frame->pkt_len - kEthernetHeaderBytes)
        return false;
    return read_header(ip, at, room, end, kEthernetHeaderBytes, view);
}

enum class TcpReading : std::uint8_t {
    kTcp,        ///< a segment
    kOther,      ///< neither a segment nor a part of one: no IP, ICMP
    kUnreadable  ///< may reach a service, but cannot be read; of the view, `ip6` and `addresses` are valid,
                 ///< and `ports` of UDP, else 0
};

/// Reads a frame that read_tcp() did not take. @param tags whether VLAN tags are skipped
[[nodiscard]] TcpReading read_unusual(const rte_mbuf* frame, bool tags, TcpView& view);

/// Calls visit(const Segment&) for each buffer's part of the payload; once when there is no payload.
template <class Visit>
void each_piece(const rte_mbuf* frame, const TcpView& view, Visit&& visit) {
    Segment segment{.seq = view.seq, .ack = view.ack, .flags = view.flags, .payload = {}};
    std::uint32_t skip = view.payload_at;
    for (std::uint32_t left = view.payload_bytes; frame != nullptr; frame = frame->next) {
        const std::uint32_t there = frame->data_len > skip ? frame->data_len - skip : 0;
        const std::uint32_t bytes = std::min(there, left);
        segment.payload = {rte_pktmbuf_mtod(frame, const std::uint8_t*) + skip, bytes};
        skip -= std::min<std::uint32_t>(skip, frame->data_len);
        left -= bytes;
        segment.flags = left == 0 ? view.flags : view.flags & ~Segment::kFin;
        if (bytes != 0 || left == 0)
            visit(segment);
        if (left == 0)
            return;
        segment.seq += bytes;
    }
}

}  // namespace weir
