// tracked_captures_test.cc - recorded sessions through the tracker, compared with a plain walk: also with
// segments lost, repeated and out of order.
#include <algorithm>
#include <random>

#include "cost_functions/protocols/registry.h"
#include "test/cost_functions/protocols/parser_checks.h"
#include "test/cost_functions/tracker/conversation.h"
#include "test/support/catch.h"

using namespace weir;
using weir::testing::Conversation;

namespace {

struct Capture {
    const char* protocol;
    const char* name;
};
constexpr Capture kCaptures[]{
    {"nbd", "nbd-simple"},    {"nbd", "nbd-structured"},       {"nbd", "nbd-chunks"},
    {"nbd", "nbd-pipelined"}, {"nbd", "nbd-pipelined-simple"}, {"nbd", "nbd-export-name"},
    {"nbd", "nbd-oldstyle"},  {"nbd", "nbd-errors-simple"},    {"nbd", "nbd-errors-structured"},
    {"nbd", "nbd-list"},      {"iscsi", "iscsi-plain"},        {"iscsi", "iscsi-header-digest"},
    {"iscsi", "iscsi-r2t"},   {"iscsi", "iscsi-discovery"},    {"nvme-tcp", "nvme-admin"},
    {"nvme-tcp", "nvme-io"},  {"nvme-tcp", "nvme-io-digests"}};

std::string_view text(Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A segment at its place in its side's stream.
struct Placed {
    std::uint32_t seq;
    std::string_view text;
};

/// Passes the bytes that one side sent at once: in order, or with some segments late and some twice.
void pass(Conversation& conversation, Side side, Bytes bytes, std::size_t cut, std::mt19937* disorder) {
    std::vector<Placed> segments;
    std::uint32_t& at = conversation.at(side);
    for (; !bytes.empty(); bytes = bytes.subspan(segments.back().text.size())) {
        segments.push_back({at, text(bytes.first(std::min(bytes.size(), cut)))});
        at += static_cast<std::uint32_t>(segments.back().text.size());
    }
    if (disorder != nullptr) {
        for (std::size_t i = 0, count = segments.size(); i < count; ++i)
            if ((*disorder)() % 8 == 0)
                segments.push_back(segments[i]);
        for (std::size_t i = 1; i < segments.size(); ++i)
            if ((*disorder)() % 4 == 0)
                std::swap(segments[i], segments[i - 1]);
    }
    for (const Placed& segment : segments)
        conversation.pass(side, segment.seq, segment.text);
}

Tally track(const Capture& capture, std::size_t cut, std::mt19937* disorder) {
    Conversation conversation(capture.protocol);
    conversation.open(0xFFFFFF00U, 0x7FFFFF00U);  // both wrap on the way
    const std::vector<Sent> session = load_capture(capture.name);
    for (const Sent& sent : session)
        pass(conversation, sent.request ? Side::kRequests : Side::kResponses, sent.bytes, cut, disorder);

    Tally tally;
    for (const Request& request : conversation.events.requests) {
        ++tally.requests[static_cast<std::size_t>(request.operation)];
        tally.request_bytes += request.request_bytes;
    }
    for (const auto& [response, answer] : conversation.events.responses) {
        tally.answered += answer.matched;
        tally.strays += !answer.matched;
        tally.failed += response.failed;
        tally.response_bytes += response.bytes;
    }
    tally.outstanding = conversation.connection.outstanding();
    tally.lost = static_cast<std::uint32_t>(conversation.tracker.stats().lost);
    tally.left = conversation.events.plain_requests + conversation.events.plain_responses;
    return tally;
}

/// The tally of a plain walk without `parts` and `exact`, which the tracker does not report.
Tally expected(const Capture& capture) {
    Tally tally = walk(*find_protocol(capture.protocol), load_capture(capture.name), 1 << 16);
    tally.parts = 0;
    tally.exact = 0;
    return tally;
}

}  // namespace

TEST_CASE("captures: the tracker reports the requests that a plain walk finds, however segments are cut") {
    for (const Capture& capture : kCaptures)
        for (const std::size_t cut : {1U, 17U, 48U, 536U, 1448U, 65536U}) {
            INFO(capture.name << " in segments of " << cut);
            CHECK(track(capture, cut, nullptr) == expected(capture));
        }
}

TEST_CASE("captures: the tracker reports the same when segments come late and twice") {
    std::mt19937 disorder(3);
    for (const Capture& capture : kCaptures)
        for (int round = 0; round < 50; ++round) {
            INFO(capture.name << ", round " << round);
            REQUIRE(track(capture, round % 2 == 0 ? 1448 : 100, &disorder) == expected(capture));
        }
}

// captures/stores.py has the client's commands. A quiet meta get that hits is answered, but only its opaque
// would show to which request the response belongs.
TEST_CASE("captures: sessions with key-value stores, compared with the client's commands") {
    struct Row {
        const char* protocol;
        const char* name;
        std::uint32_t reads, writes, updates, deletes, controls, strays;
    };
    std::mt19937 disorder(4);
    for (const Row& row :
         {Row{"memcached", "memcached-text", 4, 3, 4, 2, 4, 0},
          Row{"memcached", "memcached-meta", 5, 2, 2, 3, 1, 1},
          Row{"memcached", "memcached-binary", 4, 2, 2, 1, 4, 0}, Row{"redis", "redis-2", 7, 5, 2, 1, 2, 0},
          Row{"redis", "redis-3", 7, 5, 2, 1, 3, 0}, Row{"redis", "redis-pipelined", 0, 100, 0, 0, 0, 0},
          Row{"redis", "redis-inline", 2, 1, 0, 1, 1, 0}})
        for (const std::size_t cut : {1U, 17U, 48U, 536U, 1448U, 65536U}) {
            INFO(row.name << " in segments of " << cut);
            const Tally tally = track({row.protocol, row.name}, cut, nullptr);
            CHECK(tally.of(Operation::kRead) == row.reads);
            CHECK(tally.of(Operation::kWrite) == row.writes);
            CHECK(tally.of(Operation::kUpdate) == row.updates);
            CHECK(tally.of(Operation::kDelete) == row.deletes);
            CHECK(tally.of(Operation::kControl) == row.controls);
            CHECK(tally.strays == row.strays);
            CHECK(tally.outstanding + tally.lost + tally.left == 0);
            for (int round = 0; round < 5; ++round)
                CHECK(track({row.protocol, row.name}, cut, &disorder) == tally);
        }
}
