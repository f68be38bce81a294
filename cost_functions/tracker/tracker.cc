#include "cost_functions/tracker/tracker.h"

#include <cstring>

namespace weir {
namespace {

/// How much of a segment is looked through for a header: whoever sends nonsense must not cost much.
constexpr std::size_t kOffsetsMax = 512;
constexpr unsigned kLinesMax = 32;
constexpr std::size_t kLineBytesMax = 4096;
/// After so many segments in vain only the first byte is tried, and all of them again after 255.
constexpr std::uint8_t kDoubtFew = 32;
/// So many messages after the stream was found again, what has not been answered is believed never to be.
constexpr std::uint8_t kDoubtFound = 16;

}  // namespace

std::size_t Tracker::find_header(const At& at, Bytes bytes) {
    const auto begins = at.side == Side::kRequests ? at.protocol.request_begins : at.protocol.response_begins;
    if (begins == nullptr)
        return kNowhere;
    std::uint8_t& doubt = at.way.doubt;
    const bool thoroughly = doubt < kDoubtFew;
    doubt = doubt == UINT8_MAX ? kDoubtFew - 1 : static_cast<std::uint8_t>(doubt + 1);
    if (begins(bytes))
        return 0;
    if (!thoroughly)
        return kNowhere;
    std::size_t offset = 0;
    if (!at.protocol.lines) {
        while (++offset < std::min(bytes.size(), kOffsetsMax))
            if (begins(bytes.subspan(offset)))
                return offset;
        return kNowhere;
    }
    const std::size_t size = std::min(bytes.size(), kLineBytesMax);
    for (unsigned lines = 0; lines < kLinesMax; ++lines) {
        const void* const end = std::memchr(bytes.data() + offset, '\n', size - offset);
        if (end == nullptr)
            break;
        offset = static_cast<std::size_t>(static_cast<const std::uint8_t*>(end) - bytes.data()) + 1;
        if (offset >= size)
            break;
        if (begins(bytes.subspan(offset)))
            return offset;
    }
    return kNowhere;
}

/// Responses that passed unseen would shift the order: there nobody is waited for any more.
void Tracker::found(const At& at, bool met_before) {
    ++stats_.found;
    at.way.step = Step::kIn;
    at.way.parser = {};
    at.way.doubt = std::max(at.way.doubt, kDoubtFound);
    if (at.side != Side::kResponses || !met_before)
        return;
    if (at.protocol.ordered)
        pending_.forget(at.connection);
    else
        pending_.doubt(at.connection);
}

void Tracker::understood(const At& at) {
    if (--at.way.doubt == 0 && at.side == Side::kResponses && !at.protocol.ordered)
        pending_.drop_doubtful(at.connection);
}

/// A SYN of requests begins a new connection, unless it is a duplicate.
void Tracker::synchronise(const At& at, std::uint32_t seq) {
    Connection& connection = at.connection;
    const std::uint32_t low = seq & Connection::kFirstSeqMask;
    if (at.way.in_step() && (at.side == Side::kResponses || connection.first_seq == low))
        return;
    if (at.side == Side::kRequests) {
        forget(connection);
        connection.first_seq = low & Connection::kFirstSeqMask;
    }
    at.way = Direction{};
    at.way.next_seq = seq + 1;
    at.way.step = Step::kIn;
}

/// A FIN has passed. @return true when both sides have sent all that they had
bool Tracker::end(const At& at) {
    Connection& connection = at.connection;
    if (at.way.step == Step::kHole)
        return false;  // its bytes are still to come
    if (at.side == Side::kRequests)
        connection.requests_ended = true;
    else
        connection.responses_ended = true;
    return connection.requests_ended && connection.responses_ended;
}

void Tracker::forget(Connection& connection) {
    pending_.forget(connection);
    for (Direction* way : {&connection.requests_way, &connection.responses_way}) {
        fragments_.drop_all(*way, connection.vnic);
        *way = Direction{};
    }
    connection.requests_ended = false;
    connection.responses_ended = false;
}

}  // namespace weir
