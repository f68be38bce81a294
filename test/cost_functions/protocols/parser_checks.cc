// parser_checks.cc - the checks of parsers, captures as segments, and the walk that counts requests and
// responses.
#include "test/cost_functions/protocols/parser_checks.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>

#include "test/support/catch.h"
#include "test/support/places.h"
#include "test/support/sanitized.h"

namespace weir {

Parsed parse(Parser parser, Bytes bytes, ParserState& state) {
    const auto copy = std::make_unique<std::uint8_t[]>(bytes.size());
    std::copy(bytes.begin(), bytes.end(), copy.get());
    return parser({copy.get(), bytes.size()}, state);
}

Parsed parse(Parser parser, Bytes bytes) {
    ParserState state;
    return parse(parser, bytes, state);
}

namespace {

bool same(const ParserState& a, const ParserState& b) {
    return a.parts == b.parts && a.bytes == b.bytes && a.operation == b.operation && a.phase == b.phase &&
           a.extra == b.extra;
}

// Bounds of every result of every parser.
void check_bounds(const Protocol& protocol, const Parsed& parsed, std::size_t given) {
    if (parsed.verdict == Parsed::Verdict::kMore) {
        REQUIRE(parsed.length > given);
        REQUIRE(parsed.length <= protocol.header_max);
    } else if (parsed.verdict != Parsed::Verdict::kLost) {
        REQUIRE(parsed.length > 0);
        REQUIRE(parsed.length <= kMessageMax);
    }
}

}  // namespace

Parsed check_header(const Protocol& protocol, Parser parser, Bytes message, std::size_t header,
                    ParserState state) {
    for (std::size_t given = 0; given < header; ++given) {
        ParserState before = state;
        const Parsed parsed = parse(parser, message.first(given), before);
        INFO("with " << given << " of " << header << " bytes");
        REQUIRE(parsed.verdict == Parsed::Verdict::kMore);
        check_bounds(protocol, parsed, given);
        REQUIRE(same(before, state));
    }
    const Parsed parsed = parse(parser, message.first(header), state);
    check_bounds(protocol, parsed, header);
    return parsed;
}

void check_any_bytes(const Protocol& protocol, Parser parser, const std::vector<Octets>& seeds) {
    std::mt19937_64 random(1);
    const auto below = [&random](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
    for (unsigned i = 0; i < weir::testing::rounds(200'000); ++i) {
        Octets bytes = i % 4 == 0 ? Octets(below(80)) : seeds[below(seeds.size())];
        if (i % 4 == 0)
            std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::uint8_t>(random()); });
        for (std::size_t change = below(4); change > 0 && !bytes.empty(); --change)
            bytes[below(bytes.size())] = static_cast<std::uint8_t>(random());
        bytes.resize(below(bytes.size() + 1));
        ParserState state{.phase = static_cast<std::uint8_t>(below(3) == 0 ? random() : below(8)),
                          .extra = static_cast<std::uint16_t>(below(2) == 0 ? random() : below(16))};
        check_bounds(protocol, parse(parser, bytes, state), bytes.size());
    }
}

std::uint64_t false_beginnings(bool (*begins)(Bytes), unsigned tries) {
    std::mt19937_64 random(2);
    constexpr std::size_t kSpan = 80;
    std::vector<std::uint8_t> bytes(kSpan + 8 * 1024);
    std::uint64_t found = 0;
    for (std::uint64_t done = 0; done < weir::testing::rounds(tries);) {
        std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::uint8_t>(random()); });
        for (std::size_t at = 0; at + kSpan <= bytes.size(); ++at, ++done)
            found += begins({bytes.data() + at, kSpan});
    }
    return found;
}

Tally Walk::tally() const {
    Tally tally = tally_;
    tally.outstanding = static_cast<std::uint32_t>(pending_.size());
    tally.left = request_.skip + request_.held.size() + response_.skip + response_.held.size();
    return tally;
}

