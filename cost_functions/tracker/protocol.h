// protocol.h - what a parser of a request protocol is: the bytes at the start of a message in, how long it is
// and what it means out. Source: one framing per row of algorithms 8. Units: bytes. Threads: any (pure).
//
// A parser sees bytes only where a header is due; bodies are skipped by the tracker without being looked at.
// It never reads beyond its span, keeps nothing but ParserState, and may be given any bytes at all. How a
// stream is cut may change its parts, never its requests and responses.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cost_functions/request.h"

namespace weir {

using Bytes = std::span<const std::uint8_t>;

/// What a parser remembers of one direction from one message part to the next.
struct ParserState {
    std::uint32_t parts = 0;  ///< that are still to come of the message begun
    std::uint32_t bytes = 0;  ///< of the message so far
    Operation operation = Operation::kBytes;
    std::uint8_t phase = 0;  ///< the protocol's own: greeting, negotiation, ...
    std::uint16_t extra = 0;
};
static_assert(sizeof(ParserState) == 12);

struct Parsed {
    enum class Verdict : std::uint8_t {
        kPart,      ///< `length` bytes belong to a message that goes on, or to none; nothing to report
        kRequest,   ///< ... and `request` is complete as far as its header goes
        kResponse,  ///< ... and `response` is; if response.as_asked, `length` is what its request awaits
        kMore,      ///< a header of more than the bytes given: call again with at least `length`
        kLost       ///< not this protocol: the direction is out of step
    };
    Verdict verdict = Verdict::kLost;
    std::uint32_t length = 0;  ///< from the first byte given to the next header; at most kMessageMax
    Request request{};
    Response response{};
};
/// Longer bodies are believed to be a loss of step.
inline constexpr std::uint32_t kMessageMax = 1U << 30;

struct Protocol {
    std::string_view name;     ///< as the configuration says it
    std::uint32_t header_max;  ///< bytes at most that a header needs, and that a parser is given
    bool ordered;              ///< responses come in the order of requests; else by cookie
    Parsed (*request)(Bytes bytes, ParserState& state);
    Parsed (*response)(Bytes bytes, ParserState& state);
    /// A header begins here as far as one can tell: where a strong magic allows to find back; else nullptr.
    bool (*request_begins)(Bytes bytes);
    bool (*response_begins)(Bytes bytes);
    bool lines = false;  ///< headers begin where lines do, so it is only there that they are looked for
};

/// No header is longer: what is kept of one that comes in pieces.
inline constexpr std::uint32_t kHeaderMax = 512;

/// All there are; an index into it is a protocol's short name.
std::span<const Protocol* const> protocols();
/// nullptr when there is none of that name.
const Protocol* find_protocol(std::string_view name);

}  // namespace weir
