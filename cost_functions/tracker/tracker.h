// tracker.h - finds requests and responses in the TCP segments of a connection by counting bytes, without
// reassembly.
// Source: docs/algorithms.md 5.1. Units: bytes, ns. Threads: one owner. Allocates only when built.
//
// next_seq is the sequence number at which the next header begins. A segment that ends before it is body or
// retransmission and costs one comparison. A segment that reaches beyond it is parsed from next_seq on: the
// parser returns the length of the message, next_seq moves behind it, and so on to the segment's end.
// Example: next_seq is 1000 and a segment [1000, 1030) begins a memcached set of 32 + 5000 bytes. The 30
// bytes of header go to a stream buffer. With the next segment the header is complete, next_seq becomes 6032,
// and the segments of the body up to there are not read.
//
// A segment beyond a hole is not held up: up to 64 KiB of its bytes are kept and parsed when the missing
// segment has been retransmitted. If instead the other side acknowledges bytes that never passed here, or a
// header makes no sense, the direction is out of step, and following segments are searched for a header by
// its magic number. Bytes in which no header was found are reported as plain bytes, so that they can be
// charged too.
//
// A client may lie: send a request that the server ignores, because its checksum is broken or its TTL too
// short, and then another one in the same bytes. So each byte that was reported pays for one passage:
// `credit` counts the bytes to the service that were reported and have not passed yet, and bytes that pass
// without credit are reported as repeated. Example: the set of 5032 bytes above is reported when its header
// has passed, which leaves a credit of 5000; its body uses it up, and a retransmission of its last 1000 bytes
// is 1000 repeated bytes. For the same reason only the server's SYN with an ACK begins a connection anew.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/clock.h"
#include "cost_functions/tracker/pending_requests.h"
#include "cost_functions/tracker/protocol.h"
#include "cost_functions/tracker/stream_buffers.h"
#include "cost_functions/tracker/tracked_connection.h"

namespace weir {

class Tracker {
  public:
    /// The users of both are the vNICs, by VnicId.
    struct Profile {
        SharedRoom::Size pendings{.common = 1 << 19};  ///< records of requests that await responses
        SharedRoom::Size buffers{.common = 1 << 14};   ///< stream buffers of 512 bytes; at most 65,535
    };
    struct Stats {
        std::uint64_t holes = 0;     ///< segments that passed beyond a hole
        std::uint64_t unkept = 0;    ///< ... and were not kept whole
        std::uint64_t given_up = 0;  ///< holes that were never filled
        std::uint64_t lost = 0;      ///< headers that made no sense, or found no free buffer
        std::uint64_t found = 0;  ///< headers found by a search, of connections first seen in mid-stream too
    };

    /// @param protocols that TrackedConnection::protocol indexes; they outlive the tracker
    Tracker(std::span<const Protocol* const> protocols, const Profile& profile)
        : protocols_(protocols), pending_(profile.pendings), buffers_(profile.buffers) {}

    /// Reads one segment of a connection; call it in the order in which segments pass. Calls these members of
    /// `sink`:
    ///   request(const Request&)
    ///   response(const Response&, const Answer&)
    ///   plain(Side, std::uint32_t bytes)    payload without a header, some of it later than it passed
    ///   repeated(std::uint32_t bytes)       payload to the service in place of bytes that passed before
    /// @return false when the connection has ended: call forget()
    template <class Sink>
    bool segment(TrackedConnection& connection, Side side, const Segment& segment, Nanos now, Sink&& sink);

    /// Acts as segment() does on a segment that is body or acknowledgement: counts its bytes and does no
    /// more.
    /// @return false, and nothing is changed, when it is neither
    [[nodiscard]] static bool pass_body(TrackedConnection& connection, Side side, std::uint32_t seq,
                                        std::uint32_t bytes, std::uint8_t flags) {
        const std::int32_t skip = ahead(connection.way(side).next_seq, seq);
        if (!is_usual(connection, side, skip, flags) || static_cast<std::uint32_t>(skip) < bytes)
            return false;
        if (side == Side::kResponses)
            return true;
        if (bytes > connection.credit)
            return false;
        connection.credit -= bytes;
        return true;
    }

