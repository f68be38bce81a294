#include "cost_functions/pending_requests.h"

namespace weir {

PendingRequests::Place PendingRequests::place_of(const Connection& connection, std::uint64_t cookie) const {
    Place place = oldest(connection);
    for (unsigned left = connection.recorded; left > 0; --left) {
        if (pool_[place.at].cookie == cookie)
            return place;
        place = {place.at, pool_[place.at].next};
    }
    return {kNoPending, kNoPending};
}

/// The oldest record is not this response's, or there is none.
Answer PendingRequests::close_out_of_order(Connection& connection, const Response& response, Nanos now) {
    if (connection.outstanding() == 0)
        return {};
    const bool anybody = response.cookie == 0 && response.failed;
    const Place first = oldest(connection);
    const Place place = anybody ? first : place_of(connection, response.cookie);
    if (place.at == kNoPending)
        return unrecorded(connection);
    const Pending& found = pool_[place.at];
    // Without a cookie only the order tells, and there the ones without a record count.
    if (response.cookie == 0 && place.at == first.at && found.number != connection.responses) {
        ++connection.responses;
        return {};
    }
    const Answer result = answer(found, now);
    connection.responses = found.number + 1;
    for (PendingId removed = kNoPending; removed != place.at;) {
        const Place next = oldest(connection);
        removed = next.at;
        remove(connection, next);
    }
    return result;
}

/// None of the records is this response's. If there are requests without a record it is one of theirs, and
/// the records before that have been quiet.
Answer PendingRequests::unrecorded(Connection& connection) {
    if (connection.outstanding() == connection.recorded)
        return {};
    for (Place place = oldest(connection);
         place.at != kNoPending && pool_[place.at].number == connection.responses;
         place = oldest(connection)) {
        ++connection.responses;
        remove(connection, place);
    }
    ++connection.responses;
    return {};
}

Pending* PendingRequests::find(Connection& connection, std::uint64_t cookie) {
    const Place place = place_of(connection, cookie);
    return place.at == kNoPending ? nullptr : &pool_[place.at];
}

Answer PendingRequests::close_by_cookie(Connection& connection, Response& response, Nanos now) {
    const Place place = place_of(connection, response.cookie);
    if (place.at == kNoPending) {
        connection.responses += connection.outstanding() > connection.recorded;
        return {};
    }
    const Pending& pending = pool_[place.at];
    response.bytes += pending.received;
    response.failed = response.failed || pending.failed;
    const Answer result = answer(pending, now);
    ++connection.responses;
    remove(connection, place);
    return result;
}

void PendingRequests::doubt(Connection& connection) {
    Place place = oldest(connection);
    for (unsigned left = connection.recorded; left > 0; --left) {
        pool_[place.at].doubtful = true;
        place = {place.at, pool_[place.at].next};
    }
}

void PendingRequests::drop_doubtful(Connection& connection) {
    Place place = oldest(connection);
    for (unsigned left = connection.recorded; left > 0; --left) {
        const PendingId next = pool_[place.at].next;
        if (pool_[place.at].doubtful) {
            ++connection.responses;
            remove(connection, place);
        } else {
            place.before = place.at;
        }
        place.at = next;
    }
}

void PendingRequests::forget(Connection& connection) {
    while (connection.recorded > 0)
        remove(connection, oldest(connection));
    connection.responses = connection.requests;
}

}  // namespace weir
