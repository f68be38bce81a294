// pending_requests.h - requests that wait for their responses: which one a response answers, and since when
// it waited. Source: algorithms 8. Units: ns, bytes. Threads: one owner. Allocates only when built.
//
// Records come from a bounded pool. A request without a record is counted all the same: requests and
// responses of a connection are numbered, and a record knows its number.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/clock.h"
#include "cost_functions/connection.h"
#include "cost_functions/record_pool.h"
#include "cost_functions/request.h"

namespace weir {

struct Pending {
    Nanos sent_at = 0;
    std::uint64_t cookie = 0;
    PendingId next = kNoPending;
    std::uint32_t number = 0;  ///< among the connection's answered requests
    std::uint32_t request_bytes = 0;
    std::uint32_t response_bytes = 0;
    std::uint32_t received = 0;  ///< of parts of its response
    Operation operation = Operation::kBytes;
    bool response_known = false;
    bool failed = false;    ///< a part said so
    bool doubtful = false;  ///< its response may have passed unseen
};
static_assert(sizeof(Pending) == 40);

/// Which request a response answers.
struct Answer {
    bool matched = false;  ///< else there is no record of it, and the rest says nothing
    Operation operation = Operation::kBytes;
    bool response_known = false;  ///< the request said how long its response would be
    std::uint32_t request_bytes = 0;
    Nanos latency = 0;
};

class PendingRequests {
  public:
    /// Records of one connection; so many are looked through for a cookie at most.
    static constexpr std::uint8_t kPerConnection = 255;

    PendingRequests(std::size_t records, std::size_t vnics, std::size_t quota)
        : pool_(records, vnics, quota) {}

    /// A request that will be answered has passed.
    void add(Connection& connection, const Request& request, Nanos now) {
        const std::uint32_t number = connection.requests++;
        if (connection.recorded == kPerConnection)
            return;
        const PendingId id = pool_.take(connection.vnic);
        if (id == kNoPending)
            return;
        pool_[id] = {.sent_at = now,
                     .cookie = request.cookie,
                     .next = id,
                     .number = number,
                     .request_bytes = request.request_bytes,
                     .response_bytes = request.response_bytes,
                     .operation = request.operation,
                     .response_known = request.response_known};
        if (connection.pending != kNoPending) {
            pool_[id].next = pool_[connection.pending].next;
            pool_[connection.pending].next = id;
        }
        connection.pending = id;
        ++connection.recorded;
    }

    /// A whole response, where they come in the order of requests. One with a cookie closes its request and
    /// those before it, which were quiet; an error without one answers the oldest.
    Answer close_in_order(Connection& connection, const Response& response, Nanos now) {
        const Place first = oldest(connection);
        if (first.at == kNoPending || pool_[first.at].cookie != response.cookie ||
            pool_[first.at].number != connection.responses)
            return close_out_of_order(connection, response, now);
        const Answer result = answer(pool_[first.at], now);
        ++connection.responses;
        remove(connection, first);
        return result;
    }

    /// The request that has this cookie; nullptr when there is no record of it.
    [[nodiscard]] Pending* find(Connection& connection, std::uint64_t cookie);
    /// The last part of a response, where they come in any order; adds to it what came before.
    Answer close_by_cookie(Connection& connection, Response& response, Nanos now);

    /// Their responses may have passed unseen: drop_doubtful() will drop those that have not come until then.
    void doubt(Connection& connection);
    void drop_doubtful(Connection& connection);
    /// Nobody waits any more.
    void forget(Connection& connection);

    void prefetch(const Connection& connection) const {
        if (connection.pending != kNoPending)
            __builtin_prefetch(&pool_[connection.pending]);
    }
    [[nodiscard]] std::uint32_t taken(VnicId vnic) const { return pool_.taken(vnic); }
    [[nodiscard]] std::uint64_t refused() const { return pool_.refused(); }
    [[nodiscard]] std::size_t memory_bytes() const { return pool_.memory_bytes(); }

  private:
    /// The list is a ring; its youngest points to its oldest.
    struct Place {
        PendingId before;
        PendingId at;
    };
    [[nodiscard]] Place oldest(const Connection& connection) const {
        const PendingId youngest = connection.pending;
        return {youngest, youngest == kNoPending ? kNoPending : pool_[youngest].next};
    }
    [[nodiscard]] Place place_of(const Connection& connection, std::uint64_t cookie) const;
    void remove(Connection& connection, Place place) {
        pool_[place.before].next = pool_[place.at].next;
        if (connection.pending == place.at)
            connection.pending = place.before;
        if (--connection.recorded == 0)
            connection.pending = kNoPending;
        pool_.give_back(place.at, connection.vnic);
    }
    [[gnu::noinline]] Answer close_out_of_order(Connection& connection, const Response& response, Nanos now);
    Answer unrecorded(Connection& connection);
    static Answer answer(const Pending& pending, Nanos now) {
        return {.matched = true,
                .operation = pending.operation,
                .response_known = pending.response_known,
                .request_bytes = pending.request_bytes,
                .latency = now - pending.sent_at};
    }

    RecordPool<Pending, PendingId, kNoPending> pool_;
};

}  // namespace weir
