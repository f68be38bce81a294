// tracker_test.cc - headers found in streams in spite of TCP's cuts, losses and repetitions; the protocols
// are memcached's text and NBD.
#include "cost_functions/tracker/tracker.h"

#include <string>

#include "test/cost_functions/tracker/conversation.h"
#include "test/support/catch.h"

using namespace weir;
using namespace std::string_literals;
using weir::testing::Conversation;

namespace {

std::string set(std::size_t bytes) {
    return "set k 0 0 " + std::to_string(bytes) + "\r\n" + std::string(bytes, 'x') + "\r\n";
}

}  // namespace

TEST_CASE("a body is skipped, and the next header is found behind it") {
    Conversation c("memcached");
    c.open();
    c.ask("set k 0 0 3000\r\n" + std::string(1000, 'x'));
    REQUIRE(c.events.requests.size() == 1);
    CHECK(c.events.requests[0].operation == Operation::kWrite);
    CHECK(c.events.requests[0].request_bytes == 16 + 3000 + 2);
    CHECK(c.connection.requests_way.next_seq == 1000 + 3018);
    c.ask(std::string(1000, 'x'));
    c.ask(std::string(1000, 'x') + "\r\nget a\r\n");
    REQUIRE(c.events.requests.size() == 2);
    CHECK(c.events.requests[1].operation == Operation::kRead);
    CHECK(c.events.plain_requests == 0);
}

TEST_CASE("a retransmission is not counted again, nor are overlapping bytes") {
    Conversation c("memcached");
    c.open();
    c.ask("get a\r\n");
    c.pass(Side::kRequests, 1000, "get a\r\n");
    c.pass(Side::kRequests, 1000, "get a\r\nget b\r\n");
    c.pass(Side::kRequests, 1003, " a\r\nget b\r\nget c\r\n");
    CHECK(c.events.requests.size() == 3);
    CHECK(c.connection.requests_way.next_seq == 1021);
    CHECK(c.events.plain_requests == 0);
    CHECK(c.events.repeated_bytes == 7 + 7 + 11);
}

TEST_CASE("each byte that was reported pays for one passage, in a body too, and in any order") {
    Conversation c("memcached");
    c.open();
    c.ask("set k 0 0 3000\r\n");
    CHECK(c.connection.credit == 3002);
    c.skip(Side::kRequests, std::string(1000, 'x'));
    c.ask(std::string(1000, 'x'));
    c.pass(Side::kRequests, 1016, std::string(1000, 'x'));  // later than the next
    CHECK(c.events.repeated_bytes == 0);
    CHECK(c.connection.credit == 1002);
    c.pass(Side::kRequests, 1016, "get a\r\n");  // in place of the body
    CHECK(c.events.repeated_bytes == 0);
    c.pass(Side::kRequests, 1016, std::string(1000, 'x'));
    CHECK(c.events.repeated_bytes == 5);
    CHECK(c.connection.credit == 0);
    CHECK(c.events.requests.size() == 1);
}

TEST_CASE("bytes beyond a hole count as passed once, their repetition as repeated") {
    Conversation c("memcached");
    c.open();
    c.pass(Side::kRequests, 1007, "get b\r\nget c\r\n");
    CHECK(c.events.repeated_bytes == 0);
    c.pass(Side::kRequests, 1007, "set k 0 0 9\r\n");
    CHECK(c.events.repeated_bytes == 13);
    c.pass(Side::kRequests, 1000, "get a\r\n");
    CHECK(c.events.requests.size() == 3);
    CHECK(c.events.repeated_bytes == 13);
    CHECK(c.connection.credit == 0);
}

TEST_CASE("requests that share a segment are all found, in a super-frame too") {
    Conversation c("memcached");
    c.open();
    std::string frame;
    unsigned requests = 0;
    while (frame.size() < 65'000) {
        frame += requests++ % 10 == 0 ? set(777) : "get key:12345\r\n"s;
    }
    c.ask(frame);
    CHECK(c.events.requests.size() == requests);
    CHECK(c.connection.outstanding() == requests);
    CHECK(c.connection.requests_way.next_seq == 1000 + frame.size());
}

