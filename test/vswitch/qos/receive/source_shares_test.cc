// source_shares_test.cc - floods of the wire, and the share of a source that sends little.
#include "vswitch/qos/receive/source_shares.h"

#include <algorithm>
#include <deque>
#include <memory>

#include "test/support/catch.h"
#include "test/support/random.h"

using namespace weir;

namespace {

constexpr VnicId kFloodedVm = 3;
constexpr std::uint32_t kFloodFrame = 1538;
constexpr std::uint32_t kFloodQueue = 256 * 1024;

/// A VM that takes 1 Gbit/s of the frames that may enter its queue.
struct Flooded {
    std::unique_ptr<SourceShares> shares = std::make_unique<SourceShares>(8, kSourceKey);
    testing::Random32 random{5};
    std::deque<bool> queue;  // whether the frame is of the source that is watched
    std::size_t longest = 0;
    double credit = 0;
    std::uint64_t offered = 0;
    std::uint64_t entered = 0;
    std::uint64_t taken = 0;
    std::uint64_t others = 0;
    Nanos now = kNanosPerSec;

    bool enter(std::uint64_t source, bool watched) {
        offered += watched;
        const auto queued = static_cast<std::uint32_t>(queue.size() * kFloodFrame);
        if (!shares->may_enter(kFloodedVm, {0, source}, kFloodFrame, queued, kFloodQueue, now))
            return false;
        queue.push_back(watched);
        entered += watched;
        longest = std::max(longest, queue.size());
        return true;
    }
    /// @param flood gives the source of the next frame of a flood of 10 Gbit/s
    /// @param mbit the rate of the watched source, in Mbit/s
    template <typename Flood>
    void run(Nanos duration, double mbit, Flood&& flood) {
        constexpr Nanos kStep = 10'000;
        double due = 0;
        double flood_due = 0;
        for (const Nanos end = now + duration; now < end; now += kStep) {
            for (flood_due += 10'000.0 * kStep / 8'000; flood_due > 0; flood_due -= kFloodFrame)
                enter(flood(), false);
            for (due += mbit * kStep / 8'000; due > 0; due -= kFloodFrame)
                enter(1'000'000, true);
            for (credit += 1000.0 * kStep / 8'000; credit > 0 && !queue.empty(); credit -= kFloodFrame) {
                (queue.front() ? taken : others) += kFloodFrame;
                queue.pop_front();
            }
        }
    }
    void restart() { offered = entered = taken = others = 0; }
    [[nodiscard]] double loss() const {
        return 1 - static_cast<double>(entered) / static_cast<double>(offered);
    }
};

}  // namespace

TEST_CASE("10,000 invented sources leave another one its equal share of what the VM takes", "[long]") {
    Flooded vm;
    const auto flood = [&] { return vm.random() % 10'000; };
    vm.run(400'000'000, 0.09, flood);
    vm.restart();
    vm.run(4'000'000'000, 0.09, flood);  // the equal share is 0.1 Mbit/s
    CHECK(vm.offered > 25);
    CHECK(vm.longest * kFloodFrame <= kFloodQueue);
    CHECK(vm.loss() < 0.05);
    CHECK(static_cast<double>(vm.taken + vm.others) > 0.99 * 500e6);
    vm.restart();
    vm.run(4'000'000'000, 10, flood);  // a source that asks for more gets no less
    CHECK(static_cast<double>(vm.taken) * 8 / 4 > 0.09e6);
}

TEST_CASE("a TCP sender behind 10,000 invented sources has at least its equal share", "[long]") {
    Flooded vm;
    // Its window doubles with each round trip of 2 ms without loss; a loss is found by a timer of 200 ms.
    unsigned window = 1;
    Nanos next = vm.now;
    const auto flood = [&] {
        if (vm.now >= next) {
            unsigned lost = 0;
            for (unsigned i = 0; i < window; ++i)
                lost += !vm.enter(1'000'000, true);
            next = vm.now + (lost != 0 ? 200'000'000 : 2'000'000);
            window = lost != 0 ? 1 : std::min(window * 2, 64U);
        }
        return vm.random() % 10'000;
    };
    vm.run(1'000'000'000, 0, flood);
    vm.restart();
    vm.run(8'000'000'000, 0, flood);
    CHECK(static_cast<double>(vm.taken) * 8 / 8 >= 1e9 / 10'001);
}

TEST_CASE("sources that never come again leave a steady one all it asks for") {
    Flooded vm;
    std::uint64_t next = 1'000'001;
    const auto flood = [&] { return next++; };
    vm.run(500'000'000, 200, flood);
    vm.restart();
    vm.run(300'000'000, 200, flood);
    CHECK(vm.loss() < 0.01);
    CHECK(static_cast<double>(vm.taken + vm.others) > 0.99 * 37.5e6);
}

TEST_CASE("one flood of 10 Gbit/s leaves another source the half of the VM's gigabit, not a tenth") {
    Flooded vm;
    const auto flood = [] { return std::uint64_t{0}; };
    vm.run(100'000'000, 450, flood);
    vm.restart();
    vm.run(500'000'000, 450, flood);
    CHECK(vm.loss() < 0.01);
    CHECK(static_cast<double>(vm.taken + vm.others) > 0.99 * 62.5e6);
    vm.restart();
    vm.run(500'000'000, 2'000, flood);
    CHECK(static_cast<double>(vm.taken) * 8 / 0.5 == Approx(500e6).epsilon(0.15));
}

TEST_CASE("the share does not fall while the queue is short") {
    SourceShares shares(1, kSourceKey);
    const std::uint64_t before = shares.share(0);
    for (Nanos now = 1; now < 50'000'000; now += 50'000)
        CHECK(shares.may_enter(0, {0, 1}, kFloodFrame, kFloodQueue / 8, kFloodQueue, now));
    CHECK(shares.share(0) >= before);
}
