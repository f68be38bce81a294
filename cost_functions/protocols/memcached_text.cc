// A line that the server would not understand is a request too: it is answered by an error. What the server
// takes for data is decided as the server does, so that both stay in step.
#include "cost_functions/protocols/memcached_text.h"

#include <algorithm>

#include "cost_functions/protocols/fields.h"
#include "cost_functions/protocols/text.h"

namespace weir::memcached {
namespace {

using text::word;
using text::Words;

constexpr std::size_t kKeyMax = 250;
constexpr std::uint32_t kDataEnd = 2;  // CRLF behind data
/// Pairs mn with MN, which close the quiet ones before; opaques are hashes, which have other low bits.
constexpr std::uint64_t kNoOpCookie = 2;
/// ParserState::extra of a long line among responses: it is one of several of a response.
constexpr std::uint16_t kOneOfSeveral = 1;

std::uint32_t size_of(Bytes bytes) {
    return static_cast<std::uint32_t>(bytes.size());
}

/// Only an empty line begins with a control character: TLS and its like are known at once.
bool may_begin(std::uint8_t first) {
    return first >= ' ' || first == '\r' || first == '\n';
}

/// One request of a whole line.
struct Line {
    Bytes all;  // with its end
    Bytes text;
    Words words;  // behind the verb

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

Parsed get(Line line, bool touches) {
    if (touches)
        line.words.next();  // exptime
    const Bytes key = line.words.next();
    if (key.empty())
        return line.control();
    Parsed parsed = line.request(Operation::kRead, key, true);
    while (!line.words.next().empty())
        ++parsed.request.keys;
    return parsed;
}

/// key flags exptime bytes [cas] [noreply], then the data
Parsed store(Line line, Operation operation) {
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

Parsed change(Line line, Operation operation) {
    const Bytes key = line.words.next();
    return key.empty() ? line.control() : line.request(operation, key, !line.noreply());
}

struct MetaFlags {
    bool quiet = false;
    bool appends = false;
    std::uint64_t cookie = 0;
};

MetaFlags meta_flags(Words& words) {
    MetaFlags flags;
    for (Bytes flag = words.next(); !flag.empty(); flag = words.next()) {
        if (flag[0] == 'q')
            flags.quiet = true;
        else if (flag[0] == 'O')
            flags.cookie = text::hash(flag);
        else if (flag[0] == 'M' && flag.size() > 1)
            flags.appends = (flag[1] | 0x20) == 'a' || (flag[1] | 0x20) == 'p';
    }
    return flags;
}

/// A quiet get is answered when it hits: known only where the response has its opaque.
Parsed meta(Line line, Operation operation, bool has_data) {
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

Parsed request_of(Line line) {
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

/// Up to the last blank, so that no word is cut; 0 when there is none.
std::size_t whole_words(Bytes bytes) {
    std::size_t size = bytes.size();
    while (size > 0 && bytes[size - 1] != ' ')
        --size;
    return size;
}

std::uint32_t count(Words words) {
    std::uint32_t keys = 0;
    while (!words.next().empty())
        ++keys;
    return keys;
}

/// A part of a long line: it belongs to the message whose bytes are counted in the state.
Parsed part_of_line(ParserState& state, std::size_t bytes) {
    if (state.bytes > kMessageMax)
        return out_of_step();
    state.bytes += static_cast<std::uint32_t>(bytes);
    return a_part(static_cast<std::uint32_t>(bytes));
}

Parsed begin_long_request(Bytes bytes, ParserState& state) {
    if (!text::is_text(bytes))
        return out_of_step();
    const std::uint64_t verb = word(Words(bytes).next());
    const bool touches = verb == word("gat") || verb == word("gats");
    const std::size_t size = whole_words(bytes);
    if ((touches || verb == word("get") || verb == word("gets")) && size != 0) {
        state.phase = kKeys;
        state.parts = count(Words(bytes.first(size))) - (touches ? 2 : 1);
        return part_of_line(state, size);
    }
    state.phase = kRestOfLine;
    return part_of_line(state, bytes.size());
}

Parsed go_on_long_request(Bytes bytes, ParserState& state) {
    const std::size_t line = text::line_bytes(bytes);
    const bool keys = state.phase == kKeys;
    const std::size_t size = line != 0 ? line : keys ? whole_words(bytes) : bytes.size();
    const Bytes text = line != 0 ? text::without_end(bytes.first(line)) : bytes.first(size);
    if (!text::is_text(text))
        return out_of_step();
    if (size == 0)
        return need_more(size_of(bytes) + 1);
    if (keys)
        state.parts += count(Words(text));
    Parsed parsed = part_of_line(state, size);
    if (line == 0 || parsed.verdict != Parsed::Verdict::kPart)
        return parsed;
    parsed = a_request(parsed.length, {.operation = keys ? Operation::kRead : Operation::kControl,
                                       .keys = keys ? std::clamp(state.parts, 1U, state.bytes) : 1,
                                       .request_bytes = state.bytes});
    state = {};
    return parsed;
}

Parsed response_of(ParserState& state, std::size_t length, Response response) {
    response.bytes = state.bytes + static_cast<std::uint32_t>(length);
    state = {};
    return a_response(static_cast<std::uint32_t>(length), response);
}

/// VALUE key flags bytes [cas], VA bytes flags: data follow.
Parsed values(Bytes line, Words words, ParserState& state, bool meta) {
    if (!meta) {
        words.next();
        words.next();
    }
    std::uint64_t data = 0;
    if (!text::number(words.next(), data) || data > kMessageMax - line.size() - kDataEnd)
        return out_of_step();
    const std::size_t length = line.size() + data + kDataEnd;
    return meta ? response_of(state, length, {.cookie = meta_flags(words).cookie})
                : part_of_line(state, length);
}

bool has_several(Bytes text) {
    constexpr std::string_view kDumped = "key=";
    const std::uint64_t first = word(Words(text).next());
    return first == word("STAT") || first == word("ITEM") || first == word("PREFIX") ||
           (text.size() > kDumped.size() && text::is(text.first(kDumped.size()), kDumped));
}

Parsed response_of_line(Bytes line, ParserState& state) {
    const Bytes text = text::without_end(line);
    Words words(text);
    const Bytes first = words.next();
    switch (word(first)) {
        case word("VALUE"):
            return values(line, words, state, false);
        case word("VA"):
            return values(line, words, state, true);
        case word("HD"):
        case word("EN"):
        case word("NF"):
        case word("NS"):
        case word("EX"):
            return response_of(state, line.size(), {.cookie = meta_flags(words).cookie});
        case word("MN"):
            return response_of(state, line.size(), {.cookie = kNoOpCookie});
        case word("END"):
        case word("STORED"):
            return response_of(state, line.size(), {});
        default:
            break;
    }
    if (!text::is_text(text))
        return out_of_step();
    if (has_several(text))
        return part_of_line(state, line.size());
    const bool failed =
        text::is(first, "ERROR") || text::is(first, "CLIENT_ERROR") || text::is(first, "SERVER_ERROR");
    return response_of(state, line.size(), {.failed = failed});
}

Parsed long_response(Bytes bytes, ParserState& state) {
    if (!text::is_text(bytes))
        return out_of_step();
    state.phase = kRestOfLine;
    state.extra = has_several(bytes) ? kOneOfSeveral : 0;
    return part_of_line(state, bytes.size());
}

Parsed go_on_long_response(Bytes bytes, ParserState& state) {
    const std::size_t line = text::line_bytes(bytes);
    if (line == 0 || state.extra == kOneOfSeveral) {
        if (line != 0)
            state.phase = kLine;
        return part_of_line(state, line == 0 ? bytes.size() : line);
    }
    return response_of(state, line, {});
}

/// Whether a line is one that only a server says.
bool says_server(Bytes text) {
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
            return text::is(first, "NOT_FOUND") || text::is(first, "NOT_STORED") ||
                   text::is(first, "CLIENT_ERROR") || text::is(first, "SERVER_ERROR");
    }
}

}  // namespace

Parsed text_request(Bytes bytes, ParserState& state) {
    if (state.phase != kLine)
        return go_on_long_request(bytes, state);
    if (!may_begin(bytes[0]))
        return out_of_step();
    const std::size_t size = text::line_bytes(bytes);
    if (size == 0)
        return bytes.size() < kHeaderMax ? need_more(size_of(bytes) + 1) : begin_long_request(bytes, state);
    const Bytes all = bytes.first(size);
    const Bytes text = text::without_end(all);
    return request_of({all, text, Words(text)});
}

Parsed text_response(Bytes bytes, ParserState& state) {
    if (state.phase != kLine)
        return go_on_long_response(bytes, state);
    if (!may_begin(bytes[0]))
        return out_of_step();
    const std::size_t size = text::line_bytes(bytes);
    if (size == 0)
        return bytes.size() < kHeaderMax ? need_more(size_of(bytes) + 1) : long_response(bytes, state);
    return response_of_line(bytes.first(size), state);
}

bool text_request_begins(Bytes bytes) {
    const std::size_t size = text::line_bytes(bytes.first(std::min<std::size_t>(bytes.size(), kHeaderMax)));
    if (size == 0 || !text::is_letter(bytes[0]))
        return false;
    const Bytes all = bytes.first(size);
    const Bytes text = text::without_end(all);
    const Parsed parsed = request_of({all, text, Words(text)});
    return parsed.verdict == Parsed::Verdict::kRequest && parsed.request.operation != Operation::kControl &&
           text::is_text(text);
}

bool text_response_begins(Bytes bytes) {
    const std::size_t size = text::line_bytes(bytes.first(std::min<std::size_t>(bytes.size(), kHeaderMax)));
    if (size == 0 || !text::is_letter(bytes[0]))
        return false;
    const Bytes text = text::without_end(bytes.first(size));
    ParserState state;
    return says_server(text) && text::is_text(text) &&
           response_of_line(bytes.first(size), state).verdict != Parsed::Verdict::kLost;
}

}  // namespace weir::memcached