TEST_CASE("a header may be cut anywhere, also into single bytes") {
    const std::string text = set(3) + "get abc\r\n" + set(0) + "delete abc\r\n";
    for (std::size_t piece = 1; piece < text.size(); ++piece) {
        Conversation c("memcached");
        c.open();
        for (std::size_t at = 0; at < text.size(); at += piece)
            c.ask(text.substr(at, piece));
        INFO("pieces of " << piece);
        REQUIRE(c.events.requests.size() == 4);
        CHECK(c.events.requests[1].operation == Operation::kRead);
        CHECK(c.events.requests[3].operation == Operation::kDelete);
        CHECK(c.events.requests[3].request_bytes == 12);
        CHECK(c.tracker.buffers().taken(1) == 0);
    }
}

TEST_CASE("the end of one header and the begin of the next may share a small segment") {
    Conversation c("memcached");
    c.open();
    c.ask("get a");
    c.ask("\r\nge");
    c.ask("t b\r\nget");
    c.ask(" c\r\n");
    CHECK(c.events.requests.size() == 3);
}

TEST_CASE("sequence numbers wrap within a header, a body and a hole") {
    const std::string text = "get abc\r\n" + set(100) + "get def\r\n";
    for (std::uint32_t before = 0; before <= text.size(); ++before) {
        Conversation c("memcached");
        c.open(0U - before, 0U - before);
        c.skip(Side::kRequests, text.substr(0, 5));
        c.ask(text.substr(5));
        CHECK(c.events.requests.empty());
        c.pass(Side::kRequests, 0U - before, text.substr(0, 5));
        INFO(before << " bytes before the wrap");
        CHECK(c.events.requests.size() == 3);
        CHECK(c.connection.requests_way.next_seq == text.size() - before);
    }
}

TEST_CASE("segments that come in another order give the same requests, without a retransmission") {
    Conversation c("memcached");
    c.open();
    c.pass(Side::kRequests, 1014, "get c\r\n");
    c.pass(Side::kRequests, 1007, "get b\r\n");
    CHECK(StreamState{c.connection.requests_way.state} == StreamState::kHole);
    CHECK(c.tracker.buffers().taken(1) == 2);
    c.pass(Side::kRequests, 1000, "get a\r\n");
    CHECK(c.events.requests.size() == 3);
    CHECK(StreamState{c.connection.requests_way.state} == StreamState::kInStep);
    CHECK(c.tracker.buffers().taken(1) == 0);
    CHECK(c.events.plain_requests == 0);
}

TEST_CASE("a header may be cut by bytes that passed beyond a hole") {
    Conversation c("memcached");
    c.open();
    c.pass(Side::kRequests, 1010, "23\r\nget b\r\n");
    c.pass(Side::kRequests, 1005, "bcd");
    c.pass(Side::kRequests, 1008, "e1");
    CHECK(c.events.requests.empty());
    c.pass(Side::kRequests, 1000, "get a");
    REQUIRE(c.events.requests.size() == 2);
    CHECK(c.events.requests[0].request_bytes == 14);
    CHECK(c.tracker.buffers().taken(1) == 0);
}

TEST_CASE("a hole within a body is ignored") {
    Conversation c("memcached");
    c.open();
    c.ask("set k 0 0 10000\r\n");
    c.skip(Side::kRequests, std::string(5000, 'x'));
    c.ask(std::string(5000, 'x') + "\r\nget a\r\n");
    CHECK(c.events.requests.size() == 2);
    CHECK(c.tracker.stats().holes == 0);
    CHECK(c.events.plain_requests == 0);
}

