// records_test.cc - demands, allocations and usage: their bytes, their bounds, and the changes that are sent.
#include "common/wire/records.h"

#include <limits>

#include "test/common/wire/wire_support.h"
#include "test/support/catch.h"
#include "test/support/random.h"

using namespace weir;
using namespace weir::wire;

namespace {

FlowDemand example() {
    FlowDemand record;
    record.flow = {3, 17};
    record.marks = FlowDemand::kNew;
    record.latency_us = 250;
    record.used = {80'000, 1'000, 1.5e6F};
    record.backlog = {0, 200, 0};
    record.queued = {0, 50, 0};
    record.outstanding = {0, 100, 0};
    return record;
}

template <typename Record>
Bytes bytes_of(const Record& record) {
    Bytes body;
    encode(record, body);
    return body;
}

// Encodes and decodes a demand. Returns 1 when it was left out.
std::size_t refused(const FlowDemand& record) {
    std::vector<FlowDemand> read;
    const std::size_t count = decode(bytes_of(record), read);
    REQUIRE(count + read.size() == 1);
    return count;
}

constexpr Usage kPeriod{.vnic = 3,
                        .guarantee = GuaranteeKind::kDynamic,
                        .began = 1'795'257'000'000'000'000,
                        .ended = 1'795'257'001'000'000'000,
                        .promised = 12'500'000,
                        .delivered = 9'000'000};

}  // namespace

TEST_CASE("a demand is these 60 bytes, as the protocol's page shows them") {
    const std::string dump = test::hex(bytes_of(example()));
    CHECK(dump ==
          "03 00 00 00 11 00 00 00 fa 00 00 10 00 40 9c 47\n"
          "00 00 7a 44 00 1b b7 49 00 00 00 00 00 00 48 43\n"
          "00 00 00 00 00 00 00 00 00 00 48 42 00 00 00 00\n"
          "00 00 00 00 00 00 c8 42 00 00 00 00");
    CHECK(test::protocol_page().find(dump) != std::string::npos);
}

