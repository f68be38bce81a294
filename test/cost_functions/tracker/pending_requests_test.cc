// pending_requests_test.cc - the request that a response answers, with and without order, with and without
// records.
#include "cost_functions/tracker/pending_requests.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "test/support/catch.h"
#include "test/support/random.h"

using namespace weir;

namespace {

struct Rig {
    explicit Rig(std::uint32_t records = 16, bool ordered_responses = true)
        : pending({.users = 2, .own = records}), ordered(ordered_responses) {
        connection.vnic = 1;
    }

    void ask(std::uint64_t cookie = 0, Operation operation = Operation::kRead) {
        pending.add(connection, {.operation = operation, .request_bytes = 10, .cookie = cookie}, ordered,
                    now);
    }
    Answer in_order(std::uint64_t cookie = 0, bool failed = false) {
        return pending.close_in_order(connection, {.failed = failed, .cookie = cookie}, now);
    }
    Answer by_cookie(std::uint64_t cookie) {
        Response response{.bytes = 5, .cookie = cookie};
        return pending.close_by_cookie(connection, response, now);
    }

    PendingRequests pending;
    bool ordered;
    TrackedConnection connection;
    Nanos now = 0;
};

}  // namespace

TEST_CASE("pending: in order, each response closes the oldest request and gives its latency") {
    Rig rig;
    rig.ask(0, Operation::kRead);
    rig.now = 100;
    rig.ask(0, Operation::kWrite);
    CHECK(rig.connection.outstanding() == 2);
    rig.now = 150;
    const Answer first = rig.in_order();
    CHECK(first.operation == Operation::kRead);
    CHECK(first.latency == 150);
    CHECK(first.request_bytes == 10);
    const Answer second = rig.in_order();
    CHECK(second.operation == Operation::kWrite);
    CHECK(second.latency == 50);
    CHECK(rig.connection.outstanding() == 0);
    CHECK_FALSE(rig.in_order().matched);
    CHECK(rig.connection.outstanding() == 0);
    CHECK(rig.pending.taken(1) == 0);
}

TEST_CASE("pending: without a record the counts stay right, and later requests are measured again") {
    Rig rig(2);
    for (int i = 0; i < 5; ++i)
        rig.ask();
    CHECK(rig.connection.outstanding() == 5);
    CHECK(rig.pending.refused() == 3);
    CHECK(rig.in_order().matched);
    rig.now = 70;
    rig.ask(0, Operation::kDelete);  // the sixth has a record, the three before have none
    CHECK(rig.in_order().matched);
    for (int i = 0; i < 3; ++i)
        CHECK_FALSE(rig.in_order().matched);
    rig.now = 90;
    const Answer sixth = rig.in_order();
    CHECK(sixth.matched);
    CHECK(sixth.operation == Operation::kDelete);
    CHECK(sixth.latency == 20);
    CHECK(rig.connection.outstanding() == 0);
}

TEST_CASE("pending: more requests of one connection than are recorded are counted") {
    Rig rig(1000);
    for (int i = 0; i < 700; ++i)
        rig.ask();
    CHECK(rig.pending.taken(1) == PendingRequests::kInOrderMax);
    int matched = 0;
    for (int i = 0; i < 700; ++i)
        matched += rig.in_order().matched;
    CHECK(matched == PendingRequests::kInOrderMax);
    CHECK(rig.connection.outstanding() == 0);
}

TEST_CASE("pending: in order, a cookie closes the quiet requests before its own") {
    Rig rig;
    rig.ask(11);
    rig.ask(12);
    rig.ask(13, Operation::kControl);
    CHECK(rig.in_order(13).operation == Operation::kControl);
    CHECK(rig.connection.outstanding() == 0);
    rig.ask(11);
    rig.ask(0, Operation::kWrite);
    CHECK(rig.in_order().operation == Operation::kWrite);  // without a cookie it does not answer the first
    CHECK(rig.connection.outstanding() == 0);
    rig.ask(11);
    CHECK_FALSE(rig.in_order(99).matched);
    CHECK(rig.connection.outstanding() == 1);
    CHECK(rig.in_order(0, true).matched);  // an error answers the oldest
}

TEST_CASE("pending: quiet requests without a record do not stay for ever") {
    Rig rig(3);
    for (int i = 0; i < 3; ++i)
        rig.ask(11);
    rig.ask(12);
    CHECK_FALSE(rig.in_order(12).matched);
    CHECK(rig.connection.outstanding() == 0);
    CHECK(rig.pending.taken(1) == 0);
}