TEST_CASE("bytes beyond a hole are kept up to 64 KiB, and the rest is plain bytes") {
    Conversation c("memcached");
    c.open();
    c.skip(Side::kRequests, "set k 0 0 80000\r\n");
    c.ask(std::string(40'000, 'x'));
    CHECK(c.events.plain_requests == 0);
    c.ask(std::string(40'000, 'x'));
    CHECK(c.events.plain_requests == 80'000 - c.tracker.buffers().taken(1) * 512 + 448);
    c.pass(Side::kRequests, 1000, "set k 0 0 80000\r\n");
    CHECK(c.events.requests.size() == 1);
    c.ask("\r\nget a\r\n");
    CHECK(c.events.requests.size() == 2);
    CHECK(c.tracker.buffers().taken(1) == 0);
}

TEST_CASE("bytes beyond a hole leave buffers for headers in pieces") {
    Tracker::Profile profile = weir::testing::small_profile();
    profile.buffers = {.users = 4, .common = 16};
    Conversation c("memcached", profile);
    c.open();
    c.skip(Side::kRequests, "set k 0 0 60000\r\n");
    c.ask(std::string(30'000, 'x'));
    CHECK(c.tracker.buffers().taken(1) == 6);
    c.ask(std::string(30'000, 'x') + "\r\n");
    c.pass(Side::kRequests, 1000, "set k");
    c.pass(Side::kRequests, 1005, " 0 0 60000\r\n");
    c.ask("get a\r\n");
    CHECK(c.events.requests.size() == 2);
}

TEST_CASE("a hole that the receiver does not have is given up, and headers are searched for again") {
    Conversation c("memcached");
    c.open();
    c.ask("get a\r\n");
    c.skip(Side::kRequests, "get b\r\n");
    c.ask("get c\r\n");
    c.ask("get d\r\n");
    CHECK(c.events.requests.size() == 1);
    CHECK(c.events.plain_requests == 0);
    c.acknowledge(Side::kResponses);
    CHECK(c.events.plain_requests == 14);
    CHECK(c.tracker.stats().given_up == 1);
    c.ask("set k 0 0 10\r\nxx");
    CHECK(c.events.requests.size() == 2);
    c.ask("xxxxxxxx\r\nget e\r\n");
    CHECK(c.events.requests.size() == 3);
    CHECK(c.tracker.stats().found == 1);
    CHECK(c.events.plain_requests == 14);
}

TEST_CASE("a hole is given up after 256 segments when no acknowledgement is seen") {
    Conversation c("memcached");
    c.open();
    c.skip(Side::kRequests, "set k 0 0 60000\r\n");
    for (int i = 0; i < 400; ++i)
        c.ask(std::string(1000, 'x'));
    CHECK(StreamState{c.connection.requests_way.state} == StreamState::kSearching);
    c.ask("get a\r\n");
    CHECK(c.events.requests.size() == 1);
    CHECK(c.events.plain_requests == 400'000);
}

TEST_CASE("a request that is retransmitted while out of step is plain bytes once") {
    Conversation c("memcached");
    c.open();
    c.ask("\x16\x03\x01 not memcached");
    c.pass(Side::kRequests, 1000, "\x16\x03\x01 not memcached");
    c.ask("\x17 more of it");
    c.pass(Side::kRequests, 1008, "memcached\x17 more of it");
    CHECK(c.events.requests.empty());
    CHECK(c.events.plain_requests == 17 + 12);
    CHECK(c.tracker.stats().lost == 1);
}

TEST_CASE(
    "a connection met in mid-stream is understood from the first line that parses, each way by itself") {
    Conversation c("memcached");
    c.at(Side::kRequests) = 5000;
    c.ask("data of something\r\nmore data\r\nget a b\r\nget c\r\n");
    REQUIRE(c.events.requests.size() == 2);
    CHECK(c.events.requests[0].keys == 2);
    CHECK(c.events.plain_requests == 30);
    c.reply("abc\r\nEND\r\nEND\r\n");
    CHECK(c.events.responses.size() == 2);
    CHECK(c.events.plain_responses == 5);
    CHECK(c.connection.outstanding() == 0);
    CHECK(c.tracker.stats().found == 2);
}

TEST_CASE("a connection of a binary protocol met in mid-stream is found by its magic within a segment") {
    Conversation c("nbd");
    std::string read = "\x25\x60\x95\x13"s + std::string(4, '\0') + "cookie:1" + std::string(8, '\0') +
                       std::string("\0\0\x10\0", 4);
    c.ask("whatever" + read + read);
    CHECK(c.events.requests.size() == 2);
    CHECK(c.events.plain_requests == 8);
}

TEST_CASE("simple replies of NBD keep step, however many are outstanding and whatever their order") {
    constexpr std::uint32_t kMany = 4000;
    Conversation c("nbd", {.pendings = {.users = 2, .own = kMany}, .buffers = {.users = 2, .common = 256}});
    c.open();
    const auto big = [](std::uint64_t value, unsigned bytes) {
        std::string text;
        while (bytes-- > 0)
            text += static_cast<char>(value >> 8 * bytes);
        return text;
    };
    const auto length = [](std::uint64_t cookie) { return 512 * (1 + cookie % 9); };
    for (std::uint64_t cookie = 0; cookie < kMany; ++cookie)
        c.ask("\x25\x60\x95\x13"s + big(0, 4) + big(cookie, 8) + big(cookie << 20, 8) +
              big(length(cookie), 4));
    for (std::uint64_t i = 0; i < kMany; ++i) {
        const std::uint64_t cookie = i * 1237 % kMany;  // each once
        c.reply("\x67\x44\x66\x98" + big(0, 4) + big(cookie, 8) + std::string(length(cookie), 'd'));
    }
    REQUIRE(c.events.responses.size() == kMany);
    for (const auto& [response, answer] : c.events.responses) {
        CHECK(answer.matched);
        CHECK(response.bytes == 16 + length(response.cookie));
    }
    CHECK(c.tracker.stats().lost == 0);
    CHECK(c.events.plain_responses == 0);
    CHECK(c.connection.outstanding() == 0);
}

TEST_CASE("of a segment of garbage only the first bytes are searched") {
    Conversation c("nbd");
    c.open();
    for (int i = 0; i < 1000; ++i)
        c.ask(std::string(60'000, 'x'));
    CHECK(c.events.plain_requests == 60'000'000);
    CHECK(StreamState{c.connection.requests_way.state} == StreamState::kSearching);
}

TEST_CASE("a SYN begins anew, its duplicate does not") {
    Conversation c("memcached");
    c.open();
    c.ask("get a\r\n");
    c.pass(Side::kRequests, 999, "", Segment::kSyn);
    c.pass(Side::kRequests, 1000, "get a\r\n");
    CHECK(c.events.requests.size() == 1);
    CHECK(c.connection.outstanding() == 1);
    c.pass(Side::kResponses, 1999, "", Segment::kSyn | Segment::kAck);
    c.open(70'000, 90'000);
    CHECK(c.connection.outstanding() == 0);
    CHECK(c.tracker.pending().taken(1) == 0);
    c.ask("get a\r\n");
    c.reply("END\r\n");
    CHECK(c.events.requests.size() == 2);
    CHECK(c.events.responses.back().answer.matched);
}

TEST_CASE("a SYN that the server does not acknowledge moves nothing") {
    Conversation c("memcached");
    c.open();
    c.ask("get a\r\n");
    c.pass(Side::kRequests, 1'000'000'000, "", Segment::kSyn);
    c.pass(Side::kRequests, 500, "", Segment::kSyn | Segment::kAck);
    c.pass(Side::kResponses, 2000, "", Segment::kAck, 1007);  // a challenge
    c.ask("get b\r\n");
    CHECK(c.events.requests.size() == 2);
    CHECK(c.connection.outstanding() == 2);
    CHECK(c.connection.requests_way.next_seq == 1014);
}

TEST_CASE("the server's SYN begins anew where it acknowledges, and reports what waited beyond a hole") {
    Conversation c("memcached");
    c.pass(Side::kRequests, 999, "", Segment::kSyn);
    c.pass(Side::kRequests, 499, "", Segment::kSyn);  // this one the server takes
    c.pass(Side::kRequests, 1010, "get a\r\n");
    c.pass(Side::kResponses, 1999, "", Segment::kSyn | Segment::kAck, 500);
    CHECK(c.events.plain_requests == 7);
    c.pass(Side::kRequests, 500, "get b\r\n");
    CHECK(c.events.requests.size() == 1);
    c.pass(Side::kResponses, 1999, "", Segment::kSyn | Segment::kAck, 500);  // again
    c.pass(Side::kRequests, 507, "get c\r\n");
    CHECK(c.events.requests.size() == 2);
    CHECK(c.connection.outstanding() == 2);
}

TEST_CASE("both sides may open at once: each SYN is counted before it is acknowledged (RFC 9293 3.5)") {
    Conversation c("memcached");
    c.pass(Side::kRequests, 999, "", Segment::kSyn);
    c.pass(Side::kResponses, 1999, "", Segment::kSyn);
    c.pass(Side::kRequests, 999, "", Segment::kSyn | Segment::kAck, 2000);
    c.pass(Side::kResponses, 1999, "", Segment::kSyn | Segment::kAck, 1000);
    c.ask("get a\r\n");
    CHECK(c.connection.outstanding() == 1);
    c.reply("END\r\n");
    CHECK(c.events.requests.size() == 1);
    CHECK(c.events.responses.back().answer.matched);
    CHECK(c.connection.outstanding() == 0);
    CHECK(c.events.plain_requests == 0);
}

TEST_CASE("data may come in the SYN segment") {
    Conversation c("memcached");
    c.pass(Side::kRequests, 999, "get a\r\n", Segment::kSyn);
    c.pass(Side::kRequests, 1007, "get b\r\n");
    CHECK(c.events.requests.size() == 2);
}

TEST_CASE("a connection ends with a RST, or when both sides have sent all their bytes") {
    Conversation c("memcached");
    c.open();
    CHECK(c.ask("get a\r\nge"));
    CHECK(c.send(Side::kRequests, "t b\r\n", Segment::kAck | Segment::kFin));
    CHECK(c.reply("END\r\n"));
    CHECK_FALSE(c.send(Side::kResponses, "END\r\n", Segment::kAck | Segment::kFin));
    CHECK(c.events.responses.size() == 2);

    Conversation d("memcached");
    d.open();
    CHECK(d.ask("get a\r\nge"));
    CHECK_FALSE(d.send(Side::kResponses, "", Segment::kRst));
    CHECK(d.events.plain_requests == 2);
    d.tracker.forget(d.connection);
    CHECK(d.tracker.pending().taken(1) == 0);
    CHECK(d.tracker.buffers().taken(1) == 0);
}

TEST_CASE("a FIN that passed beyond a hole does not end the connection before the missing bytes came") {
    Conversation c("memcached");
    c.open();
    c.skip(Side::kRequests, "get a\r\n");
    CHECK(c.send(Side::kRequests, "get b\r\n", Segment::kAck | Segment::kFin));
    CHECK(c.send(Side::kResponses, "", Segment::kAck | Segment::kFin));
    CHECK(c.pass(Side::kRequests, 1000, "get a\r\n"));
    CHECK(c.events.requests.size() == 2);
}

TEST_CASE("a keep-alive probe has no effect") {
    Conversation c("memcached");
    c.open();
    c.ask("get a\r\nge");
    c.pass(Side::kRequests, 1008, "x");
    c.ask("t b\r\n");
    CHECK(c.events.requests.size() == 2);
}

TEST_CASE("a body of more than a gigabyte is treated as a loss of step") {
    Conversation c("memcached");
    c.open();
    c.ask("set k 0 0 1073741000\r\n");
    CHECK(c.events.requests.size() == 1);
    Conversation d("memcached");
    d.open();
    d.ask("set k 0 0 1073741824\r\n");
    CHECK(d.events.requests.empty());
    CHECK(d.events.plain_requests == 22);
}

TEST_CASE("plain bytes have no headers and are reported once") {
    Conversation c("bytes");
    c.open();
    c.ask("get a\r\n");
    c.pass(Side::kRequests, 1000, "get a\r\nget b\r\n");
    c.skip(Side::kRequests, "1234567lost1234");
    c.ask("after it");
    c.pass(Side::kRequests, 1014, "lost");
    c.reply("abc");
    CHECK(c.events.requests.empty());
    CHECK(c.events.plain_requests == 7 + 7 + 8);  // of the lost bytes only those that came later
    CHECK(c.events.repeated_bytes == 7 + 4);
    CHECK(c.events.plain_responses == 3);
}

TEST_CASE("without room for a cut header its bytes are plain, and later headers are found again") {
    weir::testing::Events events;
    Tracker::Profile profile = weir::testing::small_profile();
    profile.buffers = {.users = 4, .common = 2};
    Conversation c("memcached", profile);
    c.open();
    c.ask("get a");
    TrackedConnection other;
    other.vnic = 2;
    other.protocol = c.connection.protocol;
    const weir::testing::Exactly cut("get b");
    const weir::testing::Exactly whole("get c\r\n");
    c.tracker.segment(other, Side::kRequests,
                      {.seq = 0, .ack = 0, .flags = Segment::kSyn, .payload = cut.bytes()}, 0, events);
    CHECK(events.plain_requests == 5);
    c.tracker.segment(other, Side::kRequests, {.seq = 8, .ack = 0, .payload = whole.bytes()}, 0, events);
    CHECK(events.requests.size() == 1);
    c.ask("\r\n");
    CHECK(c.events.requests.size() == 1);
}
