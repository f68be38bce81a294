// memcached_text_request.cc - the text requests of memcached: a line, and data behind it for commands that
// store.
//
// A line that the server does not understand is a request too, because the server answers it by an error.
// Whether data follow is decided exactly as the server decides it, so that parser and server stay in step.
#include <algorithm>
#include <bit>

#include "cost_functions/protocols/memcached_text.h"

namespace weir::memcached {
namespace {

using text::word;
using text::Words;

constexpr std::size_t kKeyMax = 250;

/// A whole line.
struct Line {
    Bytes all;  // with CRLF
    Bytes text;
    Words words;  // those not read yet

    [[nodiscard]] bool noreply() const {
        constexpr std::string_view kWord = " noreply";
        return text.size() > kWord.size() && text::is(text.last(kWord.size()), kWord);
    }
    [[nodiscard]] Parsed request(Operation operation, Bytes key, bool answered,
                                 std::uint32_t data = 0) const {
        const std::uint32_t bytes = size_of(all) + data;
        return a_request(bytes, {.operation = operation,
                                 .answered = answered,
                                 .request_bytes = bytes,
                                 .place = key.empty() ? 0 : text::hash(key)});
    }
    [[nodiscard]] Parsed control(bool answered = true) const {
        if (!text::is_text(text))
            return out_of_step();
        return request(Operation::kControl, {}, answered);
    }
};

std::uint32_t count(Words words) {
    std::uint32_t keys = 0;
    while (!words.next().empty())
        ++keys;
    return keys;
}

Parsed get(Line& line, bool touches) {
    if (touches)
        line.words.next();  // exptime
    const Bytes key = line.words.next();
    if (key.empty())
        return line.control();
    Parsed parsed = line.request(Operation::kRead, key, true);
    parsed.request.keys += count(line.words);
    return parsed;
}

/// KEY FLAGS EXPTIME BYTES [CAS] [noreply], then data.
Parsed store(Line& line, Operation operation) {
    const Bytes key = line.words.next();
    line.words.next();
    line.words.next();
    std::uint64_t data = 0;
    if (!text::number(line.words.next(), data) || key.size() > kKeyMax)
        return line.control();
    if (data > kMessageMax - line.all.size() - kDataEnd)
        return out_of_step();
    return line.request(operation, key, !line.noreply(), static_cast<std::uint32_t>(data) + kDataEnd);
}

Parsed change(Line& line, Operation operation) {
    const Bytes key = line.words.next();
    return key.empty() ? line.control() : line.request(operation, key, !line.noreply());
}

/// A quiet get is answered only when it hits; its response can be recognized only by an opaque.
Parsed meta(Line& line, Operation operation, bool has_data) {
    const Bytes key = line.words.next();
    std::uint64_t data = 0;
    if (key.empty() || (has_data && !text::number(line.words.next(), data)))
        return line.control();
    if (data > kMessageMax - line.all.size() - kDataEnd)
        return out_of_step();
    const MetaFlags flags = meta_flags(line.words);
    const bool answered = !flags.quiet || (operation == Operation::kRead && flags.cookie != 0);
    Parsed parsed = line.request(flags.appends && has_data ? Operation::kUpdate : operation, key, answered,
                                 has_data ? static_cast<std::uint32_t>(data) + kDataEnd : 0);
    parsed.request.cookie = flags.cookie;
    return parsed;
}

Parsed request_of(Line& line) {
    using enum Operation;
    switch (word(line.words.next())) {
        case word("get"):
        case word("gets"):
            return get(line, false);
        case word("gat"):
        case word("gats"):
            return get(line, true);
        case word("set"):
        case word("add"):
        case word("replace"):
            return store(line, kWrite);
        case word("append"):
        case word("prepend"):
        case word("cas"):
            return store(line, kUpdate);
        case word("incr"):
        case word("decr"):
        case word("touch"):
            return change(line, kUpdate);
        case word("delete"):
            return change(line, kDelete);
        case word("mg"):
            return meta(line, kRead, false);
        case word("ms"):
            return meta(line, kWrite, true);
        case word("md"):
            return meta(line, kDelete, false);
        case word("ma"):
            return meta(line, kUpdate, false);
        case word("mn"): {
            Parsed parsed = line.control();
            parsed.request.cookie = kNoOpCookie;
            return parsed;
        }
        case word("quit"):
        case word("shutdown"):
            return line.control(false);
        default:
            return line.control(!line.noreply());
    }
}

/// Bytes up to and including the last blank, so that no word is cut; 0 without a blank.
std::size_t whole_words(Bytes bytes) {
    std::size_t size = bytes.size();
    while (size > 0 && bytes[size - 1] != ' ')
        --size;
    return size;
}

Parsed begin_long_request(Bytes bytes, ParserState& state) {
    if (!text::is_text(text::so_far(bytes)))
        return out_of_step();
    const std::uint64_t verb = word(Words(bytes).next());
    const bool touches = verb == word("gat") || verb == word("gats");
    const std::size_t size = whole_words(bytes);
    if ((touches || verb == word("get") || verb == word("gets")) && size != 0) {
        state.phase = kKeys;
        state.parts = count(Words(bytes.first(size))) - (touches ? 2 : 1);
        return part_of(state, size);
    }
    state.phase = kRestOfLine;
    return part_of(state, text::so_far(bytes).size());
}

Parsed continue_long_request(Bytes bytes, ParserState& state) {
    const std::size_t line = text::line_bytes(bytes);
    const bool keys = state.phase == kKeys;
    const Bytes text = line != 0 ? text::without_end(bytes.first(line)) : text::so_far(bytes);
    const std::size_t size = line != 0 ? line : keys ? whole_words(bytes) : text.size();
    if (!text::is_text(text))
        return out_of_step();
    if (size == 0)
        return need_more(size_of(bytes) + 1);
    if (keys)
        state.parts += count(Words(text.first(std::min(text.size(), size))));
    Parsed parsed = part_of(state, size);
    if (line == 0 || parsed.verdict != Parsed::Verdict::kPart)
        return parsed;
    parsed = a_request(parsed.length, {.operation = keys ? Operation::kRead : Operation::kControl,
                                       .keys = keys ? std::clamp(state.parts, 1U, state.bytes) : 1,
                                       .request_bytes = state.bytes});
    state = {};
    return parsed;
}

Parsed request_of_line(Bytes all) {
    const Bytes text = text::without_end(all);
    Line line{all, text, Words(text)};
    return request_of(line);
}

[[gnu::noinline]] Parsed any_request(Bytes bytes, ParserState& state) {
    if (state.phase != kLine)
        return continue_long_request(bytes, state);
    if (!may_begin(bytes[0]))
        return out_of_step();
    const std::size_t size = text::line_bytes(bytes);
    if (size == 0)
        return bytes.size() < kHeaderMax ? need_more(size_of(bytes) + 1) : begin_long_request(bytes, state);
    return request_of_line(bytes.first(size));
}

}  // namespace

/// Most requests are a get of one key or a set, on a line of at most 64 bytes. These are read from the
/// positions of the line's blanks; all others go to any_request().
Parsed text_request(Bytes bytes, ParserState& state) {
    constexpr std::uint32_t kGet = word("get ") & UINT32_MAX;
    constexpr std::uint32_t kSet = word("set ") & UINT32_MAX;
    const std::uint32_t verb = bytes.size() < 4 ? 0 : text::load<std::uint32_t>(bytes.data());
    if (state.phase != kLine || (verb != kGet && verb != kSet))
        return any_request(bytes, state);
    const text::Marks marks = text::marks(bytes);
    const std::size_t line = marks.line();
    // Clears the bit of the blank behind the verb. Two blanks side by side leave single_blanks() empty, so
    // that the bit is set instead and the line goes to any_request().
    const std::uint64_t blanks = marks.single_blanks() ^ std::uint64_t{1} << 3;
    if (line < 7 || bytes[line - 2] != '\r' || (blanks & 1 << 3) != 0 || (blanks == 0) != (verb == kGet))
        return any_request(bytes, state);
    const std::size_t key_end = verb == kGet ? line - 2 : static_cast<std::size_t>(std::countr_zero(blanks));
    std::uint64_t data = 0;
    if (verb == kSet) {
        const std::size_t before = text::third(blanks);
        if (before == 0 || !text::number(bytes.subspan(before + 1, line - before - 3), data) ||
            data > kMessageMax / 2)
            return any_request(bytes, state);
        data += kDataEnd;
    }
    const auto length = static_cast<std::uint32_t>(line + data);
    return a_request(length, {.operation = verb == kGet ? Operation::kRead : Operation::kWrite,
                              .request_bytes = length,
                              .place = text::hash(bytes.subspan(4, key_end - 4))});
}

bool text_request_begins(Bytes bytes) {
    const std::size_t size = text::line_bytes(bytes.first(std::min<std::size_t>(bytes.size(), kHeaderMax)));
    if (size == 0 || !text::is_alpha(bytes[0]))
        return false;
    const Parsed parsed = request_of_line(bytes.first(size));
    return parsed.verdict == Parsed::Verdict::kRequest && parsed.request.operation != Operation::kControl &&
           text::is_text(text::without_end(bytes.first(size)));
}

}  // namespace weir::memcached
