// request_gate_test.cc - the multi-resource bucket of Pulsar 4.4 by its worked numbers, order, passing, and
// properties that hold for any requests.
#include "vswitch/qos/requests/request_gate.h"

#include <algorithm>
#include <deque>
#include <map>
#include <random>

#include "test/support/amounts.h"
#include "test/support/catch.h"

using namespace weir;
using weir::testing::kMs;

namespace {

constexpr Nanos kSec = kNanosPerSec;
constexpr CostVector kRead500{80, 0, 500};
constexpr CostVector kRead4k{80, 0, 4000};

BucketProfile rate(std::uint64_t per_second, std::uint64_t burst) {
    return make_profile(per_second, burst);
}

RequestGate::Profile limits_of(std::uint64_t appliance, std::uint64_t downlink, bool multi = true) {
    return {.limits = {rate(appliance, appliance), unlimited_profile(), rate(downlink, downlink),
                       unlimited_profile()},
            .multi_resource = multi,
            .window = {}};
}

/// A gate and its wheel; packets are numbers, connections too.
class Gate {
  public:
    explicit Gate(const RequestGate::Profile& profile) { gate.open(0, profile, nullptr, now); }

    /// @return whether it passed at once
    bool send(std::uint64_t connection, std::uintptr_t number, const CostVector& cost) {
        if (gate.admit(0, connection, cost, now)) {
            passed.push_back({now, number});
            return true;
        }
        // NOLINTNEXTLINE(performance-no-int-to-ptr): opaque to the gate
        const PacketRef packet{reinterpret_cast<void*>(number), now, 100, 1, 1};
        const auto at = static_cast<std::uint32_t>(number);
        REQUIRE(gate.has_room(0, connection, packet.bytes));
        gate.hold(0, {packet, connection, at}, cost, {at, at + 1}, now);
        return false;
    }
    void run(Nanos until) {
        while (wheel.next_due() <= until) {
            now = std::max(now, wheel.next_due());
            wheel.advance(now, 64, [this](TimingWheel::Ids) {
                gate.wake(0, now, [this](const RequestGate::Held& held) {
                    passed.push_back({now, reinterpret_cast<std::uintptr_t>(held.packet.packet)});
                });
            });
        }
        now = until;
    }
    [[nodiscard]] RequestFlowStats stats() const {
        RequestFlowStats stats;
        gate.read(0, now, stats);
        return stats;
    }

    Nanos now = 0;
    TimingWheel wheel{1};
    RequestGate gate{{.flows = 1, .connections = 128, .packets = 2048, .wheel = &wheel, .wheel_id = 0}};
    std::vector<std::pair<Nanos, std::uintptr_t>> passed;
};

}  // namespace

