// cycle_share_test.cc - a worker's cycles divided by shares, none of them wasted.
#include "vswitch/qos/schedulers/cycle_share.h"

#include <vector>

#include "test/support/catch.h"
#include "test/support/random.h"

using namespace weir;

namespace {

/// A worker whose vNICs always have work, of a fixed cost per burst.
struct Worker {
    CycleShare share;
    std::vector<std::uint64_t> burst;  ///< cycles; 0 = idle
    std::vector<std::uint64_t> spent;
    std::uint64_t idle_rounds = 0;

    explicit Worker(const std::vector<std::uint64_t>& bursts, const std::vector<std::uint32_t>& shares)
        : share(bursts.size()), burst(bursts), spent(bursts.size()) {
        for (std::size_t i = 0; i < bursts.size(); ++i)
            share.add(i, shares[i]);
    }

    void round() {
        bool worked = false;
        for (std::size_t i = 0; i < burst.size(); ++i) {
            if (!share.may_poll(i) || burst[i] == 0)
                continue;
            share.charge(i, burst[i]);
            spent[i] += burst[i];
            worked = true;
        }
        share.end_round();
        idle_rounds += !worked;
    }
    void spend(std::uint64_t cycles) {
        std::uint64_t total = 0;
        for (const std::uint64_t s : spent)
            total += s;
        for (const std::uint64_t end = total + cycles; total < end;) {
            round();
            total = 0;
            for (const std::uint64_t s : spent)
                total += s;
        }
    }
};

}  // namespace

TEST_CASE("two busy vNICs get cycles by shares, whatever a burst of theirs costs") {
    Worker w({4000, 40'000}, {100, 300});
    w.spend(400'000'000);
    CHECK(static_cast<double>(w.spent[1]) / static_cast<double>(w.spent[0]) == Approx(3).epsilon(0.01));
}

TEST_CASE("a 64-byte flood next to a lighter vNIC takes no more than its half") {
    Worker w({9000, 3000}, {100, 100});
    w.spend(100'000'000);
    CHECK(static_cast<double>(w.spent[0]) / static_cast<double>(w.spent[0] + w.spent[1]) ==
          Approx(0.5).epsilon(0.01));
}

TEST_CASE("a vNIC alone is polled every round: no round is lost to credit") {
    Worker w({5000, 0, 0}, {100, 100, 100});
    w.spend(100'000'000);
    CHECK(w.idle_rounds == 0);
}

TEST_CASE("a vNIC alone with the least shares and the heaviest bursts waits a few rounds, not thousands") {
    Worker w({600'000, 0}, {1, 10'000});
    for (int i = 0; i < 1000; ++i)
        w.round();
    CHECK(w.spent[0] >= 1000 / 20 * 600'000);
}

TEST_CASE("idle time earns no credit: after an idle hour a vNIC is one quantum ahead at most") {
    Worker w({5000, 0}, {100, 100});
    w.spend(100'000'000);
    w.burst[1] = 5000;
    const std::uint64_t before = w.spent[0];
    w.spend(20'000'000);
    const auto late = static_cast<double>(w.spent[1]);
    const auto steady = static_cast<double>(w.spent[0] - before);
    CHECK(late - steady <= 2 * CycleShare::kQuantum + 2 * 5000);
    CHECK(w.share.credit(1) <= CycleShare::kQuantum);
}

TEST_CASE("a debt holds all cycles that were used: polls of 4 ms take no more than their share") {
    Worker w({5000, 11'000'000, 600'000}, {100, 100, 1});
    w.spend(20'000'000'000);
    CHECK(static_cast<double>(w.spent[1]) / static_cast<double>(w.spent[0]) == Approx(1).epsilon(0.01));
    CHECK(static_cast<double>(w.spent[2]) / static_cast<double>(w.spent[0]) == Approx(0.01).epsilon(0.1));
    CHECK(w.idle_rounds == 0);
}

TEST_CASE("a debt ends at 2^32 cycles of the others") {
    CycleShare share(2);
    share.add(0, 100);
    share.add(1, 100);
    share.charge(0, 1ULL << 40);
    CHECK(share.credit(0) == -CycleShare::kDebtMax);
    std::int64_t others = 0;
    while (!share.may_poll(0)) {
        if (share.may_poll(1)) {
            share.charge(1, 50'000);
            others += 50'000;
        }
        share.end_round();
    }
    CHECK(others <= CycleShare::kDebtMax + 2 * CycleShare::kQuantum);
}

TEST_CASE("shares can change while vNICs run, and a removed vNIC is not polled") {
    Worker w({5000, 5000}, {100, 100});
    w.spend(10'000'000);
    w.share.set_shares(1, 400);
    w.spent = {0, 0};
    w.spend(200'000'000);
    CHECK(static_cast<double>(w.spent[1]) / static_cast<double>(w.spent[0]) == Approx(4).epsilon(0.01));
    w.share.remove(0);
    CHECK_FALSE(w.share.may_poll(0));
    w.spent = {0, 0};
    w.spend(1'000'000);
    CHECK(w.spent[0] == 0);
    CHECK(w.idle_rounds == 0);
}

TEST_CASE("property: a vNIC that always has work gets at least its part by shares") {
    weir::testing::Random32 random(23);
    for (int trial = 0; trial < 30; ++trial) {
        std::vector<std::uint64_t> bursts(2 + random() % 6);
        std::vector<std::uint32_t> shares(bursts.size());
        std::uint32_t all = 0;
        for (std::size_t i = 0; i < bursts.size(); ++i) {
            bursts[i] = 500 + random() % 60'000;
            shares[i] = 50 + random() % 500;
            all += shares[i];
        }
        Worker w(bursts, shares);
        std::uint64_t total = 0;
        for (int round = 0; round < 60'000; ++round) {
            for (std::size_t i = 1; i < bursts.size(); ++i)  // all but the first come and go
                if (random() % 64 == 0)
                    w.burst[i] = w.burst[i] == 0 ? bursts[i] : 0;
            w.round();
        }
        for (const std::uint64_t s : w.spent)
            total += s;
        const double part = static_cast<double>(w.spent[0]) / static_cast<double>(total);
        REQUIRE(part >= 0.98 * shares[0] / all);
        REQUIRE(w.idle_rounds < 60'000 / 50);  // when the last one with credit runs out of work
    }
}
