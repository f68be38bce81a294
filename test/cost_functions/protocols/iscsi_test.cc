// iscsi_test.cc - the parser of iSCSI, by units written by hand from RFC 7143 and by recorded sessions.
#include "cost_functions/protocols/registry.h"
#include "cost_functions/protocols/scsi_cdb.h"
#include "test/cost_functions/protocols/parser_checks.h"
#include "test/support/catch.h"

using namespace weir;
using Verdict = Parsed::Verdict;

namespace {

constexpr std::uint32_t kTask = 0x11223344;
constexpr std::uint32_t kNoTask = 0xFFFFFFFF;
constexpr unsigned kF = 0x80, kR = 0x40, kW = 0x20, kSimple = 0x01;

/// A basic header: 20 bytes of fields that all have in common, then 28 bytes of its own.
Wire unit(unsigned opcode, unsigned flags, std::uint32_t data, const Wire& own, std::uint32_t task = kTask,
          unsigned response = 0, unsigned status = 0) {
    Wire wire;
    wire.u8(opcode).u8(flags).u8(response).u8(status);  // the last two: reserved in most
    wire.big(data);                                     // no AHS: TotalAHSLength 0, DataSegmentLength
    wire.big(std::uint64_t{0});                         // LUN
    wire.big(task).add(own);                            // Initiator Task Tag
    return wire.zeroes(48 - wire.bytes().size());
}
Wire command(unsigned flags, std::uint32_t expected, std::uint32_t data, const Wire& cdb) {
    return unit(0x01, kF | flags | kSimple, data,
                Wire().big(expected).big(7U).big(9U).add(cdb));  // CmdSN, ExpStatSN
}
Wire read_10(std::uint32_t first, std::uint16_t blocks) {
    return Wire().u8(0x28).u8(0).big(first).u8(0).big(blocks).u8(0);
}
Wire write_10(std::uint32_t first, std::uint16_t blocks) {
    return Wire().u8(0x2A).u8(0).big(first).u8(0).big(blocks).u8(0);
}

Parsed parsed_request(const Wire& message) {
    return check_header(iscsi_protocol, iscsi_protocol.request, message.bytes(), 48);
}
Parsed parsed_response(const Wire& message) {
    return check_header(iscsi_protocol, iscsi_protocol.response, message.bytes(), 48);
}
// With data behind, four bytes of it must be seen, to know whether they are a digest.
Parsed parsed_request_with_data(const Wire& message) {
    Wire whole = message;
    return check_header(iscsi_protocol, iscsi_protocol.request, whole.zeroes(4).bytes(), 52);
}
Parsed parsed_response_with_data(const Wire& message) {
    Wire whole = message;
    return check_header(iscsi_protocol, iscsi_protocol.response, whole.zeroes(4).bytes(), 52);
}

/// RFC 7143, A.4: "an iSCSI SCSI Read (10) Command PDU" and its digest.
const Octets kReadOfTheRfc{0x01, 0xc0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                           0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00,
                           0x00, 0x14, 0x00, 0x00, 0x00, 0x18, 0x28, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                           0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x56, 0x3a, 0x96, 0xd9};

}  // namespace

TEST_CASE("iSCSI: a read expects its data and a response") {
    const Parsed parsed = parsed_request(command(kR, 4096, 0, read_10(0x1000, 8)));
    REQUIRE(parsed.verdict == Verdict::kRequest);
    CHECK(parsed.length == 48);
    const Request& read = parsed.request;
    CHECK(read.operation == Operation::kRead);
    CHECK(read.answered);
    CHECK(read.request_bytes == 48);
    CHECK(read.response_known);
    CHECK(read.response_bytes == 48 + 4096 + 48);
    CHECK(read.place == 0x1000 * 512);
    CHECK(read.span == 4096);
    CHECK(read.cookie == kTask);
}

