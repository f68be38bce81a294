// memcached_test.cc - memcached's three protocols, byte by byte.
#include <map>
#include <string>

#include "cost_functions/protocols/registry.h"
#include "test/cost_functions/protocols/parser_checks.h"
#include "test/cost_functions/tracker/conversation.h"
#include "test/support/catch.h"

using namespace weir;
using namespace std::string_literals;
using weir::testing::Conversation;

namespace {

/// A line and the request that it must be; the data, if any, are 5 bytes.
struct Line {
    std::string text;
    Operation operation;
    bool answered = true;
    std::uint32_t keys = 1;
    bool data = false;
};

Octets request(std::uint8_t opcode, const std::string& key, const std::string& extras = "",
               const std::string& value = "", std::uint32_t opaque = 0) {
    return Wire()
        .u8(0x80)
        .u8(opcode)
        .big(static_cast<std::uint16_t>(key.size()))
        .u8(static_cast<unsigned>(extras.size()))
        .zeroes(3)
        .big(static_cast<std::uint32_t>(key.size() + extras.size() + value.size()))
        .big(opaque)
        .zeroes(8)
        .text(extras + key + value);
}

Octets response(std::uint8_t opcode, std::uint16_t status, const std::string& key, const std::string& value,
                std::uint32_t opaque = 0) {
    return Wire()
        .u8(0x81)
        .u8(opcode)
        .big(static_cast<std::uint16_t>(key.size()))
        .zeroes(2)
        .big(status)
        .big(static_cast<std::uint32_t>(key.size() + value.size()))
        .big(opaque)
        .zeroes(8)
        .text(key + value);
}

std::string text(const Octets& bytes) {
    return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("memcached: every command is known by its line") {
    using enum Operation;
    const std::vector<Line> lines{
        {"get k", kRead},
        {"get a b c", kRead, true, 3},
        {"gets a b", kRead, true, 2},
        {"gat 100 a b", kRead, true, 2},
        {"gats 100 a", kRead},
        {"set k 0 0 5", kWrite, true, 1, true},
        {"set k 0 0 5 noreply", kWrite, false, 1, true},
        {"add k 4294967295 -1 5", kWrite, true, 1, true},
        {"replace k 0 0 5", kWrite, true, 1, true},
        {"append k 0 0 5", kUpdate, true, 1, true},
        {"prepend k 0 0 5 noreply", kUpdate, false, 1, true},
        {"cas k 0 0 5 123456789012345678", kUpdate, true, 1, true},
        {"cas k 0 0 5 1 noreply", kUpdate, false, 1, true},
        {"incr k 1", kUpdate},
        {"decr k 1 noreply", kUpdate, false},
        {"touch k 100", kUpdate},
        {"touch k 100 noreply", kUpdate, false},
        {"delete k", kDelete},
        {"delete k noreply", kDelete, false},
        {"stats", kControl},
        {"stats items", kControl},
        {"version", kControl},
        {"verbosity 1 noreply", kControl, false},
        {"flush_all", kControl},
        {"flush_all 10 noreply", kControl, false},
        {"quit", kControl, false},
        {"mg k", kRead},
        {"mg k v t", kRead},
        {"mg k v q", kRead, false},
        {"mg k v q O9", kRead, true},
        {"ms k 5", kWrite, true, 1, true},
        {"ms k 5 T0 q", kWrite, false, 1, true},
        {"ms k 5 MA", kUpdate, true, 1, true},
        {"ms k 5 ME", kWrite, true, 1, true},
        {"md k q", kDelete, false},
        {"md k", kDelete},
        {"ma k N0 J1", kUpdate},
        {"mn", kControl},
        {"me k", kControl},
        // The server answers these by ERROR or CLIENT_ERROR, and reads no data.
        {"", kControl},
        {"nonsense", kControl},
        {"get", kControl},
        {"set k 0 0 -5", kControl},
        {"set k 0 0 x", kControl},
        {"set k 0 0", kControl},
        {"set " + std::string(251, 'k') + " 0 0 5", kControl},
    };
    for (const Line& line : lines) {
        Conversation c("memcached");
        c.open();
        const std::string sent = line.text + "\r\n" + (line.data ? "12345\r\n" : "");
        c.ask(sent + "get end\r\n");
        INFO(line.text);
        REQUIRE(c.events.requests.size() == 2);
        const Request& found = c.events.requests[0];
        CHECK(found.operation == line.operation);
        CHECK(found.answered == line.answered);
        CHECK(found.keys == line.keys);
        CHECK(found.request_bytes == sent.size());
        CHECK_FALSE(found.response_known);
        CHECK(c.events.plain_requests == 0);
    }
}

TEST_CASE("memcached: a line may end without a carriage return") {
    Conversation c("memcached");
    c.open();
    c.ask("set k 0 0 2\nxx\r\nget k\n");
    REQUIRE(c.events.requests.size() == 2);
    CHECK(c.events.requests[0].request_bytes == 16);
    CHECK(c.events.requests[1].request_bytes == 6);
}

TEST_CASE("memcached: the place of a request is its first key, in every protocol") {
    Conversation c("memcached");
    c.open();
    c.ask("get key\r\nset key 0 0 1\r\nx\r\nmg key v\r\ngat 1 key b\r\n" + text(request(0, "key")) +
          "get kez\r\n");
    REQUIRE(c.events.requests.size() == 6);
    for (std::size_t i = 0; i < 5; ++i)
        CHECK(c.events.requests[i].place == c.events.requests[0].place);
    CHECK(c.events.requests[5].place != c.events.requests[0].place);
}

TEST_CASE("memcached: a get of more keys than a header may hold is counted to its end") {
    std::string line = "get";
    for (int key = 0; key < 1000; ++key)
        line += " key:" + std::to_string(key);
    line += "\r\n";
    for (const std::size_t piece :
         {std::size_t{1}, std::size_t{7}, std::size_t{511}, std::size_t{1448}, line.size()}) {
        Conversation c("memcached");
        c.open();
        for (std::size_t at = 0; at < line.size(); at += piece)
            c.ask(line.substr(at, piece));
        c.ask("get b\r\n");
        INFO("pieces of " << piece);
        REQUIRE(c.events.requests.size() == 2);
        CHECK(c.events.requests[0].keys == 1000);
        CHECK(c.events.requests[0].request_bytes == line.size());
        CHECK(c.events.requests[0].place == 0);
        CHECK(c.events.requests[1].keys == 1);
    }
}

TEST_CASE("memcached: a line may end at the largest length of a header") {
    for (std::size_t key = 480; key < 520; ++key) {
        const std::string line =
            "get " + std::string(key / 2, 'a') + " " + std::string(key - key / 2, 'b') + "\r\n";
        Conversation c("memcached");
        c.open();
        c.ask(line + "flush_all" + std::string(key, ' ') + "1\r\n");
        c.ask("get b\r\n");
        c.reply("SERVER_ERROR " + std::string(key, 'a') + "\r\nRESET " + std::string(key, 'a') +
                "\r\nEND\r\n");
        INFO(line.size() << " bytes");
        REQUIRE(c.events.requests.size() == 3);
        CHECK(c.events.requests[0].keys == 2);
        CHECK(c.events.requests[0].request_bytes == line.size());
        CHECK(c.events.plain_requests == 0);
        REQUIRE(c.events.responses.size() == 3);
        CHECK(c.events.responses[0].response.failed);
        CHECK_FALSE(c.events.responses[1].response.failed);
        CHECK(c.events.plain_responses == 0);
    }
}

TEST_CASE("memcached: the values of a get are one response") {
    Conversation c("memcached");
    c.open();
    c.ask("gets a b\r\n");
    c.now = 5000;
    c.reply("VALUE a 0 1000 17\r\n" + std::string(500, 'x'));
    c.reply(std::string(500, 'x') + "\r\nVALUE b 1 2");
    CHECK(c.events.responses.empty());
    c.now = 7000;
    c.reply(" 18\r\nxx\r\nEND\r\n");
    REQUIRE(c.events.responses.size() == 1);
    const auto& [response, answer] = c.events.responses[0];
    CHECK(response.bytes == 19 + 1002 + 16 + 4 + 5);
    CHECK_FALSE(response.failed);
    CHECK(answer.matched);
    CHECK(answer.operation == Operation::kRead);
    CHECK(answer.request_bytes == 10);
    CHECK(answer.latency == 7000);
    CHECK(c.connection.outstanding() == 0);
}

TEST_CASE("memcached: every response closes one request, and errors are failures") {
    const std::vector<std::pair<std::string, bool>> lines{
        {"STORED", false},
        {"NOT_STORED", false},
        {"EXISTS", false},
        {"NOT_FOUND", false},
        {"DELETED", false},
        {"TOUCHED", false},
        {"OK", false},
        {"RESET", false},
        {"12345", false},
        {"END", false},
        {"VERSION 1.6.18", false},
        {"ERROR", true},
        {"CLIENT_ERROR bad data chunk", true},
        {"SERVER_ERROR out of memory storing object", true},
        {"HD", false},
        {"HD t-1 s5", false},
        {"EN", false},
        {"NF", false},
        {"NS", false},
        {"EX", false},
        {"VA 5 t10\r\n12345", false},
        {"ME k exp=-1 la=3", false},
        {"STAT a 1\r\nSTAT b 2\r\nEND", false},
        {"ITEM k [5 b; 0 s]\r\nEND", false},
        {"key=k exp=-1\r\nkey=" + std::string(700, '%') + " exp=1\r\nEND", false},
        {std::string(2000, 'w'), false},
    };
    for (const auto& [line, failed] : lines) {
        Conversation c("memcached");
        c.open();
        c.ask("get a\r\n");
        c.reply(line + "\r\n");
        INFO(line);
        REQUIRE(c.events.responses.size() == 1);
        CHECK(c.events.responses[0].response.bytes == line.size() + 2);
        CHECK(c.events.responses[0].response.failed == failed);
        CHECK(c.connection.outstanding() == 0);
        CHECK(c.events.plain_responses == 0);
    }
}

TEST_CASE("memcached: noreply and quiet requests do not shift the order of responses") {
    Conversation c("memcached");
    c.open();
    c.ask("set a 0 0 1 noreply\r\nx\r\nget b\r\nms k 1 q\r\nx\r\ndelete c\r\n");
    c.reply("END\r\nDELETED\r\n");
    REQUIRE(c.events.responses.size() == 2);
    CHECK(c.events.responses[0].answer.operation == Operation::kRead);
    CHECK(c.events.responses[1].answer.operation == Operation::kDelete);
    CHECK(c.connection.outstanding() == 0);
}

TEST_CASE("memcached: a quiet meta get is closed by its opaque, or by the no-op behind it") {
    Conversation c("memcached");
    c.open();
    c.ask("mg a v q O1\r\nmg b v q O2\r\nmg c v q O3\r\nmn\r\n");
    CHECK(c.connection.outstanding() == 4);
    c.reply("VA 2 O2\r\nxx\r\n");
    CHECK(c.connection.outstanding() == 2);  // a has missed
    CHECK(c.events.responses[0].answer.matched);
    c.reply("MN\r\n");
    CHECK(c.connection.outstanding() == 0);
    CHECK(c.events.responses[1].answer.operation == Operation::kControl);
    // An error has no opaque; it is the oldest's.
    c.ask("ms k 999999999 O7\r\n");
    c.reply("SERVER_ERROR object too large for cache\r\n");
    CHECK(c.events.responses[2].answer.operation == Operation::kWrite);
}

TEST_CASE("memcached: binary messages are recognized by their first byte and paired by opcode and opaque") {
    const std::string expiry(8, '\0');
    Conversation c("memcached");
    c.open();
    c.ask(text(request(0x01, "key", expiry, std::string(100, 'v'), 7)));               // set
    c.ask(text(request(0x0d, "a", "", "", 8)) + text(request(0x0d, "b", "", "", 9)));  // getkq
    c.ask(text(request(0x11, "k", expiry, "v", 10)));                                  // setq
    c.ask(text(request(0x0a, "", "", "", 11)));                                        // noop
    REQUIRE(c.events.requests.size() == 5);
    CHECK(c.events.requests[0].request_bytes == 24 + 8 + 3 + 100);
    CHECK(c.events.requests[0].operation == Operation::kWrite);
    CHECK(c.events.requests[1].operation == Operation::kRead);
    CHECK_FALSE(c.events.requests[3].answered);
    CHECK(c.connection.outstanding() == 4);
    c.reply(text(response(0x01, 0, "", "", 7)) +
            text(response(0x0d, 0, "b", "flag" + std::string(50, 'v'), 9)));
    CHECK(c.connection.outstanding() == 1);
    c.reply(text(response(0x0a, 0, "", "", 11)));
    REQUIRE(c.events.responses.size() == 3);
    for (const auto& [response, answer] : c.events.responses)
        CHECK(answer.matched);
    CHECK(c.events.responses[1].response.bytes == 24 + 1 + 54);
    CHECK(c.events.responses[1].answer.operation == Operation::kRead);
    CHECK(c.connection.outstanding() == 0);
    CHECK(c.events.plain_requests + c.events.plain_responses == 0);
}

TEST_CASE("memcached: binary opcodes that are all the same opaque still pair") {
    Conversation c("memcached");
    c.open();
    for (int i = 0; i < 3; ++i)
        c.ask(text(request(0x00, "key")));
    c.ask(text(request(0x04, "key")));
    c.reply(text(response(0x00, 0, "", "flagvalue")) + text(response(0x00, 1, "", "Not found")));
    c.reply(text(response(0x00, 0, "", "flagvalue")) + text(response(0x04, 0, "", "")));
    REQUIRE(c.events.responses.size() == 4);
    CHECK_FALSE(c.events.responses[1].response.failed);  // a miss
    CHECK(c.events.responses[3].answer.operation == Operation::kDelete);
    CHECK(c.connection.outstanding() == 0);
}

TEST_CASE("memcached: binary statistics are one response") {
    Conversation c("memcached");
    c.open();
    c.ask(text(request(0x10, "")));
    c.reply(text(response(0x10, 0, "pid", "1")) + text(response(0x10, 0, "uptime", "2")));
    CHECK(c.events.responses.empty());
    c.reply(text(response(0x10, 0, "", "")));
    REQUIRE(c.events.responses.size() == 1);
    CHECK(c.events.responses[0].response.bytes == 28 + 31 + 24);
}

TEST_CASE("memcached: a binary header that contradicts itself is a loss of step") {
    Conversation c("memcached");
    c.open();
    Octets bytes = request(0x00, "key");
    bytes[11] = 2;  // the body is shorter than the key
    c.ask(text(bytes));
    CHECK(c.events.requests.empty());
    CHECK(c.events.plain_requests == 27);
    c.ask(text(request(0x00, "key")));
    CHECK(c.events.requests.size() == 1);
}

TEST_CASE("memcached: other protocols are not mistaken for memcached") {
    const std::vector<std::string> streams{"\x16\x03\x01\x02\x00\x01\x00\x01"s, std::string(2000, '\0'),
                                           "\x01get a\r\n", "PRI * HTTP/2.0\x01\r\n\r\nSM\x02\r\n",
                                           std::string("get a\0\0\r\n\x07", 10).substr(9)};
    for (const std::string& stream : streams) {
        Conversation c("memcached");
        c.open();
        c.ask(stream);
        CHECK(c.events.requests.empty());
        CHECK(StreamState{c.connection.requests_way.state} == StreamState::kSearching);
        CHECK(c.events.plain_requests == stream.size());
    }
}

TEST_CASE("memcached: only lines of the protocol count as the beginning of a header") {
    const auto begins = [](std::string_view bytes, bool request) {
        const weir::testing::Exactly copy(bytes);
        return (request ? memcached_protocol.request_begins
                        : memcached_protocol.response_begins)(copy.bytes());
    };
    for (const char* line : {"get a\r\n", "set a 0 0 5\r\n", "mg a v\r\n", "delete a\r\n", "incr a 1\r\n"})
        CHECK(begins(line, true));
    for (const char* line : {"", "get a", "get\r\n", "hello world\r\n", "set a 0 0\r\n", "set a 0 0 x\r\n",
                             "12345\r\n", " get a\r\n", "get a\x01\r\n", "END\r\n"})
        CHECK_FALSE(begins(line, true));
    for (const char* line :
         {"END\r\n", "STORED\r\n", "VALUE a 0 5\r\n", "VA 5\r\n", "HD\r\n", "NOT_FOUND\r\n"})
        CHECK(begins(line, false));
    for (const char* line :
         {"", "END", "END of it\r\n", "12345\r\n", "VALUE a\r\n", "whatever\r\n", "get a\r\n"})
        CHECK_FALSE(begins(line, false));
    CHECK(begins(text(request(0, "key")), true));
    CHECK(begins(text(response(0, 0, "", "")), false));
    CHECK_FALSE(begins(text(request(0xf0, "key")), true));
    CHECK_FALSE(begins(text(request(0, "key")).substr(0, 23), true));
}
