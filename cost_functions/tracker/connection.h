// connection.h - what is remembered of one TCP connection, both ways, in one cache line.
// Source: algorithms 8 (next_seq, no reassembly). Units: sequence numbers are TCP's, 32 bits that wrap.
// Threads: one owner (values).
#pragma once

#include <cstdint>

#include "common/clock.h"
#include "common/ids.h"
#include "cost_functions/tracker/protocol.h"

namespace weir {

/// Which way bytes go: requests to the service, responses from it.
enum class Side : std::uint8_t { kRequests, kResponses };
constexpr Side opposite(Side side) {
    return side == Side::kRequests ? Side::kResponses : Side::kRequests;
}

/// What the tracker needs to know of one TCP segment, or of a super-frame before it is split.
struct Segment {
    enum Flag : std::uint8_t { kFin = 1, kSyn = 2, kRst = 4, kAck = 16 };  ///< TCP's own bits
    std::uint32_t seq = 0;
    std::uint32_t ack = 0;
    std::uint8_t flags = kAck;
    Bytes payload;
};

/// How far sequence number `a` is ahead of `b`; negative when it is behind (RFC 1982).
constexpr std::int32_t ahead(std::uint32_t a, std::uint32_t b) {
    return static_cast<std::int32_t>(a - b);
}

enum class Step : std::uint8_t {
    kNew,        ///< nothing seen yet
    kSearching,  ///< out of step: looks for a header; next_seq is how far bytes have been reported
    kIn,         ///< next_seq is where the next header byte is due
    kHole        ///< the same, but bytes beyond it have passed
};

using FragmentId = std::uint16_t;
inline constexpr FragmentId kNoFragment = UINT16_MAX;
using PendingId = std::uint32_t;
inline constexpr PendingId kNoPending = UINT32_MAX;

/// One way of a connection.
struct Direction {
    static constexpr std::uint8_t kScaleUnknown = 15;

    std::uint32_t next_seq = 0;
    ParserState parser{};
    FragmentId fragments = kNoFragment;  ///< of a header not yet whole, and of what passed over a hole
    Step step : 4 = Step::kNew;
    std::uint8_t window_scale : 4 = kScaleUnknown;  ///< of the windows that this way's sender advertises
    std::uint8_t doubt = 0;  ///< grows while searching, falls with every message understood

    [[nodiscard]] bool in_step() const { return step >= Step::kIn; }
};

struct alignas(64) Connection {
    Direction requests_way{};
    Direction responses_way{};
    std::uint32_t id_low = 0;          ///< the part of its ConnectionId that the index does not hold
    PendingId pending = kNoPending;    ///< the youngest request that waits for its response
    std::uint32_t requests = 0;        ///< so far, of those that are answered
    std::uint32_t responses = 0;       ///< so far, of those that somebody waited for
    VnicId vnic = kNoVnic;             ///< kNoVnic: nobody's
    std::uint16_t seen = 0;            ///< when it was used last, see coarse()
    std::uint32_t first_seq : 12 = 0;  ///< of the requests' SYN, low bits: knows its duplicates
    std::uint32_t recorded : 12 = 0;   ///< requests in the list of `pending`
    std::uint32_t protocol : 3 = 0;    ///< index into the tracker's protocols
    std::uint32_t service : 3 = 0;     ///< the user's own: which of the vNIC's
    bool requests_ended : 1 = false;
    bool responses_ended : 1 = false;
    static constexpr std::uint32_t kFirstSeqMask = (1 << 12) - 1;

    [[nodiscard]] Direction& way(Side side) { return side == Side::kRequests ? requests_way : responses_way; }
    [[nodiscard]] const Direction& way(Side side) const {
        return side == Side::kRequests ? requests_way : responses_way;
    }
    [[nodiscard]] std::uint32_t outstanding() const { return requests - responses; }
    /// About seconds; they wrap after 19 hours.
    [[nodiscard]] static std::uint16_t coarse(Nanos now) { return static_cast<std::uint16_t>(now >> 30); }
};
static_assert(sizeof(Connection) == 64);

}  // namespace weir
