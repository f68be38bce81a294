// tracker.h - TCP segments in, requests and responses out: finds headers by counting bytes, without
// reassembly. Source: algorithms 8 (next_seq tracking). Units: bytes, ns. Threads: one owner. Allocates only
// when built.
//
// next_seq is where the next header is due. A segment that ends before is body or retransmission and costs
// one compare; one that reaches further is parsed from there on, header after header. What passes over a hole
// is never held back: up to 64 KiB of it are kept until the retransmission has come, the rest goes as plain
// bytes. When the other side acknowledges what never came by, or a header makes no sense, headers are looked
// for again by their magic. Bytes of which no header was understood are reported as plain bytes, so that they
// can be charged as well.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/clock.h"
#include "cost_functions/tracker/connection.h"
#include "cost_functions/tracker/fragments.h"
#include "cost_functions/tracker/pending_requests.h"
#include "cost_functions/tracker/protocol.h"

namespace weir {

class Tracker {
  public:
    struct Profile {
        std::size_t vnics = 1;
        std::size_t pendings = 1 << 19;   ///< requests of all connections whose latency is measured
        std::size_t fragments = 1 << 14;  ///< of 512 bytes, at most 65,535
        std::size_t pendings_per_vnic = 1 << 17;
        std::size_t fragments_per_vnic = 1 << 12;
    };
    struct Stats {
        std::uint64_t holes = 0;     ///< segments that passed over a hole
        std::uint64_t unkept = 0;    ///< ... and were not kept whole
        std::uint64_t given_up = 0;  ///< holes that were not filled
        std::uint64_t lost = 0;      ///< headers that made no sense, or for which there was no room
        std::uint64_t found = 0;     ///< headers found by their magic, also of connections met in mid-stream
    };

    /// @param protocols that Connection::protocol indexes; they outlive the tracker
    Tracker(std::span<const Protocol* const> protocols, const Profile& profile)
        : protocols_(protocols),
          pending_(profile.pendings, profile.vnics, profile.pendings_per_vnic),
          fragments_(profile.fragments, profile.vnics, profile.fragments_per_vnic) {}

    /// One segment of a connection, in the order of passing. The sink has
    ///   request(const Request&)
    ///   response(const Response&, const Answer&)
    ///   plain(Side, std::uint32_t bytes)    payload of which no header was understood, also later than it
    ///   passed
    /// @return false when the connection is over: forget() it
    template <class Sink>
    bool segment(Connection& connection, Side side, const Segment& segment, Nanos now, Sink&& sink);

    /// segment() would see nothing in it: body, or sent again, or an acknowledgement of nothing unusual.
    [[nodiscard]] static bool passes_by(const Connection& connection, Side side, std::uint32_t seq,
                                        std::uint32_t bytes, std::uint8_t flags) {
        const std::int32_t skip = ahead(connection.way(side).next_seq, seq);
        return usual(connection, side, skip, flags) && static_cast<std::uint32_t>(skip) >= bytes;
    }

    /// Gives back what the connection holds; it is as new then.
    void forget(Connection& connection);

    void prefetch(const Connection& connection) const { pending_.prefetch(connection); }
    [[nodiscard]] const Stats& stats() const { return stats_; }
    [[nodiscard]] const PendingRequests& pending() const { return pending_; }
    [[nodiscard]] PendingRequests& pending() { return pending_; }
    [[nodiscard]] const Fragments& fragments() const { return fragments_; }
    [[nodiscard]] std::size_t memory_bytes() const {
        return pending_.memory_bytes() + fragments_.memory_bytes();
    }

  private:
    /// One direction at one moment.
    struct At {
        Connection& connection;
        Direction& way;
        const Protocol& protocol;
        Side side;
        Nanos now;
        [[nodiscard]] std::size_t header_max() const { return protocol.header_max; }
    };
    static constexpr std::size_t kNowhere = SIZE_MAX;
    static constexpr std::int32_t kWindowMax = 1 << 30;  ///< TCP's; further away is another place

