// tcp_window.cc - reads and rewrites the window field, makes acknowledgements, keeps closed windows.
#include "vswitch/datapath/requests/tcp_window.h"

#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_tcp.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "common/byte_order.h"
#include "vswitch/datapath/frame/frame.h"

namespace weir {
namespace {

constexpr std::uint8_t kOptionEnd = 0;
constexpr std::uint8_t kOptionNothing = 1;
constexpr std::uint8_t kOptionScale = 3;
constexpr std::uint8_t kOptionTimestamps = 8;
constexpr std::size_t kScaleBytes = 3;
constexpr std::size_t kTimestampsBytes = 10;
constexpr std::size_t kTimestampsPadded = 12;
constexpr unsigned kScaleMax = 14;

constexpr std::size_t kSeqAt = 4;
constexpr std::size_t kAckAt = 8;
constexpr std::size_t kLengthAt = 12;
constexpr std::size_t kFlagsAt = 13;
constexpr std::size_t kWindowAt = 14;
constexpr std::size_t kChecksumAt = 16;
constexpr std::size_t kTcpBytes = 20;

/// @return the option of this kind and length; nullptr when the segment has none
const std::uint8_t* find_option(const std::uint8_t* frame, const TcpView& view, std::uint8_t kind,
                                std::size_t length) {
    const std::size_t end = view.payload_at;
    for (std::size_t at = view.tcp_at + kTcpBytes; at < end && frame[at] != kOptionEnd;) {
        if (frame[at] == kOptionNothing) {
            ++at;
            continue;
        }
        if (at + 1 >= end || frame[at + 1] < 2)
            break;
        if (frame[at] == kind && frame[at + 1] == length && at + length <= end)
            return frame + at;
        at += frame[at + 1];
    }
    return nullptr;
}

}  // namespace

unsigned window_scale(const rte_mbuf* syn, const TcpView& view) {
    const std::uint8_t* const option =
        find_option(rte_pktmbuf_mtod(syn, const std::uint8_t*), view, kOptionScale, kScaleBytes);
    return option == nullptr ? 0 : std::min<unsigned>(option[2], kScaleMax);
}

/// With checksum offload the field holds the checksum of the pseudo header, which the window does not change.
void lower_window(rte_mbuf* frame, const TcpView& view, std::uint16_t field) {
    auto* tcp = rte_pktmbuf_mtod_offset(frame, std::uint8_t*, view.tcp_at);
    const std::uint16_t before = be16(tcp + kWindowAt);
    if (before <= field || rte_mbuf_refcnt_read(frame) != 1 || RTE_MBUF_CLONED(frame))
        return;
    put_be16(tcp + kWindowAt, field);
    if ((frame->ol_flags & (RTE_MBUF_F_TX_L4_MASK | RTE_MBUF_F_TX_TCP_SEG)) != 0)
        return;
    const std::uint16_t old = be16(tcp + kChecksumAt);
    std::uint32_t sum =
        std::uint32_t{static_cast<std::uint16_t>(~old)} + static_cast<std::uint16_t>(~before) + field;
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    put_be16(tcp + kChecksumAt, ~sum & 0xFFFF);
}

WindowUpdate WindowUpdate::of(const rte_mbuf* frame, const TcpView& view, unsigned scale) {
    const auto* bytes = rte_pktmbuf_mtod(frame, const std::uint8_t*);
    const bool syn = (view.flags & Segment::kSyn) != 0;
    const std::size_t ip_bytes = view.ip6 ? sizeof(rte_ipv6_hdr) : sizeof(rte_ipv4_hdr);
    const std::size_t tcp_at = kEthernetHeaderBytes + ip_bytes;
    const std::uint8_t* const times = find_option(bytes, view, kOptionTimestamps, kTimestampsBytes);
    const std::size_t tcp_bytes = kTcpBytes + (times != nullptr ? kTimestampsPadded : 0);
    WindowUpdate update;
    update.size_ = static_cast<std::uint8_t>(tcp_at + tcp_bytes);
    std::uint8_t* out = update.bytes_.data();
    std::memcpy(out, bytes, tcp_at);  // without IPv4 options and extension headers
    std::memcpy(out + tcp_at, bytes + view.tcp_at, kTcpBytes);
    std::uint8_t* tcp = out + tcp_at;
    const bool fin = (view.flags & Segment::kFin) != 0;
    put_be32(tcp + kSeqAt, view.seq + view.payload_bytes + (syn || fin ? 1 : 0));
    put_be32(tcp + kAckAt, view.ack);
    tcp[kLengthAt] = static_cast<std::uint8_t>(tcp_bytes / 4 << 4);
    tcp[kFlagsAt] = Segment::kAck;
    const std::uint32_t field = be16(tcp + kWindowAt);
    put_be16(tcp + kWindowAt, syn ? field >> scale : field);  // the window of a SYN is not scaled
    put_be16(tcp + kChecksumAt, 0);
    put_be16(tcp + kChecksumAt + 2, 0);  // urgent pointer
    if (times != nullptr) {
        tcp[kTcpBytes] = tcp[kTcpBytes + 1] = kOptionNothing;
        std::memcpy(tcp + kTcpBytes + 2, times, kTimestampsBytes);
    }
    if (view.ip6) {
        auto* ip = reinterpret_cast<rte_ipv6_hdr*>(out + kEthernetHeaderBytes);
        ip->payload_len = rte_cpu_to_be_16(static_cast<std::uint16_t>(tcp_bytes));
        ip->proto = tcp_view::kProtocolTcp;
        const std::uint16_t sum = rte_ipv6_udptcp_cksum(ip, tcp);
        std::memcpy(tcp + kChecksumAt, &sum, sizeof sum);
    } else {
        auto* ip = reinterpret_cast<rte_ipv4_hdr*>(out + kEthernetHeaderBytes);
        ip->version_ihl = RTE_IPV4_VHL_DEF;
        ip->total_length = rte_cpu_to_be_16(static_cast<std::uint16_t>(sizeof(rte_ipv4_hdr) + tcp_bytes));
        ip->hdr_checksum = 0;
        ip->hdr_checksum = rte_ipv4_cksum(ip);
        const std::uint16_t sum = rte_ipv4_udptcp_cksum(ip, tcp);
        std::memcpy(tcp + kChecksumAt, &sum, sizeof sum);
    }
    return update;
}

rte_mbuf* WindowUpdate::make(rte_mempool* pool) const {
    rte_mbuf* frame = rte_pktmbuf_alloc(pool);
    if (frame == nullptr)
        return nullptr;
    std::memcpy(rte_pktmbuf_append(frame, size_), bytes_.data(), size_);
    return frame;
}

ClosedWindows::ClosedWindows(std::uint32_t flows, std::uint32_t connections)
    : mask_(connections - 1),
      room_(SharedRoom::divide(connections, flows, 1)),
      entries_(connections),
      buckets_(connections, kNone),
      queues_(flows) {
    assert(std::has_single_bit(connections));
    for (std::uint32_t at = 0; at < connections; ++at)
        entries_[at].next = at + 1 < connections ? at + 1 : kNone;
}

bool ClosedWindows::close(FlowId flow, ConnectionId connection, const WindowUpdate& update) {
    std::uint32_t at = find(connection);
    if (at != kNone) {
        entries_[at].update = update;
        return true;
    }
    if (!room_.fits(flow, 1))
        return false;
    room_.take(flow, 1);
    at = free_;
    free_ = entries_[at].next;
    Queue& queue = queues_[flow];
    std::uint32_t& first = buckets_[bucket(connection)];
    entries_[at] = {update, connection, kNone, queue.tail, first};
    first = at;
    (queue.tail == kNone ? queue.head : entries_[queue.tail].next) = at;
    queue.tail = at;
    ++count_;
    return true;
}

bool ClosedWindows::open(FlowId flow, ConnectionId connection) {
    const std::uint32_t at = count(flow) != 0 ? find(connection) : kNone;
    if (at == kNone)
        return false;
    remove(flow, at);
    return true;
}

WindowUpdate ClosedWindows::open_next(FlowId flow) {
    assert(count(flow) != 0);
    const std::uint32_t at = queues_[flow].head;
    remove(flow, at);
    return entries_[at].update;
}

void ClosedWindows::forget(FlowId flow) {
    while (count(flow) != 0)
        remove(flow, queues_[flow].head);
}

void ClosedWindows::remove(FlowId flow, std::uint32_t at) {
    Queue& queue = queues_[flow];
    Entry& entry = entries_[at];
    (entry.before == kNone ? queue.head : entries_[entry.before].next) = entry.next;
    (entry.next == kNone ? queue.tail : entries_[entry.next].before) = entry.before;
    std::uint32_t* link = &buckets_[bucket(entry.connection)];
    while (*link != at)
        link = &entries_[*link].next_hash;
    *link = entry.next_hash;
    entry.next = free_;
    free_ = at;
    room_.give_back(flow, 1);
    --count_;
}

}  // namespace weir
