// redis_test.cc - RESP2 and RESP3, byte by byte.
#include <string>
#include <utility>
#include <vector>

#include "test/cost_functions/tracker/conversation.h"
#include "test/support/catch.h"

using namespace weir;
using namespace std::string_literals;
using weir::testing::Conversation;

namespace {

std::string bulk(const std::string& text) {
    return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

std::string command(const std::vector<std::string>& words) {
    std::string text = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string& word : words)
        text += bulk(word);
    return text;
}

/// The only request of these bytes, cut into pieces of this size.
Request only(const std::string& bytes, std::size_t piece) {
    Conversation c("redis");
    c.open();
    for (std::size_t at = 0; at < bytes.size(); at += piece)
        c.ask(bytes.substr(at, piece));
    INFO(bytes.substr(0, 60) << " in pieces of " << piece);
    REQUIRE(c.events.requests.size() == 1);
    CHECK(c.events.plain_requests == 0);
    CHECK(c.tracker.buffers().taken(1) == 0);
    CHECK(c.connection.requests_way.next_seq == 1000 + bytes.size());
    CHECK(c.events.requests[0].request_bytes == bytes.size());
    return c.events.requests[0];
}

}  // namespace

TEST_CASE("redis: commands are known by name, in any case") {
    struct Known {
        std::vector<std::string> words;
        Operation operation;
        bool answered = true;
        std::uint32_t keys = 1;
    };
    using enum Operation;
    const std::vector<Known> all{
        {{"GET", "k"}, kRead},
        {{"get", "k"}, kRead},
        {{"MGET", "a", "b", "c"}, kRead, true, 3},
        {{"HGETALL", "k"}, kRead},
        {{"zrevrangebyscore", "k", "1", "2"}, kRead},
        {{"SET", "k", "v"}, kWrite},
        {{"SET", "k", "v", "EX", "10"}, kWrite},
        {{"MSET", "a", "1", "b", "2"}, kWrite, true, 2},
        {{"LPUSH", "k", "1", "2"}, kWrite},
        {{"INCR", "k"}, kUpdate},
        {{"EVAL", "return 1", "0"}, kUpdate},
        {{"DEL", "a", "b"}, kDelete, true, 2},
        {{"FLUSHALL"}, kDelete},
        {{"BGSAVE"}, kFlush},
        {{"PING"}, kControl},
        {{"HELLO", "3"}, kControl},
        {{"EXEC"}, kControl},
        {{"NONSENSE", "k"}, kControl},
        {{"SUBSCRIBE", "a", "b"}, kControl, false},
        {{"SHUTDOWN"}, kControl, false},
        {{std::string(200, 'C'), "k"}, kControl},
        {{""}, kControl},
    };
    for (const Known& known : all) {
        const Request found = only(command(known.words), SIZE_MAX / 2);
        INFO(known.words[0]);
        CHECK(found.operation == known.operation);
        CHECK(found.answered == known.answered);
        CHECK(found.keys == known.keys);
        CHECK_FALSE(found.response_known);
    }
}

TEST_CASE("redis: a request is the same however it is cut") {
    std::vector<std::string> many{"MSET"};
    for (int key = 0; key < 300; ++key) {
        many.push_back("key:" + std::to_string(key));
        many.push_back(std::string(static_cast<std::size_t>(key), 'v'));
    }
    const std::vector<std::string> requests{
        command({"GET", "key:1"}),
        command({"SET", "key:1", std::string(5000, 'v')}),
        command({"SET", std::string(600, 'k'), "v"}),
        command({"set", "k", ""}),
        command(many),
        "GET key:1\r\n",
        "SET key:1 " + std::string(3000, 'v') + "\r\n",
    };
    for (const std::string& request : requests) {
        const Request whole = only(request, SIZE_MAX / 2);
        for (const std::size_t piece :
             {std::size_t{1}, std::size_t{3}, std::size_t{64}, std::size_t{511}, std::size_t{513}}) {
            const Request cut = only(request, piece);
            CHECK(cut.operation == whole.operation);
            CHECK(cut.keys == whole.keys);
            CHECK(cut.place == whole.place);
        }
    }
    CHECK(only(requests[0], 7).place == only(requests[1], 7).place);
    CHECK(only(requests[0], 7).place == only(requests[5], 7).place);
    CHECK(only(requests[0], 7).place != only(requests[3], 7).place);
    CHECK(only(requests[2], 7).place == 0);  // its arguments do not begin within 512 bytes
    CHECK(only(requests[4], 7).keys == 300);
}

TEST_CASE("redis: a request that may wait for another client says so, however it is cut") {
    std::vector<std::string> keys(200, "some-key");  // more than a header's buffer holds
    keys.insert(keys.begin(), "BLPOP");
    keys.emplace_back("0");
    const std::vector<std::pair<std::string, bool>> all{
        {command({"BLPOP", "k", "0"}), true},
        {command({"brpoplpush", "a", "b", "0"}), true},
        {command({"XREAD", "BLOCK", "0", "STREAMS", "s", "$"}), true},
        {command({"WAITAOF", "1", "0", "0"}), true},
        {command(keys), true},
        {"wait 1 0\r\n", true},
        {"BLPOP " + std::string(2000, 'k') + " 0\r\n", true},
        {command({"LPOP", "k"}), false},
        {command({"XRANGE", "s", "-", "+"}), false},
        {"lpop " + std::string(2000, 'k') + "\r\n", false},
    };
    for (const auto& [bytes, waits] : all)
        for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, bytes.size()}) {
            const Request request = only(bytes, piece);
            CHECK(request.waits == waits);
            CHECK(request.answered);
        }
}

