// destination_limits_test.cc - flows open on feedback, obey the newest, halve in silence, and go when nobody
// needs them.
#include "vswitch/qos/feedback/destination_limits.h"

#include <set>

#include "test/support/amounts.h"
#include "test/support/catch.h"

using namespace weir;
using weir::testing::kGbit;
using weir::testing::kMs;
using Heard = DestinationLimits::Heard;

namespace {

constexpr std::uint64_t kPeer = 0x5254;

DestinationLimits table(std::uint32_t capacity = 64) {
    return {capacity, 16, {.rate_min = kGbit / 100, .line_rate = 10 * kGbit}};
}

/// Looks at every place once. @return flows whose rate changed
std::set<FlowId> sweep(DestinationLimits& flows, Nanos now, bool let_go = true) {
    std::set<FlowId> changed;
    flows.sweep(
        now, flows.capacity(), [&](FlowId) { return let_go; }, [&](FlowId flow) { changed.insert(flow); });
    return changed;
}

}  // namespace

TEST_CASE("a flow opens when its destination asks for less than the line, and not before") {
    DestinationLimits flows = table();
    CHECK(flows.find(3, kPeer) == kNoFlow);
    CHECK(flows.hear(3, kPeer, 10 * kGbit, 1, 0).heard == Heard::kNoNeed);
    CHECK_FALSE(flows.any(3));
    const auto [heard, flow] = flows.hear(3, kPeer, kGbit, 2, 0);
    CHECK(heard == Heard::kOpened);
    CHECK(flows.find(3, kPeer) == flow);
    CHECK(flows.rate(flow) == kGbit);
    CHECK(flows.find(4, kPeer) == kNoFlow);
    CHECK(flows.find(3, kPeer + 1) == kNoFlow);
}

TEST_CASE("a rate is kept between the floor and the line") {
    DestinationLimits flows = table();
    const FlowId flow = flows.hear(3, kPeer, 1, 1, 0).flow;
    CHECK(flows.rate(flow) == kGbit / 100);
    CHECK(flows.hear(3, kPeer, UINT64_MAX, 2, 0).heard == Heard::kChanged);
    CHECK(flows.rate(flow) == 10 * kGbit);
}

