// frames.cc - the layers of frames, written byte by byte in network order.
#include "test/support/frames.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace weir::testing {
namespace {

constexpr std::size_t kEthernet = 14;
constexpr std::size_t kIpv4Header = 20;
constexpr std::size_t kIpv6Header = 40;
constexpr std::size_t kTcpHeader = 20;
constexpr std::size_t kUdpHeader = 8;

void append(FrameBytes& to, const FrameBytes& more) {
    to.insert(to.end(), more.begin(), more.end());
}

bool is_ipv6(const FrameBytes& frame) {
    return read16(frame, 12) == kIpv6;
}

std::uint8_t protocol_of(const FrameBytes& frame) {
    return frame[kEthernet + (is_ipv6(frame) ? 6 : 9)];
}

std::size_t l4_at(const FrameBytes& frame) {
    return kEthernet + (is_ipv6(frame) ? kIpv6Header : std::size_t{frame[kEthernet] & 0x0FU} * 4);
}

}  // namespace

std::uint16_t read16(const FrameBytes& data, std::size_t at) {
    return static_cast<std::uint16_t>(data.at(at) << 8 | data.at(at + 1));
}
std::uint32_t read32(const FrameBytes& data, std::size_t at) {
    return static_cast<std::uint32_t>(read16(data, at)) << 16 | read16(data, at + 2);
}
void write16(FrameBytes& data, std::size_t at, std::uint16_t value) {
    data.at(at) = static_cast<std::uint8_t>(value >> 8);
    data.at(at + 1) = static_cast<std::uint8_t>(value);
}
void write32(FrameBytes& data, std::size_t at, std::uint32_t value) {
    write16(data, at, static_cast<std::uint16_t>(value >> 16));
    write16(data, at + 2, static_cast<std::uint16_t>(value));
}

FrameBytes pattern(std::size_t count) {
    FrameBytes bytes(count);
    for (std::size_t i = 0; i < count; ++i)
        bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
    return bytes;
}

FrameBytes tcp(const FrameBytes& payload, std::uint32_t sequence, std::uint8_t flags) {
    FrameBytes segment(kTcpHeader);
    write16(segment, 0, 40000);
    write16(segment, 2, 5001);
    write32(segment, 4, sequence);
    write32(segment, 8, 77);
    segment[12] = 5 << 4;
    segment[13] = flags;
    write16(segment, 14, 8192);
    append(segment, payload);
    return segment;
}

FrameBytes udp(const FrameBytes& payload) {
    FrameBytes datagram(kUdpHeader);
    write16(datagram, 0, 40000);
    write16(datagram, 2, 5001);
    write16(datagram, 4, static_cast<std::uint16_t>(kUdpHeader + payload.size()));
    append(datagram, payload);
    return datagram;
}

