// iscsi.cc - parser of iSCSI connections: login, then commands and data units paired by the initiator's task
// tag.
// Source: RFC 7143; SBC-4. Units: bytes. Threads: any (pure).
//
// A request's `place` is its first block times the block size learned last. The size of a write includes the
// Data-Out units that will follow, so these are not charged again. The endpoints agree on digests during the
// login, in packets that need not be understood here; instead each direction detects them: a header digest by
// its CRC, a data digest by the position of the next header.
#include <algorithm>

#include "cost_functions/protocols/binary.h"
#include "cost_functions/protocols/registry.h"
#include "cost_functions/protocols/scsi_cdb.h"

namespace weir {
namespace {

// Names as in RFC 7143, 11.
enum Opcode : std::uint8_t {
    kNopOut = 0x00,
    kScsiCommand = 0x01,
    kTaskManagement = 0x02,
    kLogin = 0x03,
    kText = 0x04,
    kDataOut = 0x05,
    kLogout = 0x06,
    kSnack = 0x10,
    kNopIn = 0x20,
    kScsiResponse = 0x21,
    kTaskManagementResponse = 0x22,
    kLoginResponse = 0x23,
    kTextResponse = 0x24,
    kDataIn = 0x25,
    kLogoutResponse = 0x26,
    kReadyToTransfer = 0x31,
    kAsyncMessage = 0x32,
    kReject = 0x3F
};
constexpr std::uint8_t kFinal = 0x80;
constexpr std::uint8_t kReads = 0x40;
constexpr std::uint8_t kWrites = 0x20;
constexpr std::uint8_t kHasStatus = 0x01;
constexpr std::uint8_t kImmediate = 0x40;  // in byte 0, beside the opcode
constexpr std::uint32_t kNoTask = 0xFFFFFFFF;

constexpr std::uint32_t kBasicHeader = 48;
constexpr std::uint32_t kDigest = 4;
constexpr std::uint32_t kHeaderMaxBytes = kBasicHeader + kDigest;

// The bits that a basic header of each kind must or may have. Reserved bits of bytes 2 and 3 are zero; in a
// login they hold the protocol's version, which is 0 too.
enum Carries : std::uint8_t { kNothing = 0, kData = 1, kMoreHeader = 2 };
struct Shape {
    std::uint8_t opcode = 0xFF;
    std::uint8_t first = 0;             // bits allowed in byte 0 beside the opcode
    std::uint8_t set = 0, allowed = 0;  // bits of byte 1
    std::uint16_t zero = 0;             // bits of bytes 2 and 3
    std::uint8_t carries = kNothing;
};
constexpr std::size_t kOpcodes = 64;
using Shapes = std::array<Shape, kOpcodes>;
constexpr std::uint16_t kBoth = 0xFFFF;
constexpr std::uint16_t kSecond = 0xFF00;
constexpr std::uint16_t kThird = 0x00FF;
constexpr Shape kRequestShapes[]{
    {kNopOut, kImmediate, kFinal, kFinal, kBoth, kData},
    {kScsiCommand, kImmediate, 0, 0xE7, kThird, kData | kMoreHeader},
    {kTaskManagement, kImmediate, kFinal, 0xFF, kBoth, kNothing},
    {kLogin, kImmediate, 0, 0xCF, kBoth, kData},
    {kText, kImmediate, 0, 0xC0, kBoth, kData},
    {kDataOut, 0, 0, kFinal, kBoth, kData},
    {kLogout, kImmediate, kFinal, 0xFF, kBoth, kNothing},
    {kSnack, 0, kFinal, 0x8F, kBoth, kNothing},
};
constexpr Shapes kRequests = by_key<kOpcodes>(kRequestShapes, &Shape::opcode);
constexpr Shape kResponseShapes[]{
    {kNopIn, 0, kFinal, kFinal, kBoth, kData},
    {kScsiResponse, 0, kFinal, 0x9E, 0, kData},
    {kTaskManagementResponse, 0, kFinal, kFinal, kThird, kNothing},
    {kLoginResponse, 0, 0, 0xCF, kBoth, kData},
    {kTextResponse, 0, 0, 0xC0, kBoth, kData},
    {kDataIn, 0, 0, 0xC7, kSecond, kData},
    {kLogoutResponse, 0, kFinal, kFinal, kThird, kNothing},
    {kReadyToTransfer, 0, kFinal, kFinal, kBoth, kNothing},
    {kAsyncMessage, 0, kFinal, kFinal, kBoth, kData},
    {kReject, 0, kFinal, kFinal, kThird, kData},
};
constexpr Shapes kResponses = by_key<kOpcodes>(kResponseShapes, &Shape::opcode);

// ParserState::phase: which digests are known to be in use, and whether one may precede the next header.
enum Phase : unsigned {
    kHeaderSettled = 1 << 0,
    kHeaderDigests = 1 << 1,
    kDataSettled = 1 << 2,
    kDataDigests = 1 << 3,
    kAfterHeader = 1 << 4,
    kAfterData = 1 << 5
};

std::uint8_t opcode_of(Bytes header) {
    return header[0] & 0x3F;
}
std::uint32_t more_header(Bytes header) {
    return 4U * header[4];
}
std::uint32_t data_bytes(Bytes header) {
    return big_endian<std::uint32_t>(header, 4) & 0xFFFFFF;
}
std::uint32_t task_of(Bytes header) {
    return big_endian<std::uint32_t>(header, 16);
}

bool has_shape(Bytes header, const Shapes& shapes) {
    const Shape& shape = shapes[opcode_of(header)];
    return shape.opcode == opcode_of(header) && has_only(header[0] & ~0x3FU, shape.first) &&
           (header[1] & shape.set) == shape.set && has_only(header[1], shape.allowed) &&
           (big_endian<std::uint16_t>(header, 2) & shape.zero) == 0 &&
           ((shape.carries & kMoreHeader) != 0 || more_header(header) == 0) &&
           ((shape.carries & kData) != 0 || data_bytes(header) == 0);
}

// Stricter than has_shape(), which must accept unusual implementations: searched bytes may be anything.
bool request_begins(Bytes bytes) {
    if (bytes.size() < kBasicHeader || !has_shape(bytes, kRequests))
        return false;
    const bool plain_unit = big_endian<std::uint32_t>(bytes, 12) == 0;  // a LUN of one or two levels
    const bool priority = bytes[2] != 0;
    return opcode_of(bytes) != kScsiCommand || (plain_unit && !priority);
}

bool response_begins(Bytes bytes) {
    if (bytes.size() < kBasicHeader || !has_shape(bytes, kResponses))
        return false;
    switch (opcode_of(bytes)) {
        case kScsiResponse:
            return big_endian<std::uint64_t>(bytes, 8) == 0;
        case kDataIn:
            return big_endian<std::uint32_t>(bytes, 12) == 0;
        case kReject:
            return task_of(bytes) == kNoTask;
        default:
            return true;
    }
}

constexpr std::array<std::uint32_t, 256> kCrcOfByte = [] {
    constexpr std::uint32_t kPolynomial = 0x82F63B78;  // CRC32C, reflected
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
        table[byte] = byte;
        for (int bit = 0; bit < 8; ++bit)
            table[byte] = table[byte] >> 1 ^ ((table[byte] & 1) != 0 ? kPolynomial : 0);
    }
    return table;
}();

std::uint32_t crc32c(Bytes bytes) {
    std::uint32_t crc = ~0U;
    for (const std::uint8_t byte : bytes)
        crc = crc >> 8 ^ kCrcOfByte[(crc ^ byte) & 0xFF];
    return ~crc;
}

// The bytes before the next header: none, a digest of the last unit, or too few have come to know it. Looked
// for only until it is settled whether digests are in use.
enum class Before : std::uint8_t { kNothing, kADigest, kUnseen };

Before look_before(Bytes bytes, unsigned& phase, bool (*begins)(Bytes)) {
    if ((phase & (kAfterHeader | kAfterData)) == 0)
        return Before::kNothing;
    const bool after_data = (phase & kAfterData) != 0;
    const bool here = begins(bytes);
    if (!here && bytes.size() < kHeaderMaxBytes)
        return Before::kUnseen;
    const bool behind = !here && begins(bytes.subspan(kDigest));
    phase &= ~(kAfterHeader | kAfterData);
    if (after_data && (here || behind))
        phase |= kDataSettled | (behind ? kDataDigests : 0U);
    if (!after_data && behind)
        phase |= kHeaderSettled | kHeaderDigests;
    return behind ? Before::kADigest : Before::kNothing;
}

struct Unit {
    std::uint32_t bytes = 0;   // without digests, so that the size does not depend on when they are detected
    std::uint32_t length = 0;  // with digests; 0 until enough bytes are there to detect them
};

Unit measure(Bytes bytes, unsigned& phase, bool login) {
    const std::uint32_t more = more_header(bytes);
    const std::uint32_t data = data_bytes(bytes);
    const std::uint32_t plain = kBasicHeader + more + (data + 3) / 4 * 4;
    if (login)
        return {plain, plain};
    if ((phase & kHeaderSettled) == 0 && more == 0) {
        if (bytes.size() >= kHeaderMaxBytes) {
            const auto found = little_endian<std::uint32_t>(bytes, kBasicHeader);
            const bool digest = found == crc32c(bytes.first(kBasicHeader));
            phase |= kHeaderSettled | (digest ? kHeaderDigests : 0U);
        } else if (data > 0) {
            return {};
        } else {
            phase |= kAfterHeader;
        }
    }
    if (data > 0 && (phase & kDataSettled) == 0)
        phase |= kAfterData;
    return {plain, plain + ((phase & kHeaderDigests) != 0 ? kDigest : 0) +
                       (data > 0 && (phase & kDataDigests) != 0 ? kDigest : 0)};
}

Parsed parse_command(Bytes bytes, ParserState& state, const Unit& unit) {
    const bool reads = (bytes[1] & kReads) != 0;
    const bool writes = (bytes[1] & kWrites) != 0;
    const auto expected = reads || writes ? big_endian<std::uint32_t>(bytes, 20) : 0;
    if (expected > kMessageMax - unit.length - 2 * kBasicHeader)
        return out_of_step();
    const ScsiCommand command = parse_scsi_cdb(bytes.subspan(32, kScsiCdbBytes));
    if (command.moves_blocks)
        learn_block_size(state, command.blocks, expected);
    const std::uint32_t later = writes ? expected - std::min(expected, data_bytes(bytes)) : 0;
    return a_request(
        unit.length,
        {.operation = command.operation,
         .response_known = !(reads && writes),  // the size of such a read is in an additional header
         .request_bytes = unit.bytes + (later > 0 ? kBasicHeader + later : 0),
         .response_bytes = reads && writes ? 0 : kBasicHeader + (reads ? kBasicHeader + expected : 0),
         .span = command.moves_blocks ? expected : block_span(state, command.blocks),
         .place = block_offset(state, command.first),
         .cookie = task_of(bytes)});
}

Parsed request_of(Bytes bytes, ParserState& state, const Unit& unit) {
    const std::uint8_t opcode = opcode_of(bytes);
    if (opcode == kScsiCommand)
        return parse_command(bytes, state, unit);
    const bool answers_nop_in = opcode == kNopOut && task_of(bytes) == kNoTask;
    if (opcode == kDataOut || answers_nop_in)
        return a_part(unit.length);
    return a_request(unit.length, {.operation = Operation::kControl,
                                   .answered = opcode != kSnack,
                                   .request_bytes = unit.bytes,
                                   .cookie = task_of(bytes)});
}

bool has_failed(Bytes bytes) {
    switch (opcode_of(bytes)) {
        case kScsiResponse:
            return big_endian<std::uint16_t>(bytes, 2) != 0;  // response and status
        case kDataIn:
            return (bytes[1] & kHasStatus) != 0 && bytes[3] != 0;
        case kLoginResponse:
            return bytes[36] != 0;  // status class
        case kTaskManagementResponse:
        case kLogoutResponse:
            return bytes[2] != 0;
        default:
            return false;
    }
}

Parsed response_of(Bytes bytes, ParserState&, const Unit& unit) {
    const std::uint8_t opcode = opcode_of(bytes);
    const bool unsolicited = opcode == kReadyToTransfer || opcode == kAsyncMessage || opcode == kReject ||
                             (opcode == kNopIn && task_of(bytes) == kNoTask);
    if (unsolicited)
        return a_part(unit.length);
    return a_response(unit.length, {.bytes = unit.bytes,
                                    .failed = has_failed(bytes),
                                    .last = opcode != kDataIn || (bytes[1] & kHasStatus) != 0,
                                    .cookie = task_of(bytes)});
}

template <const Shapes& shapes, bool (*begins)(Bytes), Parsed (*unit_of)(Bytes, ParserState&, const Unit&)>
Parsed parse(Bytes bytes, ParserState& state) {
    if (bytes.size() < kBasicHeader)
        return need_more(kBasicHeader);
    unsigned phase = state.phase;
    const Before before = look_before(bytes, phase, begins);
    if (before == Before::kUnseen)
        return need_more(kHeaderMaxBytes);
    if (before == Before::kADigest) {
        state.phase = static_cast<std::uint8_t>(phase);
        return a_part(kDigest);
    }
    if (!has_shape(bytes, shapes))
        return out_of_step();
    const std::uint8_t opcode = opcode_of(bytes);
    const Unit unit = measure(bytes, phase, opcode == kLogin || opcode == kLoginResponse);
    if (unit.length == 0)
        return need_more(kHeaderMaxBytes);
    state.phase = static_cast<std::uint8_t>(phase);
    return unit_of(bytes, state, unit);
}

}  // namespace

const Protocol iscsi_protocol{.header_max = kHeaderMaxBytes,
                              .ordered = false,
                              .request = parse<kRequests, request_begins, request_of>,
                              .response = parse<kResponses, response_begins, response_of>,
                              .request_begins = request_begins,
                              .response_begins = response_begins,
                              .prepaid = true};

}  // namespace weir
