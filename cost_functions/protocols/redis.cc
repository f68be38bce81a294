#include "cost_functions/protocols/redis.h"

#include <algorithm>
#include <cstddef>

#include "cost_functions/protocols/fields.h"
#include "cost_functions/protocols/redis_commands.h"
#include "cost_functions/protocols/text.h"

namespace weir {
namespace {

constexpr std::uint32_t kEnd = 2;           // CRLF
constexpr std::size_t kCountBytesMax = 24;  // a type, a number and CRLF
constexpr std::int64_t kArgumentsMax = 1 << 20;
constexpr std::int64_t kBulkMax = kMessageMax - 1024;
constexpr std::uint32_t kElementsMax = 1U << 28;
constexpr std::size_t kKeyHashed = 128;

enum Phase : std::uint8_t { kBegin, kArguments, kElements, kLine };

// ParserState::extra of a request: keys, and whether it is answered.
constexpr std::uint16_t kAnswered = 1 << 15;
// ParserState::extra of a response.
constexpr std::uint16_t kPush = 1;
constexpr std::uint16_t kFailed = 2;

/// A type and a number in a line: what follows is as long, or as many.
struct Count {
    enum class Verdict : std::uint8_t { kCount, kMore, kWrong } verdict = Verdict::kWrong;
    std::int64_t value = 0;
    std::size_t bytes = 0;
};

Count count_at(Bytes bytes, std::size_t at) {
    if (at >= bytes.size())
        return {.verdict = Count::Verdict::kMore};
    const Bytes line = bytes.subspan(at, std::min(bytes.size() - at, kCountBytesMax));
    const std::size_t size = text::line_bytes(line);
    if (size == 0)
        return {.verdict = line.size() == kCountBytesMax ? Count::Verdict::kWrong : Count::Verdict::kMore};
    if (size < 4 || line[size - 2] != '\r')
        return {};
    const bool negative = line[1] == '-';
    std::uint64_t value = 0;
    if (!text::number(line.subspan(negative ? 2 : 1, size - kEnd - (negative ? 2 : 1)), value))
        return {};
    const auto number = static_cast<std::int64_t>(value);
    return {.verdict = Count::Verdict::kCount, .value = negative ? -number : number, .bytes = size};
}

std::uint32_t add_bytes(std::uint32_t before, std::size_t more) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(UINT32_MAX, std::uint64_t{before} + more));
}
std::uint32_t narrow(std::size_t bytes) {
    return static_cast<std::uint32_t>(bytes);
}
bool is_bulk(Bytes bytes, std::size_t at, const Count& count) {
    return bytes[at] == '$' && count.value >= 0 && count.value <= kBulkMax;
}

/// The bulk strings that follow until all are read. Where they are cut is of no consequence.
Parsed more_arguments(Bytes bytes, ParserState& state) {
    std::size_t at = 0;
    std::uint32_t left = state.parts;
    for (; left > 0; --left) {
        const Count count = count_at(bytes, at);
        if (count.verdict == Count::Verdict::kMore)
            break;
        if (count.verdict == Count::Verdict::kWrong || !is_bulk(bytes, at, count))
            return out_of_step();
        at += count.bytes + static_cast<std::size_t>(count.value) + kEnd;
    }
    if (at == 0)
        return need_more(narrow(bytes.size()) + 1);
    state.parts = left;
    state.bytes = add_bytes(state.bytes, at);
    if (left != 0)
        return a_part(narrow(at));
    const Request request{.operation = state.operation,
                          .answered = (state.extra & kAnswered) != 0,
                          .keys = state.extra & ~std::uint32_t{kAnswered},
                          .request_bytes = state.bytes};
    state = {};
    return a_request(narrow(at), request);
}

/// What is known of a request while its arguments are read.
struct Arguments {
    redis::Command command;
    std::uint64_t place = 0;

