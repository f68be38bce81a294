// tcp_view.cc - headers are believed only as far as the frame goes.
#include "vswitch/datapath/tcp_view.h"

#include <rte_mbuf.h>

#include <cstring>

#include "vswitch/datapath/frame.h"

namespace weir {
namespace {

constexpr std::uint16_t kTypeIp4 = 0x0008;  // in wire order, read as little-endian
constexpr std::uint16_t kTypeIp6 = 0xDD86;
constexpr std::uint8_t kProtocolTcp = 6;
constexpr std::uint32_t kIp4Bytes = 20;
constexpr std::uint32_t kIp6Bytes = 40;
constexpr std::uint32_t kTcpBytes = 20;

std::uint16_t word16(const std::uint8_t* at) {
    return static_cast<std::uint16_t>(at[0] << 8 | at[1]);
}
std::uint32_t word32(const std::uint8_t* at) {
    return std::uint32_t{word16(at)} << 16 | word16(at + 2);
}

/// @return where the TCP header begins, counted from `ip`, and sets `end`, where the packet ends; 0: none
std::uint32_t read_ip4(const std::uint8_t* ip, std::uint32_t room, TcpView& view, std::uint32_t& end) {
    if (room < kIp4Bytes || ip[0] >> 4 != 4 || ip[9] != kProtocolTcp || (word16(ip + 6) & 0x3FFF) != 0)
        return 0;
    std::memcpy(view.source.data(), ip + 12, 4);
    std::memcpy(view.destination.data(), ip + 16, 4);
    end = word16(ip + 2);
    const std::uint32_t header = (ip[0] & 0x0FU) * 4;
    return header >= kIp4Bytes ? header : 0;
}

std::uint32_t read_ip6(const std::uint8_t* ip, std::uint32_t room, TcpView& view, std::uint32_t& end) {
    if (room < kIp6Bytes || ip[0] >> 4 != 6 || ip[6] != kProtocolTcp)
        return 0;
    view.ip6 = true;
    std::memcpy(view.source.data(), ip + 8, 16);
    std::memcpy(view.destination.data(), ip + 24, 16);
    end = kIp6Bytes + word16(ip + 4);
    return kIp6Bytes;
}

}  // namespace

std::optional<TcpView> read_tcp(const rte_mbuf* frame) {
    const auto* bytes = rte_pktmbuf_mtod(frame, const std::uint8_t*);
    if (frame->data_len < kEthernetHeaderBytes + kIp4Bytes + kTcpBytes)
        return std::nullopt;
    TcpView view;
    std::uint16_t type = 0;
    std::memcpy(&type, bytes + 12, sizeof type);
    const std::uint8_t* ip = bytes + kEthernetHeaderBytes;
    const std::uint32_t room = frame->data_len - kEthernetHeaderBytes;
    std::uint32_t end = 0;
    std::uint32_t at = 0;
    if (type == kTypeIp4)
        at = read_ip4(ip, room, view, end);
    else if (type == kTypeIp6)
        at = read_ip6(ip, room, view, end);
    if (at == 0 || room < at + kTcpBytes || end > frame->pkt_len - kEthernetHeaderBytes)
        return std::nullopt;
    const std::uint8_t* tcp = ip + at;
    const std::uint32_t payload = at + (tcp[12] >> 4) * 4U;
    if (payload < at + kTcpBytes || payload > end || payload > room)
        return std::nullopt;
    view.source_port = word16(tcp);
    view.destination_port = word16(tcp + 2);
    view.seq = word32(tcp + 4);
    view.ack = word32(tcp + 8);
    view.flags = tcp[13];
    view.payload_at = static_cast<std::uint16_t>(kEthernetHeaderBytes + payload);
    view.payload_bytes = end - payload;
    return view;
}

}  // namespace weir
