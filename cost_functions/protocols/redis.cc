// redis.cc - parser of Redis connections, RESP2 and RESP3: requests are arrays of bulk strings or inline
// commands.
// Source: RESP3. Units: bytes. Threads: any (pure).
//
// A request's `place` is a hash of its first key (its length and first 128 bytes), or 0 when the arguments do
// not all begin within 512 bytes. Pushes belong to no request. Subscriptions get no response: their replies
// are pushes.
#include <algorithm>
#include <cstddef>

#include "cost_functions/protocols/binary.h"
#include "cost_functions/protocols/redis_commands.h"
#include "cost_functions/protocols/registry.h"
#include "cost_functions/protocols/text.h"

namespace weir {
namespace {

constexpr std::uint32_t kEnd = 2;           // CRLF
constexpr std::size_t kCountBytesMax = 24;  // a type, a number and CRLF
constexpr std::size_t kDigitsMax = 10;
constexpr std::int64_t kArgumentsMax = 1 << 20;
constexpr std::int64_t kBulkMax = kMessageMax - 1024;
constexpr std::uint32_t kElementsMax = 1U << 28;
constexpr std::size_t kHashedBytesMax = 128;  // of a key

enum Phase : std::uint8_t { kBegin, kArguments, kArgumentsOfWait, kElements, kLine };

// ParserState::extra of a request: its number of keys, and this bit when it gets a response.
constexpr std::uint16_t kAnswered = 1 << 15;
// ... of an inline command: this bit when it may wait.
constexpr std::uint16_t kWaits = 1;
// ParserState::extra of a response.
constexpr std::uint16_t kPush = 1;
constexpr std::uint16_t kFailed = 2;

constexpr std::size_t kWrong = SIZE_MAX;

/// Reads a line with a type and a number, which is the length of the following string or the number of the
/// following elements.
/// @return bytes of the line; 0 when more bytes are needed; kWrong when it is no such line
inline std::size_t count_at(Bytes bytes, std::size_t at, std::int64_t& count) {
    const std::size_t end = std::min(bytes.size(), at + kCountBytesMax);
    std::size_t i = at + 1;
    const bool negative = i < end && bytes[i] == '-';
    i += negative ? 1 : 0;
    const std::size_t digits = i;
    std::uint64_t value = 0;
    for (; i < end && text::is_digit(bytes[i]); ++i)
        value = value * 10 + (bytes[i] - '0');
    if (i + 1 >= end && (i >= end || bytes[i] == '\r'))
        return end == at + kCountBytesMax ? kWrong : 0;
    if (i == digits || i > digits + kDigitsMax || bytes[i] != '\r' || bytes[i + 1] != '\n')
        return kWrong;
    count = negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
    return i + kEnd - at;
}
/// Reads the length line of a bulk string. @return as count_at(); kWrong also when the length is impossible
inline std::size_t bulk_at(Bytes bytes, std::size_t at, std::size_t& size) {
    if (at >= bytes.size())
        return 0;
    std::int64_t count = 0;
    const std::size_t line = bytes[at] == '$' ? count_at(bytes, at, count) : kWrong;
    if (count < 0 || count > kBulkMax)
        return kWrong;
    size = static_cast<std::size_t>(count);
    return line;
}

std::uint32_t add_bytes(std::uint32_t before, std::size_t more) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(UINT32_MAX, std::uint64_t{before} + more));
}
std::uint32_t narrow(std::size_t bytes) {
    return static_cast<std::uint32_t>(bytes);
}

