// tcp_view.h - the TCP segment in a frame: who talks to whom, and where its payload lies.
// Source: RFC 791, 8200, 9293. Units: bytes; ports in host order, addresses as on the wire. Threads: any.
#pragma once

#include <rte_mbuf.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "cost_functions/connection.h"
#include "cost_functions/connection_id.h"

namespace weir {

struct TcpView {
    bool ip6 = false;
    Ip6Address source{};       ///< IPv4: the first four bytes
    Ip6Address destination{};  ///< likewise
    std::uint16_t source_port = 0;
    std::uint16_t destination_port = 0;
    std::uint32_t seq = 0;
    std::uint32_t ack = 0;
    std::uint8_t flags = 0;            ///< TCP's own bits
    std::uint16_t payload_at = 0;      ///< from the start of the frame
    std::uint32_t payload_bytes = 0;   ///< as the IP header says, padding left out
};

/// The segment in an untagged frame; nothing when it is none, a fragment, behind extension headers, or
/// shorter than it says. Headers must lie in the first buffer.
[[nodiscard]] std::optional<TcpView> read_tcp(const rte_mbuf* frame);

/// Gives the payload piece by piece, as it lies in the buffers: give(const Segment&). A segment without
/// payload is given once.
template <class Give>
void each_piece(const rte_mbuf* frame, const TcpView& view, Give&& give) {
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
            give(segment);
        if (left == 0)
            return;
        segment.seq += bytes;
    }
}

}  // namespace weir
