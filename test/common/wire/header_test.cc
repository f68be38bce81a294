// header_test.cc - the bytes of the header, and the malformed ones that are refused.
#include "common/wire/header.h"

#include "test/common/wire/wire_support.h"
#include "test/support/catch.h"

using namespace weir;
using namespace weir::wire;

namespace {

const Header kExample{.type = Type::kDemand,
                      .flags = flags::kSnapshot,
                      .epoch = 1'795'257'000,
                      .session = 0x1F2E3D4C,
                      .sequence = 7,
                      .interval = 42,
                      .count = 2};

constexpr std::size_t kExampleBody = 2 * kDemandBytes;

Malformed decoded(const HeaderBytes& bytes, std::size_t body = kExampleBody) {
    Header header;
    return decode_header(bytes, body, header);
}

}  // namespace

TEST_CASE("a header is these 32 bytes, as the protocol's page shows them") {
    const std::string dump = test::hex(encode_header(kExample));
    CHECK(dump ==
          "57 45 49 52 01 04 01 00 a8 72 01 6b 00 00 00 00\n"
          "4c 3d 2e 1f 07 00 00 00 2a 00 00 00 02 00 00 00");
    CHECK(test::protocol_page().find(dump) != std::string::npos);
}

TEST_CASE("a header is decoded as it was encoded") {
    Header read;
    REQUIRE(decode_header(encode_header(kExample), kExampleBody, read) == Malformed::kNo);
    CHECK(read == kExample);
}

TEST_CASE("every impossible byte of a header is refused with its reason") {
    const auto with = [](std::size_t at, std::uint8_t value) {
        HeaderBytes bytes = encode_header(kExample);
        bytes[at] = value;
        return bytes;
    };
    for (std::size_t at = 0; at < 4; ++at)
        CHECK(decoded(with(at, 'X')) == Malformed::kMagic);
    CHECK(decoded(with(4, 2)) == Malformed::kVersion);
    CHECK(decoded(with(5, 0)) == Malformed::kType);
    CHECK(decoded(with(5, 10)) == Malformed::kType);
    CHECK(decoded(with(6, 8)) == Malformed::kFlags);
    CHECK(decoded(with(7, 1)) == Malformed::kFlags);
    CHECK(decoded(with(28, 3)) == Malformed::kSize);
}

TEST_CASE("a body that is not `count` records is refused") {
    const HeaderBytes bytes = encode_header(kExample);
    CHECK(decoded(bytes, kExampleBody - 1) == Malformed::kSize);
    CHECK(decoded(bytes, 0) == Malformed::kSize);
    Header heartbeat{.type = Type::kHeartbeat};
    CHECK(decoded(encode_header(heartbeat), 0) == Malformed::kNo);
    heartbeat.count = 1;
    CHECK(decoded(encode_header(heartbeat), 1) == Malformed::kCount);
    const Header huge{.type = Type::kHello, .count = (4U << 20) + 1};
    CHECK(decoded(encode_header(huge), huge.count) == Malformed::kSize);
}

TEST_CASE("a header that is cut or too long is refused") {
    const HeaderBytes bytes = encode_header(kExample);
    Header header;
    for (std::size_t size = 0; size < kHeaderBytes; ++size)
        CHECK(decode_header(std::span(bytes).first(size), kExampleBody, header) == Malformed::kShort);
    Bytes longer(bytes.begin(), bytes.end());
    longer.push_back(0);
    CHECK(decode_header(longer, kExampleBody, header) == Malformed::kSize);
}

TEST_CASE("of a header of another version, the version and the session are known, whatever its length") {
    HeaderBytes bytes = encode_header(kExample);
    CHECK_FALSE(other_version(bytes));
    bytes[4] = 7;
    Bytes longer(bytes.begin(), bytes.end());
    longer.resize(64);
    const std::span<const std::uint8_t> all(longer);
    for (const auto each : {all.first(32), all.first(20), all}) {
        const auto other = other_version(each);
        REQUIRE(other);
        CHECK(other->version == 7);
        CHECK(other->session == kExample.session);
    }
    CHECK_FALSE(other_version(std::span(longer).first(19)));
    bytes[0] = 'X';
    CHECK_FALSE(other_version(bytes));
}