/// Arguments after those that array_request() read. The request does not depend on where the stream is cut.
Parsed more_arguments(Bytes bytes, ParserState& state) {
    std::size_t at = 0;
    std::uint32_t left = state.parts;
    for (; left > 0; --left) {
        std::size_t size = 0;
        const std::size_t line = bulk_at(bytes, at, size);
        if (line == 0)
            break;
        if (line == kWrong)
            return out_of_step();
        at += line + size + kEnd;
    }
    if (at == 0)
        return need_more(narrow(bytes.size()) + 1);
    state.parts = left;
    state.bytes = add_bytes(state.bytes, at);
    if (left != 0)
        return a_part(narrow(at));
    const Request request{.operation = state.operation,
                          .answered = (state.extra & kAnswered) != 0,
                          .waits = state.phase == kArgumentsOfWait,
                          .keys = state.extra & ~std::uint32_t{kAnswered},
                          .request_bytes = state.bytes};
    state = {};
    return a_request(narrow(at), request);
}

/// A request while its arguments are read.
struct Arguments {
    std::uint32_t count = 0;
    std::uint32_t next = 0;
    std::size_t at = 0;  ///< where the length of the next argument begins
    redis::Command command{};
    std::uint64_t place = 0;

    [[nodiscard]] std::uint32_t keys() const {
        return command.words_per_key == 0 || count < 2 ? 1 : (count - 1) / command.words_per_key;
    }
    /// Takes in the next argument: the command's name or its first key. @return false when more bytes are
    /// needed
    bool read(Bytes bytes, std::size_t from, std::size_t size) {
        const std::size_t used = next == 0 ? size : std::min(size, kHashedBytesMax);
        if (next > 1 || (next == 0 && size > kHashedBytesMax))
            return true;
        if (bytes.size() < from + used)
            return false;
        if (next == 0)
            command = redis::command(bytes.subspan(from, used));
        else
            place = text::hash(bytes.subspan(from, used)) + size;
        return true;
    }
    /// Most requests have fewer than ten arguments and a name of fewer than nine characters: two comparisons
    /// read these.
    bool begin_short(Bytes bytes) {
        constexpr std::uint64_t kHead = text::word("*0\r\n$0\r\n");
        constexpr std::uint64_t kDigits = ~std::uint64_t{0xff00'0000'ff00};
        if (bytes.size() < 16 || (text::load<std::uint64_t>(bytes.data()) & kDigits) != (kHead & kDigits))
            return false;
        const unsigned arguments = bytes[1] - unsigned{'0'};
        const unsigned size = bytes[5] - unsigned{'0'};
        if (arguments - 1 >= 9 || size - 1 >= 8)
            return false;
        command = redis::command(text::load<std::uint64_t>(bytes.data() + 8) &
                                 ~std::uint64_t{0} >> (64 - 8 * size));
        count = arguments;
        next = 1;
        at = 8 + size + kEnd;
        return true;
    }
};

/// Leaves the arguments that begin behind the longest possible header to more_arguments().
Parsed defer_arguments(const Arguments& arguments, ParserState& state) {
    const std::uint32_t keys = std::min<std::uint32_t>(arguments.keys(), kAnswered - 1);
    state.phase = arguments.command.waits ? kArgumentsOfWait : kArguments;
    state.parts = arguments.count - arguments.next;
    state.bytes = narrow(arguments.at);
    state.operation = arguments.command.operation;
    state.extra = static_cast<std::uint16_t>(keys | (arguments.command.answered ? kAnswered : 0U));
    return a_part(narrow(arguments.at));
}

Parsed array_request(Bytes bytes, ParserState& state) {
    Arguments arguments;
    if (!arguments.begin_short(bytes)) {
        std::int64_t count = 0;
        arguments.at = count_at(bytes, 0, count);
        if (arguments.at == 0)
            return need_more(narrow(bytes.size()) + 1);
        if (arguments.at == kWrong || count > kArgumentsMax)
            return out_of_step();
        if (count <= 0)
            return a_part(narrow(arguments.at));  // Redis does not answer an empty array
        arguments.count = static_cast<std::uint32_t>(count);
    }
    for (; arguments.next < arguments.count; ++arguments.next) {
        if (arguments.at + kCountBytesMax > kHeaderMax)
            return defer_arguments(arguments, state);
        std::size_t size = 0;
        const std::size_t line = bulk_at(bytes, arguments.at, size);
        if (line == kWrong)
            return out_of_step();
        if (line == 0 || !arguments.read(bytes, arguments.at + line, size))
            return need_more(narrow(std::max(arguments.at, bytes.size())) + 1);
        arguments.at += line + size + kEnd;
    }
    return a_request(narrow(arguments.at), {.operation = arguments.command.operation,
                                            .answered = arguments.command.answered,
                                            .waits = arguments.command.waits,
                                            .keys = arguments.keys(),
                                            .request_bytes = narrow(arguments.at),
                                            .place = arguments.place});
}

