// ip_address_test.cc - accepted and refused texts, their bytes, and comparison with inet_pton().
#include "common/ip_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "test/support/catch.h"
#include "test/support/random.h"
#include "test/support/sanitized.h"

using namespace weir;

namespace {

// The C library's result.
std::optional<IpAddress> oracle(const std::string& text) {
    IpAddress address;
    address.v6 = text.find(':') != std::string::npos;
    return ::inet_pton(address.v6 ? AF_INET6 : AF_INET, text.c_str(), address.bytes.data()) == 1
               ? std::optional(address)
               : std::nullopt;
}

void check(const std::string& text) {
    INFO(text);
    CHECK(IpAddress::parse(text) == oracle(text));
}

}  // namespace

TEST_CASE("an address is parsed to its bytes in wire order") {
    const auto v4 = IpAddress::parse("10.0.0.5");
    REQUIRE(v4);
    CHECK_FALSE(v4->v6);
    CHECK(v4->bytes == std::array<std::uint8_t, 16>{10, 0, 0, 5});
    const auto v6 = IpAddress::parse("fd00::1:ab");
    REQUIRE(v6);
    CHECK(v6->v6);
    CHECK(v6->bytes == std::array<std::uint8_t, 16>{0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0xab});
    CHECK(IpAddress::parse("fd00:0:0:0:0:0:1:AB") == v6);
    CHECK(IpAddress::parse("fd00::0.1.0.171") == v6);
}

TEST_CASE("addresses are accepted and refused as by the C library, and without a null byte") {
    for (const char* text : {"::", "::1", "1::", "1:2:3:4:5:6:7:8", "::1:2:3:4:5:6:7",
                             "1:2:3:4:5:6:7::", "::ffff:10.0.0.1", "1:2:3:4:5:6:1.2.3.4"}) {
        check(text);
        CHECK(IpAddress::parse(text));
    }
    for (const char* text : {"",
                             "1",
                             "1.2.3",
                             "1.2.3.4.5",
                             "1.2.3.4 ",
                             " 1.2.3.4",
                             "01.2.3.4",
                             "1.2.3.256",
                             "1.2.3.1000",
                             "1..2.3",
                             ".1.2.3",
                             "1.2.3.",
                             "1.2.3.-4",
                             "0x1.2.3.4",
                             "1.2.3.4/24",
                             ":",
                             ":::",
                             "1::2::3",
                             ":1:2:3:4:5:6:7",
                             "1:2:3:4:5:6:7",
                             "1:2:3:4:5:6:7:8::",
                             "::1:2:3:4:5:6:7:8",
                             "1:2:3:4:5:6:7:8:9",
                             "12345::",
                             "::g",
                             "fe80::1%eth0",
                             "1:2:3:4:5:6:7:1.2.3.4",
                             "::1.2.3",
                             "1.2.3.4::",
                             "::1.2.3.4:5",
                             "1:2:3:4:5:6:7:",
                             "1:"}) {
        check(text);
        CHECK_FALSE(IpAddress::parse(text));
    }
    CHECK_FALSE(IpAddress::parse(std::string_view("1.2.3.4\0", 8)));
    CHECK_FALSE(IpAddress::parse(std::string_view("::1\0:2", 6)));
    CHECK(IpAddress::parse(std::string_view("1.2.3.45", 7)) == IpAddress::parse("1.2.3.4"));
}

TEST_CASE("any text of such characters is accepted or refused as by the C library") {
    testing::Random32 source(7);
    const auto below = [&](std::size_t n) { return source() % n; };
    constexpr std::string_view kLetters = "0123456789abcfF::::....";
    for (unsigned i = 0; i < weir::testing::rounds(200'000); ++i) {
        std::string text(below(20), ' ');
        for (char& c : text)
            c = kLetters[below(kLetters.size())];
        if (IpAddress::parse(text) != oracle(text))
            check(text);
    }
    // Valid ones, and valid ones with one character changed.
    for (unsigned i = 0; i < weir::testing::rounds(20'000); ++i) {
        std::array<std::uint8_t, 16> bytes{};
        for (std::uint8_t& byte : bytes)
            byte = below(2) == 0 ? std::uint8_t{0} : static_cast<std::uint8_t>(below(256));
        const int family = i % 2 == 0 ? AF_INET : AF_INET6;
        std::array<char, INET6_ADDRSTRLEN> buffer{};
        REQUIRE(::inet_ntop(family, bytes.data(), buffer.data(), buffer.size()) != nullptr);
        std::string text = buffer.data();
        const auto parsed = IpAddress::parse(text);
        REQUIRE(parsed);
        const auto length = family == AF_INET ? 4 : 16;
        CHECK(std::equal(bytes.begin(), bytes.begin() + length, parsed->bytes.begin()));
        check(text);
        text[below(text.size())] = kLetters[below(kLetters.size())];
        check(text);
    }
}

TEST_CASE("addresses and networks are written as they are read") {
    for (const char* text : {"0.0.0.0", "10.0.0.5", "255.255.255.255", "::", "fd00::1:0:ab", "2001:db8::5"})
        CHECK(IpAddress::parse(text)->to_string() == text);
    for (const char* text : {"10.0.0.5", "10.0.0.0/24", "0.0.0.0/0", "fd00::1", "fd00::/64", "::/0"})
        CHECK(IpNetwork::parse(text)->to_string() == text);
    CHECK(IpNetwork::parse("10.0.0.5/32")->to_string() == "10.0.0.5");
}

TEST_CASE("a network ends with its last address, and overlaps those that contain it or that it contains") {
    const auto last = [](const char* text) { return IpNetwork::parse(text)->last().to_string(); };
    CHECK(last("10.0.0.0/22") == "10.0.3.255");
    CHECK(last("10.0.0.5") == "10.0.0.5");
    CHECK(last("fd00::/63") == "fd00::1:ffff:ffff:ffff:ffff");
    const auto overlap = [](const char* a, const char* b) {
        const IpNetwork first = *IpNetwork::parse(a);
        const IpNetwork second = *IpNetwork::parse(b);
        CHECK(first.overlaps(second) == second.overlaps(first));
        return first.overlaps(second);
    };
    CHECK(overlap("10.0.0.0/24", "10.0.0.7"));
    CHECK(overlap("10.0.0.0/24", "10.0.0.0/16"));
    CHECK(overlap("fd00::/64", "fd00::/64"));
    CHECK_FALSE(overlap("10.0.0.0/24", "10.0.1.0/24"));
    CHECK_FALSE(overlap("10.0.0.0/8", "a00::/8"));
}

TEST_CASE("only unicast addresses that a host on a network can have are host addresses") {
    for (const char* text :
         {"10.0.0.5", "192.0.2.255", "240.0.0.1", "fd00::1", "fe80::1", "2001:db8::5", "64:ff9b::a00:5"})
        CHECK(IpAddress::parse(text)->is_host());
    for (const char* text : {"0.0.0.0", "0.1.2.3", "127.0.0.1", "224.0.0.1", "239.255.255.255",
                             "255.255.255.255", "::", "::1", "ff02::1", "::ffff:10.0.0.5"})
        CHECK_FALSE(IpAddress::parse(text)->is_host());
}
