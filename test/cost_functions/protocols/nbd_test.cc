// nbd_test.cc - the parser of NBD, by messages written by hand from proto.md and by recorded sessions.
#include "cost_functions/protocols/registry.h"
#include "test/cost_functions/protocols/parser_checks.h"
#include "test/support/catch.h"

using namespace weir;
using Verdict = Parsed::Verdict;

namespace {

constexpr std::uint64_t kCookie = 0x1122334455667788;

Wire compact(std::uint16_t flags, std::uint16_t type, std::uint64_t offset, std::uint32_t length) {
    return Wire().big(0x25609513U).big(flags).big(type).big(kCookie).big(offset).big(length);
}
Wire extended(std::uint16_t flags, std::uint16_t type, std::uint64_t offset, std::uint64_t length) {
    return Wire().big(0x21e41c71U).big(flags).big(type).big(kCookie).big(offset).big(length);
}
Wire option(std::uint32_t option, std::uint32_t length) {
    return Wire().text("IHAVEOPT").big(option).big(length);
}
Wire option_reply(std::uint32_t option, std::uint32_t type, std::uint32_t length) {
    return Wire().big(std::uint64_t{0x3e889045565a9}).big(option).big(type).big(length);
}
Wire simple(std::uint32_t error) {
    return Wire().big(0x67446698U).big(error).big(kCookie);
}
Wire chunk(std::uint16_t flags, std::uint16_t type, std::uint32_t length) {
    return Wire().big(0x668e33efU).big(flags).big(type).big(kCookie).big(length);
}
Wire extended_chunk(std::uint16_t flags, std::uint16_t type, std::uint64_t length) {
    return Wire().big(0x6e8a278cU).big(flags).big(type).big(kCookie).big(std::uint64_t{0x10000}).big(length);
}
Wire newstyle() {
    return Wire().text("NBDMAGICIHAVEOPT").big(std::uint16_t{3});
}
Wire export_info() {
    return Wire().big(std::uint64_t{64 << 20}).big(std::uint16_t{0x1ed});
}

Request parsed_request(const Wire& message) {
    const Parsed parsed =
        check_header(nbd_protocol, nbd_protocol.request, message.bytes(), message.bytes().size());
    REQUIRE(parsed.verdict == Verdict::kRequest);
    return parsed.request;
}
Parsed parsed_response(const Wire& message, ParserState state = {}) {
    return check_header(nbd_protocol, nbd_protocol.response, message.bytes(), message.bytes().size(), state);
}

/// The state of the server's direction after these messages.
ParserState after(const std::vector<Octets>& messages) {
    ParserState state;
    for (const Octets& message : messages)
        REQUIRE(parse(nbd_protocol.response, message, state).verdict != Verdict::kLost);
    return state;
}

}  // namespace

TEST_CASE("NBD: a read states the length of its simple reply") {
    const Request read = parsed_request(compact(0, 0, 0x10000, 4096));
    CHECK(read.operation == Operation::kRead);
    CHECK(read.answered);
    CHECK(read.request_bytes == 28);
    CHECK(read.response_known);
    CHECK(read.response_bytes == 16 + 4096);
    CHECK(read.place == 0x10000);
    CHECK(read.span == 4096);
    CHECK(read.cookie == kCookie);
}

TEST_CASE("NBD: a write carries its data and is answered by a header") {
    const Wire message = compact(1, 1, 512, 65536);
    const Request write = parsed_request(message);
    CHECK(write.operation == Operation::kWrite);
    CHECK(write.request_bytes == 28 + 65536);
    CHECK(write.response_bytes == 16);
    CHECK(parse(nbd_protocol.request, message.bytes()).length == 28 + 65536);
}

