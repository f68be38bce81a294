// memcached_text_response.cc - the text responses of memcached: lines, values with data, statistics of
// several lines.
#include <algorithm>

#include "cost_functions/protocols/memcached_text.h"

namespace weir::memcached {
namespace {

using text::word;
using text::Words;

/// ParserState::extra within a long line: one of several lines of a response; an error.
constexpr std::uint16_t kOneOfSeveral = 1;
constexpr std::uint16_t kError = 2;

Parsed whole(ParserState& state, std::size_t length, Response response) {
    response.bytes = state.bytes + static_cast<std::uint32_t>(length);
    state = {};
    return a_response(static_cast<std::uint32_t>(length), response);
}

/// The value of a get, together with the END that usually follows it.
Parsed value(Bytes bytes, std::size_t line, std::uint64_t data, ParserState& state) {
    constexpr std::string_view kEnd = "END\r\n";
    const std::size_t length = line + data + kDataEnd;
    if (data > kMessageMax - line - kDataEnd)
        return out_of_step();
    if (length + kEnd.size() <= bytes.size() &&
        std::memcmp(bytes.data() + length, kEnd.data(), kEnd.size()) == 0)
        return whole(state, length + kEnd.size(), {});
    return part_of(state, length);
}

/// VALUE KEY FLAGS BYTES [CAS], or VA BYTES FLAGS of meta commands; data follow.
Parsed values(Bytes bytes, std::size_t line, Words& words, ParserState& state, bool meta) {
    if (!meta) {
        words.next();
        words.next();
    }
    std::uint64_t data = 0;
    if (!text::number(words.next(), data) || data > kMessageMax - line - kDataEnd)
        return out_of_step();
    return meta ? whole(state, line + data + kDataEnd, {.cookie = meta_flags(words).cookie})
                : value(bytes, line, data, state);
}

bool is_one_of_several(Bytes text) {
    constexpr std::string_view kDumped = "key=";
    const std::uint64_t first = word(Words(text).next());
    return first == word("STAT") || first == word("ITEM") || first == word("PREFIX") ||
           (text.size() > kDumped.size() && text::is(text.first(kDumped.size()), kDumped));
}

bool is_error(Bytes word) {
    return text::is(word, "ERROR") || text::is(word, "CLIENT_ERROR") || text::is(word, "SERVER_ERROR");
}

Parsed response_of_line(Bytes bytes, std::size_t line, ParserState& state) {
    const Bytes text = text::without_end(bytes.first(line));
    Words words(text);
    const Bytes first = words.next();
    switch (word(first)) {
        case word("VALUE"):
            return values(bytes, line, words, state, false);
        case word("VA"):
            return values(bytes, line, words, state, true);
        case word("HD"):
        case word("EN"):
        case word("NF"):
        case word("NS"):
        case word("EX"):
            return whole(state, line, {.cookie = meta_flags(words).cookie});
        case word("MN"):
            return whole(state, line, {.cookie = kNoOpCookie});
        default:
            break;
    }
    if (!text::is_text(text))
        return out_of_step();
    if (is_one_of_several(text))
        return part_of(state, line);
    return whole(state, line, {.failed = is_error(first)});
}

[[gnu::noinline]] Parsed any_response(Bytes bytes, ParserState& state) {
    const std::size_t line = text::line_bytes(bytes);
    if (state.phase == kLine && !may_begin(bytes[0]))
        return out_of_step();
    if (state.phase == kLine && line != 0)
        return response_of_line(bytes, line, state);
    if (state.phase == kLine) {
        if (bytes.size() < kHeaderMax)
            return need_more(size_of(bytes) + 1);
        if (!text::is_text(text::so_far(bytes)))
            return out_of_step();
        state.phase = kRestOfLine;
        state.extra = is_one_of_several(bytes) ? kOneOfSeveral : is_error(Words(bytes).next()) ? kError : 0;
        return part_of(state, bytes.size());
    }
    if (line == 0)
        return part_of(state, bytes.size());
    if (state.extra != kOneOfSeveral)
        return whole(state, line, {.failed = state.extra == kError});
    state.phase = kLine;
    return part_of(state, line);
}

/// A line that only servers send.
bool is_of_server(Bytes text) {
    Words words(text);
    const Bytes first = words.next();
    switch (word(first)) {
        case word("END"):
        case word("STORED"):
        case word("EXISTS"):
        case word("DELETED"):
        case word("TOUCHED"):
        case word("ERROR"):
        case word("MN"):
            return words.next().empty();
        case word("VALUE"):
        case word("VA"):
        case word("HD"):
        case word("EN"):
        case word("NF"):
        case word("NS"):
        case word("EX"):
            return true;
        default:
            return text::is(first, "NOT_FOUND") || text::is(first, "NOT_STORED") || is_error(first);
    }
}

}  // namespace

/// Most responses are one of three lines: VALUE without CAS, END or STORED. These are recognized by their
/// first eight bytes; all others go to any_response().
Parsed text_response(Bytes bytes, ParserState& state) {
    constexpr std::uint64_t kStored = word("STORED\r\n");
    constexpr std::uint64_t kEnd = word("END\r\n");
    constexpr std::size_t kEndBytes = 5;
    constexpr std::uint64_t kValue = word("VALUE ");
    constexpr std::uint64_t kValueMask = (std::uint64_t{1} << 48) - 1;
    if (state.phase != kLine || bytes.size() < kEndBytes)
        return any_response(bytes, state);
    // A segment often holds only the end of a value.
    std::uint64_t first = bytes[4];
    first = first << 32 | text::load<std::uint32_t>(bytes.data());
    if (first == kEnd)
        return whole(state, kEndBytes, {});
    if (bytes.size() < 8)
        return any_response(bytes, state);
    first = text::load<std::uint64_t>(bytes.data());
    if (first == kStored)
        return whole(state, 8, {});
    if ((first & kValueMask) != kValue)
        return any_response(bytes, state);
    const text::Marks marks = text::marks(bytes);
    const std::size_t line = marks.line();
    const std::size_t before = text::third(marks.single_blanks());
    std::uint64_t data = 0;
    if (before == 0 || bytes[line - 2] != '\r' ||
        !text::number(bytes.subspan(before + 1, line - before - 3), data))
        return any_response(bytes, state);
    return value(bytes, line, data, state);
}

bool text_response_begins(Bytes bytes) {
    const std::size_t line = text::line_bytes(bytes.first(std::min<std::size_t>(bytes.size(), kHeaderMax)));
    if (line == 0 || !text::is_alpha(bytes[0]))
        return false;
    const Bytes text = text::without_end(bytes.first(line));
    ParserState state;
    return is_of_server(text) && text::is_text(text) &&
           response_of_line(bytes, line, state).verdict != Parsed::Verdict::kLost;
}

}  // namespace weir::memcached