    /// Frees the records and buffers of a connection and resets it. @return bytes to the service that passed
    /// and were not reported
    std::uint32_t forget(TrackedConnection& connection);

    [[nodiscard]] const Stats& stats() const { return stats_; }
    [[nodiscard]] const PendingRequests& pending() const { return pending_; }
    [[nodiscard]] PendingRequests& pending() { return pending_; }
    [[nodiscard]] const StreamBuffers& buffers() const { return buffers_; }
    [[nodiscard]] std::size_t memory_bytes() const {
        return pending_.memory_bytes() + buffers_.memory_bytes();
    }

  private:
    /// A direction of a connection, while a segment of it is read.
    struct At {
        TrackedConnection& connection;
        Direction& way;
        const Protocol& protocol;
        Side side;
        Nanos now;
        [[nodiscard]] std::size_t header_max() const { return protocol.header_max; }
    };
    static constexpr std::size_t kNowhere = SIZE_MAX;
    /// TCP's largest window: sequence numbers further apart belong to different streams.
    static constexpr std::int32_t kWindowMax = 1 << 30;

    /// The usual case: the segment begins `skip` bytes before next_seq, neither direction has a hole, and the
    /// segment does not open or close the connection.
    [[nodiscard]] static bool is_usual(const TrackedConnection& connection, Side side, std::int32_t skip,
                                       std::uint8_t flags) {
        return connection.way(side).state == StreamState::kInStep && skip >= 0 &&
               (flags & (Segment::kSyn | Segment::kFin | Segment::kRst)) == 0 &&
               connection.way(opposite(side)).state != StreamState::kHole;
    }
    template <class Sink>
    [[gnu::noinline]] bool read_unusual(const At& at, const Segment& segment, Sink& sink);
    template <class Sink>
    bool open_or_close(const At& at, const Segment& segment, Sink& sink);
    /// Payload passed, and `reported` bytes were reported with it.
    template <class Sink>
    static void pass(const At& at, std::uint32_t reported, std::size_t passed, Sink& sink) {
        if (at.side == Side::kResponses)
            return;
        const std::uint32_t credit = at.connection.credit + reported;
        const auto bytes = static_cast<std::uint32_t>(passed);
        at.connection.credit = credit - bytes;
        if (credit < bytes) [[unlikely]] {
            at.connection.credit = 0;
            sink.repeated(bytes - credit);
        }
    }
    template <class Sink>
    void on_syn(const At& at, const Segment& segment, Sink& sink);
    template <class Sink>
    void stream(const At& at, std::uint32_t seq, Bytes bytes, Sink& sink);
    template <class Sink>
    void search(const At& at, std::uint32_t seq, Bytes bytes, Sink& sink);
    template <class Sink>
    void keep_beyond_hole(const At& at, std::uint32_t seq, Bytes bytes, Sink& sink);
    template <class Sink>
    [[gnu::noinline]] void feed(const At& at, std::uint32_t seq, Bytes bytes, Sink& sink);
    template <class Sink>
    [[gnu::always_inline]] inline void parse_headers(const At& at, std::size_t skip, Bytes bytes, Sink& sink);
    template <class Sink>
    [[gnu::always_inline]] inline bool report(const At& at, Parsed& parsed, Sink& sink);
    template <class Sink>
    bool report_by_cookie(const At& at, Parsed& parsed, Sink& sink);
    template <class Sink>
    [[gnu::noinline]] void lose_step(const At& at, std::size_t rest, Sink& sink);
    template <class Sink>
    void give_up(const At& at, std::uint32_t next_seq, Sink& sink);

