// destination_limits_test.cc - flows open on feedback, obey the newest, halve in silence, and go when no
// packet needs them.
#include "vswitch/qos/feedback/destination_limits.h"

#include <set>

#include "test/support/amounts.h"
#include "test/support/catch.h"

using namespace weir;
using weir::testing::kGbit;
using weir::testing::kMs;
using Change = DestinationLimits::Change;

namespace {

constexpr std::uint64_t kPeer = 0x5254;

DestinationLimits table(std::uint32_t capacity = 64) {
    return {capacity, 16, {.rate_min = kGbit / 100, .line_rate = 10 * kGbit}};
}

/// Looks at every place once. @return flows whose rate changed
std::set<DestinationId> sweep(DestinationLimits& flows, Nanos now, bool may_erase = true) {
    std::set<DestinationId> changed;
    flows.sweep(
        now, flows.capacity(), [&](DestinationId) { return may_erase; },
        [&](DestinationId flow) { changed.insert(flow); });
    return changed;
}

}  // namespace

TEST_CASE("a flow opens when its destination asks for less than the line, and not before") {
    DestinationLimits flows = table();
    CHECK(flows.find(3, kPeer) == kNoDestination);
    CHECK(flows.on_feedback(3, kPeer, 10 * kGbit, 1, 0).change == Change::kNotNeeded);
    CHECK_FALSE(flows.has_any(3));
    const auto [change, flow] = flows.on_feedback(3, kPeer, kGbit, 2, 0);
    CHECK(change == Change::kOpened);
    CHECK(flows.find(3, kPeer) == flow);
    CHECK(flows.rate(flow) == kGbit);
    CHECK(flows.find(4, kPeer) == kNoDestination);
    CHECK(flows.find(3, kPeer + 1) == kNoDestination);
}

TEST_CASE("a rate is kept between the floor and the line") {
    DestinationLimits flows = table();
    const DestinationId flow = flows.on_feedback(3, kPeer, 1, 1, 0).destination;
    CHECK(flows.rate(flow) == kGbit / 100);
    CHECK(flows.on_feedback(3, kPeer, UINT64_MAX, 2, 0).change == Change::kChanged);
    CHECK(flows.rate(flow) == 10 * kGbit);
}