TEST_CASE("stale and replayed feedback changes nothing, across the wrap of the sequence too") {
    DestinationLimits flows = table();
    const FlowId flow = flows.hear(3, kPeer, kGbit, 0xFFFF'FFFE, 0).flow;
    CHECK(flows.hear(3, kPeer, 2 * kGbit, 0xFFFF'FFFE, 0).heard == Heard::kStale);
    CHECK(flows.hear(3, kPeer, 2 * kGbit, 0xFFFF'FFFD, 0).heard == Heard::kStale);
    CHECK(flows.rate(flow) == kGbit);
    CHECK(flows.hear(3, kPeer, 2 * kGbit, 1, 0).heard == Heard::kChanged);
    CHECK(flows.hear(3, kPeer, kGbit, 0xFFFF'FFFF, 0).heard == Heard::kStale);
    CHECK(flows.rate(flow) == 2 * kGbit);
}

TEST_CASE("in silence the rate halves every 100 ms down to the floor, and then any sequence is believed") {
    DestinationLimits flows = table();
    const FlowId flow = flows.hear(3, kPeer, kGbit, 1000, 0).flow;
    CHECK(sweep(flows, 99 * kMs).empty());
    CHECK(sweep(flows, 100 * kMs) == std::set<FlowId>{flow});
    CHECK(flows.rate(flow) == kGbit / 2);
    CHECK(sweep(flows, 150 * kMs).empty());
    for (Nanos now = 200 * kMs; now <= 1500 * kMs; now += 100 * kMs)
        (void)sweep(flows, now);
    CHECK(flows.rate(flow) == kGbit / 100);
    CHECK(flows.hear(3, kPeer, kGbit, 1, 1600 * kMs).heard == Heard::kChanged);
    CHECK(flows.hear(3, kPeer, 2 * kGbit, 1, 1600 * kMs).heard == Heard::kStale);
}

TEST_CASE("a flow that was told it is free does not slow down while something waits in it") {
    DestinationLimits flows = table();
    const FlowId flow = flows.hear(3, kPeer, kGbit, 1, 0).flow;
    CHECK(flows.hear(3, kPeer, UINT64_MAX, 2, 0).heard == Heard::kChanged);
    for (Nanos now = 0; now < kNanosPerSec; now += 10 * kMs)
        CHECK(sweep(flows, now, false).empty());
    CHECK(flows.rate(flow) == 10 * kGbit);
}

TEST_CASE("a flow goes when it is idle for two seconds or as fast as the line, if nothing waits in it") {
    DestinationLimits flows = table();
    const FlowId flow = flows.hear(3, kPeer, kGbit, 1, 0).flow;
    flows.use(flow, 1000 * kMs);
    (void)sweep(flows, 3000 * kMs - 1);
    CHECK(flows.size() == 1);
    (void)sweep(flows, 3003 * kMs, false);  // last use is kept in steps of a millisecond
    CHECK(flows.size() == 1);
    (void)sweep(flows, 3003 * kMs);
    CHECK(flows.size() == 0);
    CHECK(flows.find(3, kPeer) == kNoFlow);

    (void)flows.hear(3, kPeer, kGbit, 1, 4000 * kMs);
    (void)flows.hear(3, kPeer, 10 * kGbit, 2, 4000 * kMs);
    (void)sweep(flows, 4000 * kMs);
    CHECK(flows.size() == 0);
}

TEST_CASE("a new rate keeps the debt of the old one") {
    DestinationLimits flows = table();
    const FlowId flow = flows.hear(3, kPeer, kGbit, 1, 0).flow;
    TokenBucket& limiter = flows.limiter(flow);
    const auto burst = static_cast<std::uint32_t>(limiter.level(0));
    limiter.pay(burst + 12'500, 0);  // 100 us of debt
    (void)flows.hear(3, kPeer, 2 * kGbit, 2, 0);
    CHECK(limiter.level(0) == Approx(-12'500).margin(1));
    CHECK(limiter.level(50'000) == Approx(0).margin(1));
}

TEST_CASE("the table holds what it holds, and a removed vNIC gives its places back") {
    DestinationLimits flows = table(16);
    for (std::uint64_t peer = 0; peer < 16; ++peer)
        CHECK(flows.hear(static_cast<VnicId>(peer % 2), peer, kGbit, 1, 0).heard == Heard::kOpened);
    CHECK(flows.hear(5, 99, kGbit, 1, 0).heard == Heard::kFull);
    unsigned closed = 0;
    flows.remove(1, [&](FlowId) { ++closed; });
    CHECK(closed == 8);
    CHECK_FALSE(flows.any(1));
    CHECK(flows.find(1, 1) == kNoFlow);
    for (std::uint64_t peer = 0; peer < 16; peer += 2)
        CHECK(flows.find(0, peer) != kNoFlow);
    CHECK(flows.hear(5, 99, kGbit, 1, 0).heard == Heard::kOpened);
}

TEST_CASE("a ruled flow is held to the lower of the rule and what its destination asks for",
          "[destination_limits]") {
    DestinationLimits table(16, 4, {.rate_min = 1'000, .line_rate = 1'000'000});
    const auto opened = table.rule(1, 77, kUnbounded, 1'000);
    REQUIRE(opened.heard == DestinationLimits::Heard::kOpened);
    const FlowId flow = opened.flow;
    CHECK(table.rate(flow) == 1'000'000);  // it is only counted
    table.count(flow, 100);
    table.count(flow, 50);
    CHECK(table.bytes(flow) == 150);
    CHECK(table.rule(1, 77, 500, 1'000).heard == DestinationLimits::Heard::kChanged);
    CHECK(table.rate(flow) == 500);  // a rule may be lower than feedback ever is
    CHECK(table.hear(1, 77, 400'000, 9, 1'000).heard == DestinationLimits::Heard::kChanged);
    CHECK(table.rate(flow) == 500);
    table.rule(1, 77, 700'000, 1'000);
    CHECK(table.rate(flow) == 400'000);
    CHECK(table.hear(1, 77, 900'000, 9, 1'000).heard == DestinationLimits::Heard::kStale);
    CHECK(table.asked(1) == 0);
    CHECK(table.unrule(1, 77, 1'000).heard == DestinationLimits::Heard::kChanged);
    CHECK(table.asked(1) == 1);
    CHECK(table.asked() == 1);
    CHECK(table.rate(flow) == 400'000);
    CHECK(table.unrule(1, 77, 1'000).heard == DestinationLimits::Heard::kNoNeed);
    CHECK(table.unrule(2, 77, 1'000).heard == DestinationLimits::Heard::kNoNeed);
    CHECK(table.bytes(flow) == 150);
}

TEST_CASE("a ruled flow stays while it is ruled, and feedback's silence ends", "[destination_limits]") {
    constexpr Nanos kSecond = kNanosPerSec;
    DestinationLimits table(16, 4, {.rate_min = 1'000, .line_rate = 1'000'000});
    const FlowId flow = table.rule(1, 77, 800'000, kSecond).flow;
    table.hear(1, 77, 100'000, 1, kSecond);
    table.use(flow, kSecond);
    const auto sweep = [&](Nanos now) {
        table.sweep(
            now, 16, [](FlowId) { return true; }, [](FlowId) {});
    };
    sweep(kSecond + 200'000'000);
    CHECK(table.rate(flow) == 50'000);
    sweep(4 * kSecond);  // unused since: nobody asks for anything
    CHECK(table.size() == 1);
    CHECK(table.rate(flow) == 800'000);
    table.unrule(1, 77, 4 * kSecond);
    sweep(5 * kSecond);
    CHECK(table.size() == 0);
}
