// pending_requests.cc - look-up by cookie, responses out of order, and requests that lose their response.
#include "cost_functions/tracker/pending_requests.h"

#include <algorithm>
#include <bit>

namespace weir {

PendingRequests::PendingRequests(const SharedRoom::Size& records)
    : pool_(records), buckets_(std::bit_ceil(std::max(records.total(), 1U)), kNoPending) {}

/// The connection's id is part of the hash and secret, so that a guest cannot choose cookies that collide.
std::size_t PendingRequests::bucket(const TrackedConnection& connection, std::uint64_t cookie) const {
    std::uint64_t mixed = cookie + connection.id_low * 0x9e37'79b9'7f4a'7c15;
    mixed = (mixed ^ mixed >> 33) * 0xff51'afd7'ed55'8ccd;
    mixed = (mixed ^ mixed >> 33) * 0xc4ce'b9fe'1a85'ec53;
    return (mixed ^ mixed >> 33) & (buckets_.size() - 1);
}

/// @return false when its chain is full
bool PendingRequests::insert_hashed(const TrackedConnection& connection, PendingId id) {
    PendingId& head = buckets_[bucket(connection, pool_[id].cookie)];
    unsigned others = 0;
    for (PendingId at = head; at != kNoPending; at = pool_[at].chain)
        ++others;
    if (others >= kChainMax)
        return false;
    pool_[id].chain = head;
    pool_[id].hashed = true;
    pool_[id].owner = owner(connection);
    head = id;
    return true;
}

void PendingRequests::remove_hashed(const TrackedConnection& connection, PendingId id) {
    PendingId* link = &buckets_[bucket(connection, pool_[id].cookie)];
    while (*link != id)
        link = &pool_[*link].chain;
    *link = pool_[id].chain;
}

/// The oldest record with this cookie, among the `most` oldest.
PendingId PendingRequests::walk(const TrackedConnection& connection, std::uint64_t cookie,
                                std::uint32_t most) const {
    PendingId at = oldest(connection);
    for (std::uint32_t left = std::min<std::uint32_t>(connection.recorded, most); left > 0; --left) {
        if (pool_[at].cookie == cookie)
            return at;
        at = pool_[at].next;
    }
    return kNoPending;
}

/// Chains mix the records of connections. Two with the same cookie and owner are of one connection, but for
/// chance.
PendingId PendingRequests::id_of(const TrackedConnection& connection, std::uint64_t cookie) const {
    if (const PendingId at = walk(connection, cookie, kWalked);
        at != kNoPending || connection.recorded <= kWalked)
        return at;
    PendingId at = buckets_[bucket(connection, cookie)];
    PendingId oldest_match = kNoPending;  // a chain begins with its youngest record
    for (; at != kNoPending; at = pool_[at].chain)
        if (pool_[at].cookie == cookie && pool_[at].owner == owner(connection))
            oldest_match = at;
    return oldest_match;
}

/// For a response that the oldest record does not fit.
Answer PendingRequests::close_out_of_order(TrackedConnection& connection, const Response& response,
                                           Nanos now) {
    if (connection.outstanding() == 0)
        return {};
    const bool fits_any = response.cookie == 0 && response.failed;
    const PendingId first = oldest(connection);
    const PendingId at = fits_any ? first : walk(connection, response.cookie, kInOrderMax);
    if (at == kNoPending)
        return close_unrecorded(connection);
    const Pending& found = pool_[at];
    // Responses without a cookie are paired by order alone, and the next request in order has no record.
    if (response.cookie == 0 && at == first && found.number != connection.responses) {
        ++connection.responses;
        return {};
    }
    const Answer result = answer(found, now);
    connection.responses = found.number + 1;
    for (PendingId removed = kNoPending; removed != at;) {
        removed = oldest(connection);
        remove(connection, removed);
    }
    return result;
}

/// For a response that fits no record. If there are requests without a record, it answers the oldest of
/// these; older recorded requests were quiet ones that get no response.
Answer PendingRequests::close_unrecorded(TrackedConnection& connection) {
    if (connection.outstanding() == connection.recorded)
        return {};
    for (PendingId at = oldest(connection); at != kNoPending && pool_[at].number == connection.responses;
         at = oldest(connection)) {
        ++connection.responses;
        remove(connection, at);
    }
    ++connection.responses;
    return {};
}

Pending* PendingRequests::find(TrackedConnection& connection, std::uint64_t cookie) {
    const PendingId at = id_of(connection, cookie);
    return at == kNoPending ? nullptr : &pool_[at];
}

Answer PendingRequests::close_by_cookie(TrackedConnection& connection, Response& response, Nanos now) {
    const PendingId at = id_of(connection, response.cookie);
    if (at == kNoPending) {
        connection.responses += connection.outstanding() > connection.recorded;
        return {};
    }
    const Pending& pending = pool_[at];
    response.bytes += pending.received;
    response.failed = response.failed || pending.failed;
    const Answer result = answer(pending, now);
    ++connection.responses;
    remove(connection, at);
    return result;
}

/// Walks back from the youngest record, because held requests were added last.
void PendingRequests::hold(const TrackedConnection& connection, std::uint32_t first) {
    PendingId at = connection.pending;
    for (std::uint32_t left = connection.recorded; left > 0 && ahead(pool_[at].number, first) >= 0; --left) {
        pool_[at].held = true;
        at = pool_[at].before;
    }
}

PendingRequests::Tokens PendingRequests::release(const TrackedConnection& connection, std::uint32_t first,
                                                 std::uint32_t end, Nanos now) {
    Tokens tokens;
    PendingId at = connection.pending;
    for (std::uint32_t left = connection.recorded; left > 0 && ahead(pool_[at].number, first) >= 0; --left) {
        Pending& pending = pool_[at];
        at = pending.before;
        if (!pending.held || ahead(pending.number, end) >= 0)
            continue;
        pending.held = false;
        pending.sent_at = now;
        pending.era = era_;
        tokens.all += pending.tokens;
        tokens.waiting += pending.waits ? pending.tokens : 0;
    }
    return tokens;
}

void PendingRequests::doubt(TrackedConnection& connection) {
    PendingId at = oldest(connection);
    for (std::uint32_t left = connection.recorded; left > 0; --left) {
        pool_[at].doubtful = true;
        at = pool_[at].next;
    }
}

void PendingRequests::drop_doubtful(TrackedConnection& connection) {
    PendingId at = oldest(connection);
    for (std::uint32_t left = connection.recorded; left > 0; --left) {
        const PendingId next = pool_[at].next;
        if (pool_[at].doubtful) {
            ++connection.responses;
            remove(connection, at);
        }
        at = next;
    }
}

void PendingRequests::forget(TrackedConnection& connection) {
    while (connection.recorded > 0)
        remove(connection, oldest(connection));
    connection.responses = connection.requests;
}

}  // namespace weir