TEST_CASE("an allocation is these 32 bytes, as the protocol's page shows them") {
    const FlowAllocation record{.flow = {3, 17}, .rate = {1'000'000, 1'500, kNoStatement}};
    const std::string dump = test::hex(bytes_of(record));
    CHECK(dump ==
          "03 00 00 00 11 00 00 00 40 42 0f 00 00 00 00 00\n"
          "dc 05 00 00 00 00 00 00 ff ff ff ff ff ff ff ff");
    CHECK(test::protocol_page().find(dump) != std::string::npos);
}

TEST_CASE("an impossible demand is refused, and the other records are used") {
    const float bad[] = {std::numeric_limits<float>::quiet_NaN(),
                         -std::numeric_limits<float>::quiet_NaN(),
                         -1.0F,
                         -1e-30F,
                         static_cast<float>(1e300),
                         1.1e15F,
                         std::numeric_limits<float>::infinity()};
    for (const float value : bad) {
        for (auto part :
             {&FlowDemand::used, &FlowDemand::backlog, &FlowDemand::queued, &FlowDemand::outstanding}) {
            for (std::size_t i = 0; i < kParts; ++i) {
                FlowDemand record = example();
                (record.*part)[i] = value;
                CHECK(refused(record) == 1);
            }
        }
    }
    FlowDemand edge = example();
    edge.used = {0.0F, kTokensMax, -0.0F};
    CHECK(refused(edge) == 0);

    Bytes body;
    encode(test::demand(1, 2, 10), body);
    encode(test::demand(1, 3, -10), body);
    encode(test::demand(1, 4, 30), body);
    std::vector<FlowDemand> read;
    CHECK(decode(body, read) == 1);
    REQUIRE(read.size() == 2);
    CHECK(read[0].flow.destination == 2);
    CHECK(read[1].flow.destination == 4);
}

TEST_CASE("the limit for which requests waited is in bits 30 and 31 beside the marks and the latency") {
    FlowDemand record = example();
    for (const auto& [blocked, last_byte] :
         {std::pair{Blocked::kNotStated, 0x10}, std::pair{Blocked::kAppliance, 0x50},
          std::pair{Blocked::kWay, 0x90}, std::pair{Blocked::kOwnLimit, 0xd0}}) {
        record.blocked = blocked;
        const Bytes bytes = bytes_of(record);
        CHECK(bytes[8] == 250);
        CHECK(bytes[11] == last_byte);
        std::vector<FlowDemand> read;
        CHECK(decode(bytes, read) == 0);
        CHECK(read.at(0) == record);
    }
}

TEST_CASE("a flow to itself and a flow twice are refused") {
    CHECK(refused(test::demand(5, 5, 1)) == 1);
    Bytes body;
    encode(test::demand(1, 2, 10), body);
    encode(test::demand(1, 2, 20), body);
    std::vector<FlowDemand> read;
    CHECK(decode(body, read) == 1);
    REQUIRE(read.size() == 1);
    CHECK(read[0].used[0] == 10);
}

TEST_CASE("a latency of more than four minutes is sent as the largest one") {
    FlowDemand record = example();
    record.latency_us = UINT32_MAX;
    std::vector<FlowDemand> read;
    CHECK(decode(bytes_of(record), read) == 0);
    CHECK(read.at(0).latency_us == FlowDemand::kLatencyMax);
    CHECK(read.at(0).marks == FlowDemand::kNew);
}

TEST_CASE("small changes are not sent; changes to and from 0 always are") {
    CHECK_FALSE(differs(test::demand(1, 2, 1000), test::demand(1, 2, 1009)));
    CHECK(differs(test::demand(1, 2, 1000), test::demand(1, 2, 1011)));
    CHECK(differs(test::demand(1, 2, 1000), test::demand(1, 2, 989)));
    CHECK(differs(test::demand(1, 2, 0), test::demand(1, 2, 1)));
    CHECK(differs(test::demand(1, 2, 1), test::demand(1, 2, 0)));
    FlowDemand held = test::demand(1, 2, 1000);
    held.blocked = Blocked::kOwnLimit;
    CHECK(differs(test::demand(1, 2, 1000), held));
    const FlowAllocation sent{.flow = {1, 2}, .rate = {1000, kNoStatement, kNoStatement}};
    FlowAllocation now = sent;
    CHECK_FALSE(differs(sent, now));
    now.rate[0] = 1004;
    CHECK_FALSE(differs(sent, now));
    now.rate[0] = 1006;
    CHECK(differs(sent, now));
    now = sent;
    now.rate[1] = UINT64_MAX - 1;
    CHECK(differs(sent, now));
}

TEST_CASE("any possible record is decoded as it was encoded") {
    testing::Random32 random{7};
    for (int round = 0; round < 2'000; ++round) {
        FlowDemand written;
        written.flow = {random(), random()};
        if (written.flow.source == written.flow.destination)
            continue;
        written.marks = random() % 4;
        written.blocked = static_cast<Blocked>(random() % kBlockedBy);
        written.latency_us = random() & FlowDemand::kLatencyMax;
        for (auto part :
             {&FlowDemand::used, &FlowDemand::backlog, &FlowDemand::queued, &FlowDemand::outstanding})
            for (float& value : written.*part)
                value = static_cast<float>(random()) * 1000.0F;
        std::vector<FlowDemand> demands;
        REQUIRE(decode(bytes_of(written), demands) == 0);
        REQUIRE(demands.at(0) == written);

        const FlowAllocation allocation{.flow = written.flow, .rate = {random(), kNoStatement, random()}};
        std::vector<FlowAllocation> allocations;
        REQUIRE(decode(bytes_of(allocation), allocations) == 0);
        REQUIRE(allocations.at(0) == allocation);
    }
}

TEST_CASE("a period of usage is decoded as it was encoded, and impossible ones are refused") {
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

TEST_CASE("BILLED carries the end of the stored periods, in a message of one record") {
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