TEST_CASE("NBD: the length of other commands is a range, not data") {
    struct Row {
        std::uint16_t type;
        Operation operation;
        bool answered, known;
    };
    const Row row = GENERATE(Row{2, Operation::kControl, false, false},  // DISC
                             Row{3, Operation::kFlush, true, true}, Row{4, Operation::kDelete, true, true},
                             Row{5, Operation::kControl, true, true},    // CACHE
                             Row{6, Operation::kDelete, true, true},     // WRITE_ZEROES
                             Row{7, Operation::kControl, true, false},   // BLOCK_STATUS
                             Row{8, Operation::kControl, true, true},    // RESIZE
                             Row{99, Operation::kControl, true, true});  // refused by the server
    for (const Wire& message : {compact(0, row.type, 0, 0xFFFFFFFF), extended(0, row.type, 0, ~0ULL)}) {
        const Request request = parsed_request(message);
        const bool wide = message.bytes().size() == 32;
        CHECK(request.operation == row.operation);
        CHECK(request.answered == row.answered);
        CHECK(request.request_bytes == message.bytes().size());
        CHECK(request.span == 0xFFFFFFFF);
        CHECK(request.response_known == row.known);
        CHECK(request.response_bytes == (row.known ? wide ? 32U : 16U : 0U));
        CHECK(request.cookie == kCookie);
    }
}

TEST_CASE("NBD: with extended headers a flag states whether data follows") {
    CHECK(parsed_request(extended(0, 0, 1ULL << 40, 4096)).response_bytes == 32 + 8 + 4096);
    CHECK(parsed_request(extended(0, 0, 1ULL << 40, 4096)).place == 1ULL << 40);
    CHECK(parsed_request(extended(1 << 5, 1, 0, 4096)).request_bytes == 32 + 4096);
    CHECK(parsed_request(extended(0, 1, 0, 4096)).request_bytes == 32);
    CHECK(parsed_request(extended(1 << 5, 7, 0, 24)).request_bytes ==
          32 + 24);  // BLOCK_STATUS with a list of contexts
}

TEST_CASE("NBD: lengths beyond the bound are a loss of step") {
    const std::uint64_t most = kMessageMax - 28;
    CHECK(parse(nbd_protocol.request, compact(0, 1, 0, kMessageMax - 28).bytes()).length == kMessageMax);
    CHECK(parsed_request(extended(0, 0, 0, kMessageMax - 40)).response_bytes == kMessageMax);
    for (const Wire& message :
         {compact(0, 1, 0, kMessageMax), compact(0, 0, 0, kMessageMax), compact(0, 1, 0, 0xFFFFFFFF),
          extended(0, 0, 0, kMessageMax - 39), extended(1 << 5, 1, 0, most + (1ULL << 32)),
          extended(1 << 5, 4, 0, ~0ULL), option(3, kMessageMax), option(3, 0xFFFFFFFF)})
        CHECK(parse(nbd_protocol.request, message.bytes()).verdict == Verdict::kLost);
    for (const Wire& message : {chunk(1, 1, kMessageMax - 19), extended_chunk(1, 1, kMessageMax - 31),
                                extended_chunk(1, 1, 1ULL << 32), option_reply(3, 2, 0xFFFFFFF0)})
        CHECK(parse(nbd_protocol.response, message.bytes()).verdict == Verdict::kLost);
}

TEST_CASE("NBD: wrong magics are a loss of step") {
    for (const std::uint32_t magic :
         {0x25609512U, 0x25609514U, 0x67446698U, 0x00000004U, 0x16030100U, 0xFFFFFFFFU})
        CHECK(parse(nbd_protocol.request, Wire().big(magic).zeroes(60).bytes()).verdict == Verdict::kLost);
    for (const std::uint32_t magic : {0x25609513U, 0x67446699U, 0U, 0xFFFFFFFFU})
        CHECK(parse(nbd_protocol.response, Wire().big(magic).zeroes(60).bytes()).verdict == Verdict::kLost);
    CHECK(parse(nbd_protocol.request, Wire().text("IHAVEOPX").zeroes(60).bytes()).verdict == Verdict::kLost);
    CHECK(parse(nbd_protocol.response, Wire().text("NBDMAGICIHAVEOPX").zeroes(60).bytes()).verdict ==
          Verdict::kLost);
    CHECK(parse(nbd_protocol.response, Wire().text("NBDMAGIX").zeroes(60).bytes()).verdict == Verdict::kLost);
}

