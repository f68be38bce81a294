#include "cost_functions/tracker/pending_requests.h"

#include <algorithm>
#include <bit>

namespace weir {

PendingRequests::PendingRequests(std::size_t records, std::size_t vnics, std::size_t quota)
    : pool_(records, vnics, quota), buckets_(std::bit_ceil(std::max<std::size_t>(records, 1)), kNoPending) {}

/// The connection's own part of the sum is secret, so that nobody can choose cookies that meet.
std::size_t PendingRequests::bucket(const Connection& connection, std::uint64_t cookie) const {
    std::uint64_t mixed = cookie + connection.id_low * 0x9e37'79b9'7f4a'7c15;
    mixed = (mixed ^ mixed >> 33) * 0xff51'afd7'ed55'8ccd;
    mixed = (mixed ^ mixed >> 33) * 0xc4ce'b9fe'1a85'ec53;
    return (mixed ^ mixed >> 33) & (buckets_.size() - 1);
}

/// @return false: there are too many with its hash
bool PendingRequests::enter(const Connection& connection, PendingId id) {
    PendingId& head = buckets_[bucket(connection, pool_[id].cookie)];
    unsigned others = 0;
    for (PendingId at = head; at != kNoPending; at = pool_[at].chain)
        ++others;
    if (others >= kChain)
        return false;
    pool_[id].chain = head;
    pool_[id].hashed = true;
    pool_[id].owner = owner(connection);
    head = id;
    return true;
}

void PendingRequests::leave(const Connection& connection, PendingId id) {
    PendingId* link = &buckets_[bucket(connection, pool_[id].cookie)];
    while (*link != id)
        link = &pool_[*link].chain;
    *link = pool_[id].chain;
}

/// The oldest with this cookie, among so many.
PendingId PendingRequests::walk(const Connection& connection, std::uint64_t cookie,
                                std::uint32_t most) const {
    PendingId at = oldest(connection);
    for (std::uint32_t left = std::min<std::uint32_t>(connection.recorded, most); left > 0; --left) {
        if (pool_[at].cookie == cookie)
            return at;
        at = pool_[at].next;
    }
    return kNoPending;
}

/// A chain has records of other connections too, with the same cookie and owner only by chance.
PendingId PendingRequests::of_cookie(const Connection& connection, std::uint64_t cookie) const {
    if (const PendingId at = walk(connection, cookie, kWalked);
        at != kNoPending || connection.recorded <= kWalked)
        return at;
    PendingId at = buckets_[bucket(connection, cookie)];
    PendingId oldest_of_it = kNoPending;  // the youngest comes first
    for (; at != kNoPending; at = pool_[at].chain)
        if (pool_[at].cookie == cookie && pool_[at].owner == owner(connection))
            oldest_of_it = at;
    return oldest_of_it;
}

/// The oldest record is not this response's, or there is none.
Answer PendingRequests::close_out_of_order(Connection& connection, const Response& response, Nanos now) {
    if (connection.outstanding() == 0)
        return {};
    const bool anybody = response.cookie == 0 && response.failed;
    const PendingId first = oldest(connection);
    const PendingId at = anybody ? first : walk(connection, response.cookie, kInOrder);
    if (at == kNoPending)
        return unrecorded(connection);
    const Pending& found = pool_[at];
    // Without a cookie only the order tells, and there the ones without a record count.
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

/// None of the records is this response's. If there are requests without a record it is one of theirs, and
/// the records before that have been quiet.
Answer PendingRequests::unrecorded(Connection& connection) {
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

Pending* PendingRequests::find(Connection& connection, std::uint64_t cookie) {
    const PendingId at = of_cookie(connection, cookie);
    return at == kNoPending ? nullptr : &pool_[at];
}

Answer PendingRequests::close_by_cookie(Connection& connection, Response& response, Nanos now) {
    const PendingId at = of_cookie(connection, response.cookie);
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

/// From the youngest back: what is held has been added last.
void PendingRequests::hold(const Connection& connection, std::uint32_t first) {
    PendingId at = connection.pending;
    for (std::uint32_t left = connection.recorded; left > 0 && ahead(pool_[at].number, first) >= 0; --left) {
        pool_[at].held = true;
        at = pool_[at].before;
    }
}

std::uint32_t PendingRequests::let_go(const Connection& connection, std::uint32_t first, std::uint32_t end,
                                      Nanos now) {
    std::uint32_t tokens = 0;
    PendingId at = connection.pending;
    for (std::uint32_t left = connection.recorded; left > 0 && ahead(pool_[at].number, first) >= 0; --left) {
        Pending& pending = pool_[at];
        at = pending.before;
        if (!pending.held || ahead(pending.number, end) >= 0)
            continue;
        pending.held = false;
        pending.sent_at = now;
        tokens += pending.tokens;
    }
    return tokens;
}

void PendingRequests::doubt(Connection& connection) {
    PendingId at = oldest(connection);
    for (std::uint32_t left = connection.recorded; left > 0; --left) {
        pool_[at].doubtful = true;
        at = pool_[at].next;
    }
}

void PendingRequests::drop_doubtful(Connection& connection) {
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

void PendingRequests::forget(Connection& connection) {
    while (connection.recorded > 0)
        remove(connection, oldest(connection));
    connection.responses = connection.requests;
}

}  // namespace weir
