// cost_function_test.cc - price list, locality, repeats and program together.
#include "cost_functions/cost_function.h"

#include "test/cost_functions/table_support.h"
#include "test/support/random.h"

using namespace weir;
using namespace weir::test;

namespace {

Request block_request(Operation operation, std::uint64_t place, std::uint32_t span) {
    Request request;
    request.operation = operation;
    request.request_bytes = operation == Operation::kWrite ? 28 + span : 28;
    request.place = place;
    request.span = span;
    return request;
}

CostFunction function_of(const std::string& table) {
    return CostFunction(std::make_shared<CostTable>(shipped_table(table)));
}

// Repeats cost a tenth, sequential ones a half.
CostFunction cached_function() {
    return CostFunction(std::make_shared<CostTable>(valid_table(table_of(
        R"({"size": "response", "key": 7, "shape": "linear", "base": 100, "tokens": 1, "per": "10B",
            "sequential": {"shape": "linear", "base": 50, "tokens": 1, "per": "20B"},
            "repeat": {"shape": "linear", "base": 10, "tokens": 1, "per": "100B"}})",
        R"("repeat": {"window": "10s", "capacity": 1024}, )"))));
}

class Doubler : public CostProgram {
  public:
    std::uint32_t tokens(const CostArguments& arguments) const noexcept override {
        return 2 * arguments.tokens + arguments.request_bytes + arguments.access;
    }
};

}  // namespace

TEST_CASE("a request is sequential when it begins where the last one ended, read or written") {
    CostFunction disk = function_of("hdd_file_store");
    CHECK(disk.tokens(block_request(Operation::kRead, 0, 4000), 4000, 0) == 11'580);
    CHECK(disk.tokens(block_request(Operation::kRead, 4000, 4000), 4000, 0) == 70);
    CHECK(disk.tokens(block_request(Operation::kWrite, 8000, 3972), 16, 0) == 70);
    CHECK(disk.tokens(block_request(Operation::kFlush, 0, 0), 16, 0) == 8'330);  // moves nothing
    CHECK(disk.tokens(block_request(Operation::kRead, 11'972, 4000), 4000, 0) == 70);
    CHECK(disk.tokens(block_request(Operation::kRead, 11'972, 4000), 4000, 0) == 11'580);  // backwards
    CHECK(disk.tokens(block_request(Operation::kRead, 16'000, 4000), 4000, 0) == 11'580);  // a hole
}

TEST_CASE("a request without a span is never sequential: its place is a hash") {
    CostFunction disk = function_of("hdd_file_store");
    CHECK(disk.tokens(block_request(Operation::kRead, 500, 0), 4000, 0) == 11'580);
    CHECK(disk.tokens(block_request(Operation::kRead, 500, 0), 4000, 0) == 11'580);
}

TEST_CASE("a repeat costs its own price within the window, and the full price later") {
    CostFunction cached = cached_function();
    const Request get = block_request(Operation::kRead, 77, 0);
    CHECK(cached.tokens(get, 1000, 0) == 200);
    CHECK(cached.tokens(get, 1000, kNanosPerSec) == 20);
    CHECK(cached.tokens(get, 1000, 11 * kNanosPerSec) == 20);
    CHECK(cached.tokens(get, 1000, 22 * kNanosPerSec) == 200);
}

TEST_CASE("a request that is repeated and sequential has the repeat's price") {
    CostFunction cached = cached_function();
    CHECK(cached.tokens(block_request(Operation::kRead, 0, 1000), 1000, 0) == 200);
    CHECK(cached.tokens(block_request(Operation::kRead, 1000, 1000), 1000, 0) == 100);
    CHECK(cached.tokens(block_request(Operation::kRead, 0, 1000), 1000, 0) == 20);
    CHECK(cached.tokens(block_request(Operation::kRead, 1000, 1000), 1000, 0) == 20);
}

TEST_CASE("a key that was deleted is no repeat; flushes and controls have no place") {
    CostFunction cached = cached_function();
    (void)cached.tokens(block_request(Operation::kWrite, 77, 0), 0, 0);
    (void)cached.tokens(block_request(Operation::kDelete, 77, 0), 0, 0);
    CHECK(cached.tokens(block_request(Operation::kRead, 77, 0), 1000, 0) == 200);
    for (const Operation operation : {Operation::kFlush, Operation::kControl, Operation::kBytes}) {
        CHECK(cached.tokens(block_request(operation, 5, 0), 1000, 0) == 200);
        CHECK(cached.tokens(block_request(operation, 5, 0), 1000, 0) == 200);
    }
}

TEST_CASE("a get of several keys pays for each and is never a repeat") {
    CostFunction cached = cached_function();
    Request get = block_request(Operation::kRead, 77, 0);
    (void)cached.tokens(get, 1000, 0);
    get.keys = 4;
    CHECK(cached.tokens(get, 1000, 0) == 221);
    get.keys = UINT32_MAX;
    CHECK(cached.tokens(get, 1000, 0) == UINT32_MAX);
    get.keys = 0;  // invalid, must be harmless
    CHECK(cached.tokens(get, 1000, 0) == 200);
}

TEST_CASE("a request is settled at the price of its own access, whatever requests came in between") {
    CostFunction cached = cached_function();
    const Request get = block_request(Operation::kRead, 77, 0);
    const Access first = cached.see(get, 0);
    const Access second = cached.see(get, 1);
    CHECK(first == Access::kPlain);
    CHECK(second == Access::kRepeat);
    CHECK(cached.tokens(get, 2000, first) == 300);
    CHECK(cached.tokens(get, 2000, second) == 30);
    CHECK(cached.tokens(get, 2000, first) == 300);
}

TEST_CASE("no request ever costs more than the table's plain price") {
    CostFunction cached = cached_function();
    CostFunction disk = function_of("hdd_file_store");
    testing::Random32 random(8);
    Nanos now = 0;
    for (int i = 0; i < 100'000; ++i) {
        now += random() % 100'000'000;
        const auto operation = static_cast<Operation>(random() % kOperations);
        const std::uint32_t span = random() % 3 * 4096;
        const Request request = block_request(operation, random() % 64 * 4096, span);
        const std::uint32_t response = random() >> (random() % 32);
        for (CostFunction* function : {&cached, &disk})
            REQUIRE(function->tokens(request, response, now) <=
                    function->tokens(request, response, Access::kPlain));
    }
}

TEST_CASE("a program gets the table's price and replaces it") {
    const auto table = std::make_shared<CostTable>(shipped_table("hdd_file_store"));
    CostFunction disk(table, std::make_shared<Doubler>());
    CHECK(disk.tokens(block_request(Operation::kRead, 0, 4000), 4000, 0) == 2 * 11'580 + 28);
    CHECK(disk.tokens(block_request(Operation::kRead, 4000, 4000), 4000, 0) == 2 * 70 + 28 + 1);
}

TEST_CASE("a sequence of 64 KiB reads on a hard disk costs 36 times less than the same at random") {
    CostFunction disk = function_of("hdd_file_store");
    std::uint64_t sequential = 0;
    std::uint64_t scattered = 0;
    for (std::uint64_t i = 0; i < 1'000; ++i)
        sequential += disk.tokens(block_request(Operation::kRead, i * 64 * kKi, 64 * kKi), 64 * kKi, 0);
    for (std::uint64_t i = 0; i < 1'000; ++i)
        scattered +=
            disk.tokens(block_request(Operation::kRead, (i * 7919 % 1000) * 64 * kKi, 64 * kKi), 64 * kKi, 0);
    CHECK(sequential == 999 * 378 + 11'888);
    CHECK(scattered == 1'000 * 11'888);
}