TEST_CASE("NBD: negotiation of the new style, both sides") {
    SECTION("the client's flags come once, before any option") {
        ParserState state;
        const Octets flags = Wire().big(3U);
        const Parsed parsed = parse(nbd_protocol.request, flags, state);
        CHECK(parsed.verdict == Verdict::kPart);
        CHECK(parsed.length == 4);
        CHECK(parse(nbd_protocol.request, flags, state).verdict == Verdict::kLost);
    }
    SECTION("an option is a request whose answer names it") {
        const Request request = parsed_request(option(7, 20));  // GO
        CHECK(request.operation == Operation::kControl);
        CHECK(request.request_bytes == 36);
        CHECK_FALSE(request.response_known);
        CHECK(request.cookie == 7);
    }
    SECTION("no option after the first command") {
        ParserState state;
        parse(nbd_protocol.request, compact(0, 3, 0, 0).bytes(), state);
        CHECK(parse(nbd_protocol.request, option(7, 0).bytes(), state).verdict == Verdict::kLost);
    }
    SECTION("the greeting") {
        const Parsed parsed = check_header(nbd_protocol, nbd_protocol.response, newstyle().bytes(), 16);
        CHECK(parsed.verdict == Verdict::kPart);
        CHECK(parsed.length == 18);
    }
    SECTION("INFO and SERVER are parts, ACK and errors the last") {
        for (const auto& [type, failed, last] : {std::tuple{3U, false, false},
                                                 {2U, false, false},
                                                 {4U, false, false},
                                                 {1U, false, true},
                                                 {(1U << 31) + 1, false, true},  // unknown to the server
                                                 {(1U << 31) + 2, true, true}}) {
            const Parsed parsed = parsed_response(option_reply(7, type, 12), after({newstyle()}));
            REQUIRE(parsed.verdict == Verdict::kResponse);
            CHECK(parsed.length == 32);
            CHECK(parsed.response.bytes == 32);
            CHECK(parsed.response.failed == failed);
            CHECK(parsed.response.last == last);
            CHECK(parsed.response.cookie == 7);
        }
    }
    SECTION("bytes behind an accepted STARTTLS cannot be parsed") {
        const ParserState sealed = after({newstyle(), option_reply(5, 1, 0)});
        ParserState state = sealed;
        CHECK(parse(nbd_protocol.response, Wire().big(0x67446698U).zeroes(28).bytes(), state).verdict ==
              Verdict::kLost);
        CHECK(parsed_response(option_reply(3, 1, 0), after({newstyle(), option_reply(5, (1U << 31) + 2, 0)}))
                  .verdict == Verdict::kResponse);
    }
}