Parsed inline_request(Bytes bytes, ParserState& state) {
    const std::size_t line = text::line_bytes(bytes);
    const Bytes text = line == 0 ? text::so_far(bytes) : text::without_end(bytes.first(line));
    if (!text::is_text(text))
        return out_of_step();
    if (line == 0 && (text.empty() || (state.phase == kBegin && bytes.size() < kHeaderMax)))
        return need_more(narrow(bytes.size()) + 1);
    text::Words words(text);
    const redis::Command command = redis::command(words.next());
    if (state.phase == kBegin && line != 0) {
        const Bytes key = words.next();
        if (text.empty())
            return a_part(narrow(line));
        const std::uint64_t place =
            key.empty() ? 0 : text::hash(key.first(std::min(key.size(), kHashedBytesMax))) + key.size();
        return a_request(narrow(line), {.operation = command.operation,
                                        .answered = command.answered,
                                        .waits = command.waits,
                                        .request_bytes = narrow(line),
                                        .place = place});
    }
    if (state.phase == kBegin) {
        state.phase = kLine;
        state.operation = command.operation;
        state.extra =
            static_cast<std::uint16_t>((command.answered ? kAnswered : 0) | (command.waits ? kWaits : 0));
    }
    const std::size_t length = line == 0 ? text.size() : line;
    state.bytes = add_bytes(state.bytes, length);
    if (line == 0)
        return a_part(narrow(length));
    const Request request{.operation = state.operation,
                          .answered = (state.extra & kAnswered) != 0,
                          .waits = (state.extra & kWaits) != 0,
                          .request_bytes = state.bytes};
    state = {};
    return a_request(narrow(length), request);
}

Parsed parse_request(Bytes bytes, ParserState& state) {
    if (state.phase == kArguments || state.phase == kArgumentsOfWait)
        return more_arguments(bytes, state);
    if (state.phase == kBegin && bytes[0] == '*')
        return array_request(bytes, state);
    return inline_request(bytes, state);
}

/// Reads one element of a reply and counts it off `left`; an aggregate adds its own elements to `left`.
/// @return bytes of the element; 0 when more bytes are needed; kWrong when it is no element
std::size_t element(Bytes bytes, std::size_t at, std::uint32_t& left) {
    const std::uint8_t type = bytes[at];
    switch (type) {
        case '+':
        case '-':
        case ':':
        case '_':
        case ',':
        case '#':
        case '(':
            --left;
            return text::line_bytes(bytes.subspan(at));
        case '$':
        case '=':
        case '!':
        case '*':
        case '~':
        case '>':
        case '%':
        case '|':
            break;
        default:
            return kWrong;
    }
    std::int64_t count = 0;
    const std::size_t line = count_at(bytes, at, count);
    if (line == 0 || line == kWrong)
        return line;
    if (count == -1) {
        --left;
        return type == '$' || type == '*' ? line : kWrong;
    }
    if (count < 0)
        return kWrong;
    if (type == '$' || type == '=' || type == '!') {
        --left;
        return count > kBulkMax ? kWrong : line + static_cast<std::size_t>(count) + kEnd;
    }
    const std::int64_t more = type == '%' || type == '|' ? 2 * count : count;
    if (more > kElementsMax - std::int64_t{left})
        return kWrong;
    left += static_cast<std::uint32_t>(more) - (type == '|' ? 0 : 1);
    return line;
}

bool is_error(Bytes reply) {
    return reply[0] == '-' || reply[0] == '!';
}

