// demand_sampler_test.cc - records made of samples: scaled to an interval, means of waiting tokens, idle
// flows.
#include "vswitch/agent/demand_sampler.h"

#include "test/support/catch.h"

using namespace weir;

namespace {

constexpr Nanos kInterval = kNanosPerSec;
constexpr Nanos kPeriod = 10'000'000;
const LocalFlow kDisk{.vnic = "a1", .appliance = 0};
const FlowKeys kKeys{{kDisk, {3, 17}}};

struct Sampled {
    DemandSampler sampler;
    FlowSample sample{.flow = kDisk};
    Nanos now = 5 * kNanosPerSec;

    Sampled() { sampler.set_interval(kInterval); }
    /// One sample every 10 ms, each `tokens` above the last.
    void run(unsigned samples, std::uint64_t tokens = 0) {
        for (unsigned i = 0; i < samples; ++i) {
            now += kPeriod;
            sample.used[wire::kTokens] += tokens;
            sampler.add({&sample, 1}, now);
        }
    }
    wire::FlowDemand end_interval() {
        const auto records = sampler.end_interval(kKeys, now);
        REQUIRE(records.size() == 1);
        return records[0];
    }
};

}  // namespace

TEST_CASE("a record states the whole interval, of which a part was seen") {
    Sampled flow;
    flow.run(1);
    flow.run(25, 4);  // 0.25 s with 100 tokens
    const wire::FlowDemand first = flow.end_interval();
    CHECK(first.flow == wire::FlowKey{3, 17});
    CHECK(first.marks == wire::FlowDemand::kNew);
    CHECK(first.used[wire::kTokens] == Approx(400));
    flow.run(100, 4);
    const wire::FlowDemand second = flow.end_interval();
    CHECK(second.marks == 0);
    CHECK(second.used[wire::kTokens] == Approx(400));
}