    /// Usually a segment begins at or before next_seq, by `skip` bytes, and nothing has passed over a hole.
    [[nodiscard]] static bool usual(const Connection& connection, Side side, std::int32_t skip,
                                    std::uint8_t flags) {
        return connection.way(side).step == Step::kIn && skip >= 0 &&
               (flags & (Segment::kSyn | Segment::kFin | Segment::kRst)) == 0 &&
               connection.way(opposite(side)).step != Step::kHole;
    }
    template <class Sink>
    [[gnu::noinline]] bool unusual(const At& at, const Segment& segment, Sink& sink);
    template <class Sink>
    bool edge(const At& at, const Segment& segment, Sink& sink);
    template <class Sink>
    void stream(const At& at, std::uint32_t seq, Bytes bytes, Sink& sink);
    template <class Sink>
    void search(const At& at, std::uint32_t seq, Bytes bytes, Sink& sink);
    template <class Sink>
    void over_hole(const At& at, std::uint32_t seq, Bytes bytes, Sink& sink);
    template <class Sink>
    [[gnu::noinline]] void feed(const At& at, std::uint32_t seq, Bytes bytes, Sink& sink);
    template <class Sink>
    [[gnu::always_inline]] inline void read_on(const At& at, std::size_t skip, Bytes bytes, Sink& sink);
    template <class Sink>
    [[gnu::always_inline]] inline bool report(const At& at, Parsed& parsed, Sink& sink);
    template <class Sink>
    bool report_by_cookie(const At& at, Parsed& parsed, Sink& sink);
    template <class Sink>
    [[gnu::noinline]] void lose(const At& at, std::size_t rest, Sink& sink);
    template <class Sink>
    void give_up(const At& at, std::uint32_t next_seq, Sink& sink);

    static Parsed parse(const At& at, Bytes bytes) {
        return (at.side == Side::kRequests ? at.protocol.request : at.protocol.response)(bytes,
                                                                                         at.way.parser);
    }
    static std::size_t find_header(const At& at, Bytes bytes);
    void found(const At& at, bool met_before);
    void understood(const At& at);
    void synchronise(const At& at, std::uint32_t seq);
    static bool end(const At& at);

