// pending_requests.h - requests that wait for their responses: which one a response answers, and since when
// it waited. Source: algorithms 8. Units: ns, bytes. Threads: one owner. Allocates only when built.
//
// Records come from a bounded pool. A request without a record is counted all the same: requests and
// responses of a connection are numbered, and a record knows its number. Where responses come in any order,
// records behind the first few of a connection are also in a hash table of bounded chains, because a simple
// reply of NBD without its record is a loss of step, and thousands may be outstanding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/clock.h"
#include "common/huge_pages.h"
#include "cost_functions/request.h"
#include "cost_functions/tracker/connection.h"
#include "cost_functions/tracker/record_pool.h"

namespace weir {

struct Pending {
    Nanos sent_at = 0;
    std::uint64_t cookie = 0;
    PendingId next = kNoPending;    ///< the one after it; of the youngest, the oldest
    PendingId before = kNoPending;  ///< the one before it; of the oldest, nobody's
    PendingId chain = kNoPending;   ///< the next with its hash
    std::uint32_t number = 0;       ///< among the connection's answered requests
    // Not the two in the order of Request's: compilers would read both of that in one load, just after it was
    // written in two stores, which no CPU forwards.
    std::uint32_t response_bytes = 0;
    std::uint32_t request_bytes = 0;
    std::uint32_t received = 0;  ///< of parts of its response
    std::uint32_t tokens = 0;    ///< what it takes at the service until it is answered
    Operation operation = Operation::kBytes;
    bool response_known : 1 = false;
    bool failed : 1 = false;    ///< a part said so
    bool doubtful : 1 = false;  ///< its response may have passed unseen
    bool hashed : 1 = false;
    bool held : 1 = false;    ///< it has not gone on to the service yet
    std::uint16_t owner = 0;  ///< if hashed: low bits of its connection's id
};
static_assert(sizeof(Pending) == 56);

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
    /// Records of one connection where responses come in order; so many are looked through at most.
    static constexpr std::uint32_t kInOrder = 255;
    /// ... and where they come in any order; more may be outstanding than any client is known to have.
    static constexpr std::uint32_t kByCookie = 4095;

    PendingRequests(std::size_t records, std::size_t vnics, std::size_t quota);

    /// A request that will be answered has passed.
    void add(Connection& connection, const Request& request, bool ordered, Nanos now) {
        const std::uint32_t number = connection.requests++;
        const std::uint32_t recorded = connection.recorded;
        if (recorded >= (ordered ? kInOrder : kByCookie))
            return;
        const PendingId id = pool_.take(connection.vnic);
        if (id == kNoPending)
            return;
        pool_[id] = {.sent_at = now,
                     .cookie = request.cookie,
                     .next = id,
                     .before = connection.pending,
                     .number = number,
                     .response_bytes = request.response_bytes,
                     .request_bytes = request.request_bytes,
                     .operation = request.operation,
                     .response_known = request.response_known};
        if (!ordered && recorded >= kWalked && !enter(connection, id)) {
            pool_.give_back(id, connection.vnic);
            return;
        }
        if (connection.pending != kNoPending) {
            pool_[id].next = pool_[connection.pending].next;
            pool_[connection.pending].next = id;
        }
        connection.pending = id;
        connection.recorded = (recorded + 1) & kByCookie;
    }

    /// The request that was added last takes so much at the service. @return it, or 0 without a record of it
    std::uint32_t charge(const Connection& connection, std::uint32_t tokens) {
        if (connection.pending == kNoPending || pool_[connection.pending].number + 1 != connection.requests)
            return 0;
        pool_[connection.pending].tokens = tokens;
        return tokens;
    }
    /// Requests from number `first` on have not gone on to the service: they take nothing there.
    void hold(const Connection& connection, std::uint32_t first);
    /// They have, those before number `end` at `now`: their latency counts from here.
    /// @return what they take there
    std::uint32_t let_go(const Connection& connection, std::uint32_t first, std::uint32_t end, Nanos now);
    /// Tokens of all requests that had gone on and that nobody waits for any more, since start.
    [[nodiscard]] std::uint64_t finished_tokens() const { return finished_tokens_; }

    /// A whole response, where they come in the order of requests. One with a cookie closes its request and
    /// those before it, which were quiet; an error without one answers the oldest.
    Answer close_in_order(Connection& connection, const Response& response, Nanos now) {
        const PendingId first = oldest(connection);
        if (first == kNoPending || pool_[first].cookie != response.cookie ||
            pool_[first].number != connection.responses)
            return close_out_of_order(connection, response, now);
        const Answer result = answer(pool_[first], now);
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
    [[nodiscard]] std::size_t memory_bytes() const {
        return pool_.memory_bytes() + buckets_.capacity() * sizeof(PendingId);
    }

  private:
    /// Records are added to the hash table while the connection has more than these, so that all that are not
    /// there are among the oldest of so many.
    static constexpr std::uint32_t kWalked = 16;
    static constexpr unsigned kChain = 16;  ///< records with one hash at most

    /// The list is a ring; its youngest points to its oldest.
    [[nodiscard]] PendingId oldest(const Connection& connection) const {
        return connection.pending == kNoPending ? kNoPending : pool_[connection.pending].next;
    }
    [[nodiscard]] PendingId walk(const Connection& connection, std::uint64_t cookie,
                                 std::uint32_t most) const;
    [[nodiscard]] PendingId of_cookie(const Connection& connection, std::uint64_t cookie) const;
    void remove(Connection& connection, PendingId at) {
        const Pending& gone = pool_[at];
        finished_tokens_ += gone.held ? 0 : gone.tokens;
        if (Pending& youngest = pool_[connection.pending]; youngest.next == at) {
            youngest.next = gone.next;
        } else {
            pool_[gone.before].next = gone.next;
            if (connection.pending == at)
                connection.pending = gone.before;
            else
                pool_[gone.next].before = gone.before;
        }
        if (gone.hashed)
            leave(connection, at);
        connection.recorded = (connection.recorded - 1) & kByCookie;
        if (connection.recorded == 0)
            connection.pending = kNoPending;
        pool_.give_back(at, connection.vnic);
    }
    [[nodiscard]] static std::uint16_t owner(const Connection& connection) {
        return static_cast<std::uint16_t>(connection.id_low);
    }
    [[nodiscard]] std::size_t bucket(const Connection& connection, std::uint64_t cookie) const;
    bool enter(const Connection& connection, PendingId id);
    void leave(const Connection& connection, PendingId id);
    [[gnu::noinline]] Answer close_out_of_order(Connection& connection, const Response& response, Nanos now);
    Answer unrecorded(Connection& connection);
    static Answer answer(const Pending& pending, Nanos now) {
        return {.matched = true,
                .operation = pending.operation,
                .response_known = pending.response_known,
                .request_bytes = pending.request_bytes,
                .latency = now - pending.sent_at};
    }

    std::uint64_t finished_tokens_ = 0;
    RecordPool<Pending, PendingId, kNoPending> pool_;
    std::vector<PendingId, HugePages<PendingId>> buckets_;
};

}  // namespace weir
