// timing_wheel_test.cc - never early, late by less than a slot, bounded per poll.
#include "vswitch/qos/buckets/timing_wheel.h"

#include <array>
#include <map>
#include <random>
#include <vector>

#include "test/support/catch.h"
#include "vswitch/qos/buckets/limiter.h"

using namespace weir;

namespace {

constexpr Nanos kSlot = 2048;
constexpr unsigned kMany = 1'000'000;

std::vector<std::uint32_t> fired(TimingWheel& wheel, Nanos now, unsigned budget = kMany) {
    std::vector<std::uint32_t> ids;
    const unsigned count = wheel.advance(
        now, budget, [&](TimingWheel::Ids span) { ids.insert(ids.end(), span.begin(), span.end()); });
    REQUIRE(count == ids.size());
    return ids;
}

}  // namespace

TEST_CASE("frames 12 us apart fall into slots 0, 2, 3, 5, 6, 8 of 8 us and leave at their starts") {
    TimingWheel wheel(6, 13);  // slots of 8.192 us: W1's whole numbers hold with a slot of 2^13 ns as well
    for (std::uint32_t i = 0; i < 6; ++i)
        wheel.insert(i, Nanos{i} * 12'000, 0);
    std::uint32_t id = 0;
    for (const Nanos slot : std::array<Nanos, 6>{0, 2, 3, 5, 6, 8}) {
        const Nanos start = slot << 13;
        CHECK(wheel.next_due() == start);
        if (start != 0)
            CHECK(fired(wheel, start - 1).empty());
        CHECK(fired(wheel, start) == std::vector{id++});
    }
    CHECK(wheel.next_due() == kNever);
}

TEST_CASE("an id that is due at once fires at the next advance, not in a slot that has passed") {
    TimingWheel wheel(4);
    wheel.insert(0, 10 * kSlot, 0);
    CHECK(fired(wheel, 10 * kSlot).size() == 1);
    wheel.insert(1, 0, 10 * kSlot);
    CHECK(wheel.next_due() == 11 * kSlot);
    CHECK(fired(wheel, 11 * kSlot) == std::vector<std::uint32_t>{1});
}

TEST_CASE("after an idle year the wheel starts at now") {
    TimingWheel wheel(4);
    wheel.insert(0, 100, 0);
    CHECK(fired(wheel, kSlot).size() == 1);
    const Nanos year = Nanos{365} * 86'400 * kNanosPerSec;
    wheel.insert(1, year + 5 * kSlot, year);
    CHECK(wheel.beyond_horizon() == 0);
    CHECK(fired(wheel, year + 4 * kSlot).empty());
    CHECK(fired(wheel, year + 6 * kSlot) == std::vector<std::uint32_t>{1});
}

TEST_CASE("beyond the horizon an id waits in the last slot and is counted") {
    TimingWheel wheel(4);
    wheel.insert(0, kNanosPerSec, 0);
    wheel.insert(1, kNever, 0);
    CHECK(wheel.beyond_horizon() == 2);
    CHECK(wheel.next_due() == wheel.horizon() - kSlot);
    CHECK(fired(wheel, wheel.next_due()).size() == 2);
}

TEST_CASE("a stall is caught up within the budget of each poll") {
    TimingWheel wheel(1000);
    for (std::uint32_t i = 0; i < 1000; ++i)
        wheel.insert(i, Nanos{i} * 100, 0);
    std::size_t total = 0;
    for (int poll = 0; poll < 10; ++poll) {
        CHECK(wheel.next_due() <= kNanosPerSec);
        const std::size_t count = fired(wheel, kNanosPerSec, 100).size();
        CHECK(count == 100);
        total += count;
    }
    CHECK(total == 1000);
    CHECK(wheel.size() == 0);
    CHECK(wheel.next_due() == kNever);
}

TEST_CASE("an id put back while its slot is handed out fires later, once") {
    TimingWheel wheel(4);
    wheel.insert(0, kSlot, 0);
    unsigned count = 0;
    wheel.advance(kSlot, kMany, [&](TimingWheel::Ids ids) {
        for (const std::uint32_t id : ids) {
            ++count;
            wheel.insert(id, 0, kSlot);
        }
    });
    CHECK(count == 1);
    CHECK(wheel.next_due() == 2 * kSlot);
}

TEST_CASE("removed ids do not fire, wherever they wait") {
    TimingWheel wheel(100);
    for (std::uint32_t i = 0; i < 60; ++i)
        wheel.insert(i, kSlot, 0);
    wheel.insert(60, 5 * kSlot, 0);
    CHECK(fired(wheel, kSlot, 10).size() == 10);  // 50 are left to be handed out
    CHECK(wheel.remove(0));
    CHECK_FALSE(wheel.remove(0));
    CHECK_FALSE(wheel.remove(99));
    CHECK(wheel.remove(60));
    CHECK(wheel.size() == 49);
    const auto rest = fired(wheel, 10 * kSlot);
    CHECK(rest.size() == 49);
    CHECK(std::find(rest.begin(), rest.end(), 0U) == rest.end());
    CHECK(wheel.next_due() == kNever);
}

TEST_CASE("what comes next is announced before what is handed out") {
    TimingWheel wheel(100);
    for (std::uint32_t i = 0; i < 40; ++i)
        wheel.insert(i, i < 30 ? kSlot : 2 * kSlot, 0);
    std::vector<bool> announced(100);
    std::size_t cold = 0;
    wheel.advance(
        2 * kSlot, kMany,
        [&](TimingWheel::Ids ids) {
            for (const std::uint32_t id : ids)
                cold += !announced[id];
        },
        [&](TimingWheel::Ids ids) {
            for (const std::uint32_t id : ids)
                announced[id] = true;
        });
    CHECK(cold == 2);  // the first chunk of all: 30 ids are 2 + 14 + 14
}

TEST_CASE("100,000 limiters take 64 bytes each, hot, and less than 10 in the wheel") {
    TimingWheel wheel(100'000);
    CHECK(sizeof(Limiter) == 64);
    CHECK(wheel.memory_bytes() < 100'000 * 10);
    for (std::uint32_t i = 0; i < 100'000; ++i)
        wheel.insert(i, (Nanos{i} * 7919) % (wheel.horizon() - kSlot), 0);
    CHECK(wheel.size() == 100'000);
    CHECK(wheel.beyond_horizon() == 0);
    CHECK(fired(wheel, wheel.horizon()).size() == 100'000);
}

TEST_CASE("property: every id fires once, not before its time, less than a slot after it if polled") {
    std::mt19937_64 random(13);
    constexpr std::uint32_t kIds = 500;
    TimingWheel wheel(kIds);
    std::map<std::uint32_t, Nanos> waiting;
    Nanos now = 12'345;
    for (int step = 0; step < 50'000; ++step) {
        const auto id = static_cast<std::uint32_t>(random() % kIds);
        if (!waiting.contains(id)) {
            const Nanos at = now + random() % (wheel.horizon() - 2 * kSlot);
            wheel.insert(id, at, now);
            waiting[id] = at;
        } else if (random() % 16 == 0) {
            REQUIRE(wheel.remove(id));
            waiting.erase(id);
        }
        REQUIRE(wheel.size() == waiting.size());
        const Nanos before = now;
        now += random() % 3000;
        for (const std::uint32_t out : fired(wheel, now)) {
            REQUIRE(waiting.contains(out));
            REQUIRE(waiting[out] <= now);
            REQUIRE(waiting[out] + kSlot > before);
            waiting.erase(out);
        }
        for (const auto& [id_left, at] : waiting)
            if (step % 64 == 0)
                REQUIRE(at + kSlot > now);
        REQUIRE((wheel.next_due() == kNever) == waiting.empty());
    }
}
