// pending_requests.h - requests that await their responses: finds the request that a response answers.
// Source: docs/algorithms.md 5.1. Units: ns, bytes, tokens. Threads: one owner. Allocates only when built.
//
// Records come from a bounded pool, so some requests have none. They are counted all the same: the requests
// of a connection are numbered, the connection counts its responses, and a record holds its request's number.
// Where responses come in order, the response after n others answers request n, with or without a record.
//
// Where responses come in any order they carry a cookie. The 16 oldest records of a connection are found by a
// walk through its list; younger ones are also in a hash table with chains of at most 16. Thousands of
// requests may be outstanding, and the look-up must succeed: an NBD simple reply cannot be parsed without its
// request's length.
//
// Example, in order: a connection sends requests 0 to 4, but no record was free for request 2. The third
// response answers request 2, for which there is no record: it is counted without a latency. The fourth one
// finds the record of request 3.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/clock.h"
#include "common/huge_pages.h"
#include "cost_functions/request.h"
#include "cost_functions/tracker/record_pool.h"
#include "cost_functions/tracker/tracked_connection.h"

namespace weir {

struct Pending {
    Nanos sent_at = 0;
    std::uint64_t cookie = 0;
    PendingId next = kNoPending;    ///< the next younger; of the youngest, the oldest
    PendingId before = kNoPending;  ///< the next older; of the oldest, undefined
    PendingId chain = kNoPending;   ///< next in its chain of the hash table
    std::uint32_t number = 0;       ///< among the connection's requests
    // Not in the order of Request's fields: compilers would then copy both by one load just after two stores,
    // which CPUs cannot forward.
    std::uint32_t response_bytes = 0;  ///< stated by the request, or the estimate that was charged
    std::uint32_t request_bytes = 0;
    std::uint32_t received = 0;  ///< bytes of the response's parts so far
    std::uint32_t tokens = 0;    ///< charged to the service until the response comes
    Operation operation = Operation::kBytes;
    bool response_known : 1 = false;
    bool failed : 1 = false;    ///< a part of the response reported a failure
    bool doubtful : 1 = false;  ///< its response may have passed unseen
    bool hashed : 1 = false;
    bool held : 1 = false;        ///< the switch has not forwarded it yet
    std::uint8_t access : 2 = 0;  ///< Access by which it was charged
    bool waits : 1 = false;       ///< on purpose: Request::waits
    std::uint16_t owner = 0;      ///< when hashed: low bits of its connection's id
    std::uint32_t era = 0;        ///< in which it was forwarded
};
static_assert(sizeof(Pending) == 56);

/// The request that a response answers.
struct Answer {
    bool matched = false;  ///< false: the request has no record, and the other fields mean nothing
    Operation operation = Operation::kBytes;
    bool response_known = false;  ///< the request stated the length of its response
    Access access = Access::kPlain;
    bool waits = false;  ///< it waited on purpose: its latency means nothing
    std::uint32_t request_bytes = 0;
    std::uint32_t charged_bytes = 0;  ///< of the response, as it was charged with the request
    Nanos latency = 0;
};

class PendingRequests {
  public:
    /// Records of one connection when responses come in order; bounds the search of a response with a cookie.
    static constexpr std::uint32_t kInOrderMax = 255;
    /// ... and when they come in any order; no known client has more requests outstanding.
    static constexpr std::uint32_t kByCookieMax = 4095;
    /// Eras that are distinguished: the present one, the one before it, and all before that.
    static constexpr std::size_t kAges = 3;
    /// Tokens at the service of requests that were forwarded: all, and of these the ones that wait on
    /// purpose.
    struct Tokens {
        std::uint32_t all = 0;
        std::uint32_t waiting = 0;
    };

    explicit PendingRequests(const SharedRoom::Size& records);

    /// Counts a request that awaits a response, and records it when there is room.
    void add(TrackedConnection& connection, const Request& request, bool ordered, Nanos now) {
        const std::uint32_t number = connection.requests++;
        const std::uint32_t recorded = connection.recorded;
        const PendingId youngest = connection.pending;
        if (recorded >= (ordered ? kInOrderMax : kByCookieMax))
            return;
        const PendingId id = pool_.take(connection.vnic);
        if (id == kNoPending)
            return;
        pool_[id] = {.sent_at = now,
                     .cookie = request.cookie,
                     .next = id,
                     .before = youngest,
                     .number = number,
                     .response_bytes = request.response_bytes,
                     .request_bytes = request.request_bytes,
                     .operation = request.operation,
                     .response_known = request.response_known,
                     .waits = request.waits,
                     .era = era_};
        if (!ordered && recorded >= kWalked && !insert_hashed(connection, id)) {
            pool_.give_back(id, connection.vnic);
            return;
        }
        if (youngest != kNoPending) {
            pool_[id].next = pool_[youngest].next;
            pool_[youngest].next = id;
        }
        connection.pending = id & kNoPending;
        connection.recorded = (recorded + 1) & kByCookieMax;
    }