TEST_CASE("iSCSI: a write counts its immediate data and what is still to come, once") {
    const Parsed all = parsed_request_with_data(command(kW, 4096, 4096, write_10(8, 8)));
    REQUIRE(all.verdict == Verdict::kRequest);
    CHECK(all.request.operation == Operation::kWrite);
    CHECK(all.length == 48 + 4096);
    CHECK(all.request.request_bytes == 48 + 4096);
    CHECK(all.request.response_bytes == 48);

    const Parsed some = parsed_request_with_data(command(kW, 4096, 510, write_10(8, 8)));
    CHECK(some.length == 48 + 512);  // padded to 4
    CHECK(some.request.request_bytes == 48 + 512 + 48 + (4096 - 510));

    const Parsed none = parsed_request(command(kW, 4096, 0, write_10(8, 8)));
    CHECK(none.length == 48);
    CHECK(none.request.request_bytes == 48 + 48 + 4096);

    // Data-Out: Target Transfer Tag, ExpStatSN, DataSN, Buffer Offset.
    const Parsed data = parsed_request_with_data(
        unit(0x05, kF, 4096, Wire().big(0xD0U).big(0U).big(9U).big(0U).big(0U).big(0U).big(0U)));
    CHECK(data.verdict == Verdict::kPart);
    CHECK(data.length == 48 + 4096);
}

TEST_CASE("iSCSI: the command block has the operation, the place and the size of blocks") {
    struct Row {
        const char* name;
        Wire cdb;
        Operation operation;
        std::uint64_t first;
        std::uint32_t blocks;
    };
    using enum Operation;
    const Row row = GENERATE(
        Row{"READ(6)", Wire().u8(0x08).u8(0xFF).u8(0x23).u8(0x45).u8(3), kRead, 0x1F2345, 3},
        Row{"READ(6) of 0 is 256", Wire().u8(0x08).u8(0).u8(0).u8(1).u8(0), kRead, 1, 256},
        Row{"WRITE(6)", Wire().u8(0x0A).u8(0x01).u8(0x23).u8(0x45).u8(3), kWrite, 0x12345, 3},
        Row{"READ(10)", read_10(0xFFFFFFF0, 2), kRead, 0xFFFFFFF0, 2},
        Row{"WRITE(10)", write_10(5, 2), kWrite, 5, 2},
        Row{"WRITE AND VERIFY(10)", Wire().u8(0x2E).u8(0).big(5U).u8(0).big(std::uint16_t{2}), kWrite, 5, 2},
        Row{"READ(12)", Wire().u8(0xA8).u8(0).big(5U).big(70000U), kRead, 5, 70000},
        Row{"WRITE(12)", Wire().u8(0xAA).u8(0).big(5U).big(6U), kWrite, 5, 6},
        Row{"READ(16)", Wire().u8(0x88).u8(0).big(1ULL << 40).big(6U), kRead, 1ULL << 40, 6},
        Row{"WRITE(16)", Wire().u8(0x8A).u8(0).big(1ULL << 40).big(6U), kWrite, 1ULL << 40, 6});
    INFO(row.name);
    for (const std::uint32_t block : {512U, 4096U}) {
        const unsigned way = row.operation == kRead ? kR : kW;
        const Parsed parsed = parsed_request(command(way, row.blocks * block, 0, row.cdb));
        REQUIRE(parsed.verdict == Verdict::kRequest);
        CHECK(parsed.request.operation == row.operation);
        CHECK(parsed.request.place == row.first * block);
        CHECK(parsed.request.span == row.blocks * block);
    }
}

TEST_CASE("iSCSI: commands that move no blocks of their own") {
    ParserState state;
    parse(iscsi_protocol.request, command(kR, 4096, 0, read_10(0, 1)).bytes(), state);  // blocks of 4096
    const auto of = [&state](unsigned flags, std::uint32_t expected, const Wire& cdb) {
        ParserState copy = state;
        return parse(iscsi_protocol.request, command(flags, expected, 0, cdb).bytes(), copy).request;
    };
    using enum Operation;
    const Request flush = of(0, 0, Wire().u8(0x35).u8(0).big(2U).u8(0).big(std::uint16_t{4}));
    CHECK(flush.operation == kFlush);
    CHECK(flush.response_bytes == 48);
    CHECK(flush.request_bytes == 48);
    CHECK(of(0, 0, Wire().u8(0x91)).operation == kFlush);
    const Request same = of(kW, 4096, Wire().u8(0x93).u8(0).big(3ULL).big(1000U));
    CHECK(same.operation == kDelete);
    CHECK(same.place == 3 * 4096);
    CHECK(same.span == 1000 * 4096);
    CHECK(of(kW, 4096, Wire().u8(0x41)).operation == kDelete);
    CHECK(of(kW, 24, Wire().u8(0x42)).operation == kDelete);
    const Request swap = of(kW, 8192, Wire().u8(0x89).u8(0).big(3ULL).zeroes(3).u8(1));
    CHECK(swap.operation == kUpdate);
    CHECK(swap.place == 3 * 4096);
    CHECK(swap.span == 4096);
    CHECK(of(kR, 36, Wire().u8(0x12)).operation == kControl);  // INQUIRY
    CHECK(of(kR, 36, Wire().u8(0x12)).response_bytes == 48 + 36 + 48);
    CHECK(of(kR, 4096, Wire().u8(0x7F).zeroes(7).big(std::uint16_t{9})).operation == kRead);
    CHECK(of(kW, 4096, Wire().u8(0x7F).zeroes(7).big(std::uint16_t{11})).operation == kWrite);
    CHECK(of(0, 0, Wire().u8(0x7F).zeroes(7).big(std::uint16_t{10})).operation == kControl);
}

