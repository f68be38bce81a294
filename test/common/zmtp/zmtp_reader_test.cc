// zmtp_reader_test.cc - a client's bytes in every cut, bytes that break a rule, and random ones.
#include "common/zmtp/zmtp_reader.h"

#include <array>
#include <random>

#include "test/support/catch.h"

using namespace weir;
using zmtp::Parts;

namespace {

constexpr zmtp::MessageBounds kSmall{.bytes = 1'000, .parts = 3};

std::string ready(std::string_view type) {
    std::string body = "\5READY\x0bSocket-Type";
    body += std::string(3, '\0') + static_cast<char>(type.size());
    body += type;
    return std::string("\4") + static_cast<char>(body.size()) + body;
}

std::string frames(const std::vector<std::string_view>& parts) {
    return zmtp::frames_of(parts);
}

std::span<const std::uint8_t> bytes_of(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// Reads all bytes, in pieces of `piece`. Each message that becomes whole goes to `messages`.
void read_all(zmtp::Reader& reader, std::string_view text, std::size_t piece, std::vector<Parts>& messages) {
    while (!text.empty() && reader.fault().empty()) {
        const std::size_t given = std::min(piece, text.size());
        text.remove_prefix(reader.read(bytes_of(text.substr(0, given))));
        if (reader.has_message())
            messages.push_back(reader.take_message());
    }
}

std::string fault_of(const std::string& text) {
    zmtp::Reader reader(kSmall);
    std::vector<Parts> messages;
    read_all(reader, text, 64, messages);
    return reader.fault();
}

}  // namespace

TEST_CASE("messages are the same in every cut of their bytes, with commands between their parts") {
    const std::string large(300, 'x');
    const std::string ping("\4\x0a\4PING\0\1abc", 12);
    const std::string two = frames({"a", large});
    const std::string text = zmtp::greeting() + ready("DEALER") + frames({"", "one"}) + two.substr(0, 3) +
                             ping + two.substr(3) + frames({"last"});
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {
        zmtp::Reader reader(kSmall);
        std::vector<Parts> messages;
        read_all(reader, text, piece, messages);
        CHECK(reader.fault().empty());
        CHECK(reader.held() == 0);
        CHECK(messages == std::vector<Parts>{{"", "one"}, {"a", large}, {"last"}});
        const std::string answers = reader.take_answers();
        CHECK(answers.substr(2, 6) == "\5READY");
        CHECK(answers.ends_with(std::string("\4\x08\4PONGabc")));
    }
}

TEST_CASE("a message is refused where its parts or its bytes become too many, not when it is whole") {
    const std::string begin = zmtp::greeting() + ready("REQ");
    CHECK(fault_of(begin + frames({"a", "b", "c"})).empty());
    CHECK(fault_of(begin + frames({"", "", "", ""})) == "a message of more than 3 parts");
    CHECK(fault_of(begin + frames({std::string(1'000, 'x')})).empty());
    CHECK(fault_of(begin + frames({std::string(600, 'x'), std::string(401, 'x')})) ==
          "a message of more than 1000 bytes");
    const std::string endless("\2\x7f\xff\xff\xff\xff\xff\xff\xff", 9);
    CHECK(fault_of(begin + endless) == "a message of more than 1000 bytes");  // without one byte of it
    CHECK(fault_of(begin + std::string("\1\1a\2\xff\xff\xff\xff\xff\xff\xff\xff", 12)) ==
          "a message of more than 1000 bytes");
}

TEST_CASE("clients that do not keep to the protocol are refused, each with its reason") {
    CHECK(fault_of("GET / HTTP/1.1\r\n") == "bytes that are not of ZeroMQ");
    std::string old = zmtp::greeting();
    old[10] = '\1';
    CHECK(fault_of(old) == "a version of ZeroMQ's protocol below 3");
    std::string keyed = zmtp::greeting();
    keyed.replace(12, 5, "CURVE");
    CHECK(fault_of(keyed) == "a key, which this socket does not take");
    std::string similar = zmtp::greeting();
    similar.replace(12, 5, "NULLX");
    CHECK(fault_of(similar) == "a key, which this socket does not take");
    CHECK(fault_of(zmtp::greeting() + frames({"early"})) == "a message before READY");
    CHECK(fault_of(zmtp::greeting() + ready("SUB")) == "a socket that is neither REQ nor DEALER");
    CHECK(fault_of(zmtp::greeting() + std::string("\4\7\6READY\xff", 9)) ==
          "another command than READY first");
    CHECK(fault_of(zmtp::greeting() + std::string("\4\x08\5READY\x09q", 10)) ==
          "a READY that cannot be read");
    CHECK(fault_of(zmtp::greeting() + ready("REQ") + std::string("\x08\0", 2)) ==
          "a frame with unknown flags");
    CHECK(fault_of(zmtp::greeting() + ready("REQ") + std::string("\5\0", 2)) == "a frame with unknown flags");
    CHECK(fault_of(zmtp::greeting() + std::string("\6\0\0\0\0\0\0\4\1", 9)) ==
          "a command of more than 1024 bytes");
}

TEST_CASE("random bytes hold no more than the bounds, whatever they begin with") {
    std::mt19937 random(7);
    const std::string begin = zmtp::greeting() + ready("DEALER");
    for (int run = 0; run < 20'000; ++run) {
        std::string text = begin.substr(0, random() % 4 == 0 ? random() % begin.size() : begin.size());
        for (int frame = 0; frame < 8; ++frame) {
            const std::size_t size = random() % 400;
            text += static_cast<char>(random() % 8 == 0 ? random() : random() % 2);
            text += static_cast<char>(size);
            text += std::string(random() % 8 == 0 ? random() % 400 : size % 256, static_cast<char>(random()));
        }
        zmtp::Reader reader(kSmall);
        std::string_view left = text;
        while (!left.empty() && reader.fault().empty()) {
            left.remove_prefix(reader.read(bytes_of(left.substr(0, 1 + random() % 100))));
            REQUIRE(reader.held() <= kSmall.bytes);
            if (reader.has_message()) {
                const Parts parts = reader.take_message();
                REQUIRE(parts.size() <= kSmall.parts);
                REQUIRE_FALSE(parts.empty());
            }
            (void)reader.take_answers();
        }
    }
}