    /// The last added request has a record. A request without one is unknown when its response comes.
    [[nodiscard]] bool is_recorded(const TrackedConnection& connection) const {
        return connection.pending != kNoPending &&
               pool_[connection.pending].number + 1 == connection.requests;
    }
    /// Records the charge of the last added request: `tokens` at the service, of which those for a response
    /// of `response_bytes` are settled when it comes. is_recorded() was true.
    void charge(const TrackedConnection& connection, std::uint32_t tokens, std::uint32_t response_bytes,
                Access access) {
        Pending& pending = pool_[connection.pending];
        pending.tokens = tokens;
        pending.response_bytes = response_bytes;
        pending.access = static_cast<std::uint8_t>(access) & 3U;
    }
    /// Marks requests from number `first` on as held by the switch: they take no tokens at the service yet.
    void hold(const TrackedConnection& connection, std::uint32_t first);
    /// The held requests with numbers in [first, end) are forwarded; their latency counts from now.
    Tokens release(const TrackedConnection& connection, std::uint32_t first, std::uint32_t end, Nanos now);
    /// Tokens of requests that were forwarded and that no longer await a response: it came, or the connection
    /// closed before (total since start). Without those that wait on purpose, of which the service is free at
    /// once.
    [[nodiscard]] std::uint64_t finished_tokens() const { return finished_tokens_; }
    /// The same by the age that requests had at their end: 0 in the era in which they were forwarded, 1 in
    /// the next, 2 later.
    [[nodiscard]] const std::array<std::uint64_t, kAges>& finished_by_age() const { return finished_by_age_; }
    /// An era ends.
    void next_era() { ++era_; }

    /// Closes the request that a whole response answers, where responses come in order. A response with a
    /// cookie closes its request and the quiet ones before it; an error without a cookie answers the oldest.
    Answer close_in_order(TrackedConnection& connection, const Response& response, Nanos now) {
        const PendingId first = oldest(connection);
        if (first == kNoPending || pool_[first].cookie != response.cookie ||
            pool_[first].number != connection.responses)
            return close_out_of_order(connection, response, now);
        const Answer result = answer(pool_[first], now);
        ++connection.responses;
        remove(connection, first);
        return result;
    }

    /// The oldest record with this cookie, or nullptr.
    [[nodiscard]] Pending* find(TrackedConnection& connection, std::uint64_t cookie);
    /// Closes the request that the last part of a response answers, where they come in any order. Adds the
    /// bytes and failures of earlier parts to `response`.
    Answer close_by_cookie(TrackedConnection& connection, Response& response, Nanos now);

    /// Responses may have passed unseen: marks all records, for drop_doubtful() to remove those that are
    /// still open.
    void doubt(TrackedConnection& connection);
    void drop_doubtful(TrackedConnection& connection);
    /// Closes all requests of the connection.
    void forget(TrackedConnection& connection);

    [[nodiscard]] std::uint32_t taken(VnicId vnic) const { return pool_.taken(vnic); }
    [[nodiscard]] std::uint64_t refused() const { return pool_.refused(); }
    [[nodiscard]] std::size_t memory_bytes() const {
        return pool_.memory_bytes() + buckets_.capacity() * sizeof(PendingId);
    }

  private:
    /// A record is hashed if its connection has at least this many when it is added. So all records outside
    /// of the hash table are among the oldest kWalked.
    static constexpr std::uint32_t kWalked = 16;
    static constexpr unsigned kChainMax = 16;  ///< records in one chain of the hash table

    /// The list is a ring: its youngest points to its oldest.
    [[nodiscard]] PendingId oldest(const TrackedConnection& connection) const {
        return connection.pending == kNoPending ? kNoPending : pool_[connection.pending].next;
    }
    [[nodiscard]] PendingId walk(const TrackedConnection& connection, std::uint64_t cookie,
                                 std::uint32_t most) const;
    [[nodiscard]] PendingId id_of(const TrackedConnection& connection, std::uint64_t cookie) const;
    void remove(TrackedConnection& connection, PendingId at) {
        const Pending& gone = pool_[at];
        const std::uint32_t finished = gone.held || gone.waits ? 0 : gone.tokens;
        finished_tokens_ += finished;
        finished_by_age_[std::min<std::size_t>(era_ - gone.era, kAges - 1)] += finished;
        if (Pending& youngest = pool_[connection.pending]; youngest.next == at) {
            youngest.next = gone.next;
        } else {
            pool_[gone.before].next = gone.next;
            if (connection.pending == at)
                connection.pending = gone.before & kNoPending;
            else
                pool_[gone.next].before = gone.before;
        }
        if (gone.hashed)
            remove_hashed(connection, at);
        connection.recorded = (connection.recorded - 1) & kByCookieMax;
        if (connection.recorded == 0)
            connection.pending = kNoPending;
        pool_.give_back(at, connection.vnic);
    }
    [[nodiscard]] static std::uint16_t owner(const TrackedConnection& connection) {
        return static_cast<std::uint16_t>(connection.id_low);
    }
    [[nodiscard]] std::size_t bucket(const TrackedConnection& connection, std::uint64_t cookie) const;
    bool insert_hashed(const TrackedConnection& connection, PendingId id);
    void remove_hashed(const TrackedConnection& connection, PendingId id);
    [[gnu::noinline]] Answer close_out_of_order(TrackedConnection& connection, const Response& response,
                                                Nanos now);
    Answer close_unrecorded(TrackedConnection& connection);
    static Answer answer(const Pending& pending, Nanos now) {
        return {.matched = true,
                .operation = pending.operation,
                .response_known = pending.response_known,
                .access = static_cast<Access>(pending.access),
                .waits = pending.waits,
                .request_bytes = pending.request_bytes,
                .charged_bytes = pending.response_bytes,
                .latency = now - pending.sent_at};
    }

    std::uint64_t finished_tokens_ = 0;
    std::array<std::uint64_t, kAges> finished_by_age_{};
    std::uint32_t era_ = 0;
    RecordPool<Pending, PendingId, kNoPending> pool_;
    std::vector<PendingId, HugePages<PendingId>> buckets_;
};

}  // namespace weir
