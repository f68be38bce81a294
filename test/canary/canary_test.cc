// canary_test.cc - tests that fail on purpose, one for each tool that must report a failure: test/run.sh
// takes a canary that passes for a failure of its suite. Threads: test, and two of its own.
#include <climits>
#include <memory>
#include <thread>

#include "test/support/catch.h"

TEST_CASE("canary: an assertion that does not hold", "[check]") {
    const int found = 1;
    CHECK(found == 2);
}

TEST_CASE("canary: a byte behind an allocation", "[address]") {
    const std::size_t size = 16;
    const auto bytes = std::make_unique<volatile char[]>(size);
    CHECK(bytes.get()[size] == bytes.get()[size]);
}

TEST_CASE("canary: a sum that overflows", "[undefined]") {
    volatile int most = INT_MAX;
    const int sum = most + 1;
    CHECK(sum == sum);
}

TEST_CASE("canary: two threads that write one variable", "[race]") {
    int shared = 0;
    const auto add = [&shared] {
        for (int i = 0; i < 100'000; ++i)
            *static_cast<volatile int*>(&shared) = shared + 1;
    };
    std::thread one(add);
    std::thread other(add);
    one.join();
    other.join();
    CHECK(shared >= 0);
}

TEST_CASE("canary: a branch on memory that was never written", "[memory]") {
    const std::unique_ptr<volatile int[]> numbers(new volatile int[4]);
    volatile int branches = 0;  // a write that no compiler makes without a branch
    if (numbers[2] > 7)
        branches = 1;
    CHECK(branches >= 0);
}