TEST_CASE("what waits and what is outstanding are means over the samples; the latency follows from them") {
    Sampled flow;
    flow.run(2, 10);
    (void)flow.end_interval();
    flow.sample.outstanding = 2;
    flow.sample.outstanding_tokens = 20;
    flow.sample.queued[wire::kTokens] = 100;
    flow.run(50, 10);
    flow.sample.outstanding = 0;
    flow.sample.outstanding_tokens = 0;
    flow.sample.queued[wire::kTokens] = 0;
    flow.sample.responses = 50;
    flow.run(50, 10);
    const wire::FlowDemand record = flow.end_interval();
    CHECK(record.used[wire::kTokens] == Approx(1'000));
    CHECK(record.queued[wire::kTokens] == Approx(50));
    CHECK(record.backlog[wire::kTokens] == 0);
    CHECK(record.outstanding[wire::kTokens] == Approx(10));
    CHECK(record.latency_us == 20'000);  // one on average, 50 a second
}

TEST_CASE("tokens of requests that were sent on and not answered do not count as used") {
    Sampled flow;
    flow.run(2, 10);
    (void)flow.end_interval();
    flow.run(99, 10);
    flow.sample.outstanding = 1;
    flow.sample.outstanding_tokens = 300;
    flow.run(1, 10);
    CHECK(flow.end_interval().used[wire::kTokens] == Approx(700));
}

TEST_CASE("a flow is reported until it was idle for three intervals, and is new when it works again") {
    Sampled flow;
    flow.run(2, 10);
    (void)flow.end_interval();
    flow.run(300);
    CHECK(flow.sampler.end_interval(kKeys, flow.now).size() == 1);
    flow.run(1);
    CHECK(flow.sampler.end_interval(kKeys, flow.now).empty());
    flow.run(1, 10);
    CHECK(flow.end_interval().marks == wire::FlowDemand::kNew);
}

TEST_CASE("an update is needed for a new flow and for a backlog above twice the last record") {
    Sampled flow;
    CHECK_FALSE(flow.sampler.needs_update(kKeys, flow.now));
    flow.run(2, 10);
    CHECK(flow.sampler.needs_update(kKeys, flow.now));
    CHECK_FALSE(flow.sampler.needs_update({}, flow.now));  // the controller does not know it
    flow.run(98, 10);
    CHECK(flow.end_interval().used[wire::kTokens] == Approx(1'000).epsilon(0.02));
    CHECK_FALSE(flow.sampler.needs_update(kKeys, flow.now));
    flow.sample.queued[wire::kTokens] = 1'900;
    flow.run(1, 10);
    CHECK_FALSE(flow.sampler.needs_update(kKeys, flow.now));
    flow.sample.queued[wire::kTokens] = 2'100;
    flow.run(1, 10);
    CHECK(flow.sampler.needs_update(kKeys, flow.now));
    const auto updated = flow.sampler.update(kKeys, flow.now);
    REQUIRE(updated.size() == 1);
    CHECK(updated[0].backlog[wire::kTokens] == 2'100);
    CHECK_FALSE(flow.sampler.needs_update(kKeys, flow.now));
}

TEST_CASE("between intervals a flow without a backlog is stated as last reported") {
    Sampled flow;
    flow.run(100, 10);
    const wire::FlowDemand whole = flow.end_interval();
    flow.run(20, 50);
    const auto updated = flow.sampler.update(kKeys, flow.now);
    REQUIRE(updated.size() == 1);
    CHECK(updated[0].used == whole.used);
    CHECK(updated[0].marks == 0);
}

TEST_CASE(
    "a record states the limit for which requests waited most of the interval, to a controller that knows "
    "it") {
    constexpr auto kRate = static_cast<std::size_t>(PathResource::kAppliance);
    constexpr auto kUplink = static_cast<std::size_t>(PathResource::kUplink);
    constexpr auto kDownlink = static_cast<std::size_t>(PathResource::kDownlink);
    constexpr auto kCycles = static_cast<std::size_t>(PathResource::kCycles);
    Sampled flow;
    flow.sample.blocked_by.fill(wire::Blocked::kOwnLimit);
    flow.sample.blocked_by[kRate] = wire::Blocked::kAppliance;
    flow.sample.blocked_by[kUplink] = wire::Blocked::kWay;
    const auto run = [&](std::size_t limit, unsigned samples) {
        for (unsigned i = 0; i < samples; ++i) {
            flow.sample.blocked_ns[limit] += kPeriod;
            flow.run(1, 4);
        }
    };
    run(kRate, 100);
    CHECK(flow.end_interval().blocked == wire::Blocked::kNotStated);
    flow.sampler.set_states_blocked(true);
    run(kRate, 70);
    run(kUplink, 30);
    CHECK(flow.end_interval().blocked == wire::Blocked::kAppliance);
    run(kRate, 30);
    run(kUplink, 70);
    CHECK(flow.end_interval().blocked == wire::Blocked::kWay);
    run(kRate, 40);  // and for nothing in the rest
    flow.run(60, 4);
    CHECK(flow.end_interval().blocked == wire::Blocked::kNotStated);
    run(kCycles, 40);  // two limits of the same side
    run(kDownlink, 40);
    flow.run(20, 4);
    CHECK(flow.end_interval().blocked == wire::Blocked::kOwnLimit);
    flow.sample.blocked_by[kRate] = wire::Blocked::kOwnLimit;  // `vnic set` made the own limit the lower one
    run(kRate, 100);
    CHECK(flow.end_interval().blocked == wire::Blocked::kOwnLimit);
}

TEST_CASE("counters that fall belong to a vNIC that was added again: nothing before counts") {
    Sampled flow;
    flow.run(100, 10);
    (void)flow.end_interval();
    flow.sample.used[wire::kTokens] = 0;
    flow.run(1);
    flow.run(50, 10);
    CHECK(flow.end_interval().used[wire::kTokens] == Approx(1'000).epsilon(0.03));
}

namespace {

constexpr std::uint64_t kMegabyte = 1'000'000;

/// Traffic to a peer over an uplink of 100 MB/s.
struct SampledPeer {
    DemandSampler sampler;
    FlowSample sample{.flow = {.vnic = "a1", .peer = "52:54:00:00:00:02"}};
    const FlowKeys keys{{sample.flow, {3, 4}}};
    Nanos now = 5 * kNanosPerSec;

    SampledPeer() {
        sampler.set_interval(kInterval);
        sampler.set_link(100.0 * kMegabyte);
        run(2, 1);
        (void)sampler.end_interval(keys, now);
    }
    void run(unsigned samples, std::uint64_t bytes, std::uint64_t refused = 0) {
        for (unsigned i = 0; i < samples; ++i) {
            now += kPeriod;
            sample.used[wire::kThere] += bytes;
            sample.refused += refused;
            sampler.add({&sample, 1}, now);
        }
    }
    [[nodiscard]] bool needs_update() const { return sampler.needs_update(keys, now); }
    wire::FlowDemand record(bool whole) {
        const auto records = whole ? sampler.end_interval(keys, now) : sampler.update(keys, now);
        REQUIRE(records.size() == 1);
        return records[0];
    }
};

}  // namespace

TEST_CASE("traffic to a peer that doubles is reported within 20 ms, with the rate of the last ones") {
    SampledPeer peer;
    peer.run(100, 100'000);  // 10 MB/s
    CHECK(peer.record(true).used[wire::kThere] == Approx(10.0 * kMegabyte));
    peer.run(50, 100'000);
    CHECK_FALSE(peer.needs_update());
    peer.run(2, 190'000);  // not the double
    CHECK_FALSE(peer.needs_update());
    peer.run(2, 400'000);
    REQUIRE(peer.needs_update());
    const wire::FlowDemand grown = peer.record(false);
    CHECK(grown.used[wire::kThere] + grown.backlog[wire::kThere] == Approx(40.0 * kMegabyte));
    CHECK(grown.marks == 0);
    CHECK_FALSE(peer.needs_update());
}

TEST_CASE("less than a hundredth of the uplink is no reason for a report between intervals") {
    SampledPeer peer;
    peer.run(100, 1'000);
    (void)peer.record(true);
    peer.run(2, 9'000);  // 0.9 MB/s instead of 0.1
    CHECK_FALSE(peer.needs_update());
    peer.run(2, 12'000);
    CHECK(peer.needs_update());
}

TEST_CASE(
    "bytes that a peer's rate refused are its backlog, and so is a quarter of its use while it is held "
    "back") {
    SampledPeer peer;
    peer.run(100, 100'000);
    (void)peer.record(true);
    peer.run(1, 100'000);
    peer.sample.queued[wire::kThere] = 50'000;
    peer.run(49, 100'000);
    peer.sample.queued[wire::kThere] = 0;
    peer.run(50, 100'000);
    CHECK(peer.record(true).backlog[wire::kThere] == Approx(0.25 * 0.49 * 10 * kMegabyte).epsilon(0.01));
    peer.run(100, 100'000, 20'000);
    CHECK(peer.record(true).backlog[wire::kThere] == Approx((2 + 2.5) * kMegabyte));
}

TEST_CASE(
    "traffic to a peer that begins to overflow its queue wants all of the uplink, once in ten intervals") {
    SampledPeer peer;
    peer.run(100, 100'000);
    (void)peer.record(true);
    peer.run(1, 100'000, 1);
    REQUIRE(peer.needs_update());
    const wire::FlowDemand begins = peer.record(false);
    CHECK(begins.marks == wire::FlowDemand::kNew);
    CHECK(begins.backlog[wire::kThere] == Approx(100.0 * kMegabyte));
    CHECK_FALSE(peer.needs_update());
    peer.run(100, 100'000);
    const wire::FlowDemand whole = peer.record(true);
    CHECK(whole.marks == 0);
    CHECK(whole.backlog[wire::kThere] < 0.1F * kMegabyte);
    peer.run(100, 100'000);
    (void)peer.record(true);
    peer.run(1, 100'000, 1);
    CHECK_FALSE(peer.needs_update());  // that is enough for ten intervals
    for (unsigned i = 0; i < 10; ++i) {
        peer.run(100, 100'000);
        (void)peer.record(true);
    }
    peer.sample.queued[wire::kThere] = 70'000;
    peer.run(1, 100'000);
    CHECK(peer.needs_update());
}
