// peer_budget_test.cc - allowances by worked numbers; which switches are never refused, and which floods are.
#include "ctrl/daemon/peer_budget.h"

#include <nlohmann/json.hpp>

#include "test/support/amounts.h"
#include "test/support/catch.h"

using namespace weir;
using weir::testing::kMs;

namespace {

const Peer kHost1{"route", "h1"};
constexpr std::uint64_t kSmall = 100;

/// Messages of the peer that are taken, of so many at one time.
unsigned taken(PeerBudgets& budgets, const Peer& peer, bool is_hello, std::uint64_t bytes, unsigned count,
               Nanos now) {
    unsigned passed = 0;
    for (unsigned i = 0; i < count; ++i)
        passed += !budgets.refuse(peer, is_hello, bytes, now);
    return passed;
}

}  // namespace

TEST_CASE("4 a second with a burst of 10: 10 at once, then one after each 250 ms") {
    constexpr AllowedRate kFour{4, kNanosPerSec, 10};
    Allowance allowance;
    unsigned at_once = 0;
    for (int i = 0; i < 12; ++i)
        at_once += allowance.take(kFour, 1, kNanosPerSec);
    CHECK(at_once == 10);
    CHECK_FALSE(allowance.take(kFour, 1, kNanosPerSec + 250 * kMs - 1));
    CHECK(allowance.take(kFour, 1, kNanosPerSec + 250 * kMs));
    CHECK_FALSE(allowance.take(kFour, 1, kNanosPerSec + 250 * kMs));
    CHECK_FALSE(allowance.is_whole(kFour, kNanosPerSec + 2'750 * kMs - 1));
    CHECK(allowance.is_whole(kFour, kNanosPerSec + 2'750 * kMs));
}

TEST_CASE("no fraction of an allowance is lost, however often it is looked at") {
    constexpr AllowedRate kThree{3, kNanosPerSec, 3};
    Allowance allowance;
    std::uint64_t passed = 0;
    for (Nanos now = 0; now <= 100 * kNanosPerSec; now += 7 * kMs)
        passed += allowance.take(kThree, 1, now);
    CHECK(passed == 3 + 300 - 1);  // the last one would be due at 100 s, and the last look is at 99.995 s
}

TEST_CASE("what is more than the burst never passes, and a long time or an early one overflows nothing") {
    const WorkLimits limits = work_limits(60 * kNanosPerSec);
    const AllowedRate& bytes = limits[static_cast<std::size_t>(Work::kBytes)];
    Allowance allowance;
    CHECK_FALSE(allowance.take(bytes, bytes.burst + 1, 0));
    CHECK_FALSE(allowance.take(bytes, UINT64_MAX, 0));
    CHECK(allowance.take(bytes, bytes.burst, 1));
    CHECK(allowance.take(bytes, bytes.burst, kNever));
    CHECK_FALSE(allowance.take(bytes, bytes.burst, 1));  // a clock that goes back gives nothing
}

TEST_CASE("a switch that keeps to the protocol is never refused") {
    for (const Nanos interval : {100 * kMs, kNanosPerSec, 60 * kNanosPerSec}) {
        PeerBudgets budgets(interval, 20);
        unsigned refused = 0;
        for (Nanos now = 0; now < 120 * kNanosPerSec; now += 10 * kMs) {
            // 24,000 flows once an interval; between, a tenth of them, in each tenth of the interval.
            if (now % interval == 0)
                refused += budgets.refuse(kHost1, false, 32 + 24'000 * wire::kDemandBytes, now).has_value();
            else if (now % std::max(interval / 10, 10 * kMs) == 0)
                refused += budgets.refuse(kHost1, false, 32 + 240 * wire::kDemandBytes, now).has_value();
            if (now % kNanosPerSec == 0)  // 4,096 periods of a bill
                refused += budgets.refuse(kHost1, false, 32 + 4'096 * wire::kUsageBytes, now).has_value();
            if (now % (500 * kMs) == 0)  // a vNIC comes or leaves, of 1,024
                refused += budgets.refuse(kHost1, true, 100'000, now).has_value();
            if (now % interval == 0)
                refused += !budgets.take(kHost1, Work::kSnapshots, now);
        }
        CHECK(refused == 0);
    }
}

TEST_CASE("a HELLO of 20,000 vNICs is taken once a second") {
    PeerBudgets budgets(kNanosPerSec, 20);
    for (Nanos now = 0; now < 60 * kNanosPerSec; now += kNanosPerSec)
        CHECK_FALSE(budgets.refuse(kHost1, true, 1'400'000, now));
}

TEST_CASE("of a flood the burst is taken and then the rate, and other peers do not pay for it") {
    PeerBudgets budgets(kNanosPerSec, 20);
    CHECK(taken(budgets, kHost1, true, kSmall, 20, 0) == 10);
    CHECK(taken(budgets, kHost1, false, kSmall, 1'000, 0) == 400);  // 420 messages, of which 20 were HELLOs
    CHECK(taken(budgets, {"other", "h2"}, true, kSmall, 20, 0) == 10);
    CHECK(taken(budgets, {"other", "h1"}, true, kSmall, 20, 0) == 0);  // the same key on another connection
    CHECK(taken(budgets, kHost1, true, kSmall, 20, kNanosPerSec) == 4);
    const auto described = budgets.describe(2);
    CHECK(described["refused"]["hellos"] == 10 + 10 + 16);
    CHECK(described["refused"]["messages"] == 600 + 20);
    CHECK(described["peers"] == nlohmann::json::parse(R"([
        {"peer": "h1", "reason": "messages", "times": 620}, {"peer": "h1", "reason": "hellos", "times": 26}])"));
}

TEST_CASE("large messages are bounded by their bytes: four of the largest, then two in each interval") {
    PeerBudgets budgets(kNanosPerSec, 20);
    constexpr std::uint64_t kLargest = wire::kHeaderBytes + wire::kBodyBytesMax;
    CHECK(taken(budgets, kHost1, false, kLargest, 10, 0) == 4);
    CHECK(taken(budgets, kHost1, false, kLargest, 10, 10 * kNanosPerSec) == 4);
    CHECK(taken(budgets, kHost1, false, kLargest, 10, 11 * kNanosPerSec) == 2);
}

TEST_CASE("plain connections have accounts of their own, at most so many that are in use") {
    PeerBudgets budgets(kNanosPerSec, 20);
    const auto plain = [](std::size_t number) { return Peer{std::to_string(number), ""}; };
    for (std::size_t i = 0; i < 20; ++i)
        CHECK_FALSE(budgets.refuse(plain(i), true, kSmall, 0));
    CHECK(budgets.refuse(plain(5'000), true, kSmall, 0) == Work::kConnections);
    CHECK_FALSE(budgets.refuse(plain(7), true, kSmall, 0));
    CHECK_FALSE(budgets.refuse(kHost1, true, kSmall, 0));
    CHECK_FALSE(budgets.refuse(plain(5'000), true, kSmall, kNanosPerSec));  // the others are whole again
    CHECK(budgets.describe(10)["refused"]["connections"] == 1);
}