TEST_CASE("NBD: EXPORT_NAME is answered without a magic, with or without zeroes") {
    const Parsed parsed = parsed_response(export_info(), after({newstyle()}));
    REQUIRE(parsed.verdict == Verdict::kResponse);
    CHECK(parsed.length == 10);
    CHECK(parsed.response.cookie == parsed_request(option(1, 0)).cookie);

    ParserState state = after({newstyle(), export_info()});
    SECTION("with zeroes") {
        CHECK(parse(nbd_protocol.response, Wire().zeroes(4).bytes(), state).length == 124);
        CHECK(parse(nbd_protocol.response, Wire().zeroes(4).bytes(), state).verdict == Verdict::kLost);
    }
    SECTION("without") {
        CHECK(parse(nbd_protocol.response, simple(0).bytes(), state).verdict == Verdict::kResponse);
        CHECK(parse(nbd_protocol.response, Wire().zeroes(4).bytes(), state).verdict == Verdict::kLost);
    }
    SECTION("a size that begins like the magic of replies to options") {
        ParserState negotiating = after({newstyle()});
        const Octets info = Wire().big(0x0003e889'00000000ULL).big(std::uint16_t{1});
        CHECK(parse(nbd_protocol.response, info, negotiating).response.cookie == 1);
    }
    SECTION("a negative size and missing flags are a loss of step") {
        ParserState negotiating = after({newstyle()});
        CHECK(parse(nbd_protocol.response, Wire().big(1ULL << 63).big(std::uint16_t{1}).bytes(), negotiating)
                  .verdict == Verdict::kLost);
        CHECK(parse(nbd_protocol.response, Wire().zeroes(10).bytes(), negotiating).verdict == Verdict::kLost);
    }
}

TEST_CASE("NBD: the old style greets once and transmits at once") {
    const Wire greeting =
        Wire().text("NBDMAGIC").big(0x00420281861253ULL).big(std::uint64_t{1} << 30).big(1U);
    ParserState state;
    const Parsed parsed = parse(nbd_protocol.response, greeting.bytes(), state);
    CHECK(parsed.verdict == Verdict::kPart);
    CHECK(parsed.length == 152);
    CHECK(parse(nbd_protocol.response, simple(0).bytes(), state).verdict == Verdict::kResponse);
    CHECK(check_header(nbd_protocol, nbd_protocol.response, greeting.bytes(), 16).length == 152);
}

TEST_CASE("NBD: a simple reply is as long as its request states, unless it failed or chunks are in use") {
    const Parsed good = parsed_response(simple(0));
    REQUIRE(good.verdict == Verdict::kResponse);
    CHECK(good.length == 16);
    CHECK(good.response.as_asked);
    CHECK(good.response.last);
    CHECK(good.response.cookie == kCookie);

    const Parsed bad = parsed_response(simple(5));  // EIO
    CHECK_FALSE(bad.response.as_asked);
    CHECK(bad.response.failed);
    CHECK(bad.response.bytes == 16);

    CHECK_FALSE(parsed_response(simple(0), after({chunk(1, 1, 8)})).response.as_asked);
}

TEST_CASE("NBD: structured and extended chunks state their length; DONE is the last") {
    const Parsed data = parsed_response(chunk(0, 1, 8 + 4096));  // OFFSET_DATA
    REQUIRE(data.verdict == Verdict::kResponse);
    CHECK(data.length == 20 + 8 + 4096);
    CHECK(data.response.bytes == 20 + 8 + 4096);
    CHECK_FALSE(data.response.last);
    CHECK_FALSE(data.response.as_asked);
    CHECK(data.response.cookie == kCookie);
    CHECK(parsed_response(chunk(1, 0, 0)).response.last);  // NONE
    CHECK(parsed_response(chunk(1, 0, 0)).length == 20);
    CHECK(parsed_response(chunk(1, 0x8001, 6)).response.failed);
    CHECK(parsed_response(extended_chunk(1, 1, 8 + 4096)).response.bytes == 32 + 8 + 4096);
    CHECK(parsed_response(extended_chunk(0, 6, 24)).response.cookie == kCookie);
    CHECK_FALSE(parsed_response(extended_chunk(0, 6, 24)).response.last);
}

TEST_CASE("NBD: chunks of two replies interleave") {
    Walk walk(nbd_protocol);
    const auto request = [](std::uint64_t cookie) -> Octets {
        return Wire().big(0x25609513U).big(0U).big(cookie).big(0ULL).big(1024U);
    };
    const auto part = [](std::uint64_t cookie, std::uint16_t flags, std::uint32_t data) -> Octets {
        return Wire()
            .big(0x668e33efU)
            .big(flags)
            .big(std::uint16_t{1})
            .big(cookie)
            .big(8 + data)
            .zeroes(8 + data);
    };
    walk.request_segment(request(1));
    walk.request_segment(request(2));
    for (const Octets& segment : {part(1, 0, 500), part(2, 0, 1000), part(1, 1, 524), part(2, 1, 24)})
        walk.response_segment(segment);
    const Tally tally = walk.tally();
    CHECK(tally.of(Operation::kRead) == 2);
    CHECK(tally.answered == 2);
    CHECK(tally.parts == 2);
    CHECK(tally.response_bytes == 4 * 28 + 2048);
    CHECK(tally.outstanding + tally.lost + tally.strays + tally.left == 0);
}

TEST_CASE("NBD: any bytes are parsed within the bounds") {
    const std::vector<Octets> seeds{compact(0, 0, 0, 4096),
                                    compact(0, 1, 0, 4096),
                                    extended(32, 1, 0, 512),
                                    option(7, 4),
                                    newstyle(),
                                    option_reply(7, 3, 12),
                                    export_info(),
                                    simple(0),
                                    chunk(1, 1, 512),
                                    extended_chunk(1, 1, 512),
                                    Wire().big(3U)};
    check_any_bytes(nbd_protocol, nbd_protocol.request, seeds);
    check_any_bytes(nbd_protocol, nbd_protocol.response, seeds);
}

TEST_CASE("NBD: a search finds headers again, and hardly anything else") {
    for (const Wire& message :
         {compact(0, 0, 0, 4096), compact(1, 6, 1 << 20, 1 << 30), extended(32, 1, 0, 512), option(7, 4)}) {
        const Bytes bytes = message.bytes();
        CHECK(nbd_protocol.request_begins(bytes));
        CHECK_FALSE(nbd_protocol.request_begins(bytes.subspan(1)));
        CHECK_FALSE(nbd_protocol.request_begins(bytes.first(15)));
    }
    for (const Wire& message :
         {simple(0), simple(108), chunk(1, 0x8002, 14), extended_chunk(1, 6, 512), option_reply(7, 3, 12)}) {
        const Bytes bytes = message.bytes();
        CHECK(nbd_protocol.response_begins(bytes));
        CHECK_FALSE(nbd_protocol.response_begins(bytes.subspan(1)));
        CHECK_FALSE(nbd_protocol.response_begins(bytes.first(15)));
    }
    // Passing with 2^-24 each, these would give two.
    CHECK(false_beginnings(nbd_protocol.request_begins, 1 << 25) == 0);
    CHECK(false_beginnings(nbd_protocol.response_begins, 1 << 25) == 0);
}

// captures/record.py has the clients' commands; they add options, a flush and DISC. An option
// that the server does not know is answered, an option's INFO and a reply's chunks before the last are parts.
TEST_CASE("NBD: recorded sessions are parsed from the first byte to the last") {
    struct Row {
        std::string name;
        std::uint32_t reads, writes, deletes, flushes, controls, failed, parts;
    };
    const Row row = GENERATE(
        Row{"nbd-simple", 2, 1, 2, 2, 3, 0, 1}, Row{"nbd-structured", 2, 1, 2, 2, 4, 0, 2},
        Row{"nbd-chunks", 2, 0, 0, 1, 20, 0, 5}, Row{"nbd-pipelined", 4, 0, 0, 0, 3, 0, 1},
        Row{"nbd-pipelined-simple", 4, 0, 0, 0, 3, 0, 1}, Row{"nbd-export-name", 1, 1, 0, 1, 2, 0, 0},
        Row{"nbd-oldstyle", 1, 0, 0, 0, 1, 0, 0}, Row{"nbd-errors-simple", 2, 1, 0, 1, 3, 2, 1},
        Row{"nbd-errors-structured", 2, 1, 0, 1, 4, 2, 2}, Row{"nbd-list", 0, 0, 0, 0, 5, 0, 4});
    INFO(row.name);
    const Tally tally = walk(nbd_protocol, load_capture(row.name));
    CHECK(tally.of(Operation::kRead) == row.reads);
    CHECK(tally.of(Operation::kWrite) == row.writes);
    CHECK(tally.of(Operation::kDelete) == row.deletes);
    CHECK(tally.of(Operation::kFlush) == row.flushes);
    CHECK(tally.of(Operation::kControl) == row.controls);
    CHECK(tally.failed == row.failed);
    CHECK(tally.parts == row.parts);
    CHECK(tally.outstanding + tally.lost + tally.strays + tally.left == 0);
}