TEST_CASE("redis: empty requests are skipped, as the server does") {
    Conversation c("redis");
    c.open();
    c.ask("\r\n*0\r\n*-1\r\n\r\n" + command({"PING"}));
    CHECK(c.events.requests.size() == 1);
    CHECK(c.connection.outstanding() == 1);
    CHECK(c.events.plain_requests == 0);
}

TEST_CASE("redis: every type of reply closes one request, however it is cut") {
    const std::vector<std::string> replies{
        "+OK\r\n",
        "-ERR unknown command\r\n",
        ":-1000\r\n",
        "$5\r\nhello\r\n",
        "$0\r\n\r\n",
        "$-1\r\n",
        "*-1\r\n",
        "*0\r\n",
        "*3\r\n:1\r\n$1\r\na\r\n+b\r\n",
        "*2\r\n*2\r\n:1\r\n*0\r\n*1\r\n*2\r\n$-1\r\n-ERR inner\r\n",
        "_\r\n",
        "#t\r\n",
        ",3.1415\r\n",
        "(3492890328409238509324850943850943825024385\r\n",
        "!21\r\nSYNTAX invalid syntax\r\n",
        "=15\r\ntxt:Some string\r\n",
        "%2\r\n+a\r\n:1\r\n+b\r\n%1\r\n+c\r\n_\r\n",
        "~2\r\n:1\r\n:2\r\n",
        "|1\r\n+ttl\r\n:3600\r\n*2\r\n:1\r\n:2\r\n",
        "+" + std::string(3000, 'x') + "\r\n",
        "*2\r\n+" + std::string(3000, 'x') + "\r\n:1\r\n",
        "$100000\r\n" + std::string(100'000, 'x') + "\r\n",
    };
    for (const std::string& reply : replies) {
        for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{700}, SIZE_MAX / 2}) {
            if (piece < 3 && reply.size() > 10'000)
                continue;
            Conversation c("redis");
            c.open();
            c.ask(command({"GET", "k"}) + command({"PING"}));
            for (std::size_t at = 0; at < reply.size(); at += piece)
                c.reply(reply.substr(at, piece));
            INFO(reply.substr(0, 60) << " in pieces of " << piece);
            REQUIRE(c.events.responses.size() == 1);
            CHECK(c.events.responses[0].response.bytes == reply.size());
            CHECK(c.events.responses[0].response.failed == (reply[0] == '-' || reply[0] == '!'));
            CHECK(c.events.responses[0].answer.operation == Operation::kRead);
            CHECK(c.events.plain_responses == 0);
            c.reply("+PONG\r\n");
            CHECK(c.connection.outstanding() == 0);
        }
    }
}

TEST_CASE("redis: an array of many small elements is one reply") {
    std::string reply = "*10000\r\n";
    for (int i = 0; i < 10'000; ++i)
        reply += bulk(std::to_string(i));
    Conversation c("redis");
    c.open();
    c.ask(command({"LRANGE", "k", "0", "-1"}));
    for (std::size_t at = 0; at < reply.size(); at += 1448)
        c.reply(reply.substr(at, 1448));
    REQUIRE(c.events.responses.size() == 1);
    CHECK(c.events.responses[0].response.bytes == reply.size());
}

TEST_CASE("redis: pushes belong to no request") {
    Conversation c("redis");
    c.open();
    c.ask(command({"SUBSCRIBE", "a"}) + command({"GET", "k"}));
    CHECK(c.connection.outstanding() == 1);
    c.reply(">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n>3\r\n+message\r\n+a\r\n*1\r\n:5\r\n$1\r\nv\r\n");
    REQUIRE(c.events.responses.size() == 1);
    CHECK(c.events.responses[0].response.bytes == 7);
    CHECK(c.connection.outstanding() == 0);
}

TEST_CASE("redis: a message that contradicts the protocol is a loss of step") {
    for (const std::string& bytes :
         {"*x\r\n"s, "*1\n$4\r\nPING\r\n"s, "*2\r\n:1\r\n"s, "*1\r\n$-1\r\n"s, "*99999999\r\n"s,
          "*1\r\n$2000000000\r\n"s, "\x16\x03\x01\x02"s, "*" + std::string(30, '1'), "*1234567890123\r\n"s,
          "*1\r\r\n"s, "*-\r\n"s}) {
        Conversation c("redis");
        c.open();
        c.ask(bytes);
        INFO(bytes.substr(0, 60));
        CHECK(c.events.requests.empty());
        CHECK(c.events.plain_requests == bytes.size());
    }
    for (const std::string& bytes : {"hello\r\n"s, "*-2\r\n"s, "$x\r\n"s, "%-1\r\n"s, "*1\r\n?\r\n"s,
                                     "*999999999\r\n"s, "$1999999999\r\n"s, "\x16\x03\x01\x02"s}) {
        Conversation c("redis");
        c.open();
        c.ask(command({"PING"}));
        c.reply(bytes);
        INFO(bytes.substr(0, 60));
        CHECK(c.events.responses.empty());
        CHECK(c.events.plain_responses == bytes.size());
    }
}

TEST_CASE("redis: a connection met in mid-stream is understood where a command begins") {
    Conversation c("redis");
    c.ask("rest of a value\r\n" + command({"SET", "k", "v"}) + command({"GET", "k"}));
    CHECK(c.events.requests.size() == 2);
    CHECK(c.events.plain_requests == 17);
    c.reply("lue\r\n+OK\r\n$1\r\nv\r\n");
    CHECK(c.events.responses.size() == 2);
    CHECK(c.connection.outstanding() == 0);
}