void Walk::feed(Direction& direction, Bytes segment) {
    Octets due;
    while (tally_.lost == 0) {
        const auto skipped = std::min<std::uint64_t>(direction.skip, segment.size());
        direction.skip -= skipped;
        segment = segment.subspan(skipped);
        if (segment.empty())
            return;
        due = direction.held;
        const Bytes enough = segment.first(std::min(segment.size(), protocol_.header_max - due.size()));
        due.insert(due.end(), enough.begin(), enough.end());
        const Parser parser = direction.requests ? protocol_.request : protocol_.response;
        const Parsed parsed = parse(parser, due, direction.state);
        check_bounds(protocol_, parsed, due.size());
        if (parsed.verdict == Parsed::Verdict::kMore) {
            direction.held = due;
            return;
        }
        const std::uint64_t length = take(direction, parsed);
        if (length < direction.held.size()) {
            Octets rest(direction.held.begin() + static_cast<std::ptrdiff_t>(length), direction.held.end());
            rest.insert(rest.end(), segment.begin(), segment.end());
            direction.held.clear();
            feed(direction, rest);
            return;
        }
        direction.skip = length - direction.held.size();
        direction.held.clear();
    }
}

std::uint64_t Walk::take(Direction& direction, const Parsed& parsed) {
    switch (parsed.verdict) {
        case Parsed::Verdict::kRequest: {
            const Request& request = parsed.request;
            REQUIRE(direction.requests);
            ++tally_.requests[static_cast<std::size_t>(request.operation)];
            tally_.request_bytes += request.request_bytes;
            if (request.answered)
                pending_.emplace(request.cookie, Pending{request});
            return parsed.length;
        }
        case Parsed::Verdict::kResponse:
            REQUIRE_FALSE(direction.requests);
            return answer(parsed);
        case Parsed::Verdict::kPart:
            return parsed.length;
        default:
            ++tally_.lost;
            return parsed.length;
    }
}

std::uint64_t Walk::answer(const Parsed& parsed) {
    const Response& response = parsed.response;
    const auto found = pending_.find(response.cookie);
    std::uint64_t length = parsed.length;
    if (response.as_asked && (found == pending_.end() || !found->second.request.response_known)) {
        ++tally_.lost;
        return length;
    }
    if (response.as_asked)
        length = found->second.request.response_bytes;
    const std::uint64_t bytes = response.as_asked ? length : response.bytes;
    tally_.response_bytes += bytes;
    if (found == pending_.end()) {
        ++tally_.strays;
        return length;
    }
    Pending& pending = found->second;
    pending.received += bytes;
    pending.failed |= response.failed;
    if (!response.last) {
        ++tally_.parts;
        return length;
    }
    ++tally_.answered;
    tally_.failed += pending.failed;
    tally_.exact += pending.request.response_known && pending.received == pending.request.response_bytes;
    pending_.erase(found);
    return length;
}

std::vector<Sent> load_capture(const std::string& name) {
    std::ifstream stream(test::source_path("test/cost_functions/captures/" + name + ".bin"),
                         std::ios::binary);
    INFO(name);
    REQUIRE(stream.good());
    const Octets recorded{std::istreambuf_iterator<char>(stream), {}};
    std::vector<Sent> segments;
    // Records: '>' or '<', a length of four bytes, most significant first, and the bytes.
    for (Bytes rest = recorded; !rest.empty();) {
        REQUIRE(rest.size() > 5);
        std::size_t length = 0;
        for (std::size_t i = 1; i < 5; ++i)
            length = length << 8 | rest[i];
        REQUIRE(length <= rest.size() - 5);
        const Bytes bytes = rest.subspan(5, length);
        segments.push_back({rest[0] == '>', {bytes.begin(), bytes.end()}});
        rest = rest.subspan(5 + length);
    }
    return segments;
}

Tally walk(const Protocol& protocol, const std::vector<Sent>& segments, std::size_t cut) {
    Walk walk(protocol);
    for (const Sent& segment : segments)
        for (Bytes rest = segment.bytes; !rest.empty();) {
            const Bytes now = rest.first(std::min(rest.size(), cut));
            segment.request ? walk.request_segment(now) : walk.response_segment(now);
            rest = rest.subspan(now.size());
        }
    return walk.tally();
}

Tally walk(const Protocol& protocol, const std::vector<Sent>& segments) {
    const Tally whole = walk(protocol, segments, 1 << 16);
    for (const std::size_t cut : {1U, 2U, 3U, 7U, 16U, 24U, 31U, 47U, 48U, 49U, 72U, 536U, 1460U}) {
        INFO("in segments of " << cut);
        const Tally tally = walk(protocol, segments, cut);
        CHECK(tally.answered == whole.answered);
        CHECK(tally.left == whole.left);
        CHECK(tally == whole);
    }
    return whole;
}

}  // namespace weir
