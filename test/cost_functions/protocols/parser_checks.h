// parser_checks.h - parts that the tests of all parsers share: messages written field by field, parsing of
// exact-size copies, and recorded sessions parsed as the tracker would.
// Threads: tests only.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cost_functions/tracker/protocol.h"

namespace weir {

using Octets = std::vector<std::uint8_t>;

/// Bytes of a message, field after field.
class Wire {
  public:
    template <std::unsigned_integral T>
    Wire& big(T value) {
        for (std::size_t i = sizeof(T); i-- > 0;)
            bytes_.push_back(static_cast<std::uint8_t>(std::uint64_t{value} >> (8 * i)));
        return *this;
    }
    template <std::unsigned_integral T>
    Wire& little(T value) {
        for (std::size_t i = 0; i < sizeof(T); ++i)
            bytes_.push_back(static_cast<std::uint8_t>(std::uint64_t{value} >> (8 * i)));
        return *this;
    }
    Wire& u8(unsigned value) { return big(static_cast<std::uint8_t>(value)); }
    Wire& zeroes(std::size_t count) {
        bytes_.insert(bytes_.end(), count, 0);
        return *this;
    }
    Wire& text(std::string_view text) {
        bytes_.insert(bytes_.end(), text.begin(), text.end());
        return *this;
    }
    Wire& add(const Octets& more) {
        bytes_.insert(bytes_.end(), more.begin(), more.end());
        return *this;
    }
    operator const Octets&() const { return bytes_; }
    const Octets& bytes() const { return bytes_; }

  private:
    Octets bytes_;
};

using Parser = Parsed (*)(Bytes, ParserState&);

/// Parses a copy of exactly these bytes on the heap, so that ASan sees a read beyond them.
Parsed parse(Parser parser, Bytes bytes, ParserState& state);
Parsed parse(Parser parser, Bytes bytes);

/// Checks that the first `header` bytes of a message are its header: with fewer bytes the verdict is kMore,
/// the length is more than given and at most `header_max`, and the state is unchanged. Returns the result of
/// the whole header.
Parsed check_header(const Protocol& protocol, Parser parser, Bytes message, std::size_t header,
                    ParserState state = {});

/// Parses random bytes and mutations of `seeds` in any state: no read beyond them, no result beyond the
/// bounds.
void check_any_bytes(const Protocol& protocol, Parser parser, const std::vector<Octets>& seeds);

/// Number of spans, among `tries` spans of random bytes, that are mistaken for the beginning of a message.
std::uint64_t false_beginnings(bool (*begins)(Bytes), unsigned tries);

/// Counts of the requests and responses of a connection.
struct Tally {
    std::array<std::uint32_t, kOperations> requests{};  ///< by operation
    std::uint32_t answered = 0;                         ///< requests with their last response
    std::uint32_t failed = 0;
    std::uint32_t parts = 0;          ///< responses that were not the last of their request
    std::uint32_t strays = 0;         ///< responses without a request
    std::uint32_t exact = 0;          ///< answered with as many bytes as the request stated
    std::uint64_t request_bytes = 0;  ///< of all requests, as they state
    std::uint64_t response_bytes = 0;
    std::uint32_t outstanding = 0;
    std::uint32_t lost = 0;
    std::uint64_t left = 0;  ///< bytes missing to the last message, or held of an incomplete header

    std::uint32_t of(Operation operation) const { return requests[static_cast<std::size_t>(operation)]; }
    friend bool operator==(const Tally&, const Tally&) = default;
};

/// Walks both directions of a connection in the order in which they passed.
class Walk {
  public:
    explicit Walk(const Protocol& protocol) : protocol_(protocol) {}
    void request_segment(Bytes segment) { feed(request_, segment); }
    void response_segment(Bytes segment) { feed(response_, segment); }
    Tally tally() const;

  private:
    struct Pending {
        Request request;
        std::uint64_t received = 0;
        bool failed = false;
    };
    struct Direction {
        bool requests;
        Octets held{};           ///< the start of an incomplete header
        std::uint64_t skip = 0;  ///< bytes of a body to come
        ParserState state{};
    };
    void feed(Direction& direction, Bytes segment);
    std::uint64_t take(Direction& direction, const Parsed& parsed);
    std::uint64_t answer(const Parsed& parsed);

    const Protocol& protocol_;
    Direction request_{true};
    Direction response_{false};
    std::multimap<std::uint64_t, Pending> pending_;
    Tally tally_;
};

/// Bytes that one side sent at once.
struct Sent {
    bool request;
    Octets bytes;
};
/// A recorded connection (captures/record.py).
std::vector<Sent> load_capture(const std::string& name);
/// A connection, cut into segments of at most `cut` bytes.
Tally walk(const Protocol& protocol, const std::vector<Sent>& segments, std::size_t cut);
/// The same for all cuts that matter, whose results must agree.
Tally walk(const Protocol& protocol, const std::vector<Sent>& segments);

}  // namespace weir
