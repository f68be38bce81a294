// promise_order_test.cc - promises that fit, and promises that a core cannot keep.
#include "vswitch/qos/schedulers/promise_order.h"

#include <array>

#include "test/support/catch.h"
#include "test/support/random.h"

using namespace weir;

namespace {

/// Rounds over three rings; `wants` says which have frames. @return polls of each
std::array<unsigned, 3> run(PromiseOrder& order, const std::array<FineTime, 3>& prices,
                            const std::array<bool, 3>& wants, unsigned rounds) {
    std::array<unsigned, 3> polls{};
    for (unsigned round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < prices.size(); ++i) {
            if (!wants[i] || !order.may_poll(i))
                continue;
            order.charge(i, prices[i]);
            ++polls[i];
        }
        order.end_round();
    }
    return polls;
}

}  // namespace

TEST_CASE("rings that were promised 2 to 1 are polled 2 to 1") {
    PromiseOrder order(3);
    const auto polls = run(order, {250, 500, 1}, {true, true, false}, 1'000);
    CHECK(polls[0] >= 2 * polls[1] - 2);
    CHECK(polls[0] <= 2 * polls[1] + 2);
    CHECK(polls[0] + polls[1] >= 1'000);  // no round passes without a poll
}

TEST_CASE("one ring alone is polled in every round, and idle time earns nothing") {
    PromiseOrder order(3);
    CHECK(run(order, {1'000'000, 10, 10}, {true, false, false}, 100)[0] == 100);
    const auto polls = run(order, {10, 10, 10}, {true, true, false}, 100);
    CHECK(polls[0] >= 49);
    CHECK(polls[1] <= polls[0] + 2);
}

TEST_CASE("for any prices, rings that are never empty differ by less than one poll's time of each") {
    testing::Random32 random(static_cast<std::uint32_t>(GENERATE(range(1, 20))));
    std::array<FineTime, 3> prices{};
    for (FineTime& price : prices)
        price = 1 + random() % 100'000;
    PromiseOrder order(3);
    std::array<FineTime, 3> served{};
    for (unsigned round = 0; round < 2'000; ++round) {
        for (std::size_t i = 0; i < prices.size(); ++i) {
            if (!order.may_poll(i))
                continue;
            order.charge(i, prices[i]);
            served[i] += prices[i];
        }
        order.end_round();
        for (std::size_t i = 0; i < prices.size(); ++i)
            for (std::size_t j = 0; j < prices.size(); ++j)
                REQUIRE(served[i] <= served[j] + prices[i] + prices[j]);
    }
}