TEST_CASE("stale and replayed feedback changes nothing, across the wrap of the sequence too") {
    DestinationLimits flows = table();
    const DestinationId flow = flows.on_feedback(3, kPeer, kGbit, 0xFFFF'FFFE, 0).destination;
    CHECK(flows.on_feedback(3, kPeer, 2 * kGbit, 0xFFFF'FFFE, 0).change == Change::kStale);
    CHECK(flows.on_feedback(3, kPeer, 2 * kGbit, 0xFFFF'FFFD, 0).change == Change::kStale);
    CHECK(flows.rate(flow) == kGbit);
    CHECK(flows.on_feedback(3, kPeer, 2 * kGbit, 1, 0).change == Change::kChanged);
    CHECK(flows.on_feedback(3, kPeer, kGbit, 0xFFFF'FFFF, 0).change == Change::kStale);
    CHECK(flows.rate(flow) == 2 * kGbit);
}

TEST_CASE("in silence the rate halves every 100 ms down to the floor, and then any sequence is believed") {
    DestinationLimits flows = table();
    const DestinationId flow = flows.on_feedback(3, kPeer, kGbit, 1000, 0).destination;
    CHECK(sweep(flows, 99 * kMs).empty());
    CHECK(sweep(flows, 100 * kMs) == std::set<DestinationId>{flow});
    CHECK(flows.rate(flow) == kGbit / 2);
    CHECK(sweep(flows, 150 * kMs).empty());
    for (Nanos now = 200 * kMs; now <= 1500 * kMs; now += 100 * kMs)
        (void)sweep(flows, now);
    CHECK(flows.rate(flow) == kGbit / 100);
    CHECK(flows.on_feedback(3, kPeer, kGbit, 1, 1600 * kMs).change == Change::kChanged);
    CHECK(flows.on_feedback(3, kPeer, 2 * kGbit, 1, 1600 * kMs).change == Change::kStale);
}

TEST_CASE("a flow whose feedback lifted the limit does not slow down while something waits in it") {
    DestinationLimits flows = table();
    const DestinationId flow = flows.on_feedback(3, kPeer, kGbit, 1, 0).destination;
    CHECK(flows.on_feedback(3, kPeer, UINT64_MAX, 2, 0).change == Change::kChanged);
    for (Nanos now = 0; now < kNanosPerSec; now += 10 * kMs)
        CHECK(sweep(flows, now, false).empty());
    CHECK(flows.rate(flow) == 10 * kGbit);
}

TEST_CASE("a flow goes when it is idle for two seconds or as fast as the line, if nothing waits in it") {
    DestinationLimits flows = table();
    const DestinationId flow = flows.on_feedback(3, kPeer, kGbit, 1, 0).destination;
    flows.touch(flow, 1000 * kMs);
    (void)sweep(flows, 3000 * kMs - 1);
    CHECK(flows.size() == 1);
    (void)sweep(flows, 3003 * kMs, false);  // last use is kept in steps of a millisecond
    CHECK(flows.size() == 1);
    (void)sweep(flows, 3003 * kMs);
    CHECK(flows.size() == 0);
    CHECK(flows.find(3, kPeer) == kNoDestination);

    (void)flows.on_feedback(3, kPeer, kGbit, 1, 4000 * kMs);
    (void)flows.on_feedback(3, kPeer, 10 * kGbit, 2, 4000 * kMs);
    (void)sweep(flows, 4000 * kMs);
    CHECK(flows.size() == 0);
}

TEST_CASE("a rate that was advertised to an idle flow is kept, and its sequence is not accepted again") {
    DestinationLimits flows = table();
    (void)flows.on_feedback(3, kPeer, kGbit, 1, 0);
    CHECK(flows.on_feedback(3, kPeer, kGbit / 2, 2, 3000 * kMs).change == Change::kChanged);
    (void)sweep(flows, 3001 * kMs);
    REQUIRE(flows.size() == 1);
    CHECK(flows.rate(flows.find(3, kPeer)) == kGbit / 2);
    CHECK(flows.on_feedback(3, kPeer, 10 * kGbit, 2, 3002 * kMs).change == Change::kStale);
}

TEST_CASE("a new rate keeps the debt of the old one") {
    DestinationLimits flows = table();
    const DestinationId flow = flows.on_feedback(3, kPeer, kGbit, 1, 0).destination;
    TokenBucket& limiter = flows.limiter(flow);
    const auto burst = static_cast<std::uint32_t>(limiter.level(0));
    limiter.pay(burst + 12'500, 0);  // 100 us of debt
    (void)flows.on_feedback(3, kPeer, 2 * kGbit, 2, 0);
    CHECK(limiter.level(0) == Approx(-12'500).margin(1));
    CHECK(limiter.level(50'000) == Approx(0).margin(1));
}

TEST_CASE("the table holds what it holds, and a removed vNIC gives its places back") {
    DestinationLimits flows = table(16);
    for (std::uint64_t peer = 0; peer < 16; ++peer)
        CHECK(flows.on_feedback(static_cast<VnicId>(peer % 2), peer, kGbit, 1, 0).change == Change::kOpened);
    CHECK(flows.on_feedback(5, 99, kGbit, 1, 0).change == Change::kFull);
    unsigned closed = 0;
    flows.erase_vnic(1, [&](DestinationId) { ++closed; });
    CHECK(closed == 8);
    CHECK_FALSE(flows.has_any(1));
    CHECK(flows.find(1, 1) == kNoDestination);
    for (std::uint64_t peer = 0; peer < 16; peer += 2)
        CHECK(flows.find(0, peer) != kNoDestination);
    CHECK(flows.on_feedback(5, 99, kGbit, 1, 0).change == Change::kOpened);
}

TEST_CASE("a flow with an allocation is held to the lower of that and the advertised rate",
          "[destination_limits]") {
    DestinationLimits table(16, 4, {.rate_min = 1'000, .line_rate = 1'000'000});
    const auto opened = table.allocate(1, 77, UINT64_MAX, 1'000);
    REQUIRE(opened.change == DestinationLimits::Change::kOpened);
    const DestinationId flow = opened.destination;
    CHECK(table.rate(flow) == 1'000'000);  // it is only counted
    table.count(flow, 100);
    table.count(flow, 50);
    CHECK(table.sent_bytes(table.vnic_of(flow)) == 150);
    CHECK(table.allocated_bytes(flow) == 150);
    CHECK(table.allocate(1, 77, 500, 1'000).change == DestinationLimits::Change::kChanged);
    CHECK(table.rate(flow) == 500);  // a rule may be lower than feedback ever is
    CHECK(table.on_feedback(1, 77, 400'000, 9, 1'000).change == DestinationLimits::Change::kChanged);
    CHECK(table.rate(flow) == 500);
    table.allocate(1, 77, 700'000, 1'000);
    CHECK(table.rate(flow) == 400'000);
    CHECK(table.on_feedback(1, 77, 900'000, 9, 1'000).change == DestinationLimits::Change::kStale);
    CHECK(table.advertised(1) == 0);
    CHECK(table.allocate(1, 77, std::nullopt, 1'000).change == DestinationLimits::Change::kChanged);
    CHECK(table.advertised(1) == 1);
    CHECK(table.advertised() == 1);
    CHECK(table.rate(flow) == 400'000);
    CHECK(table.allocate(1, 77, std::nullopt, 1'000).change == DestinationLimits::Change::kNotNeeded);
    CHECK(table.allocate(2, 77, std::nullopt, 1'000).change == DestinationLimits::Change::kNotNeeded);
    CHECK(table.allocated_bytes(flow) == 150);
}

TEST_CASE("a flow with an allocation stays as long as that, and feedback's silence ends",
          "[destination_limits]") {
    constexpr Nanos kSecond = kNanosPerSec;
    DestinationLimits table(16, 4, {.rate_min = 1'000, .line_rate = 1'000'000});
    const DestinationId flow = table.allocate(1, 77, 800'000, kSecond).destination;
    table.on_feedback(1, 77, 100'000, 1, kSecond);
    table.touch(flow, kSecond);
    const auto sweep = [&](Nanos now) {
        table.sweep(
            now, 16, [](DestinationId) { return true; }, [](DestinationId) {});
    };
    sweep(kSecond + 200'000'000);
    CHECK(table.rate(flow) == 50'000);
    sweep(4 * kSecond);  // unused since: there is no feedback
    CHECK(table.size() == 1);
    CHECK(table.rate(flow) == 800'000);
    table.allocate(1, 77, std::nullopt, 4 * kSecond);
    sweep(5 * kSecond);
    CHECK(table.size() == 0);
}