FrameBytes ipv4(std::uint8_t protocol, const FrameBytes& content, std::uint16_t id) {
    FrameBytes packet(kIpv4Header);
    packet[0] = 0x45;
    write16(packet, 2, static_cast<std::uint16_t>(kIpv4Header + content.size()));
    write16(packet, 4, id);
    write16(packet, 6, 0x4000);
    packet[8] = 64;
    packet[9] = protocol;
    write32(packet, 12, 0x0A00'0001);
    write32(packet, 16, 0x0A00'0002);
    write16(packet, 10, checksum(packet));
    append(packet, content);
    return packet;
}

FrameBytes ipv6(std::uint8_t protocol, const FrameBytes& content) {
    FrameBytes packet(kIpv6Header);
    packet[0] = 0x60;
    write16(packet, 4, static_cast<std::uint16_t>(content.size()));
    packet[6] = protocol;
    packet[7] = 64;
    write16(packet, 8, 0xFE80);
    write16(packet, 22, 1);
    write16(packet, 24, 0xFE80);
    write16(packet, 38, 2);
    append(packet, content);
    return packet;
}

FrameBytes arp_request() {
    FrameBytes packet(28);
    write16(packet, 0, 1);
    write16(packet, 2, kIpv4);
    packet[4] = 6;
    packet[5] = 4;
    write16(packet, 6, 1);
    return packet;
}

FrameBytes neighbor_solicitation() {
    FrameBytes message(24);
    message[0] = 135;
    return ipv6(58, message);
}

FrameBytes ethernet(std::uint64_t to, std::uint64_t from, std::uint16_t type, const FrameBytes& content) {
    FrameBytes frame(kEthernet);
    std::memcpy(frame.data(), &to, 6);
    std::memcpy(frame.data() + 6, &from, 6);
    write16(frame, 12, type);
    append(frame, content);
    return frame;
}

FrameBytes tagged(FrameBytes frame, std::uint16_t vlan, std::uint16_t tag_type) {
    FrameBytes tag(4);
    write16(tag, 0, tag_type);
    write16(tag, 2, vlan);
    frame.insert(frame.begin() + 12, tag.begin(), tag.end());
    return frame;
}

FrameBytes numbered(std::uint64_t to, std::uint64_t from, std::size_t bytes, std::uint32_t number) {
    FrameBytes payload(bytes - kEthernet - kIpv4Header - kUdpHeader);
    if (payload.size() >= sizeof(number))
        std::memcpy(payload.data() + payload.size() - sizeof(number), &number, sizeof(number));
    return ethernet(to, from, kIpv4, ipv4(kUdp, udp(payload)));
}

std::uint32_t number_of(const rte_mbuf* frame) {
    const FrameBytes bytes = bytes_of(frame);
    std::uint32_t number = 0;
    std::memcpy(&number, bytes.data() + bytes.size() - sizeof(number), sizeof(number));
    return number;
}

rte_mbuf* to_mbuf(rte_mempool* pool, const FrameBytes& frame, std::size_t piece) {
    rte_mbuf* head = nullptr;
    std::size_t at = 0;
    do {
        rte_mbuf* buffer = rte_pktmbuf_alloc(pool);
        if (buffer == nullptr)
            throw std::runtime_error("the test's buffers are used up");
        const std::size_t room = piece != 0 ? piece : rte_pktmbuf_tailroom(buffer);
        const std::size_t part = std::min(room, frame.size() - at);
        std::copy_n(frame.data() + at, part, rte_pktmbuf_mtod(buffer, std::uint8_t*));
        buffer->data_len = static_cast<std::uint16_t>(part);
        buffer->pkt_len = static_cast<std::uint32_t>(part);
        if (head == nullptr)
            head = buffer;
        else if (rte_pktmbuf_chain(head, buffer) != 0)
            throw std::runtime_error("a chain of too many buffers");
        at += part;
    } while (at < frame.size());
    return head;
}

FrameBytes bytes_of(const rte_mbuf* frame) {
    FrameBytes bytes;
    for (const rte_mbuf* part = frame; part != nullptr; part = part->next) {
        const auto* data = rte_pktmbuf_mtod(part, const std::uint8_t*);
        bytes.insert(bytes.end(), data, data + part->data_len);
    }
    return bytes;
}

rte_mbuf* ask_checksum(rte_mbuf* frame) {
    const FrameBytes bytes = bytes_of(frame);
    frame->l2_len = kEthernet;
    frame->l3_len = (l4_at(bytes) - kEthernet) & 0x1FF;
    frame->ol_flags |= is_ipv6(bytes) ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4;
    frame->ol_flags |= protocol_of(bytes) == kTcp ? RTE_MBUF_F_TX_TCP_CKSUM : RTE_MBUF_F_TX_UDP_CKSUM;
    return frame;
}

rte_mbuf* ask_segments(rte_mbuf* frame, std::uint16_t payload) {
    ask_checksum(frame);
    frame->l4_len = kTcpHeader;
    frame->tso_segsz = payload;
    frame->ol_flags |= RTE_MBUF_F_TX_TCP_SEG;
    return frame;
}

std::uint16_t checksum(const FrameBytes& data, std::uint32_t start) {
    std::uint32_t sum = start;
    for (std::size_t i = 0; i < data.size(); ++i)
        sum += i % 2 == 0 ? static_cast<std::uint32_t>(data[i]) << 8 : data[i];
    while (sum >> 16 != 0)
        sum = (sum & 0xFFFF) + (sum >> 16);
    return static_cast<std::uint16_t>(~sum);
}

bool ip_checksum_good(const FrameBytes& frame) {
    const auto first = frame.begin() + kEthernet;
    return checksum(FrameBytes(first, frame.begin() + static_cast<std::ptrdiff_t>(l4_at(frame)))) == 0;
}

bool l4_checksum_good(const FrameBytes& frame) {
    const std::size_t at = l4_at(frame);
    const std::uint8_t protocol = protocol_of(frame);
    if (protocol == kUdp && read16(frame, at + 6) == 0)
        return false;
    const std::size_t addresses = is_ipv6(frame) ? kEthernet + 8 : kEthernet + 12;
    FrameBytes covered(
        frame.begin() + static_cast<std::ptrdiff_t>(addresses),
        frame.begin() + static_cast<std::ptrdiff_t>(is_ipv6(frame) ? addresses + 32 : addresses + 8));
    covered.insert(covered.end(), frame.begin() + static_cast<std::ptrdiff_t>(at), frame.end());
    const auto length = static_cast<std::uint32_t>(frame.size() - at);
    return checksum(covered, protocol + (length & 0xFFFF) + (length >> 16)) == 0;
}

}  // namespace weir::testing
