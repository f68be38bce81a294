// tracker.cc - search for a header, and the parts of the tracker that do not depend on its sink.
#include "cost_functions/tracker/tracker.h"

#include <cstring>

namespace weir {

std::size_t Tracker::find_header(const At& at, Bytes bytes) {
    // Bytes of one segment that are searched for a header; bound the work that garbage causes.
    constexpr std::size_t kSearchedBytesMax = 512;
    // The same for protocols whose headers begin lines.
    constexpr unsigned kSearchedLinesMax = 32;
    constexpr std::size_t kSearchedLineBytesMax = 4096;
    // Fruitless searches after which only the first byte of a segment is tried. After 255, whole segments are
    // again.
    constexpr std::uint8_t kDoubtThorough = 32;
    const auto begins = at.side == Side::kRequests ? at.protocol.request_begins : at.protocol.response_begins;
    if (begins == nullptr)
        return kNowhere;
    std::uint8_t& doubt = at.way.doubt;
    const bool thorough = doubt < kDoubtThorough;
    doubt = doubt == UINT8_MAX ? kDoubtThorough - 1 : static_cast<std::uint8_t>(doubt + 1);
    if (begins(bytes))
        return 0;
    if (!thorough)
        return kNowhere;
    std::size_t offset = 0;
    if (!at.protocol.lines) {
        while (++offset < std::min(bytes.size(), kSearchedBytesMax))
            if (begins(bytes.subspan(offset)))
                return offset;
        return kNowhere;
    }
    const std::size_t size = std::min(bytes.size(), kSearchedLineBytesMax);
    for (unsigned lines = 0; lines < kSearchedLinesMax; ++lines) {
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

/// A search found a header. Responses that passed unseen would shift the pairing by order, so with ordered
/// responses all open requests are closed.
void Tracker::on_found(const At& at, bool seen_before) {
    // Messages after a header was found by a search; older requests that are still open then count as never
    // answered.
    constexpr std::uint8_t kDoubtFound = 16;
    ++stats_.found;
    at.way.state = StreamState::kInStep;
    at.way.parser = {};
    at.way.doubt = std::max(at.way.doubt, kDoubtFound);
    if (at.side != Side::kResponses || !seen_before)
        return;
    if (at.protocol.ordered)
        pending_.forget(at.connection);
    else
        pending_.doubt(at.connection);
}

void Tracker::reduce_doubt(const At& at) {
    if (--at.way.doubt == 0 && at.side == Side::kResponses && !at.protocol.ordered)
        pending_.drop_doubtful(at.connection);
}

/// A FIN passed. @return true when both sides have sent all their bytes
bool Tracker::on_fin(const At& at) {
    TrackedConnection& connection = at.connection;
    if (at.way.state == StreamState::kHole)
        return false;  // bytes before the FIN are still missing
    if (at.side == Side::kRequests)
        connection.requests_ended = 1;
    else
        connection.responses_ended = 1;
    return connection.requests_ended != 0 && connection.responses_ended != 0;
}

std::uint32_t Tracker::forget(TrackedConnection& connection) {
    pending_.forget(connection);
    const std::uint32_t kept = buffers_.drop_all(connection.requests_way, connection.vnic);
    buffers_.drop_all(connection.responses_way, connection.vnic);
    connection.requests_way = Direction{};
    connection.responses_way = Direction{};
    connection.requests_ended = 0;
    connection.responses_ended = 0;
    connection.credit = 0;
    return kept;
}

}  // namespace weir
