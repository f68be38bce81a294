// iscsi_stream_test.cc - whole streams of iSCSI: digests that the parser must detect, and recorded sessions.
#include <algorithm>

#include "cost_functions/protocols/registry.h"
#include "test/cost_functions/protocols/parser_checks.h"
#include "test/support/catch.h"

using namespace weir;
using Verdict = Parsed::Verdict;

namespace {

/// RFC 7143, A.4: "an iSCSI SCSI Read (10) Command PDU" and its digest.
const Octets kReadOfTheRfc{0x01, 0xc0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                           0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00,
                           0x00, 0x14, 0x00, 0x00, 0x00, 0x18, 0x28, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                           0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x56, 0x3a, 0x96, 0xd9};

/// Puts digests behind the data of one direction's units. `header` is their header's length with its digest.
class DigestAdder {
  public:
    explicit DigestAdder(std::size_t header) : header_(header) {}
    Octets add(const Octets& bytes) {
        Octets out;
        for (const std::uint8_t byte : bytes) {
            out.push_back(byte);
            if (unit_.size() < header_)
                unit_.push_back(byte);
            ++passed_;
            const bool login = !unit_.empty() && (unit_[0] & 0x1F) == 0x03;
            const std::size_t header = login ? 48 : header_;
            if (unit_.size() < header)
                continue;
            const std::size_t data = std::size_t{unit_[5]} << 16 | std::size_t{unit_[6]} << 8 | unit_[7];
            if (passed_ < header + (data + 3) / 4 * 4)
                continue;
            if (!login && data > 0)
                out.insert(out.end(), {0xD1, 0x6E, 0x57, digit_++});
            unit_.clear();
            passed_ = 0;
        }
        return out;
    }

  private:
    std::size_t header_;
    Octets unit_;
    std::size_t passed_ = 0;
    std::uint8_t digit_ = 0;
};

std::vector<Sent> with_data_digests(std::vector<Sent> segments, std::size_t header) {
    DigestAdder to_target(header), to_initiator(header);
    for (Sent& segment : segments)
        segment.bytes = (segment.request ? to_target : to_initiator).add(segment.bytes);
    return segments;
}

}  // namespace

TEST_CASE("iSCSI: a header digest is detected by its CRC, when the span includes it") {
    ParserState state;
    const Parsed seen = parse(iscsi_protocol.request, kReadOfTheRfc, state);
    REQUIRE(seen.verdict == Verdict::kRequest);
    CHECK(seen.length == 52);
    CHECK(seen.request.request_bytes == 48);
    // From now on it is believed.
    CHECK(parse(iscsi_protocol.request, Bytes(kReadOfTheRfc).first(48), state).length == 52);

    Octets none = kReadOfTheRfc;
    none[51] ^= 1;
    ParserState other;
    CHECK(parse(iscsi_protocol.request, none, other).length == 48);
    CHECK(parse(iscsi_protocol.request, kReadOfTheRfc, other).length == 48);
}

TEST_CASE("iSCSI: a digest that was cut off is skipped where the next header is due") {
    ParserState state;
    CHECK(parse(iscsi_protocol.request, Bytes(kReadOfTheRfc).first(48), state).length == 48);
    Octets next(kReadOfTheRfc.begin() + 48, kReadOfTheRfc.end());
    next.insert(next.end(), kReadOfTheRfc.begin(), kReadOfTheRfc.end());
    const ParserState before = state;
    const Parsed parsed = check_header(iscsi_protocol, iscsi_protocol.request, next, 52, before);
    CHECK(parsed.verdict == Verdict::kPart);
    CHECK(parsed.length == 4);
    REQUIRE(parse(iscsi_protocol.request, Bytes(next).first(52), state).length == 4);
    CHECK(parse(iscsi_protocol.request, Bytes(kReadOfTheRfc).first(48), state).length == 52);
}

// captures/record.py has the client's commands; it also logs in, inquires about the disk, and logs out.
// The first TEST UNIT READY of a session fails with a unit attention.
TEST_CASE("iSCSI: recorded sessions are parsed from the first byte to the last") {
    struct Row {
        std::string name;
        std::uint32_t reads, writes, deletes, flushes, controls, failed, parts;
    };
    const Row row =
        GENERATE(Row{"iscsi-plain", 2, 1, 2, 2, 13, 1, 0}, Row{"iscsi-header-digest", 2, 1, 2, 2, 13, 1, 0},
                 Row{"iscsi-r2t", 1, 1, 0, 1, 14, 1, 0}, Row{"iscsi-discovery", 0, 0, 0, 0, 3, 0, 0});
    INFO(row.name);
    const std::vector<Sent> session = load_capture(row.name);
    const Tally tally = walk(iscsi_protocol, session);
    CHECK(tally.of(Operation::kRead) == row.reads);
    CHECK(tally.of(Operation::kWrite) == row.writes);
    CHECK(tally.of(Operation::kDelete) == row.deletes);
    CHECK(tally.of(Operation::kFlush) == row.flushes);
    CHECK(tally.of(Operation::kControl) == row.controls);
    CHECK(tally.failed == row.failed);
    CHECK(tally.parts == row.parts);
    CHECK(tally.outstanding + tally.lost + tally.strays + tally.left == 0);

    // The client of the distribution knows no data digests.
    const bool headers_too = row.name == "iscsi-header-digest";
    CHECK(walk(iscsi_protocol, with_data_digests(session, headers_too ? 52 : 48)) == tally);
}