    static Parsed parse(const At& at, Bytes bytes) {
        return (at.side == Side::kRequests ? at.protocol.request : at.protocol.response)(bytes,
                                                                                         at.way.parser);
    }
    static std::size_t find_header(const At& at, Bytes bytes);
    void on_found(const At& at, bool seen_before);
    void reduce_doubt(const At& at);
    static void correct_credit(const At& at, const Parsed& parsed, std::size_t present);
    static bool on_fin(const At& at);

    std::span<const Protocol* const> protocols_;
    PendingRequests pending_;
    StreamBuffers buffers_;
    Stats stats_;
};

template <class Sink>
bool Tracker::segment(TrackedConnection& connection, Side side, const Segment& segment, Nanos now,
                      Sink&& sink) {
    if (pass_body(connection, side, segment.seq, static_cast<std::uint32_t>(segment.payload.size()),
                  segment.flags))
        return true;
    Direction& way = connection.way(side);
    const std::int32_t skip = ahead(way.next_seq, segment.seq);
    const bool usual = is_usual(connection, side, skip, segment.flags);
    const At at{connection, way, *protocols_[connection.protocol], side, now};
    if (!usual)
        return read_unusual(at, segment, sink);
    const std::uint32_t next_seq = way.next_seq;
    parse_headers(at, static_cast<std::size_t>(skip), segment.payload, sink);
    pass(at, way.next_seq - next_seq, segment.payload.size(), sink);
    return true;
}

template <class Sink>
bool Tracker::read_unusual(const At& at, const Segment& segment, Sink& sink) {
    Direction& other = at.connection.way(opposite(at.side));
    if (other.state == StreamState::kHole && ahead(segment.ack, other.next_seq) > 0 &&
        (segment.flags & Segment::kAck) != 0)
        give_up({at.connection, other, at.protocol, opposite(at.side), at.now}, segment.ack, sink);
    if ((segment.flags & (Segment::kSyn | Segment::kFin | Segment::kRst)) != 0)
        return open_or_close(at, segment, sink);
    stream(at, segment.seq, segment.payload, sink);
    return true;
}

template <class Sink>
bool Tracker::open_or_close(const At& at, const Segment& segment, Sink& sink) {
    std::uint32_t seq = segment.seq;
    if ((segment.flags & Segment::kSyn) != 0) {
        on_syn(at, segment, sink);
        ++seq;
    }
    const bool reset = (segment.flags & Segment::kRst) != 0;
    if (!reset)
        stream(at, seq, segment.payload, sink);
    if (!reset && ((segment.flags & Segment::kFin) == 0 || !on_fin(at)))
        return true;
    for (const Side side : {Side::kRequests, Side::kResponses})
        if (Direction& way = at.connection.way(side); way.buffers != kNoStreamBuffer)
            give_up({at.connection, way, at.protocol, side, at.now}, way.next_seq, sink);
    return false;
}

/// Whether a SYN of the client was accepted is known when the server acknowledges it. Until then the first
/// SYN of a connection is believed, as the bytes behind it have no credit.
template <class Sink>
void Tracker::on_syn(const At& at, const Segment& segment, Sink& sink) {
    TrackedConnection& connection = at.connection;
    Direction& way = at.way;
    const std::uint32_t next_seq = segment.seq + 1;
    const bool first = way.state == StreamState::kNew;
    if (at.side == Side::kResponses && (segment.flags & Segment::kAck) != 0) {
        Direction& requests = connection.requests_way;
        if (way.in_step() && way.next_seq == next_seq)
            return;  // its duplicate
        if (!first || !requests.in_step() || segment.ack != requests.next_seq - connection.credit) {
            if (const std::uint32_t kept = forget(connection); kept != 0)
                sink.plain(Side::kRequests, kept);
            requests.next_seq = segment.ack;
            requests.state = StreamState::kInStep;
        }
    } else if (!first) {
        return;
    }
    way.next_seq = next_seq;
    way.state = StreamState::kInStep;
}

template <class Sink>
void Tracker::stream(const At& at, std::uint32_t seq, Bytes bytes, Sink& sink) {
    Direction& way = at.way;
    if (bytes.empty())
        return;
    if (!way.in_step())
        return search(at, seq, bytes, sink);
    if (ahead(seq + static_cast<std::uint32_t>(bytes.size()), way.next_seq) <= 0)
        return pass(at, 0, bytes.size(), sink);
    if (ahead(seq, way.next_seq) > 0)
        return keep_beyond_hole(at, seq, bytes, sink);
    way.state = StreamState::kInStep;
    feed(at, seq, bytes, sink);
    StreamBuffer due;
    while (way.buffers != kNoStreamBuffer && buffers_.take_due(way, at.connection.vnic, due))
        feed(at, due.seq, Bytes(due.data.data(), due.bytes), sink);
    if (way.in_step() && buffers_.has_beyond_hole(way))
        way.state = StreamState::kHole;
}

/// Out of step: next_seq is how far bytes have been reported. A gap before the segment is skipped: its bytes
/// never passed, so nothing is owed for them.
template <class Sink>
void Tracker::search(const At& at, std::uint32_t seq, Bytes bytes, Sink& sink) {
    Direction& way = at.way;
    std::int32_t known = ahead(way.next_seq, seq);
    const bool seen_before = way.state != StreamState::kNew;
    if (!seen_before || known > kWindowMax || known < -kWindowMax)
        known = 0;
    way.state = StreamState::kSearching;
    const std::size_t skip = known > 0 ? static_cast<std::size_t>(known) : 0;
    if (skip >= bytes.size())
        return pass(at, 0, bytes.size(), sink);
    pass(at, 0, skip, sink);
    bytes = bytes.subspan(skip);
    const std::size_t at_header = find_header(at, bytes);
    const auto before = static_cast<std::uint32_t>(std::min(at_header, bytes.size()));
    way.next_seq = seq + static_cast<std::uint32_t>(skip) + before;
    if (before != 0)
        sink.plain(at.side, before);  // they pass on their own report
    if (at_header == kNowhere)
        return;
    on_found(at, seen_before);
    feed(at, way.next_seq, bytes.subspan(at_header), sink);
}

template <class Sink>
void Tracker::keep_beyond_hole(const At& at, std::uint32_t seq, Bytes bytes, Sink& sink) {
    Direction& way = at.way;
    way.state = StreamState::kHole;
    ++stats_.holes;
    const StreamBuffers::Kept kept = buffers_.keep(way, at.connection.vnic, seq, bytes);
    const auto unkept = static_cast<std::uint32_t>(bytes.size() - kept.bytes);
    pass(at, unkept, bytes.size() - kept.fresh, sink);  // kept bytes count as passed when they are parsed
    if (unkept == 0)
        return;
    ++stats_.unkept;
    sink.plain(at.side, unkept);
    if (++way.doubt == 0)
        give_up(at, seq + static_cast<std::uint32_t>(bytes.size()), sink);
}

/// The segment begins at or before next_seq.
template <class Sink>
void Tracker::feed(const At& at, std::uint32_t seq, Bytes bytes, Sink& sink) {
    const std::uint32_t next_seq = at.way.next_seq;
    parse_headers(at, static_cast<std::size_t>(ahead(next_seq, seq)), bytes, sink);
    pass(at, at.way.next_seq - next_seq, bytes.size(), sink);
}

/// Parses headers from next_seq on, which is byte `skip` of `bytes`.
template <class Sink>
void Tracker::parse_headers(const At& at, std::size_t skip, Bytes bytes, Sink& sink) {
    Direction& way = at.way;
    while (skip < bytes.size()) {
        bytes = bytes.subspan(skip);
        StreamBuffer* const begun = way.buffers == kNoStreamBuffer ? nullptr : buffers_.header(way);
        const Bytes header = begun == nullptr ? bytes.first(std::min(bytes.size(), at.header_max()))
                                              : begun->with(bytes, at.header_max());
        Parsed parsed = parse(at, header);
        if (parsed.verdict == Parsed::Verdict::kMore && header.size() < at.header_max() &&
            buffers_.keep_header(way, at.connection.vnic, begun, bytes))
            return;
        if (!report(at, parsed, sink))
            return lose_step(at, bytes.size(), sink);
        if (at.side == Side::kRequests && (parsed.verdict == Parsed::Verdict::kPart || at.protocol.prepaid))
            [[unlikely]]
            correct_credit(at, parsed, bytes.size() + (begun == nullptr ? 0 : begun->bytes));
        skip = parsed.length;
        if (begun != nullptr)
            skip = buffers_.shorten_header(way, at.connection.vnic, parsed.length);
        way.next_seq += static_cast<std::uint32_t>(skip);
    }
}

/// next_seq moves by a message's length, and the credit with it; but a part is reported with a request,
/// before or later: it pays for no bytes, or for no more than `present` ones, which have passed already.
inline void Tracker::correct_credit(const At& at, const Parsed& parsed, std::size_t present) {
    std::uint32_t& credit = at.connection.credit;
    if (parsed.verdict == Parsed::Verdict::kRequest)
        credit += parsed.request.request_bytes - parsed.length;
    else if (at.protocol.prepaid)
        credit -= parsed.length;
    else if (parsed.length > present)
        credit -= parsed.length - static_cast<std::uint32_t>(present);
}

/// Reports the parsed message. @return false when it makes no sense
template <class Sink>
bool Tracker::report(const At& at, Parsed& parsed, Sink& sink) {
    using enum Parsed::Verdict;
    if (parsed.length == 0 || parsed.length > kMessageMax)
        return false;
    if (parsed.verdict == kRequest && at.side == Side::kRequests) {
        if (parsed.request.answered)
            pending_.add(at.connection, parsed.request, at.protocol.ordered, at.now);
        sink.request(parsed.request);
    } else if (parsed.verdict == kResponse && at.side == Side::kResponses) {
        if (at.protocol.ordered)
            sink.response(parsed.response, pending_.close_in_order(at.connection, parsed.response, at.now));
        else if (!report_by_cookie(at, parsed, sink))
            return false;
    } else if (parsed.verdict != kPart) {
        return false;
    }
    if (at.way.doubt != 0)
        reduce_doubt(at);
    return true;
}

template <class Sink>
bool Tracker::report_by_cookie(const At& at, Parsed& parsed, Sink& sink) {
    Response& response = parsed.response;
    if (response.as_asked || !response.last) {
        Pending* const pending = pending_.find(at.connection, response.cookie);
        if (response.as_asked) {
            if (pending == nullptr || !pending->response_known || pending->response_bytes < parsed.length)
                return false;
            parsed.length = pending->response_bytes;
            response.bytes = pending->response_bytes;
        }
        if (!response.last) {
            if (pending == nullptr) {
                sink.plain(at.side, response.bytes);
            } else {
                pending->received += response.bytes;
                pending->failed = pending->failed || response.failed;
            }
            return true;
        }
    }
    const Answer answer = pending_.close_by_cookie(at.connection, response, at.now);
    sink.response(response, answer);
    return true;
}

/// A header makes no sense, or no buffer is free for its start: the rest of the segment is plain bytes.
template <class Sink>
void Tracker::lose_step(const At& at, std::size_t rest, Sink& sink) {
    ++stats_.lost;
    const std::uint32_t kept = buffers_.drop_all(at.way, at.connection.vnic);
    const auto bytes = static_cast<std::uint32_t>(rest);
    sink.plain(at.side, kept + bytes);
    at.way.state = StreamState::kSearching;
    at.way.next_seq += bytes;
}

/// The missing segment will not come. Bytes up to next_seq have been reported or are reported here.
template <class Sink>
void Tracker::give_up(const At& at, std::uint32_t next_seq, Sink& sink) {
    ++stats_.given_up;
    if (const std::uint32_t kept = buffers_.drop_all(at.way, at.connection.vnic); kept != 0)
        sink.plain(at.side, kept);
    at.way.state = StreamState::kSearching;
    at.way.next_seq = next_seq;
}

}  // namespace weir