    std::span<const Protocol* const> protocols_;
    PendingRequests pending_;
    Fragments fragments_;
    Stats stats_;
};

template <class Sink>
bool Tracker::segment(Connection& connection, Side side, const Segment& segment, Nanos now, Sink&& sink) {
    Direction& way = connection.way(side);
    const std::int32_t skip = ahead(way.next_seq, segment.seq);
    const bool as_usual = usual(connection, side, skip, segment.flags);
    if (as_usual && static_cast<std::size_t>(skip) >= segment.payload.size())
        return true;
    const At at{connection, way, *protocols_[connection.protocol], side, now};
    if (!as_usual)
        return unusual(at, segment, sink);
    read_on(at, static_cast<std::size_t>(skip), segment.payload, sink);
    return true;
}

template <class Sink>
bool Tracker::unusual(const At& at, const Segment& segment, Sink& sink) {
    Direction& other = at.connection.way(opposite(at.side));
    if (other.step == Step::kHole && ahead(segment.ack, other.next_seq) > 0 &&
        (segment.flags & Segment::kAck) != 0)
        give_up({at.connection, other, at.protocol, opposite(at.side), at.now}, segment.ack, sink);
    if ((segment.flags & (Segment::kSyn | Segment::kFin | Segment::kRst)) != 0)
        return edge(at, segment, sink);
    stream(at, segment.seq, segment.payload, sink);
    return true;
}

template <class Sink>
bool Tracker::edge(const At& at, const Segment& segment, Sink& sink) {
    std::uint32_t seq = segment.seq;
    if ((segment.flags & Segment::kSyn) != 0)
        synchronise(at, seq++);
    const bool reset = (segment.flags & Segment::kRst) != 0;
    if (!reset)
        stream(at, seq, segment.payload, sink);
    if (!reset && ((segment.flags & Segment::kFin) == 0 || !end(at)))
        return true;
    for (const Side side : {Side::kRequests, Side::kResponses})
        if (Direction& way = at.connection.way(side); way.fragments != kNoFragment)
            give_up({at.connection, way, at.protocol, side, at.now}, way.next_seq, sink);
    return false;
}

template <class Sink>
void Tracker::stream(const At& at, std::uint32_t seq, Bytes bytes, Sink& sink) {
    Direction& way = at.way;
    if (bytes.empty())
        return;
    if (!way.in_step())
        return search(at, seq, bytes, sink);
    if (ahead(seq + static_cast<std::uint32_t>(bytes.size()), way.next_seq) <= 0)
        return;
    if (ahead(seq, way.next_seq) > 0)
        return over_hole(at, seq, bytes, sink);
    way.step = Step::kIn;
    feed(at, seq, bytes, sink);
    Fragment due;
    while (way.fragments != kNoFragment && fragments_.take_due(way, at.connection.vnic, due))
        feed(at, due.seq, Bytes(due.data.data(), due.bytes), sink);
    if (way.in_step() && fragments_.beyond(way))
        way.step = Step::kHole;
}

/// Bytes are reported as far as the stream has come, so that a retransmission is not reported again.
template <class Sink>
void Tracker::search(const At& at, std::uint32_t seq, Bytes bytes, Sink& sink) {
    Direction& way = at.way;
    std::int32_t known = ahead(way.next_seq, seq);
    const bool met_before = way.step != Step::kNew;
    if (!met_before || known > kWindowMax || known < -kWindowMax)
        known = 0;
    way.step = Step::kSearching;
    const std::size_t skip = known > 0 ? static_cast<std::size_t>(known) : 0;
    if (skip >= bytes.size())
        return;
    const std::uint32_t gap = known < 0 ? static_cast<std::uint32_t>(-known) : 0;
    bytes = bytes.subspan(skip);
    const std::size_t at_header = find_header(at, bytes);
    const auto before = static_cast<std::uint32_t>(std::min(at_header, bytes.size()));
    way.next_seq = seq + static_cast<std::uint32_t>(skip) + before;
    if (gap + before > 0)
        sink.plain(at.side, gap + before);
    if (at_header == kNowhere)
        return;
    found(at, met_before);
    feed(at, way.next_seq, bytes.subspan(at_header), sink);
}

template <class Sink>
void Tracker::over_hole(const At& at, std::uint32_t seq, Bytes bytes, Sink& sink) {
    Direction& way = at.way;
    way.step = Step::kHole;
    ++stats_.holes;
    const std::size_t kept = fragments_.keep(way, at.connection.vnic, seq, bytes);
    if (kept == bytes.size())
        return;
    ++stats_.unkept;
    sink.plain(at.side, static_cast<std::uint32_t>(bytes.size() - kept));
    if (++way.doubt == 0)
        give_up(at, seq + static_cast<std::uint32_t>(bytes.size()), sink);
}

/// The segment begins at or before next_seq.
template <class Sink>
void Tracker::feed(const At& at, std::uint32_t seq, Bytes bytes, Sink& sink) {
    read_on(at, static_cast<std::size_t>(ahead(at.way.next_seq, seq)), bytes, sink);
}

/// Reads headers from next_seq on, which is byte `skip`.
template <class Sink>
void Tracker::read_on(const At& at, std::size_t skip, Bytes bytes, Sink& sink) {
    Direction& way = at.way;
    while (skip < bytes.size()) {
        bytes = bytes.subspan(skip);
        Fragment* const begun = way.fragments == kNoFragment ? nullptr : fragments_.header(way);
        const Bytes header = begun == nullptr ? bytes.first(std::min(bytes.size(), at.header_max()))
                                              : begun->with(bytes, at.header_max());
        Parsed parsed = parse(at, header);
        if (parsed.verdict == Parsed::Verdict::kMore && header.size() < at.header_max() &&
            fragments_.keep_header(way, at.connection.vnic, begun, bytes))
            return;
        if (!report(at, parsed, sink))
            return lose(at, bytes.size(), sink);
        skip = parsed.length;
        if (begun != nullptr)
            skip = fragments_.shorten_header(way, at.connection.vnic, parsed.length);
        way.next_seq += static_cast<std::uint32_t>(skip);
    }
}

/// @return false: it made no sense
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
        understood(at);
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

/// A header made no sense, or there is no room for its begin: what is left of the segment is plain bytes.
template <class Sink>
void Tracker::lose(const At& at, std::size_t rest, Sink& sink) {
    ++stats_.lost;
    const std::uint32_t kept = fragments_.drop_all(at.way, at.connection.vnic);
    const auto bytes = static_cast<std::uint32_t>(rest);
    sink.plain(at.side, kept + bytes);
    at.way.step = Step::kSearching;
    at.way.next_seq += bytes;
}

/// What is missing will not come any more, and bytes up to next_seq have been reported.
template <class Sink>
void Tracker::give_up(const At& at, std::uint32_t next_seq, Sink& sink) {
    ++stats_.given_up;
    if (const std::uint32_t kept = fragments_.drop_all(at.way, at.connection.vnic); kept != 0)
        sink.plain(at.side, kept);
    at.way.step = Step::kSearching;
    at.way.next_seq = next_seq;
}

}  // namespace weir