    /// The command's name, or its first key. @return false: more bytes are needed
    bool read(std::size_t argument, Bytes bytes, std::size_t at, std::size_t size) {
        const std::size_t used = argument == 0 ? size : std::min(size, kKeyHashed);
        if (argument > 1 || (argument == 0 && size > kKeyHashed))
            return true;
        if (bytes.size() < at + used)
            return false;
        if (argument == 0)
            command = redis::command(bytes.subspan(at, used));
        else
            place = text::hash(bytes.subspan(at, used)) + size;
        return true;
    }
    [[nodiscard]] std::uint32_t keys(std::int64_t arguments) const {
        return command.words_per_key == 0 || arguments < 2
                   ? 1
                   : static_cast<std::uint32_t>((arguments - 1) / command.words_per_key);
    }
};

Parsed array_request(Bytes bytes, ParserState& state) {
    const Count all = count_at(bytes, 0);
    if (all.verdict == Count::Verdict::kMore)
        return need_more(narrow(bytes.size()) + 1);
    if (all.verdict == Count::Verdict::kWrong || all.value > kArgumentsMax)
        return out_of_step();
    if (all.value <= 0)
        return a_part(narrow(all.bytes));  // Redis says nothing to it
    Arguments arguments;
    std::size_t at = all.bytes;
    for (std::int64_t argument = 0; argument < all.value; ++argument) {
        if (at + kCountBytesMax > kHeaderMax) {
            const auto keys = std::min<std::uint32_t>(arguments.keys(all.value), kAnswered - 1);
            state.phase = kArguments;
            state.parts = static_cast<std::uint32_t>(all.value - argument);
            state.bytes = narrow(at);
            state.operation = arguments.command.operation;
            state.extra = static_cast<std::uint16_t>(keys | (arguments.command.answered ? kAnswered : 0U));
            return a_part(narrow(at));
        }
        const Count count = count_at(bytes, at);
        if (count.verdict == Count::Verdict::kMore)
            return need_more(narrow(std::max(at, bytes.size())) + 1);
        if (count.verdict == Count::Verdict::kWrong || !is_bulk(bytes, at, count))
            return out_of_step();
        const auto size = static_cast<std::size_t>(count.value);
        if (!arguments.read(static_cast<std::size_t>(argument), bytes, at + count.bytes, size))
            return need_more(narrow(bytes.size()) + 1);
        at += count.bytes + size + kEnd;
    }
    return a_request(narrow(at), {.operation = arguments.command.operation,
                                  .answered = arguments.command.answered,
                                  .keys = arguments.keys(all.value),
                                  .request_bytes = narrow(at),
                                  .place = arguments.place});
}

Parsed inline_request(Bytes bytes, ParserState& state) {
    const std::size_t line = text::line_bytes(bytes);
    const Bytes text = line == 0 ? bytes : text::without_end(bytes.first(line));
    if (!text::is_text_so_far(text))
        return out_of_step();
    if (state.phase == kBegin && line == 0 && bytes.size() < kHeaderMax)
        return need_more(narrow(bytes.size()) + 1);
    text::Words words(text);
    const redis::Command command = redis::command(words.next());
    if (state.phase == kBegin && line != 0) {
        const Bytes key = words.next();
        if (text.empty())
            return a_part(narrow(line));
        const std::uint64_t place =
            key.empty() ? 0 : text::hash(key.first(std::min(key.size(), kKeyHashed))) + key.size();
        return a_request(narrow(line), {.operation = command.operation,
                                        .answered = command.answered,
                                        .request_bytes = narrow(line),
                                        .place = place});
    }
    if (state.phase == kBegin) {
        state.phase = kLine;
        state.operation = command.operation;
        state.extra = command.answered ? kAnswered : 0;
    }
    const std::size_t length = line == 0 ? bytes.size() : line;
    state.bytes = add_bytes(state.bytes, length);
    if (line == 0)
        return a_part(narrow(length));
    const Request request{
        .operation = state.operation, .answered = state.extra == kAnswered, .request_bytes = state.bytes};
    state = {};
    return a_request(narrow(length), request);
}

Parsed parse_request(Bytes bytes, ParserState& state) {
    if (state.phase == kArguments)
        return more_arguments(bytes, state);
    if (state.phase == kBegin && bytes[0] == '*')
        return array_request(bytes, state);
    return inline_request(bytes, state);
}

