// memcached.cc - parser of memcached connections: dispatch by the first byte of a message, and binary
// messages.
// Source: memcached protocol.txt; memcached protocol_binary.h. Units: bytes. Threads: any (pure).
//
// A message that begins with a magic byte is a binary one: a header of 24 bytes, paired by opcode and opaque.
// All others are lines of text, which memcached_text_request.cc and memcached_text_response.cc parse. A
// request's `place` is a hash of its first key; a get whose line is longer than 512 bytes has none. A miss is
// not a failure.
#include <array>
#include <cstddef>

#include "cost_functions/protocols/binary.h"
#include "cost_functions/protocols/memcached_text.h"
#include "cost_functions/protocols/registry.h"

namespace weir {
namespace {

using memcached::kLine;

constexpr std::uint8_t kRequestMagic = 0x80;
constexpr std::uint8_t kResponseMagic = 0x81;
constexpr std::uint32_t kHeader = 24;
constexpr std::size_t kKeyMax = 250;
constexpr std::uint8_t kExtrasMax = 20;
constexpr std::uint8_t kStat = 0x10;

struct Opcode {
    Operation operation = Operation::kControl;
    /// A response is awaited. Quiet gets are answered only when they hit; other quiet commands, of which no
    /// response is awaited, only when they fail.
    bool answered = true;
    bool known = false;
};

constexpr std::array<Opcode, 256> opcodes() {
    using enum Operation;
    std::array<Opcode, 256> all{};
    const auto set = [&all](Operation operation, bool answered, std::initializer_list<std::uint8_t> codes) {
        for (const std::uint8_t code : codes)
            all[code] = {operation, answered, true};
    };
    set(kRead, true, {0x00, 0x09, 0x0c, 0x0d});     // get, getq, getk, getkq
    set(kRead, true, {0x1d, 0x1e, 0x23, 0x24});     // gat, gatq, gatk, gatkq
    set(kWrite, true, {0x01, 0x02, 0x03});          // set, add, replace
    set(kWrite, false, {0x11, 0x12, 0x13});         // ... quietly
    set(kDelete, true, {0x04});                     // delete
    set(kDelete, false, {0x14});                    // ... quietly
    set(kUpdate, true, {0x05, 0x06, 0x0e, 0x0f});   // increment, decrement, append, prepend
    set(kUpdate, false, {0x15, 0x16, 0x19, 0x1a});  // ... quietly
    set(kUpdate, true, {0x1c});                     // touch
    set(kControl, true, {0x07, 0x08, 0x0a, 0x0b});  // quit, flush, noop, version
    set(kControl, false, {0x17, 0x18});             // quit and flush quietly
    set(kControl, true, {kStat, 0x1b});             // stat, verbosity
    set(kControl, true, {0x20, 0x21, 0x22});        // sasl
    return all;
}
constexpr std::array<Opcode, 256> kOpcodes = opcodes();

struct Header {
    std::uint8_t opcode;
    std::uint16_t key;
    std::uint8_t extras;
    std::uint32_t body;
    std::uint16_t status;
    std::uint64_t cookie;
    [[nodiscard]] bool valid() const {
        return std::uint32_t{extras} + key <= body && body <= kMessageMax - kHeader && key <= kKeyMax &&
               extras <= kExtrasMax;
    }
};

Header read(Bytes bytes) {
    const std::uint8_t opcode = bytes[1];
    // Never 0: responses with cookie 0 are paired by order.
    const std::uint64_t cookie = std::uint64_t{0x100U | opcode} << 32 | big_endian<std::uint32_t>(bytes, 12);
    return {.opcode = opcode,
            .key = big_endian<std::uint16_t>(bytes, 2),
            .extras = bytes[4],
            .body = big_endian<std::uint32_t>(bytes, 8),
            .status = big_endian<std::uint16_t>(bytes, 6),
            .cookie = cookie};
}

/// "Not found", "exists" and "not stored" are outcomes like a miss, not failures.
constexpr bool is_failure(std::uint16_t status) {
    return status != 0x00 && status != 0x01 && status != 0x02 && status != 0x05;
}

bool binary_begins(Bytes bytes, std::uint8_t magic) {
    return bytes.size() >= kHeader && bytes[0] == magic && bytes[5] == 0 && read(bytes).valid() &&
           kOpcodes[bytes[1]].known;
}

/// Not inlined: text is the more frequent, and must not pay for the registers that this needs.
[[gnu::noinline]] Parsed binary_request(Bytes bytes, ParserState&) {
    if (bytes.size() < kHeader)
        return need_more(kHeader);
    const Header header = read(bytes);
    const Opcode& opcode = kOpcodes[header.opcode];
    if (bytes[0] != kRequestMagic || !header.valid())
        return out_of_step();
    const std::size_t key = kHeader + header.extras;
    if (bytes.size() < key + header.key)
        return need_more(static_cast<std::uint32_t>(key + header.key));
    const std::uint32_t all = kHeader + header.body;
    return a_request(all, {.operation = opcode.operation,
                           .answered = opcode.answered,
                           .request_bytes = all,
                           .place = header.key == 0 ? 0 : text::hash(bytes.subspan(key, header.key)),
                           .cookie = header.cookie});
}

/// Statistics arrive as one message each; an empty one ends them.
[[gnu::noinline]] Parsed binary_response(Bytes bytes, ParserState& state) {
    if (bytes.size() < kHeader)
        return need_more(kHeader);
    const Header header = read(bytes);
    if (bytes[0] != kResponseMagic || !header.valid())
        return out_of_step();
    const std::uint32_t all = kHeader + header.body;
    state.bytes += all;
    if (header.opcode == kStat && header.key != 0)
        return state.bytes > kMessageMax ? out_of_step() : a_part(all);
    const Response response{
        .bytes = state.bytes, .failed = is_failure(header.status), .cookie = header.cookie};
    state = {};
    return a_response(all, response);
}

Parsed parse_request(Bytes bytes, ParserState& state) {
    return bytes[0] == kRequestMagic && state.phase == kLine ? binary_request(bytes, state)
                                                             : memcached::text_request(bytes, state);
}

Parsed parse_response(Bytes bytes, ParserState& state) {
    return bytes[0] == kResponseMagic && state.phase == kLine ? binary_response(bytes, state)
                                                              : memcached::text_response(bytes, state);
}

bool request_begins(Bytes bytes) {
    return memcached::text_request_begins(bytes) || binary_begins(bytes, kRequestMagic);
}

bool response_begins(Bytes bytes) {
    return memcached::text_response_begins(bytes) || binary_begins(bytes, kResponseMagic);
}

}  // namespace

const Protocol memcached_protocol{.header_max = kHeaderMax,
                                  .ordered = true,
                                  .request = parse_request,
                                  .response = parse_response,
                                  .request_begins = request_begins,
                                  .response_begins = response_begins,
                                  .lines = true};

}  // namespace weir
