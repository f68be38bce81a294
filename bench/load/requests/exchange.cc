// exchange.cc - headers, segments and acknowledgements of the exchange.
#include "bench/load/requests/exchange.h"

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_tcp.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "common/byte_order.h"

namespace weir::requests {
namespace {

constexpr std::uint32_t kFirstPort = 20'000;
constexpr std::uint16_t kBurst = 32;
constexpr unsigned kBursts = 4;
constexpr std::uint8_t kSyn = 2;
constexpr std::uint8_t kSynAck = 0x12;
constexpr std::uint8_t kPushAck = 0x18;
constexpr std::uint8_t kAck = 0x10;
constexpr std::uint32_t kClientIp = RTE_IPV4(10, 0, 0, 1);
constexpr std::uint32_t kServerIp = RTE_IPV4(10, 0, 0, 9);

// Offsets of fields in a frame.
constexpr std::size_t kIpLength = 16;
constexpr std::size_t kSourcePort = 34;
constexpr std::size_t kDestinationPort = 36;
constexpr std::size_t kSeq = 38;
constexpr std::size_t kAcknowledged = 42;
constexpr std::size_t kFlags = 47;

Message message(std::string head, std::uint32_t value, std::string tail) {
    const auto bytes = static_cast<std::uint32_t>(head.size() + value + tail.size());
    return {std::move(head), std::move(tail), bytes};
}

Message request(const Spec& spec) {
    if (!spec.put)
        return message("get key:00012345\r\n", 0, "");
    return message("set key:00012345 0 0 " + std::to_string(spec.bytes) + "\r\n", spec.bytes, "\r\n");
}

Message response(const Spec& spec) {
    if (spec.put)
        return message("STORED\r\n", 0, "");
    return message("VALUE key:00012345 0 " + std::to_string(spec.bytes) + "\r\n", spec.bytes, "\r\nEND\r\n");
}

}  // namespace

void Message::write(std::uint32_t from, std::uint32_t count, std::uint8_t* to) const {
    if (from < head.size())
        std::memcpy(to, head.data() + from, std::min<std::size_t>(count, head.size() - from));
    const auto tail_at = static_cast<std::uint32_t>(bytes - tail.size());
    const std::uint32_t first = std::max(from, tail_at);
    if (from + count > first)
        std::memcpy(to + (first - from), tail.data() + (first - tail_at), from + count - first);
}

Exchange::Exchange(const Spec& spec, load::Port& client, load::Port& server, rte_mempool* pool,
                   std::uint32_t serial)
    : spec_(spec),
      pool_(pool),
      ends_{End{client, request(spec)}, End{server, response(spec)}},
      connections_(spec.connections) {
    build_header(kClient);
    build_header(kServer);
    for (Connection& connection : connections_)
        connection.seq = {serial * 7'654'321, serial * 1'234'567};
}

Exchange::~Exchange() {
    for (End& end : ends_)
        rte_pktmbuf_free_bulk(end.out.data(), static_cast<unsigned>(end.out.size()));
}

void Exchange::build_header(Side side) {
    End& end = ends_[side];
    const bool is_client = side == kClient;
    std::uint8_t* at = end.header.data();
    std::memcpy(at, ends_[other(side)].port.mac().data(), 6);
    std::memcpy(at + 6, end.port.mac().data(), 6);
    put_be16(at + 12, RTE_ETHER_TYPE_IPV4);
    rte_ipv4_hdr ip{};
    ip.version_ihl = RTE_IPV4_VHL_DEF;
    ip.time_to_live = 64;
    ip.next_proto_id = IPPROTO_TCP;
    ip.src_addr = rte_cpu_to_be_32(is_client ? kClientIp : kServerIp);
    ip.dst_addr = rte_cpu_to_be_32(is_client ? kServerIp : kClientIp);
    std::memcpy(at + 14, &ip, sizeof ip);
    rte_tcp_hdr tcp{};
    tcp.data_off = 5 << 4;
    tcp.rx_win = 0xFFFF;
    std::memcpy(at + 34, &tcp, sizeof tcp);
    put_be16(at + (is_client ? kDestinationPort : kSourcePort), kServicePort);
}

rte_mbuf* Exchange::allocate() {
    rte_mbuf* frame = rte_pktmbuf_alloc(pool_);
    if (frame == nullptr)
        throw std::runtime_error("connections: no buffers are left; use fewer");
    return frame;
}

void Exchange::start() {
    for (std::uint32_t number = 0; number < connections_.size(); ++number) {
        for (const Side side : {kClient, kServer}) {
            send_segment(side, number, allocate(), side == kClient ? kSyn : kSynAck, 0);
            ++connections_[number].seq[side];
            flush(side);
        }
        ++outstanding_;
        send_message(kClient, number, nullptr);
        for (unsigned polls = 0; polls < 4; ++polls)
            poll();
    }
}

unsigned Exchange::poll() {
    const unsigned received = receive(kClient) + receive(kServer);
    flush(kClient);
    flush(kServer);
    return received;
}

unsigned Exchange::receive(Side side) {
    std::array<rte_mbuf*, kBurst> frames;
    unsigned received = 0;
    for (unsigned bursts = 0; bursts < kBursts; ++bursts) {
        const std::uint16_t count = ends_[side].port.receive(0, frames.data(), kBurst);
        for (std::uint16_t i = 0; i < count; ++i)
            rte_prefetch0(rte_pktmbuf_mtod(frames[i], void*));
        for (std::uint16_t i = 0; i < count; ++i)
            on_frame(side, frames[i]);
        received += count;
        if (count < kBurst)
            break;
    }
    tally.frames += received;
    return received;
}

void Exchange::on_frame(Side side, rte_mbuf* frame) {
    const auto* bytes = rte_pktmbuf_mtod(frame, const std::uint8_t*);
    const std::uint32_t number =
        be16(bytes + (side == kClient ? kDestinationPort : kSourcePort)) - kFirstPort;
    const std::uint32_t payload = be16(bytes + kIpLength) - (kHeaderBytes - RTE_ETHER_HDR_LEN);
    if (frame->data_len < kHeaderBytes || number >= connections_.size() || payload == 0) {
        rte_pktmbuf_free(frame);
        return;
    }
    Connection& connection = connections_[number];
    const Message& expected = ends_[other(side)].message;
    const std::uint32_t begun = connection.seq[other(side)] - expected.bytes;  // it was sent as a whole
    tally.payload += payload;
    if (be32(bytes + kSeq) != begun + connection.received[side]) {
        ++tally.unexpected;
        rte_pktmbuf_free(frame);
        return;
    }
    connection.received[side] += payload;
    if (connection.received[side] < expected.bytes) {
        if ((++connection.unacknowledged[side] & 1) == 0)
            send_segment(side, number, frame, kAck, 0);
        else
            rte_pktmbuf_free(frame);
        return;
    }
    connection.received[side] = 0;
    connection.unacknowledged[side] = 0;
    tally.answered += side == kClient;
    if (side == kClient && stopping_) {
        --outstanding_;
        rte_pktmbuf_free(frame);
        return;
    }
    send_message(side, number, frame);
}

/// Sends the whole message of a side; `frame`, unless it is null, becomes its first segment.
void Exchange::send_message(Side side, std::uint32_t number, rte_mbuf* frame) {
    const Message& message = ends_[side].message;
    for (std::uint32_t at = 0; at < message.bytes; at += kSegmentBytes) {
        rte_mbuf* segment = frame != nullptr ? frame : allocate();
        frame = nullptr;
        const std::uint32_t bytes = std::min(kSegmentBytes, message.bytes - at);
        message.write(at, bytes, rte_pktmbuf_mtod_offset(segment, std::uint8_t*, kHeaderBytes));
        send_segment(side, number, segment, at + bytes == message.bytes ? kPushAck : kAck, bytes);
    }
}

void Exchange::send_segment(Side side, std::uint32_t number, rte_mbuf* frame, std::uint8_t flags,
                            std::uint32_t payload) {
    Connection& connection = connections_[number];
    End& end = ends_[side];
    auto* at = rte_pktmbuf_mtod(frame, std::uint8_t*);
    std::memcpy(at, end.header.data(), kHeaderBytes);
    put_be16(at + kIpLength, kHeaderBytes - RTE_ETHER_HDR_LEN + payload);
    put_be16(at + (side == kClient ? kSourcePort : kDestinationPort), kFirstPort + number);
    put_be32(at + kSeq, connection.seq[side]);
    put_be32(at + kAcknowledged,
             connection.seq[other(side)] - ends_[other(side)].message.bytes + connection.received[side]);
    at[kFlags] = flags;
    connection.seq[side] += payload;
    frame->data_len = static_cast<std::uint16_t>(std::max(kHeaderBytes + payload, 60U));
    frame->pkt_len = frame->data_len;
    frame->ol_flags = 0;
    end.out.push_back(frame);
}

void Exchange::flush(Side side) {
    std::vector<rte_mbuf*>& out = ends_[side].out;
    std::size_t sent = 0;
    while (sent < out.size()) {
        const auto count = static_cast<std::uint16_t>(std::min<std::size_t>(out.size() - sent, kBurst));
        const std::uint16_t accepted = ends_[side].port.send(out.data() + sent, count);
        sent += accepted;
        if (accepted < count) {
            ++refused_;
            break;
        }
    }
    out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(sent));
}

}  // namespace weir::requests
