// nvme_tcp.cc - parser of NVMe/TCP connections: one queue each, commands and data units paired by command
// identifier.
// Source: NVMe/TCP 1.0; NVMe base 2.0; NVM command set 1.0. Units: bytes. Threads: any (pure).
//
// A request's `place` is its first block times the block size learned last. The size of a write includes the
// data units that will follow, so these are not charged again. A queue counts as an I/O queue unless its
// Connect command named the admin queue.
#include "cost_functions/protocols/binary.h"
#include "cost_functions/protocols/registry.h"

namespace weir {
namespace {

// PDU types and flags, with the specification's names.
enum Type : std::uint8_t {
    kIcReq = 0x00,
    kIcResp = 0x01,
    kH2cTermReq = 0x02,
    kC2hTermReq = 0x03,
    kCapsuleCmd = 0x04,
    kCapsuleResp = 0x05,
    kH2cData = 0x06,
    kC2hData = 0x07,
    kR2t = 0x09
};
constexpr std::uint8_t kHeaderDigestFlag = 1 << 0;
constexpr std::uint8_t kDataDigestFlag = 1 << 1;
constexpr std::uint8_t kLastPdu = 1 << 2;
constexpr std::uint8_t kSuccess = 1 << 3;

constexpr std::uint32_t kCommonHeader = 8;
constexpr std::uint32_t kCommandHeader = 72;
constexpr std::uint32_t kDataHeader = 24;
constexpr std::uint32_t kResponseHeader = 24;
constexpr std::uint32_t kConnectionHeader = 128;  // ICReq and ICResp
constexpr std::uint32_t kDigest = 4;

// Cookie of the ICReq: outside of the 16 bits of command identifiers.
constexpr std::uint64_t kIcCookie = 1 << 16;

struct Pdu {
    std::uint8_t type = 0, flags = 0, header = 0, data_offset = 0;
    std::uint32_t length = 0;
};

// The rule for the length of a PDU without digests, by its kind.
enum class Size : std::uint8_t { kHeader, kData, kError };
struct Shape {
    std::uint8_t type = 0xFF;
    std::uint8_t flags = 0;  // bits allowed
    std::uint8_t header = 0;
    Size size = Size::kHeader;
};
constexpr std::size_t kTypes = 16;
using Shapes = std::array<Shape, kTypes>;
constexpr std::uint8_t kDigestFlags = kHeaderDigestFlag | kDataDigestFlag;
constexpr std::uint32_t kErrorMax = 152;  // a header, and at most 128 bytes of the PDU at fault
constexpr Shape kRequestShapes[]{
    {kIcReq, 0, kConnectionHeader, Size::kHeader},
    {kH2cTermReq, 0, kDataHeader, Size::kError},
    {kCapsuleCmd, kDigestFlags, kCommandHeader, Size::kData},
    {kH2cData, kDigestFlags | kLastPdu, kDataHeader, Size::kData},
};
constexpr Shapes kRequests = by_key<kTypes>(kRequestShapes, &Shape::type);
constexpr Shape kResponseShapes[]{
    {kIcResp, 0, kConnectionHeader, Size::kHeader},
    {kC2hTermReq, 0, kDataHeader, Size::kError},
    {kCapsuleResp, kHeaderDigestFlag, kResponseHeader, Size::kHeader},
    {kC2hData, kDigestFlags | kLastPdu | kSuccess, kDataHeader, Size::kData},
    {kR2t, kHeaderDigestFlag, kDataHeader, Size::kHeader},
};
constexpr Shapes kResponses = by_key<kTypes>(kResponseShapes, &Shape::type);

// Opcodes of the NVM command set, and the opcode and type that matter of admin and fabrics commands.
enum Opcode : std::uint8_t {
    kFlush = 0x00,
    kWrite = 0x01,
    kRead = 0x02,
    kCompare = 0x05,
    kWriteZeroes = 0x08,
    kDatasetManagement = 0x09,
    kCopy = 0x19,
    kZoneAppend = 0x7D,
    kFabrics = 0x7F
};
constexpr std::uint8_t kAsyncEventRequest = 0x0C;
constexpr std::uint8_t kConnect = 0x01;

// ParserState::phase of the host's direction, on the admin queue.
constexpr std::uint8_t kAdminQueue = 1;

Pdu common_header(Bytes bytes) {
    return {bytes[0], bytes[1], bytes[2], bytes[3], little_endian<std::uint32_t>(bytes, 4)};
}

std::uint32_t digest_of(const Pdu& pdu, std::uint8_t flag) {
    return (pdu.flags & flag) != 0 ? kDigest : 0;
}

// The kind of PDU that the common header describes; nullptr when there is no such PDU.
const Shape* shape_of(const Pdu& pdu, const Shapes& shapes) {
    const Shape* const shape = &shapes[pdu.type % kTypes];
    if (shape->type != pdu.type || pdu.header != shape->header || !has_only(pdu.flags, shape->flags))
        return nullptr;
    const std::uint32_t header = pdu.header + digest_of(pdu, kHeaderDigestFlag);
    bool fits = false;
    if (shape->size == Size::kError)
        fits = pdu.length >= header && pdu.length <= kErrorMax;
    else if (pdu.data_offset == 0 || shape->size == Size::kHeader)
        fits = pdu.length == header;
    else
        fits = pdu.data_offset >= header && pdu.data_offset % 4 == 0 && pdu.length <= kMessageMax &&
               pdu.length > pdu.data_offset + digest_of(pdu, kDataDigestFlag);
    return fits ? shape : nullptr;
}

// A data PDU carries the length of its data twice: in the common header and in its own; both must agree.
bool data_agrees(Bytes bytes, const Pdu& pdu) {
    const std::uint32_t data = pdu.length - pdu.data_offset - digest_of(pdu, kDataDigestFlag);
    return pdu.data_offset == 0 || data == little_endian<std::uint32_t>(bytes, 16);
}

// The submission queue entry of a command capsule, which follows the common header.
struct Entry {
    std::uint8_t opcode = 0, fabrics_type = 0;
    std::uint16_t identifier = 0;
    std::uint32_t transfer = 0;  // bytes, from its first SGL descriptor
    bool in_capsule = false;
    std::uint64_t first_block = 0;
    std::uint32_t blocks = 0;

