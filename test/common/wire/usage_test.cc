// usage_test.cc - the dumps of docs/protocol.md; what cannot be is left out.
#include "common/wire/usage.h"

#include "test/common/wire/wire_support.h"
#include "test/support/catch.h"

using namespace weir::wire;
using weir::GuaranteeKind;

namespace {

constexpr Usage kPeriod{.vnic = 3,
                        .guarantee = GuaranteeKind::kDynamic,
                        .began = 1'795'257'000'000'000'000,
                        .ended = 1'795'257'001'000'000'000,
                        .promised = 12'500'000,
                        .delivered = 9'000'000};

}  // namespace

TEST_CASE("a period comes back as it was said, and cannot be what there is not") {
    Bytes body;
    encode(kPeriod, body);
    REQUIRE(body.size() == kUsageBytes);
    std::vector<Usage> read;
    CHECK(decode(body, read) == 0);
    CHECK(read == std::vector{kPeriod});

    const auto refused = [&read](Usage wrong) {
        Bytes bytes;
        encode(wrong, bytes);
        encode(kPeriod, bytes);
        return decode(bytes, read) == 1 && read.size() == 1;
    };
    Usage wrong = kPeriod;
    wrong.guarantee = static_cast<GuaranteeKind>(4);
    CHECK(refused(wrong));
    wrong = kPeriod;
    std::swap(wrong.began, wrong.ended);
    CHECK(refused(wrong));
    wrong = kPeriod;
    wrong.began = wrong.ended;
    CHECK(refused(wrong));
    wrong = kPeriod;
    wrong.delivered = UINT64_MAX;
    CHECK(refused(wrong));
}

TEST_CASE("BILLED says up to when, in a message of one record") {
    CHECK(decode_billed(encode_billed(kPeriod.ended)) == kPeriod.ended);
    Header header{.type = Type::kBilled, .count = 1};
    Header read;
    CHECK(decode_header(encode_header(header), kBilledBytes, read) == Malformed::kNo);
    CHECK(decode_header(encode_header(header), 2 * kBilledBytes, read) != Malformed::kNo);
    header.count = 2;
    CHECK(decode_header(encode_header(header), 2 * kBilledBytes, read) == Malformed::kCount);
    header = {.type = Type::kUsage, .count = 2};
    CHECK(decode_header(encode_header(header), 2 * kUsageBytes, read) == Malformed::kNo);
}
