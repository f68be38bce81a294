// tracked_connection.h - state of one TCP connection in a tracker, both directions, in one cache line.
// Source: docs/algorithms.md 5.1. Units: TCP sequence numbers, 32 bits that wrap.
// Threads: one owner (values).
//
// Sequence numbers are compared by their signed distance, so that they may wrap: ahead(5, 0xFFFFFFFB) is 10.
// A million connections take 64 MiB.
#pragma once

#include <cstdint>

#include "common/clock.h"
#include "common/types.h"
#include "cost_functions/tracker/protocol.h"

namespace weir {

/// A direction: requests to the service, or responses from it.
enum class Side : std::uint8_t { kRequests, kResponses };
constexpr Side opposite(Side side) {
    return side == Side::kRequests ? Side::kResponses : Side::kRequests;
}

/// The parts of a TCP segment, or of a super-frame before it is split, that a tracker reads.
struct Segment {
    enum Flag : std::uint8_t { kFin = 1, kSyn = 2, kRst = 4, kAck = 16 };  ///< bits of the TCP header
    std::uint32_t seq = 0;
    std::uint32_t ack = 0;
    std::uint8_t flags = kAck;
    Bytes payload;
};

/// Distance from sequence number `b` forward to `a`; negative when `a` is behind `b` (RFC 1982).
constexpr std::int32_t ahead(std::uint32_t a, std::uint32_t b) {
    return static_cast<std::int32_t>(a - b);
}

enum class StreamState : std::uint8_t {
    kNew,        ///< no segment was seen
    kSearching,  ///< out of step: a header is searched for; bytes before next_seq have been reported
    kInStep,     ///< the next header begins at next_seq
    kHole        ///< the same, and bytes beyond next_seq have passed: a segment is missing
};

using StreamBufferId = std::uint16_t;
inline constexpr StreamBufferId kNoStreamBuffer = UINT16_MAX;
using PendingId = std::uint32_t;
inline constexpr PendingId kNoPending = (1U << 20) - 1;  // a connection stores 20 bits

/// One direction of a connection.
struct Direction {
    static constexpr std::uint8_t kScaleUnknown = 15;

    std::uint32_t next_seq = 0;
    ParserState parser{};
    StreamBufferId buffers = kNoStreamBuffer;  ///< list of bytes kept in StreamBuffers
    StreamState state : 4 = StreamState::kNew;
    std::uint8_t window_scale : 4 = kScaleUnknown;  ///< shift of the windows that its sender advertises
    std::uint8_t doubt = 0;  ///< rises with every fruitless search, falls with every message parsed

    [[nodiscard]] bool in_step() const { return state >= StreamState::kInStep; }
};

struct alignas(64) TrackedConnection {
    Direction requests_way{};
    Direction responses_way{};
    std::uint32_t id_low : 24 = 0;   ///< the bits of the ConnectionId that the table's index does not hold
    std::uint32_t protocol : 3 = 0;  ///< index into the tracker's protocols
    std::uint32_t service : 3 = 0;   ///< for the tracker's user: which of the vNIC's services
    std::uint32_t requests_ended : 1 = 0;
    std::uint32_t responses_ended : 1 = 0;
    PendingId pending : 20 = kNoPending;  ///< the youngest recorded request that awaits its response
    std::uint32_t recorded : 12 = 0;      ///< requests in the list of `pending`
    std::uint32_t requests = 0;           ///< that await a response, in total
    std::uint32_t responses = 0;          ///< to these requests, in total
    std::uint32_t credit = 0;             ///< bytes to the service that were reported and have not passed yet
    VnicId vnic = kNoVnic;                ///< kNoVnic: the slot is free
    std::uint16_t seen = 0;               ///< time of the last segment, see coarse()
    static constexpr std::uint32_t kIdLowMask = (1U << 24) - 1;

    [[nodiscard]] Direction& way(Side side) { return side == Side::kRequests ? requests_way : responses_way; }
    [[nodiscard]] const Direction& way(Side side) const {
        return side == Side::kRequests ? requests_way : responses_way;
    }
    [[nodiscard]] std::uint32_t outstanding() const { return requests - responses; }
    /// Time in units of 2^30 ns, about a second; wraps after 19 hours.
    [[nodiscard]] static std::uint16_t coarse(Nanos now) { return static_cast<std::uint16_t>(now >> 30); }
};
static_assert(sizeof(TrackedConnection) == 64);

}  // namespace weir
