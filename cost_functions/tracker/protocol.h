// protocol.h - the interface of a request protocol's parser: the bytes at the start of a message in, its
// length and meaning out.
// Source: docs/algorithms.md 5.1. Units: bytes. Threads: any (pure).
//
// The tracker calls a parser only where a header must begin, and skips message bodies without reading them. A
// parser never reads beyond its span, keeps no state except ParserState, and accepts any bytes. The requests
// and responses that it reports do not depend on how TCP cut the stream into segments; only the parts between
// them may.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cost_functions/request.h"

namespace weir {

using Bytes = std::span<const std::uint8_t>;

/// State that a parser keeps for one direction of a connection. A parser may use the fields in its own way.
struct ParserState {
    std::uint32_t parts = 0;  ///< still to come of the current message
    std::uint32_t bytes = 0;  ///< of the current message so far
    Operation operation = Operation::kBytes;
    std::uint8_t phase = 0;  ///< greeting, negotiation, ...
    std::uint16_t extra = 0;
};
static_assert(sizeof(ParserState) == 12);

struct Parsed {
    enum class Verdict : std::uint8_t {
        kPart,      ///< `length` bytes of a message that continues, or of none; there is nothing to report
        kRequest,   ///< `length` bytes end the header of `request`, its body included
        kResponse,  ///< the same for `response`; with response.as_asked, `length` is the length that its
                    ///< request expects
        kMore,      ///< the header is longer than the bytes given: call again with at least `length` bytes
        kLost       ///< these bytes are not this protocol: the direction is out of step
    };
    Verdict verdict = Verdict::kLost;
    std::uint32_t length = 0;  ///< from the first byte given to the next header; at most kMessageMax
    Request request{};
    Response response{};
};
/// A longer message is treated as a loss of step.
inline constexpr std::uint32_t kMessageMax = 1U << 30;

struct Protocol {
    std::uint32_t header_max;  ///< bytes that a header may need, and that a parser is given at most
    bool ordered;  ///< responses arrive in the order of their requests; else they are paired by cookie
    Parsed (*request)(Bytes bytes, ParserState& state);
    Parsed (*response)(Bytes bytes, ParserState& state);
    /// Test whether a header seems to begin here, for protocols with a magic number strong enough to search
    /// for; else nullptr.
    bool (*request_begins)(Bytes bytes);
    bool (*response_begins)(Bytes bytes);
    bool lines = false;  ///< headers begin at the start of lines, so that only these are searched
    /// A request's size counts data that comes in messages of its own, which are parts.
    bool prepaid = false;
};

/// Upper bound of every Protocol::header_max, and size of the buffer for a header that arrives in pieces.
inline constexpr std::uint32_t kHeaderMax = 512;
/// Protocols that a tracker can distinguish: a connection stores its protocol in 3 bits.
inline constexpr std::size_t kProtocolsMax = 1 << 3;

}  // namespace weir