/// Counts bytes of a reply that were read; `state` has the elements that are still to come.
Parsed consume_reply(ParserState& state, std::size_t bytes) {
    state.bytes = add_bytes(state.bytes, bytes);
    if (state.parts != 0 || state.phase == kLine)
        return a_part(narrow(bytes));
    const ParserState whole = state;
    state = {};
    if ((whole.extra & kPush) != 0)
        return a_part(narrow(bytes));
    return a_response(narrow(bytes), {.bytes = whole.bytes, .failed = (whole.extra & kFailed) != 0});
}

/// A reply of several elements, or a line that is longer than a header may be.
[[gnu::noinline]] Parsed long_reply(Bytes bytes, ParserState& state) {
    if (state.phase == kLine) {
        const std::size_t line = text::line_bytes(bytes);
        state.phase = line == 0 ? kLine : kElements;
        return consume_reply(state, line == 0 ? bytes.size() : line);
    }
    ParserState next = state;
    if (state.phase == kBegin) {
        next.phase = kElements;
        next.parts = 1;
        next.extra =
            static_cast<std::uint16_t>((bytes[0] == '>' ? kPush : 0) | (is_error(bytes) ? kFailed : 0));
    }
    std::size_t at = 0;
    while (next.parts > 0 && at < bytes.size()) {
        std::uint32_t left = next.parts;
        const std::size_t size = element(bytes, at, left);
        if (size == kWrong)
            return out_of_step();
        if (size == 0)
            break;
        next.parts = left;
        at += size;
    }
    if (at == 0 && bytes.size() < kHeaderMax)
        return need_more(narrow(bytes.size()) + 1);
    if (at == 0) {  // only a line can be so long
        next.phase = kLine;
        --next.parts;
        at = bytes.size();
    }
    state = next;
    return consume_reply(state, at);
}

/// Most replies are one string, number or line; others go to long_reply().
Parsed parse_response(Bytes bytes, ParserState& state) {
    std::uint32_t left = 1;
    const std::size_t size = state.phase == kBegin ? element(bytes, 0, left) : 0;
    if (size == 0 || left != 0)
        return long_reply(bytes, state);
    if (size == kWrong)
        return out_of_step();
    return a_response(narrow(size), {.bytes = narrow(size), .failed = is_error(bytes)});
}

bool request_begins(Bytes bytes) {
    if (bytes.empty() || bytes[0] != '*')
        return false;
    std::int64_t count = 0;
    const std::size_t all = count_at(bytes, 0, count);
    if (all == 0 || all == kWrong || count < 1 || count > kArgumentsMax)
        return false;
    std::size_t size = 0;
    const std::size_t line = bulk_at(bytes, all, size);
    if (line == 0 || line == kWrong || size == 0)
        return false;
    const std::size_t at = all + line;
    return bytes.size() >= at + size + kEnd && text::is_text(bytes.subspan(at, size)) &&
           bytes[at + size] == '\r' && bytes[at + size + 1] == '\n';
}

/// Accepts a whole reply, or the first element of an aggregate followed by the type of its second.
bool response_begins(Bytes bytes) {
    if (bytes.empty())
        return false;
    std::uint32_t left = 1;
    const std::size_t size = element(bytes.first(std::min<std::size_t>(bytes.size(), kHeaderMax)), 0, left);
    if (size == 0 || size == kWrong || size < 3)
        return false;
    if (size <= bytes.size() && (bytes[size - 2] != '\r' || bytes[size - 1] != '\n'))
        return false;
    const Bytes line = text::without_end(bytes.first(text::line_bytes(bytes)));
    if (!text::is_text(line))
        return false;
    return left == 0 || size >= bytes.size() || element(bytes, size, left) != kWrong;
}

}  // namespace

const Protocol redis_protocol{.header_max = kHeaderMax,
                              .ordered = true,
                              .request = parse_request,
                              .response = parse_response,
                              .request_begins = request_begins,
                              .response_begins = response_begins,
                              .lines = true};

}  // namespace weir
