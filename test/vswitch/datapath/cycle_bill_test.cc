// cycle_bill_test.cc - a port that burns time shows who pays for it: the sender, the receiver, the stuck VM.
#include <rte_cycles.h>

#include "test/support/catch.h"
#include "test/vswitch/datapath/switch_harness.h"

using namespace weir;
using namespace weir::testing;

namespace {

/// Much more than the work itself, so that only its payer's account can reach it.
constexpr std::uint64_t kBurn = 1'000'000;
constexpr unsigned kFrames = 20;

void burn() {
    for (const std::uint64_t until = rte_rdtsc() + kBurn; rte_rdtsc() < until;) {
    }
}

/// A VM that reads at once, each frame at the cost of kBurn.
void read_slowly(FakePort& port) {
    port.sink = [](const rte_mbuf*) { burn(); };
}

}  // namespace

TEST_CASE("between two VMs the sender pays for the delivery too") {
    SwitchHarness host;
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(vm(2));
    read_slowly(host.port(vm2));
    for (std::uint32_t i = 0; i < kFrames; ++i)
        host.port(vm1).offered.push_back(frame(mac(2), mac(1), i));
    host.settle();
    CHECK(host.stats(vm1).cycles >= kFrames * kBurn);
    CHECK(host.stats(vm2).cycles == 0);
}

TEST_CASE("frames from the wire are paid by the VMs that receive them") {
    RingNic nic;
    SwitchHarness host({}, &nic);
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(vm(2));
    const VnicId vm3 = host.add(vm(3));
    read_slowly(host.port(vm1));
    read_slowly(host.port(vm2));
    for (std::uint32_t i = 0; i < kFrames; ++i)
        nic.arrive(frame(mac(1), mac(9), i));
    host.settle();
    CHECK(host.stats(vm1).cycles >= kFrames * kBurn);
    CHECK(host.stats(vm2).cycles == 0);

    for (std::uint32_t i = 0; i < kFrames; ++i)
        nic.arrive(frame(mac(i % 2 + 1), mac(9), i));  // a mixed burst
    host.settle();
    CHECK(host.stats(vm1).cycles >= kFrames * 3 / 2 * kBurn);
    CHECK(host.stats(vm2).cycles >= kFrames / 2 * kBurn);
    CHECK(host.stats(vm3).cycles == 0);
}

TEST_CASE("frames from another worker are paid by the VM that receives them") {
    SwitchConfig config;
    config.workers = {1, 2};
    SwitchHarness host(config);
    VnicConfig second = vm(2);
    second.worker = 1;
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(second);
    read_slowly(host.port(vm2));
    for (std::uint32_t i = 0; i < kFrames; ++i)
        host.port(vm1).offered.push_back(frame(mac(2), mac(1), i));
    host.settle();
    CHECK(host.stats(vm2).cycles >= kFrames * kBurn);
    CHECK(host.stats(vm1).cycles > 0);
}

TEST_CASE("the second attempt at a full ring is paid by the VM that does not empty it") {
    SwitchHarness host;
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(vm(2));
    host.path(vm2).profile.isolated = false;  // what does not fit is dropped
    host.port(vm2).ring_frames = 0;
    host.port(vm2).when_full = [] { burn(); };
    for (std::uint32_t i = 0; i < kFrames; ++i) {
        host.port(vm1).offered.push_back(frame(mac(2), mac(1), i));
        host.settle();
    }
    CHECK(drops(host.stats(vm2).to_vm, DropReason::kVmRingFull) == kFrames);
    CHECK(host.stats(vm2).cycles >= kFrames * kBurn);
}

TEST_CASE("a poll that delivers nothing and used the core for it is paid by its sender") {
    SwitchHarness host;
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(vm(2));
    FakePort& wasteful = host.port(vm1);
    wasteful.source = [&]() -> rte_mbuf* {
        burn();
        wasteful.waste();
        return nullptr;
    };
    host.port(vm2).source = [] { return frame(mac(9), mac(2)); };
    host.turn();
    CHECK(host.stats(vm1).cycles >= kBurn);
    CHECK_FALSE(wasteful.take_wasted());
}

TEST_CASE("a promise of packets pays for polls that deliver nothing and used the core") {
    constexpr unsigned kTurns = 200;
    unsigned polls = 0;  // outlives the harness, which polls once more at its end
    SwitchHarness host;
    VnicConfig promised = vm(1);
    promised.reservation_pps = 10'000;
    const VnicId vm1 = host.add(promised);
    const VnicId vm2 = host.add(vm(2));
    FakePort& wasteful = host.port(vm1);
    wasteful.source = [&]() -> rte_mbuf* {
        ++polls;
        burn();
        wasteful.waste();
        return nullptr;
    };
    host.port(vm2).source = [] { return frame(mac(9), mac(2)); };
    for (unsigned turns = 0; turns < kTurns; ++turns)
        host.turn();
    // Both have equal shares: 32 frames of vm2 take some 10,000 cycles, and a poll of vm1 is as much as 100
    // such turns. Its promise, and the bound of its debt, are worth a few polls more.
    CHECK(polls >= 1);
    CHECK(polls * kBurn <= host.stats(vm2).cycles + 8 * kBurn);
}
