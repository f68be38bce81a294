// cost_table_test.cc - prices of the shipped tables in numbers, and the size that a price depends on.
#include "cost_functions/cost_table.h"

#include "test/cost_functions/table_support.h"

using namespace weir;
using namespace weir::test;

TEST_CASE("the default table charges one token for each byte of request and response") {
    const CostTable table;
    for (std::size_t i = 0; i < kOperations; ++i)
        CHECK(table.tokens(static_cast<Operation>(i), 100, 4000) == 4100);
}

TEST_CASE("each size can be the one that the price depends on") {
    const auto costs = [](const std::string& size, std::uint32_t request, std::uint32_t response) {
        const CostTable table = valid_table(table_of(
            R"({"size": ")" + size + R"(", "shape": "linear", "base": 5, "tokens": 2, "per": "1B"})"));
        return table.tokens(Operation::kRead, request, response);
    };
    CHECK(costs("request", 10, 300) == 25);
    CHECK(costs("response", 10, 300) == 605);
    CHECK(costs("larger", 10, 300) == 605);
    CHECK(costs("larger", 300, 10) == 605);
    CHECK(costs("sum", 10, 300) == 625);
    CHECK(costs("sum", UINT32_MAX, UINT32_MAX) == UINT32_MAX);
}

TEST_CASE("an operation with a row of its own has its own price") {
    const CostTable table = valid_table(R"({"name": "n", "unit": "u", "source": "s", "operations": {
        "read": {"size": "response", "shape": "linear", "tokens": 1, "per": "1B"},
        "flush": {"size": "sum", "shape": "linear", "base": 9, "tokens": 0, "per": "1B"},
        "otherwise": {"size": "request", "shape": "linear", "tokens": 3, "per": "1B"}}})");
    CHECK(table.tokens(Operation::kRead, 10, 100) == 100);
    CHECK(table.tokens(Operation::kFlush, 10, 100) == 9);
    CHECK(table.tokens(Operation::kWrite, 10, 100) == 30);
    CHECK(table.tokens(Operation::kBytes, 10, 100) == 30);
}

TEST_CASE("ten reads of 500 bytes and of 4 KB cost the tokens of Pulsar 4.4") {
    const CostTable up = shipped_table("network_uplink");
    const CostTable down = shipped_table("network_downlink");
    CHECK(10 * up.tokens(Operation::kRead, 80, 500) == 800);
    CHECK(10 * down.tokens(Operation::kRead, 80, 500) == 5'000);
    CHECK(10 * up.tokens(Operation::kRead, 80, 4000) == 800);
    CHECK(10 * down.tokens(Operation::kRead, 80, 4000) == 40'000);
}

TEST_CASE("a key-value store charges a GET by its value and a PUT by its request, 8 KiB at least") {
    const CostTable table = shipped_table("key_value_store");
    CHECK(table.tokens(Operation::kRead, 40, 512) == 8192);
    CHECK(table.tokens(Operation::kRead, 40, 64 * kKi) == 64 * kKi);
    CHECK(table.tokens(Operation::kWrite, 512, 8) == 8192);
    CHECK(table.tokens(Operation::kWrite, 64 * kKi, 8) == 64 * kKi);
    CHECK(table.row(Operation::kRead).key_tokens == 8192);
}

TEST_CASE("an SSD charges its measured points, and writes more than reads") {
    const CostTable table = shipped_table("ssd_file_store");
    CHECK(table.tokens(Operation::kRead, 28, 4 * kKi) == 133);
    CHECK(table.tokens(Operation::kRead, 28, 8 * kKi) == 211);
    CHECK(table.tokens(Operation::kRead, 28, 128 * kKi) == 2621);
    CHECK(table.tokens(Operation::kRead, 28, 128 * kKi + 5000) == 2721);
    CHECK(table.tokens(Operation::kWrite, 4 * kKi, 16) == 278);
    // 10,000,000 tokens a second are 75,000 reads of 4 KiB.
    CHECK(10'000'000 / table.tokens(Operation::kRead, 28, 4 * kKi) == 75'187);
}

TEST_CASE("a hard disk's sequential reads cost the transfer, random ones the seek too") {
    const CostTable table = shipped_table("hdd_file_store");
    CHECK(table.tokens(Operation::kRead, 28, 4000) == 11'580);
    CHECK(table.tokens(Operation::kRead, 28, 4000, Access::kPlain) == 11'580);
    CHECK(table.tokens(Operation::kRead, 28, 4000, Access::kSequential) == 70);
    CHECK(table.tokens(Operation::kRead, 28, 1'000'000, Access::kSequential) == 5'050);
    // No price for repeats, and none for a sequential flush: the plain ones.
    CHECK(table.tokens(Operation::kRead, 28, 4000, Access::kRepeat) == 11'580);
    CHECK(table.tokens(Operation::kFlush, 28, 16, Access::kSequential) == 8'330);
}

TEST_CASE("encryption costs by algorithm") {
    const auto cost = [](const char* name) {
        return shipped_table(std::string("encryption_") + name).tokens(Operation::kBytes, 1400, 0);
    };
    CHECK(cost("aes_128_gcm") == 517);
    CHECK(cost("aes_256_gcm") == 553);
    CHECK(cost("aes_128_cbc_sha256") == 873);
    CHECK(cost("aes_256_cbc_sha256") == 1191);
}

TEST_CASE("a WAN optimizer charges repeated data as cached") {
    const CostTable table = shipped_table("wan_optimizer");
    CHECK(table.tokens(Operation::kWrite, 16 * kKi, 0) == 152'072);
    CHECK(table.tokens(Operation::kWrite, 16 * kKi, 0, Access::kRepeat) == 7'848);
    REQUIRE(table.facts().repeat);
    CHECK(table.facts().repeat->window == 60 * kNanosPerSec);
    CHECK(table.facts().repeat->block_bits == 12);
}

TEST_CASE("storage requests count by a base size") {
    const CostTable table = shipped_table("storage_requests");
    CHECK(table.tokens(Operation::kRead, 28, 16 * kKi) == 1);
    CHECK(table.tokens(Operation::kRead, 28, 64 * kKi) == 3);
    CHECK(table.tokens(Operation::kWrite, 48 * kKi, 16) == 2);
}