TEST_CASE(
    "of ten reads of 4 KB by a flow with (800, 5000) one passes, the next after 0.6 s, then every 0.8 "
    "s") {
    Gate gate(limits_of(800, 5000));
    for (std::uintptr_t i = 0; i < 10; ++i)
        CHECK(gate.send(1, i, kRead4k) == (i == 0));
    gate.run(10 * kSec);
    REQUIRE(gate.passed.size() == 10);
    for (std::uintptr_t i = 0; i < 10; ++i) {
        const Nanos due = i == 0 ? 0 : 600 * kMs + (i - 1) * 800 * kMs;
        CHECK(gate.passed[i].second == i);
        CHECK(gate.passed[i].first >= due);
        CHECK(gate.passed[i].first < due + 3'000);  // a slot of the wheel
    }
    CHECK(gate.stats().used == std::array<std::uint64_t, 4>{800, 0, 40'000, 0});
    CHECK(gate.stats().blocked_ns[2] > 7 * kSec);
    CHECK(gate.stats().blocked_ns[0] == 0);
}

TEST_CASE(
    "a flow that goes from 500-byte to 4-KB reads stays within both; with one bucket it takes eight times") {
    for (const bool multi : {true, false}) {
        Gate gate(limits_of(800, 5000, multi));
        for (std::uintptr_t i = 0; i < 10; ++i)
            CHECK(gate.send(1, i, kRead500));  // its allocation to the last token
        gate.run(kSec);
        for (std::uintptr_t i = 10; i < 30; ++i)
            gate.send(1, i, kRead4k);
        const std::uint64_t before = 10 * 500;
        gate.run(2 * kSec);
        const std::uint64_t taken = gate.stats().used[2] - before;
        INFO("multi-resource " << multi);
        CHECK(taken <= (multi ? 2 * 5000 : 2 * 8 * 5000));  // a full bucket, and the tokens of a second
        CHECK(taken >= (multi ? 8000 : 8 * 5000));
    }
}

TEST_CASE("what waits for the way back does not hold up what does not need it, on other connections") {
    Gate gate({.limits = {unlimited_profile(), rate(1000, 1000), rate(1000, 1000), unlimited_profile()},
               .window = {}});
    CHECK(gate.send(1, 0, {1, 0, 1500}));
    CHECK_FALSE(gate.send(1, 1, {1, 0, 500}));
    CHECK(gate.send(2, 2, {1, 500, 0}));        // a write of another connection
    CHECK_FALSE(gate.send(1, 3, {1, 500, 0}));  // of the same: in order
    CHECK_FALSE(gate.send(3, 4, {1, 0, 1}));    // needs downlink tokens, for which number 1 waits
    CHECK(gate.gate.held(0, 1).from == 1);
    CHECK(gate.gate.held(0, 1).to == 4);
    CHECK(gate.gate.held(0, 2).to == 0);
    gate.run(2 * kSec);
    REQUIRE(gate.passed.size() == 5);
    CHECK(gate.passed[2].second == 1);
    CHECK(gate.stats().held == 0);
}

TEST_CASE("segments without a request follow the one before them at once") {
    Gate gate({.limits = {rate(100, 100), unlimited_profile(), unlimited_profile(), unlimited_profile()},
               .window = {}});
    CHECK(gate.send(1, 0, {100, 0, 0}));
    CHECK(gate.send(1, 1, {}));
    CHECK_FALSE(gate.send(1, 2, {100, 0, 0}));
    CHECK_FALSE(gate.send(1, 3, {}));
    CHECK_FALSE(gate.send(1, 4, {100, 0, 0}));
    gate.run(kSec + 10'000);
    REQUIRE(gate.passed.size() == 4);
    CHECK(gate.passed[3].first == gate.passed[2].first);
    CHECK(gate.send(2, 9, {}));  // nothing to pay
}

TEST_CASE("settling charges what was missing and gives back what was too much") {
    Gate gate(limits_of(1000, 1000));
    CHECK(gate.send(1, 0, {10, 0, 1000}));
    CHECK_FALSE(gate.send(1, 1, {10, 0, 500}));
    gate.gate.settle(0, PathResource::kDownlink, 1000, 200, gate.now);
    gate.run(10'000);
    CHECK(gate.passed.size() == 2);
    CHECK(gate.stats().used[2] == 700);
    gate.gate.settle(0, PathResource::kDownlink, 500, 2500, gate.now);  // 300 left: now 1700 in debt
    CHECK_FALSE(gate.send(1, 2, {10, 0, 100}));
    gate.run(1790 * kMs);
    CHECK(gate.passed.size() == 2);
    gate.run(1810 * kMs);
    CHECK(gate.passed.size() == 3);
}

TEST_CASE("bounds: bytes, places and connections; what was refused was not taken") {
    TimingWheel wheel(2);
    RequestGate gate({.flows = 2, .connections = 2, .packets = 4, .wheel = &wheel, .wheel_id = 0});
    RequestGate::Profile profile{
        .limits = {rate(1, 1), unlimited_profile(), unlimited_profile(), unlimited_profile()},
        .bytes_max = 1000,
        .window = {}};
    gate.open(0, profile, nullptr, 0);
    gate.open(1, profile, nullptr, 0);
    const CostVector one{1, 0, 0};
    CHECK(gate.admit(0, 1, one, 0));
    CHECK(gate.admit(1, 2, one, 0));
    const PacketRef packet{nullptr, 0, 400, 1, 1};
    CHECK(gate.has_room(0, 1, 400));
    gate.hold(0, {packet, 1, 0}, one, {0, 1}, 0);
    CHECK(gate.has_room(0, 1, 400));
    gate.hold(0, {packet, 1, 0}, one, {1, 2}, 0);
    CHECK_FALSE(gate.has_room(0, 1, 400));  // 1200 bytes
    CHECK(gate.has_room(1, 2, 400));
    gate.hold(1, {packet, 2, 0}, one, {0, 1}, 0);
    CHECK(gate.has_room(1, 3, 400));
    gate.hold(1, {packet, 3, 0}, one, {0, 1}, 0);
    CHECK_FALSE(gate.has_room(1, 4, 100));  // of four, the other flow has one, and one is free
    unsigned taken = 0;
    gate.close(0, 0, [&](const PacketRef&) { ++taken; });
    CHECK(taken == 2);
    CHECK(wheel.size() == 1);
    CHECK(gate.has_room(0, 1, 400));
}

TEST_CASE("a flow that waits for nothing has room, whatever the others hold") {
    constexpr std::uint32_t kFlows = 16;
    TimingWheel wheel(kFlows);
    RequestGate gate({.flows = kFlows, .connections = 64, .packets = 128, .wheel = &wheel, .wheel_id = 0});
    const RequestGate::Profile profile{
        .limits = {rate(1, 1), unlimited_profile(), unlimited_profile(), unlimited_profile()},
        .bytes_max = UINT32_MAX,
        .window = {}};
    const PacketRef packet{nullptr, 0, 60, 1, 1};
    std::array<std::uint32_t, kFlows> holds{};
    std::uint64_t connection = 0;
    for (std::uint32_t flow = 0; flow < kFlows; ++flow)
        gate.open(flow, profile, nullptr, 0);
    for (std::uint32_t flow = 0; flow < kFlows; ++flow) {
        CHECK(gate.admit(flow, connection, {1, 0, 0}, 0));
        for (; gate.has_room(flow, ++connection, 60); ++holds[flow])
            gate.hold(flow, {packet, connection, 0}, {1, 0, 0}, {0, 1}, 0);
        CHECK(holds[flow] >= 1);
    }
    CHECK(holds[0] == 33);  // half of the 64 and one of its own
    CHECK(holds[1] == 17);
    CHECK(holds[kFlows - 1] == 1);
}

TEST_CASE("of a connection's held bytes those that left are not held, and a retransmission goes first") {
    Gate gate(limits_of(100, 1'000'000));
    CHECK(gate.send(1, 0, {100, 0, 0}));
    CHECK_FALSE(gate.send(1, 1, {100, 0, 0}));
    CHECK_FALSE(gate.send(1, 2, {100, 0, 0}));
    CHECK(gate.gate.held(0, 1).from == 1);
    gate.run(kSec + 10'000);
    CHECK(gate.gate.held(0, 1).from == 2);
    CHECK(gate.gate.held(0, 1).to == 3);
    CHECK_FALSE(gate.gate.admit_again(0, {50, 0, 0}, gate.now));
    // NOLINTNEXTLINE(performance-no-int-to-ptr): opaque to the gate
    const PacketRef again{reinterpret_cast<void*>(std::uintptr_t{9}), gate.now, 100, 1, 1};
    gate.gate.hold_again(0, {again, 1, 0}, {50, 0, 0});
    CHECK(gate.gate.held(0, 1).from == 2);
    gate.run(4 * kSec);
    REQUIRE(gate.passed.size() == 4);
    CHECK(gate.passed[2].second == 9);
    CHECK(gate.passed[3].second == 2);
    CHECK(gate.stats().held == 0);
}

TEST_CASE("a raised limit lets go at once, a parked one holds until it is raised") {
    Gate gate(limits_of(100, 1'000'000));
    CHECK(gate.send(1, 0, {100, 0, 0}));
    CHECK_FALSE(gate.send(1, 1, {100, 0, 0}));
    RequestGate::Profile parked = limits_of(100, 1'000'000);
    parked.limits[0] = make_profile(0, 0);
    gate.gate.change(0, parked, gate.now);
    gate.run(5 * kSec);
    CHECK(gate.passed.size() == 1);
    gate.gate.change(0, limits_of(1'000'000, 1'000'000), gate.now);
    gate.run(gate.now + kMs);
    CHECK(gate.passed.size() == 2);
}

TEST_CASE("property: no resource above its rate, order within connections, nothing lost") {
    std::mt19937 random(GENERATE(range(0U, 20U)));
    const auto draw = [&](unsigned most) { return static_cast<std::uint32_t>(random() % most); };
    constexpr std::uint64_t kBurst = 20'000;
    std::array<std::uint64_t, kPathResources> rates{};
    RequestGate::Profile profile;
    for (std::size_t i = 0; i < kPathResources; ++i)
        profile.limits[i] = rate(rates[i] = 50'000 + draw(100'000), kBurst);
    Gate gate(profile);
    std::map<std::uintptr_t, std::uint64_t> connection_of;
    std::uint64_t largest = 0;
    std::uintptr_t next = 1;
    while (gate.now < 20 * kSec) {
        for (unsigned i = draw(4); i != 0 && gate.stats().held < 900; --i) {
            CostVector cost{};
            for (std::uint32_t& part : cost)
                part = draw(3) == 0 ? 0 : draw(30'000);
            largest = std::max<std::uint64_t>(largest, *std::ranges::max_element(cost));
            const std::uint64_t connection = draw(40);
            connection_of[next] = connection;
            gate.send(connection, next++, cost);
        }
        gate.run(gate.now + draw(200) * kMs);
        for (std::size_t i = 0; i < kPathResources; ++i)
            CHECK(gate.stats().used[i] <= kBurst + largest + rates[i] * gate.now / kSec + 1);
    }
    gate.run(gate.now + 4000 * kSec);
    CHECK(gate.passed.size() == next - 1);
    CHECK(gate.stats().held == 0);
    CHECK(gate.stats().queued == std::array<std::uint64_t, kPathResources>{});
    std::map<std::uint64_t, std::uintptr_t> last;
    for (const auto& [when, number] : gate.passed) {
        CHECK(last[connection_of[number]] < number);
        last[connection_of[number]] = number;
    }
}