TEST_CASE("pending: by cookie, responses come in any order") {
    Rig rig;
    for (const unsigned cookie : {5U, 6U, 7U, 8U}) {
        rig.ask(cookie);
        rig.now += 10;
    }
    CHECK(rig.by_cookie(7).latency == 20);
    CHECK(rig.by_cookie(5).latency == 40);
    CHECK(rig.by_cookie(8).latency == 10);
    CHECK_FALSE(rig.by_cookie(8).matched);
    CHECK(rig.connection.outstanding() == 1);
    rig.ask(8);
    CHECK(rig.by_cookie(6).latency == 30);
    CHECK(rig.by_cookie(8).matched);
    CHECK(rig.connection.outstanding() == 0);
    CHECK(rig.pending.taken(1) == 0);
}

TEST_CASE(
    "pending: by cookie, thousands are found in any order, even if other connections use the same cookies") {
    constexpr std::uint32_t kMany = 3000;
    PendingRequests pending({.users = 2, .own = 1 << 14});
    std::vector<TrackedConnection> connections(3);
    std::vector<std::pair<std::size_t, std::uint32_t>> open;
    for (std::size_t at = 0; at < connections.size(); ++at) {
        connections[at].vnic = 1;
        connections[at].id_low = (77 * at) & TrackedConnection::kIdLowMask;
        for (std::uint32_t cookie = 0; cookie < kMany; ++cookie)
            open.emplace_back(at, cookie);
    }
    weir::testing::Random32 random(5);
    const auto shuffle = [&] {
        for (std::size_t i = open.size() - 1; i > 0; --i)
            std::swap(open[i], open[random() % (i + 1)]);
    };
    shuffle();
    for (const auto& [at, cookie] : open)
        pending.add(connections[at], {.response_bytes = cookie, .cookie = cookie << 12}, false,
                    at * kMany + cookie);
    shuffle();
    for (const auto& [at, cookie] : open) {
        const Pending* const found = pending.find(connections[at], cookie << 12);
        REQUIRE(found != nullptr);
        REQUIRE(found->response_bytes == cookie);
        Response response{.bytes = 5, .cookie = cookie << 12};
        const Answer answer = pending.close_by_cookie(connections[at], response, 10'000);
        REQUIRE(answer.matched);
        REQUIRE(answer.latency == 10'000 - static_cast<Nanos>(at * kMany + cookie));
    }
    CHECK(pending.taken(1) == 0);
    for (const TrackedConnection& connection : connections)
        CHECK(connection.outstanding() == 0);
}

TEST_CASE("pending: by cookie, requests added and closed at random are found exactly") {
    weir::testing::Random32 random(6);
    Rig rig(64, false);
    std::vector<std::uint64_t> model;  // the oldest first
    for (int step = 0; step < 100'000; ++step) {
        const std::uint64_t cookie = random() % 20;
        const auto at = std::ranges::find(model, cookie);
        if (random() % 100 < 50 + 10 * (model.size() < 40)) {
            rig.ask(cookie);
            if (rig.connection.recorded > model.size())
                model.push_back(cookie);
        } else {
            REQUIRE(rig.by_cookie(cookie).matched == (at != model.end()));
            if (at != model.end())
                model.erase(at);
        }
        REQUIRE(rig.connection.recorded == model.size());
    }
    rig.pending.forget(rig.connection);
    CHECK(rig.pending.taken(1) == 0);
}

TEST_CASE("pending: by cookie, of many requests with one cookie few are searched, and the rest are counted") {
    Rig rig(4000, false);
    for (int i = 0; i < 3000; ++i)
        rig.ask(7);
    CHECK(rig.pending.taken(1) < 100);
    CHECK(rig.connection.outstanding() == 3000);
    for (int i = 0; i < 3000; ++i)
        (void)rig.by_cookie(7);
    CHECK(rig.connection.outstanding() == 0);
    CHECK(rig.pending.taken(1) == 0);
}

TEST_CASE("pending: by cookie, parts are added up, and requests without a record are counted") {
    Rig rig(1);
    rig.ask(5);
    rig.ask(6);
    Pending* const pending = rig.pending.find(rig.connection, 5);
    REQUIRE(pending != nullptr);
    pending->received = 1000;
    pending->failed = true;
    CHECK(rig.pending.find(rig.connection, 6) == nullptr);
    CHECK_FALSE(rig.by_cookie(6).matched);
    CHECK(rig.connection.outstanding() == 1);
    Response last{.bytes = 24, .cookie = 5};
    CHECK(rig.pending.close_by_cookie(rig.connection, last, 0).matched);
    CHECK(last.bytes == 1024);
    CHECK(last.failed);
    CHECK(rig.connection.outstanding() == 0);
}

TEST_CASE("pending: doubtful requests are dropped when their responses have not come") {
    Rig rig;
    rig.ask(1);
    rig.ask(2);
    rig.pending.doubt(rig.connection);
    rig.ask(3);
    CHECK(rig.by_cookie(2).matched);
    rig.pending.drop_doubtful(rig.connection);
    CHECK(rig.connection.outstanding() == 1);
    CHECK_FALSE(rig.by_cookie(1).matched);
    CHECK(rig.by_cookie(3).matched);
    CHECK(rig.connection.outstanding() == 0);
    CHECK(rig.pending.taken(1) == 0);
}

TEST_CASE("pending: one vNIC cannot take the records of another") {
    PendingRequests pending({.users = 2, .own = 4, .common = 4});
    TrackedConnection greedy;
    greedy.vnic = 0;
    TrackedConnection other;
    other.vnic = 1;
    for (int i = 0; i < 100; ++i)
        pending.add(greedy, {}, true, 0);
    for (int i = 0; i < 4; ++i)
        pending.add(other, {}, true, 0);
    CHECK(pending.taken(0) == 6);
    CHECK(pending.taken(1) == 4);
    pending.forget(greedy);
    CHECK(pending.taken(0) == 0);
    CHECK(greedy.outstanding() == 0);
}

TEST_CASE("pending: tokens are at the service from the forwarding of a request until it is closed") {
    Rig rig;
    rig.ask();
    rig.pending.charge(rig.connection, 5, 0, Access::kPlain);
    rig.ask();
    rig.pending.charge(rig.connection, 7, 0, Access::kPlain);
    rig.ask();
    rig.pending.charge(rig.connection, 9, 0, Access::kPlain);
    rig.pending.hold(rig.connection, 1);  // the second and the third are held
    CHECK(rig.pending.release(rig.connection, 0, 1, 10).all == 0);
    CHECK(rig.in_order().matched);
    CHECK(rig.pending.finished_tokens() == 5);
    rig.now = 30;
    CHECK(rig.pending.release(rig.connection, 1, 2, rig.now).all == 7);
    rig.now = 50;
    CHECK(rig.in_order().latency == 20);
    CHECK(rig.pending.finished_tokens() == 12);
    rig.pending.forget(rig.connection);  // the third was never forwarded
    CHECK(rig.pending.finished_tokens() == 12);
}

TEST_CASE("pending: tokens are counted by the eras for which their requests waited") {
    Rig rig;
    for (const std::uint32_t tokens : {1U, 10U, 100U, 1000U}) {
        rig.ask();
        rig.pending.charge(rig.connection, tokens, 0, Access::kPlain);
        if (tokens != 100)
            rig.pending.next_era();
    }
    rig.pending.hold(rig.connection, 3);
    for (int responses = 0; responses < 3; ++responses)
        CHECK(rig.in_order().matched);
    // The first is three eras old, the second two, the third one, as the fourth.
    CHECK(rig.pending.finished_by_age() == std::array<std::uint64_t, 3>{0, 100, 11});
    rig.pending.next_era();
    CHECK(rig.pending.release(rig.connection, 3, 4, rig.now).all == 1000);
    CHECK(rig.in_order().matched);
    CHECK(rig.pending.finished_by_age() == std::array<std::uint64_t, 3>{1000, 100, 11});
    CHECK(rig.pending.finished_tokens() == 1111);
}

TEST_CASE("pending: a request that waits on purpose gives no tokens back when its response comes") {
    Rig rig;
    rig.pending.add(rig.connection, {.waits = true}, true, rig.now);
    rig.pending.charge(rig.connection, 5, 0, Access::kPlain);
    rig.pending.add(rig.connection, {.waits = true}, true, rig.now);
    rig.pending.charge(rig.connection, 7, 0, Access::kPlain);
    rig.pending.hold(rig.connection, 1);
    const PendingRequests::Tokens released = rig.pending.release(rig.connection, 1, 2, rig.now);
    CHECK(released.all == 7);
    CHECK(released.waiting == 7);
    CHECK(rig.in_order().waits);
    rig.pending.forget(rig.connection);
    CHECK(rig.pending.finished_tokens() == 0);
}

TEST_CASE("pending: a request without a record takes no tokens at the service") {
    Rig rig(1);
    rig.ask();
    rig.pending.charge(rig.connection, 5, 0, Access::kPlain);
    CHECK(rig.pending.is_recorded(rig.connection));
    rig.ask();
    CHECK_FALSE(rig.pending.is_recorded(rig.connection));
    rig.pending.forget(rig.connection);
    CHECK(rig.pending.finished_tokens() == 5);
}

TEST_CASE("pending: a response is answered with what its request was charged") {
    Rig rig;
    rig.ask();
    rig.pending.charge(rig.connection, 40, 1000, Access::kRepeat);
    rig.ask();
    rig.pending.charge(rig.connection, 7, 10, Access::kPlain);
    const Answer first = rig.in_order();
    CHECK(first.charged_bytes == 1000);
    CHECK(first.access == Access::kRepeat);
    CHECK(rig.in_order().charged_bytes == 10);
}