TEST_CASE("iSCSI: further headers; the response of a command that reads and writes is not known") {
    Octets both = command(kR | kW, 512, 0, Wire().u8(0x53));  // XDWRITEREAD
    both[4] = 2;                                              // TotalAHSLength in words: its read length
    const Parsed parsed = parse(iscsi_protocol.request, both);
    REQUIRE(parsed.verdict == Verdict::kRequest);
    CHECK(parsed.length == 48 + 8);
    CHECK_FALSE(parsed.request.response_known);
    CHECK(parsed.request.response_bytes == 0);
    CHECK(parsed.request.request_bytes == 48 + 8 + 48 + 512);
    both[0] = 0x02;
    CHECK(parse(iscsi_protocol.request, both).verdict == Verdict::kLost);
}

TEST_CASE("iSCSI: all other messages of an initiator") {
    struct Row {
        const char* name;
        Wire message;
        bool answered;
    };
    const Row row =
        GENERATE(Row{"NOP-Out", unit(0x40, kF, 0, Wire().big(kNoTask)), true},
                 Row{"task management: ABORT TASK", unit(0x42, kF | 1, 0, Wire().big(5U)), true},
                 Row{"login, to the full feature phase", unit(0x43, 0x87, 0, Wire().big(1U)), true},
                 Row{"text", unit(0x04, kF, 0, Wire().big(kNoTask)), true},
                 Row{"logout", unit(0x46, kF, 0, Wire()), true},
                 Row{"SNACK", unit(0x10, kF | 1, 0, Wire().big(kNoTask)), false});
    INFO(row.name);
    const Parsed parsed = parsed_request(row.message);
    REQUIRE(parsed.verdict == Verdict::kRequest);
    CHECK(parsed.request.operation == Operation::kControl);
    CHECK(parsed.request.answered == row.answered);
    CHECK(parsed.request.request_bytes == 48);
    CHECK(parsed.request.cookie == kTask);
    CHECK(parsed_request(unit(0x40, kF, 0, Wire().big(1U), kNoTask)).verdict ==
          Verdict::kPart);  // answers a NOP-In
    CHECK(parsed_request(unit(0x43, 0x87, 401, Wire().big(1U))).length ==
          48 + 404);  // a login has no digests
}