/// One element of a reply; an aggregate adds its own to those that are still to come.
/// @return its bytes; 0: more of them are needed; SIZE_MAX: it is none
std::size_t element(Bytes bytes, std::size_t at, std::uint32_t& left) {
    constexpr std::size_t kWrong = SIZE_MAX;
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
    const Count count = count_at(bytes, at);
    if (count.verdict == Count::Verdict::kMore)
        return 0;
    if (count.verdict == Count::Verdict::kWrong || count.value < -1)
        return kWrong;
    if (count.value == -1) {
        --left;
        return type == '$' || type == '*' ? count.bytes : kWrong;
    }
    if (type == '$' || type == '=' || type == '!') {
        --left;
        return count.value > kBulkMax ? kWrong : count.bytes + static_cast<std::size_t>(count.value) + kEnd;
    }
    const std::int64_t more = type == '%' || type == '|' ? 2 * count.value : count.value;
    if (more > kElementsMax - std::int64_t{left})
        return kWrong;
    left += static_cast<std::uint32_t>(more) - (type == '|' ? 0 : 1);
    return count.bytes;
}

/// So much of a reply is read, and `state` says what is left of it.
Parsed replied(ParserState& state, std::size_t bytes) {
    state.bytes = add_bytes(state.bytes, bytes);
    if (state.parts != 0 || state.phase == kLine)
        return a_part(narrow(bytes));
    const ParserState whole = state;
    state = {};
    if ((whole.extra & kPush) != 0)
        return a_part(narrow(bytes));
    return a_response(narrow(bytes), {.bytes = whole.bytes, .failed = (whole.extra & kFailed) != 0});
}

Parsed parse_response(Bytes bytes, ParserState& state) {
    ParserState next = state;
    std::size_t at = 0;
    if (state.phase == kLine) {
        at = text::line_bytes(bytes);
        state.phase = at == 0 ? kLine : kElements;
        return replied(state, at == 0 ? bytes.size() : at);
    }
    if (state.phase == kBegin) {
        const bool failed = bytes[0] == '-' || bytes[0] == '!';
        next.phase = kElements;
        next.parts = 1;
        next.extra = static_cast<std::uint16_t>((bytes[0] == '>' ? kPush : 0) | (failed ? kFailed : 0));
    }
    while (next.parts > 0 && at < bytes.size()) {
        std::uint32_t left = next.parts;
        const std::size_t size = element(bytes, at, left);
        if (size == SIZE_MAX)
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
    return replied(state, at);
}

bool request_begins(Bytes bytes) {
    if (bytes.empty() || bytes[0] != '*')
        return false;
    const Count all = count_at(bytes, 0);
    if (all.verdict != Count::Verdict::kCount || all.value < 1 || all.value > kArgumentsMax)
        return false;
    const Count name = count_at(bytes, all.bytes);
    if (name.verdict != Count::Verdict::kCount || !is_bulk(bytes, all.bytes, name) || name.value < 1)
        return false;
    const std::size_t at = all.bytes + name.bytes;
    const auto size = static_cast<std::size_t>(name.value);
    return bytes.size() >= at + size + kEnd && text::is_text(bytes.subspan(at, size)) &&
           bytes[at + size] == '\r' && bytes[at + size + 1] == '\n';
}

/// A reply that is whole, or at least its first element and the type of its second.
bool response_begins(Bytes bytes) {
    if (bytes.empty())
        return false;
    std::uint32_t left = 1;
    const std::size_t size = element(bytes.first(std::min<std::size_t>(bytes.size(), kHeaderMax)), 0, left);
    if (size == 0 || size == SIZE_MAX || size < 3)
        return false;
    if (size <= bytes.size() && (bytes[size - 2] != '\r' || bytes[size - 1] != '\n'))
        return false;
    const Bytes line = text::without_end(bytes.first(text::line_bytes(bytes)));
    if (!text::is_text(line))
        return false;
    return left == 0 || size >= bytes.size() || element(bytes, size, left) != SIZE_MAX;
}

}  // namespace

const Protocol kRedisProtocol{.name = "redis",
                              .header_max = kHeaderMax,
                              .ordered = true,
                              .request = parse_request,
                              .response = parse_response,
                              .request_begins = request_begins,
                              .response_begins = response_begins,
                              .lines = true};

}  // namespace weir