    [[nodiscard]] std::uint8_t direction() const { return (opcode == kFabrics ? fabrics_type : opcode) & 3; }
    [[nodiscard]] bool to_controller() const { return (direction() & 1) != 0; }
    [[nodiscard]] bool to_host() const { return (direction() & 2) != 0; }
};

Entry parse_entry(Bytes bytes) {
    constexpr std::uint8_t kDataBlock = 0x0, kTransportDataBlock = 0x5;
    constexpr std::uint8_t kOffset = 1;
    const std::uint8_t descriptor = bytes[47] >> 4;
    Entry entry{.opcode = bytes[8],
                .fabrics_type = bytes[12],
                .identifier = little_endian<std::uint16_t>(bytes, 10),
                .in_capsule = descriptor == kDataBlock && (bytes[47] & 0xF) == kOffset,
                .first_block = little_endian<std::uint64_t>(bytes, 48),
                .blocks = little_endian<std::uint16_t>(bytes, 56) + 1U};
    if (entry.direction() != 0 && (descriptor == kDataBlock || descriptor == kTransportDataBlock))
        entry.transfer = little_endian<std::uint32_t>(bytes, 40);
    return entry;
}

Operation operation_of(const Entry& entry, bool admin) {
    if (admin)
        return Operation::kControl;
    switch (entry.opcode) {
        case kRead:
        case kCompare:
            return Operation::kRead;
        case kWrite:
        case kZoneAppend:
            return Operation::kWrite;
        case kCopy:
            return Operation::kUpdate;
        case kWriteZeroes:
        case kDatasetManagement:
            return Operation::kDelete;
        case kFlush:
            return Operation::kFlush;
        default:
            return Operation::kControl;
    }
}

// Commands whose entry has a first block and a number of blocks.
bool names_blocks(std::uint8_t opcode) {
    return opcode == kRead || opcode == kCompare || opcode == kWrite || opcode == kZoneAppend ||
           opcode == kWriteZeroes;
}

Parsed parse_command(Bytes bytes, const Pdu& pdu, ParserState& state) {
    const Entry entry = parse_entry(bytes);
    if (entry.transfer > kMessageMax - pdu.length - kDataHeader - kResponseHeader)
        return out_of_step();
    if (entry.opcode == kFabrics && entry.fabrics_type == kConnect)
        state.phase = little_endian<std::uint16_t>(bytes, 50) == 0 ? kAdminQueue : 0;
    const bool admin = state.phase == kAdminQueue;
    const bool blocks = !admin && names_blocks(entry.opcode);
    if (blocks && entry.transfer > 0)
        learn_block_size(state, entry.blocks, entry.transfer);

    const std::uint32_t later = entry.to_controller() && pdu.data_offset == 0 ? entry.transfer : 0;
    const std::uint32_t data = entry.to_host() ? entry.transfer : 0;
    return a_request(
        pdu.length,
        {.operation = operation_of(entry, admin),
         .answered = !(admin && entry.opcode == kAsyncEventRequest),  // answered by an event, perhaps never
         .response_known = true,
         .request_bytes = pdu.length + (later > 0 ? kDataHeader + later : 0),
         .response_bytes = kResponseHeader + (data > 0 ? kDataHeader + data : 0),
         .span = !blocks              ? 0
                 : entry.transfer > 0 ? entry.transfer
                                      : block_span(state, entry.blocks),
         .place = blocks ? block_offset(state, entry.first_block) : 0,
         .cookie = entry.identifier});
}

// The PDU at the start of some bytes: kPart when all bytes of it that the parser reads are there.
struct Sight {
    Parsed::Verdict verdict = Parsed::Verdict::kLost;
    std::uint32_t length = 0;
};

Sight look(Bytes bytes, const Shapes& shapes, Pdu& pdu) {
    using enum Parsed::Verdict;
    if (bytes.size() < kCommonHeader)
        return {kMore, kCommonHeader};
    pdu = common_header(bytes);
    const Shape* const shape = shape_of(pdu, shapes);
    if (shape == nullptr)
        return {};
    // Of other PDUs the common header is enough.
    const bool is_read = shape->size != Size::kError && pdu.header <= kCommandHeader;
    if (is_read && bytes.size() < pdu.header)
        return {kMore, pdu.header};
    const bool data = pdu.type == kH2cData || pdu.type == kC2hData;
    return data && !data_agrees(bytes, pdu) ? Sight{} : Sight{kPart, pdu.length};
}

Parsed parse_request(Bytes bytes, ParserState& state) {
    Pdu pdu;
    const Sight sight = look(bytes, kRequests, pdu);
    if (sight.verdict != Parsed::Verdict::kPart || pdu.type == kH2cData)
        return {.verdict = sight.verdict, .length = sight.length};
    if (pdu.type == kCapsuleCmd)
        return parse_command(bytes, pdu, state);
    return a_request(pdu.length, {.operation = Operation::kControl,
                                  .answered = pdu.type == kIcReq,
                                  .response_known = pdu.type == kIcReq,
                                  .request_bytes = pdu.length,
                                  .response_bytes = pdu.type == kIcReq ? kConnectionHeader : 0,
                                  .cookie = kIcCookie});
}

Parsed parse_response(Bytes bytes, ParserState&) {
    Pdu pdu;
    const Sight sight = look(bytes, kResponses, pdu);
    if (sight.verdict != Parsed::Verdict::kPart)
        return {.verdict = sight.verdict, .length = sight.length};
    switch (pdu.type) {
        case kIcResp:
            return a_response(pdu.length, {.bytes = pdu.length, .cookie = kIcCookie});
        case kC2hData:  // the last one may replace the response
            return a_response(pdu.length, {.bytes = pdu.length,
                                           .last = (pdu.flags & kSuccess) != 0 && (pdu.flags & kLastPdu) != 0,
                                           .cookie = little_endian<std::uint16_t>(bytes, 8)});
        case kCapsuleResp: {
            constexpr std::uint16_t kStatus = 0x7FF << 1;  // status type and code; bit 0 is the phase
            const auto status = little_endian<std::uint16_t>(bytes, 22);
            return a_response(pdu.length, {.bytes = pdu.length,
                                           .failed = (status & kStatus) != 0,
                                           .cookie = little_endian<std::uint16_t>(bytes, 20)});
        }
        default:  // R2T, C2HTermReq
            return a_part(pdu.length);
    }
}

// Searched bytes may be anything, so the entry of a command must agree with the capsule about its data.
bool request_begins(Bytes bytes) {
    Pdu pdu;
    if (look(bytes, kRequests, pdu).verdict != Parsed::Verdict::kPart)
        return false;
    if (pdu.type != kCapsuleCmd || pdu.data_offset == 0)
        return true;
    const Entry entry = parse_entry(bytes);
    return entry.in_capsule &&
           pdu.length == pdu.data_offset + entry.transfer + digest_of(pdu, kDataDigestFlag);
}

bool response_begins(Bytes bytes) {
    Pdu pdu;
    return look(bytes, kResponses, pdu).verdict == Parsed::Verdict::kPart;
}

}  // namespace

const Protocol nvme_tcp_protocol{.header_max = kCommandHeader,
                                 .ordered = false,
                                 .request = parse_request,
                                 .response = parse_response,
                                 .request_begins = request_begins,
                                 .response_begins = response_begins,
                                 .prepaid = true};

}  // namespace weir