TEST_CASE("iSCSI: messages of a target") {
    SECTION("a SCSI response is the last, and failed when its response or status code is not 0") {
        const Parsed good = parsed_response(unit(0x21, kF, 0, Wire()));
        REQUIRE(good.verdict == Verdict::kResponse);
        CHECK(good.response.last);
        CHECK_FALSE(good.response.failed);
        CHECK(good.response.bytes == 48);
        CHECK(good.response.cookie == kTask);
        CHECK(parsed_response(unit(0x21, kF, 0, Wire(), kTask, 1, 0)).response.failed);
        const Parsed check =
            parsed_response_with_data(unit(0x21, kF | 2, 20, Wire(), kTask, 0, 2));  // CHECK CONDITION
        CHECK(check.response.failed);
        CHECK(check.length == 68);
    }
    SECTION("Data-In is a part, unless it has the status") {
        const Parsed part = parsed_response_with_data(unit(0x25, kF, 4096, Wire().big(kNoTask)));
        REQUIRE(part.verdict == Verdict::kResponse);
        CHECK_FALSE(part.response.last);
        CHECK(part.response.bytes == 48 + 4096);
        const Parsed last = parsed_response_with_data(unit(0x25, kF | 1, 4096, Wire().big(kNoTask)));
        CHECK(last.response.last);
        CHECK_FALSE(last.response.failed);
        CHECK(parsed_response_with_data(unit(0x25, kF | 1, 4096, Wire().big(kNoTask), kTask, 0, 8))
                  .response.failed);
    }
    SECTION("other responses") {
        CHECK(parsed_response(unit(0x20, kF, 0, Wire().big(kNoTask))).response.cookie ==
              kTask);  // to a NOP-Out
        CHECK(parsed_response(unit(0x22, kF, 0, Wire())).response.last);
        CHECK(parsed_response(unit(0x22, kF, 0, Wire(), kTask, 1)).response.failed);
        CHECK(parsed_response(unit(0x24, kF, 0, Wire().big(kNoTask))).response.last);
        CHECK_FALSE(parsed_response(unit(0x26, kF, 0, Wire())).response.failed);
        CHECK(parsed_response(unit(0x26, kF, 0, Wire(), kTask, 2)).response.failed);
        CHECK_FALSE(parsed_response(unit(0x23, 0x87, 0, Wire())).response.failed);
        CHECK(parsed_response(unit(0x23, 0x87, 0, Wire().zeroes(16).u8(2)))
                  .response.failed);  // Status-Class: initiator error
        CHECK(parsed_response(unit(0x23, 0x87, 333, Wire())).length == 48 + 336);
    }
    SECTION("messages that answer no request") {
        for (const Wire& message : {unit(0x31, kF, 0, Wire().big(0xD0U)), unit(0x32, kF, 0, Wire(), kNoTask),
                                    unit(0x20, kF, 0, Wire().big(1U), kNoTask)}) {
            const Parsed parsed = parsed_response(message);
            CHECK(parsed.verdict == Verdict::kPart);
            CHECK(parsed.length == 48);
        }
        CHECK(parsed_response_with_data(unit(0x3F, kF, 48, Wire(), kNoTask, 9)).verdict ==
              Verdict::kPart);  // Reject
    }
}

TEST_CASE("iSCSI: unknown opcodes, reserved bits and lengths beyond the bound are a loss of step") {
    Octets reserved = command(kR, 512, 0, read_10(0, 1));
    reserved[3] = 1;
    for (const Octets& message :
         {Octets(48, 0), Octets(48, 0xFF), reserved, unit(0x07, kF, 0, Wire()).bytes(),
          unit(0x80, kF, 0, Wire()).bytes(), unit(0x21, kF, 0, Wire()).bytes(),
          unit(0x01, 0x99, 0, Wire()).bytes(), unit(0x00, 0, 0, Wire()).bytes(),
          unit(0x05, 0xC0, 8, Wire()).bytes(), unit(0x06, kF, 8, Wire()).bytes(),
          unit(0x45, kF, 8, Wire()).bytes(), command(kR, kMessageMax, 0, read_10(0, 1)).bytes(),
          command(kW, 0xFFFFFFFF, 0, write_10(0, 1)).bytes()})
        CHECK(parse(iscsi_protocol.request, message).verdict == Verdict::kLost);
    CHECK(parsed_request(command(kR, kMessageMax - 48 - 96, 0, read_10(0, 1))).verdict == Verdict::kRequest);
    for (const Wire& message :
         {unit(0x01, kF, 0, Wire()), unit(0x61, kF, 0, Wire()), unit(0x21, 0, 0, Wire()),
          unit(0x31, kF, 4, Wire()), unit(0x25, kF | 8, 4, Wire()), unit(0x3D, kF, 0, Wire())})
        CHECK(parse(iscsi_protocol.response, message.bytes()).verdict == Verdict::kLost);
}

