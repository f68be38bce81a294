// nbd.cc - parser of network block device connections: a negotiation, then requests and replies paired by
// cookie.
// Source: NBD proto.md, with its extended headers. Units: bytes. Threads: any (pure).
//
// A request's `place` is its offset in the export. Replies to options are paired by the number of the option.
#include <algorithm>

#include "cost_functions/protocols/binary.h"
#include "cost_functions/protocols/registry.h"

namespace weir {
namespace {

// The names are those of proto.md.
constexpr std::uint64_t kNbdMagic = 0x4e42444d41474943;       // "NBDMAGIC"
constexpr std::uint64_t kOptionMagic = 0x49484156454f5054;    // "IHAVEOPT"
constexpr std::uint64_t kOldstyleMagic = 0x0000420281861253;  // cliserv_magic
constexpr std::uint64_t kOptionReplyMagic = 0x0003e889045565a9;
constexpr std::uint32_t kRequestMagic = 0x25609513;
constexpr std::uint32_t kExtendedRequestMagic = 0x21e41c71;
constexpr std::uint32_t kSimpleReplyMagic = 0x67446698;
constexpr std::uint32_t kStructuredReplyMagic = 0x668e33ef;
constexpr std::uint32_t kExtendedReplyMagic = 0x6e8a278c;

constexpr std::uint32_t kClientFlags = 0x3;  // FIXED_NEWSTYLE, NO_ZEROES
constexpr std::uint16_t kHasFlags = 0x1;     // every server sets this transmission flag
constexpr std::uint16_t kPayloadLength = 1 << 5;
constexpr std::uint32_t kCommandFlags = 0x3f;
constexpr std::uint16_t kDone = 1 << 0;
constexpr std::uint16_t kErrorChunk = 1 << 15;
constexpr std::uint32_t kErrorReply = 1U << 31;
constexpr std::uint32_t kUnsupported = kErrorReply | 1;  // an answer, no failure: clients probe options
constexpr std::uint32_t kAck = 1;
constexpr std::uint32_t kExportName = 1;
constexpr std::uint32_t kStartTls = 5;
constexpr std::uint32_t kOptionLast = 11;  // EXTENDED_HEADERS

constexpr std::uint32_t kCompactHeader = 28;
constexpr std::uint32_t kExtendedHeader = 32;  // requests and replies
constexpr std::uint32_t kOptionHeader = 16;
constexpr std::uint32_t kOptionReplyHeader = 20;
constexpr std::uint32_t kGreeting = 18;
constexpr std::uint32_t kOldstyleGreeting = 152;
constexpr std::uint32_t kExportInfo = 10;
constexpr std::uint32_t kReserved = 124;
constexpr std::uint32_t kSimpleReply = 16;
constexpr std::uint32_t kStructuredChunk = 20;
constexpr std::uint32_t kChunkOffset = 8;  // stands before the data of an OFFSET_DATA chunk

enum Command : std::uint16_t {
    kRead,
    kWrite,
    kDisconnect,
    kFlush,
    kTrim,
    kCache,
    kWriteZeroes,
    kBlockStatus,
    kResize
};

// ParserState::phase of either direction.
enum Phase : std::uint8_t {
    kNew,
    kNegotiation,
    kExported,  // EXPORT_NAME was answered: reserved zeroes may follow
    kTransmission,
    kSealed  // TLS: nothing can be parsed any more
};

// ParserState::extra of the server's direction after the first chunk: from then on simple replies carry no
// data.
constexpr std::uint16_t kChunks = 1;

constexpr std::uint32_t high_half(std::uint64_t magic) {
    return static_cast<std::uint32_t>(magic >> 32);
}

Operation operation_of(std::uint16_t command) {
    switch (command) {
        case kRead:
            return Operation::kRead;
        case kWrite:
            return Operation::kWrite;
        case kFlush:
            return Operation::kFlush;
        case kTrim:
        case kWriteZeroes:
            return Operation::kDelete;
        default:
            return Operation::kControl;
    }
}

Parsed parse_command(Bytes bytes, ParserState& state, bool extended) {
    const std::uint32_t header = extended ? kExtendedHeader : kCompactHeader;
    if (bytes.size() < header)
        return need_more(header);
    const auto flags = big_endian<std::uint16_t>(bytes, 4);
    const auto command = big_endian<std::uint16_t>(bytes, 6);
    const std::uint64_t length =
        extended ? big_endian<std::uint64_t>(bytes, 24) : big_endian<std::uint32_t>(bytes, 24);
    const bool carries = extended ? (flags & kPayloadLength) != 0 : command == kWrite;
    // The length of a simple reply. A structured reply is a few bytes longer; its chunks carry their own
    // lengths.
    const std::uint32_t reply = extended ? kExtendedHeader : kSimpleReply;
    const std::uint32_t before_data = extended ? reply + kChunkOffset : reply;
    if ((carries || command == kRead) && length > kMessageMax - before_data)
        return out_of_step();
    state.phase = kTransmission;

    Request request{.operation = operation_of(command),
                    .answered = command != kDisconnect,
                    .response_known = command != kDisconnect && command != kBlockStatus,
                    .request_bytes = header + (carries ? static_cast<std::uint32_t>(length) : 0),
                    .span = static_cast<std::uint32_t>(std::min<std::uint64_t>(length, UINT32_MAX)),
                    .place = big_endian<std::uint64_t>(bytes, 16),
                    .cookie = big_endian<std::uint64_t>(bytes, 8)};
    if (request.response_known)
        request.response_bytes = command == kRead ? before_data + static_cast<std::uint32_t>(length) : reply;
    return a_request(request.request_bytes, request);
}

Parsed parse_option(Bytes bytes, ParserState& state) {
    if (bytes.size() < kOptionHeader)
        return need_more(kOptionHeader);
    const auto length = big_endian<std::uint32_t>(bytes, 12);
    if (big_endian<std::uint64_t>(bytes, 0) != kOptionMagic || state.phase > kNegotiation ||
        length > kMessageMax - kOptionHeader)
        return out_of_step();
    state.phase = kNegotiation;
    const Request request{.operation = Operation::kControl,
                          .request_bytes = kOptionHeader + length,
                          .cookie = big_endian<std::uint32_t>(bytes, 8)};
    return a_request(request.request_bytes, request);
}

Parsed parse_request(Bytes bytes, ParserState& state) {
    if (bytes.size() < sizeof(std::uint32_t))
        return need_more(sizeof(std::uint32_t));
    const auto magic = big_endian<std::uint32_t>(bytes, 0);
    if (magic == kRequestMagic || magic == kExtendedRequestMagic)
        return parse_command(bytes, state, magic == kExtendedRequestMagic);
    if (magic == high_half(kOptionMagic))
        return parse_option(bytes, state);
    if (state.phase != kNew || !has_only(magic, kClientFlags))
        return out_of_step();
    state.phase = kNegotiation;
    return a_part(sizeof(std::uint32_t));
}

Parsed parse_greeting(Bytes bytes, ParserState& state) {
    if (bytes.size() < 2 * sizeof(std::uint64_t))
        return need_more(2 * sizeof(std::uint64_t));
    const auto style = big_endian<std::uint64_t>(bytes, 8);
    if (state.phase != kNew || big_endian<std::uint64_t>(bytes, 0) != kNbdMagic ||
        (style != kOptionMagic && style != kOldstyleMagic))
        return out_of_step();
    state.phase = style == kOldstyleMagic ? kTransmission : kNegotiation;
    return a_part(style == kOldstyleMagic ? kOldstyleGreeting : kGreeting);
}

Parsed parse_option_reply(Bytes bytes, ParserState& state) {
    if (bytes.size() < kOptionReplyHeader)
        return need_more(kOptionReplyHeader);
    const auto option = big_endian<std::uint32_t>(bytes, 8);
    const auto type = big_endian<std::uint32_t>(bytes, 12);
    const auto length = big_endian<std::uint32_t>(bytes, 16);
    if (state.phase > kNegotiation || length > kMessageMax - kOptionReplyHeader)
        return out_of_step();
    const bool refused = (type & kErrorReply) != 0;
    state.phase = option == kStartTls && type == kAck ? kSealed : kNegotiation;
    return a_response(kOptionReplyHeader + length, {.bytes = kOptionReplyHeader + length,
                                                    .failed = refused && type != kUnsupported,
                                                    .last = refused || type == kAck,
                                                    .cookie = option});
}

// The answer to EXPORT_NAME has no magic number: anything that is no reply to another option is taken for it.
Parsed parse_negotiation(Bytes bytes, ParserState& state) {
    if (bytes.size() < kExportInfo)
        return need_more(kExportInfo);
    const auto size = big_endian<std::uint64_t>(bytes, 0);
    const auto flags = big_endian<std::uint16_t>(bytes, 8);
    if (size == kOptionReplyMagic)
        return parse_option_reply(bytes, state);
    if (state.phase != kNegotiation || static_cast<std::int64_t>(size) < 0 || (flags & kHasFlags) == 0)
        return out_of_step();
    state.phase = kExported;
    return a_response(kExportInfo, {.bytes = kExportInfo, .cookie = kExportName});
}

Parsed parse_simple_reply(Bytes bytes, ParserState& state) {
    if (bytes.size() < kSimpleReply)
        return need_more(kSimpleReply);
    const bool failed = big_endian<std::uint32_t>(bytes, 4) != 0;
    state.phase = kTransmission;
    return a_response(kSimpleReply, {.bytes = kSimpleReply,
                                     .failed = failed,
                                     .as_asked = !failed && state.extra != kChunks,
                                     .cookie = big_endian<std::uint64_t>(bytes, 8)});
}

Parsed parse_chunk(Bytes bytes, ParserState& state, bool extended) {
    const std::uint32_t header = extended ? kExtendedHeader : kStructuredChunk;
    if (bytes.size() < header)
        return need_more(header);
    const auto flags = big_endian<std::uint16_t>(bytes, 4);
    const auto type = big_endian<std::uint16_t>(bytes, 6);
    const std::uint64_t length =
        extended ? big_endian<std::uint64_t>(bytes, 24) : big_endian<std::uint32_t>(bytes, 16);
    if (length > kMessageMax - header)
        return out_of_step();
    state.phase = kTransmission;
    state.extra = kChunks;
    const std::uint32_t all = header + static_cast<std::uint32_t>(length);
    return a_response(all, {.bytes = all,
                            .failed = (type & kErrorChunk) != 0,
                            .last = (flags & kDone) != 0,
                            .cookie = big_endian<std::uint64_t>(bytes, 8)});
}

Parsed parse_response(Bytes bytes, ParserState& state) {
    if (state.phase == kSealed)
        return out_of_step();
    if (bytes.size() < sizeof(std::uint32_t))
        return need_more(sizeof(std::uint32_t));
    const auto magic = big_endian<std::uint32_t>(bytes, 0);
    switch (magic) {
        case kSimpleReplyMagic:
            return parse_simple_reply(bytes, state);
        case kStructuredReplyMagic:
        case kExtendedReplyMagic:
            return parse_chunk(bytes, state, magic == kExtendedReplyMagic);
        case high_half(kNbdMagic):
            return parse_greeting(bytes, state);
        default:
            break;
    }
    if (state.phase == kNegotiation || (state.phase == kNew && magic == high_half(kOptionReplyMagic)))
        return parse_negotiation(bytes, state);
    if (state.phase != kExported || magic != 0)
        return out_of_step();
    state.phase = kTransmission;
    return a_part(kReserved);
}

bool request_begins(Bytes bytes) {
    if (bytes.size() < kOptionHeader)
        return false;
    const auto magic = big_endian<std::uint32_t>(bytes, 0);
    if (big_endian<std::uint64_t>(bytes, 0) == kOptionMagic)
        return big_endian<std::uint32_t>(bytes, 8) <= kOptionLast;
    const std::uint32_t header = magic == kExtendedRequestMagic ? kExtendedHeader : kCompactHeader;
    return (magic == kRequestMagic || magic == kExtendedRequestMagic) && bytes.size() >= header &&
           has_only(big_endian<std::uint16_t>(bytes, 4), kCommandFlags) &&
           big_endian<std::uint16_t>(bytes, 6) <= kResize;
}

bool response_begins(Bytes bytes) {
    if (bytes.size() < kSimpleReply)
        return false;
    const auto magic = big_endian<std::uint32_t>(bytes, 0);
    if (magic == kSimpleReplyMagic)  // error numbers are below 2^16
        return big_endian<std::uint16_t>(bytes, 4) == 0;
    if (big_endian<std::uint64_t>(bytes, 0) == kOptionReplyMagic)
        return bytes.size() >= kOptionReplyHeader && big_endian<std::uint32_t>(bytes, 8) <= kOptionLast;
    const std::uint32_t header = magic == kExtendedReplyMagic ? kExtendedHeader : kStructuredChunk;
    const bool chunk = magic == kStructuredReplyMagic || magic == kExtendedReplyMagic;
    return chunk && bytes.size() >= header && has_only(big_endian<std::uint16_t>(bytes, 4), kDone) &&
           (big_endian<std::uint16_t>(bytes, 6) & ~kErrorChunk) < 16;
}

}  // namespace

const Protocol nbd_protocol{.header_max = kExtendedHeader,
                            .ordered = false,
                            .request = parse_request,
                            .response = parse_response,
                            .request_begins = request_begins,
                            .response_begins = response_begins};

}  // namespace weir
