// samples_test.cc - counters of vNICs as the worker copies them for the agent's history.
#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr auto kLimitHold = static_cast<std::size_t>(HoldReason::kLimit);

/// A command for these vNICs, done.
VnicSamples sample(SwitchHarness& host, const std::vector<VnicId>& vnics) {
    VnicSamples samples;
    for (const VnicId id : vnics)
        samples.vnics[samples.count++].id = id;
    host.prompt = true;
    host.post(0, command::SampleVnics{&samples});
    return samples;
}

}  // namespace

TEST_CASE("a sample has the bytes of both directions and the drops of each vNIC that it names") {
    SwitchHarness host;
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(vm(2));
    host.port(vm2).read_at_once();
    for (unsigned i = 0; i < 10; ++i)
        host.port(vm1).offered.push_back(frame(mac(2), mac(1), i));
    host.port(vm1).offered.push_back(frame(mac(2), mac(7)));  // not its own address
    host.settle();
    const VnicSamples samples = sample(host, {vm2, vm1});
    CHECK(samples.at == host.now);
    CHECK(samples.vnics[0].received_bytes == 840);
    CHECK(samples.vnics[0].sent_bytes == 0);
    CHECK(samples.vnics[0].dropped == 0);
    CHECK(samples.vnics[1].sent_bytes == 840);
    CHECK(samples.vnics[1].dropped == 1);
    CHECK(samples.vnics[1].queue_delay == 0);
    CHECK(samples.vnics[1].held == std::array<Nanos, kHoldReasons>{});
}

TEST_CASE("a sample counts the held-back time that still goes on") {
    SwitchHarness host;
    VnicConfig limited = vm(1);
    limited.limit_bps = 1'000'000;
    const VnicId vm1 = host.add(limited);
    host.port(host.add(vm(2))).read_at_once();
    for (unsigned i = 0; i < 3'000; ++i)
        host.port(vm1).offered.push_back(frame(mac(2), mac(1), i, 1'514));
    host.run(5'000'000);
    const VnicSample before = sample(host, {vm1}).vnics[0];
    REQUIRE(host.path(vm1).held);
    host.now += 2'000'000;
    const VnicSamples after = sample(host, {vm1});
    CHECK(after.vnics[0].held[kLimitHold] - before.held[kLimitHold] >= 2'000'000);
    CHECK(after.vnics[0].held[kLimitHold] > host.stats(vm1).held_ns[kLimitHold]);
}

TEST_CASE("a sample has the longest delay since the one before, of packets that left or still wait") {
    RingNic nic;
    SwitchConfig config;
    config.uplink.device = "ring";
    config.uplink.rate_bps = 8'000'000;  // a frame of 1,538 bytes in 1.5 ms
    config.uplink.headroom = 0;
    SwitchHarness host(config, &nic);
    const VnicId vm1 = host.add(vm(1));
    for (unsigned i = 0; i < 100; ++i)
        host.port(vm1).offered.push_back(frame(kFar, mac(1), i, 1'514));
    host.run(6'000'000);
    REQUIRE(host.stats(vm1).from_vm.queued.packets != 0);
    const Nanos waiting = sample(host, {vm1}).vnics[0].queue_delay;
    CHECK(waiting > 5'000'000);
    CHECK(waiting <= 6'100'000);
    host.run(200'000'000);
    REQUIRE(host.stats(vm1).from_vm.queued.packets == 0);
    const Nanos longest = sample(host, {vm1}).vnics[0].queue_delay;
    CHECK(longest == host.path(vm1).queue_delay.snapshot().max());
    CHECK(sample(host, {vm1}).vnics[0].queue_delay == 0);
}