TEST_CASE("iSCSI: data of two reads interleave, and a write's Data-Out costs nothing again") {
    Walk walk(iscsi_protocol);
    const auto read = [](std::uint32_t task) {
        return unit(0x01, kF | kR | kSimple, 0, Wire().big(1024U).big(7U).big(9U).add(read_10(0, 2)), task);
    };
    const auto data = [](std::uint32_t task, unsigned flags, std::uint32_t bytes) {
        return unit(0x25, flags, bytes, Wire().big(kNoTask), task).zeroes(bytes);
    };
    walk.request_segment(read(1).bytes());
    walk.request_segment(read(2).bytes());
    for (const Wire& segment : {data(1, 0, 512), data(2, 0, 512), data(1, kF, 512), data(2, kF | 1, 512),
                                unit(0x21, kF, 0, Wire(), 1)})
        walk.response_segment(segment.bytes());
    CHECK(walk.tally().of(Operation::kRead) == 2);
    CHECK(walk.tally().answered == 2);
    CHECK(walk.tally().parts == 3);
    CHECK(walk.tally().response_bytes == 5 * 48 + 2048);

    walk.request_segment(command(kW, 1024, 0, write_10(0, 2)).bytes());
    walk.response_segment(unit(0x31, kF, 0, Wire().big(0xD0U)).bytes());  // R2T
    walk.request_segment(unit(0x05, kF, 1024, Wire().big(0xD0U)).zeroes(1024).bytes());
    walk.response_segment(unit(0x21, kF, 0, Wire()).bytes());
    const Tally tally = walk.tally();
    CHECK(tally.request_bytes == 2 * 48 + 48 + 48 + 1024);
    CHECK(tally.answered == 3);
    CHECK(tally.outstanding + tally.lost + tally.strays + tally.left == 0);
}

TEST_CASE("iSCSI: any bytes are parsed within the bounds") {
    const std::vector<Octets> seeds{command(kR, 4096, 0, read_10(0, 8)),
                                    command(kW, 4096, 512, write_10(0, 8)),
                                    kReadOfTheRfc,
                                    unit(0x40, kF, 0, Wire().big(kNoTask)),
                                    unit(0x43, 0x87, 401, Wire()),
                                    unit(0x05, kF, 4096, Wire()),
                                    unit(0x21, kF | 2, 20, Wire(), kTask, 0, 2),
                                    unit(0x25, kF | 1, 4096, Wire()),
                                    unit(0x31, kF, 0, Wire()),
                                    unit(0x3F, kF, 48, Wire(), kNoTask, 9),
                                    Wire().big(0xABCDEF01U).add(unit(0x21, kF, 0, Wire()).bytes())};
    check_any_bytes(iscsi_protocol, iscsi_protocol.request, seeds);
    check_any_bytes(iscsi_protocol, iscsi_protocol.response, seeds);
}

TEST_CASE("iSCSI: a search finds headers again, and hardly anything else") {
    for (const Wire& message : {command(kR, 4096, 0, read_10(0, 8)), unit(0x05, kF, 4096, Wire().big(0xD0U)),
                                unit(0x40, kF, 0, Wire().big(kNoTask)), unit(0x43, 0x87, 401, Wire())}) {
        const Bytes bytes = message.bytes();
        CHECK(iscsi_protocol.request_begins(bytes));
        CHECK_FALSE(iscsi_protocol.request_begins(bytes.subspan(1)));
        CHECK_FALSE(iscsi_protocol.request_begins(bytes.first(47)));
        CHECK_FALSE(iscsi_protocol.response_begins(bytes));
    }
    for (const Wire& message : {unit(0x21, kF, 0, Wire()), unit(0x25, kF | 1, 4096, Wire().big(kNoTask)),
                                unit(0x31, kF, 0, Wire()), unit(0x3F, kF, 48, Wire(), kNoTask, 9)}) {
        const Bytes bytes = message.bytes();
        CHECK(iscsi_protocol.response_begins(bytes));
        CHECK_FALSE(iscsi_protocol.response_begins(bytes.subspan(1)));
        CHECK_FALSE(iscsi_protocol.response_begins(bytes.first(47)));
        CHECK_FALSE(iscsi_protocol.request_begins(bytes));
    }
    // Passing with 2^-24 each, these would give two.
    CHECK(false_beginnings(iscsi_protocol.request_begins, 1 << 25) == 0);
    CHECK(false_beginnings(iscsi_protocol.response_begins, 1 << 25) == 0);
}
