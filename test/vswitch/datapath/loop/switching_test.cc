// switching_test.cc - which vNIC gets a frame: local delivery, flooding per VLAN within its bound, workers
// among themselves.
#include <rte_mbuf.h>

#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"
#include "vswitch/datapath/loop/mac_relay.h"

using namespace weir;
using namespace weir::testing;

namespace {

VnicConfig in_vlan(unsigned n, std::uint16_t vlan) {
    VnicConfig config = vm(n);
    config.vlan = vlan;
    return config;
}

VnicConfig learning_vm(unsigned n) {
    VnicConfig config = vm(n);
    config.anti_spoofing = false;
    config.mac.reset();
    return config;
}

}  // namespace

TEST_CASE("a broadcast reaches every VM of its VLAN but its sender, and the wire") {
    RingNic nic;
    SwitchHarness host({}, &nic);
    const VnicId vm1 = host.add(in_vlan(1, 10));
    const VnicId vm2 = host.add(in_vlan(2, 10));
    const VnicId vm3 = host.add(in_vlan(3, 10));
    const VnicId other = host.add(in_vlan(4, 20));
    const FrameBytes arp = ethernet(kBroadcast, mac(1), kArp, arp_request());
    host.port(vm1).offered.push_back(to_mbuf(buffer_pool(), arp));
    host.settle();
    CHECK(host.port(vm1).received.empty());
    REQUIRE(host.port(vm2).received.size() == 1);
    REQUIRE(host.port(vm3).received.size() == 1);
    CHECK((bytes_of(host.port(vm3).received[0]) == arp));
    CHECK(host.port(other).received.empty());
    const auto wire = nic.take();
    REQUIRE(wire.size() == 1);
    CHECK((bytes_of(wire[0]) == tagged(arp, 10)));
    rte_pktmbuf_free(wire[0]);
    CHECK(host.stats(vm1).flood_copies == 2);
    CHECK(host.stats(vm1).from_vm.delivered.packets == 1);
}

TEST_CASE("frames of a ring that the guest has disabled are counted and go nowhere") {
    const bool leaves = GENERATE(false, true);
    constexpr std::size_t kBytes = 1200;
    SwitchHarness host;
    const VnicId vm1 = host.add(vm(1), [&](FakePort& port) { port.leaves = leaves; });
    const VnicId vm2 = host.add(vm(2));
    const auto offer = [&](unsigned count) {
        for (unsigned i = 0; i < count; ++i)
            host.port(vm1).offered.push_back(frame(mac(2), mac(1), i, kBytes));
        host.settle();
    };
    host.port(vm1).disable(true);
    offer(5);
    host.run(10'000);
    const DirectionStats& stats = host.stats(vm1).from_vm;
    CHECK(host.port(vm1).offered.empty());
    CHECK(stats.offered.packets == 5);
    CHECK(stats.offered.bytes == 5 * (kBytes + kOverhead));
    CHECK(drops(stats, DropReason::kRingDisabled) == 5);
    host.port(vm1).disable(false);
    offer(3);
    CHECK(host.port(vm2).received.size() == 3);
    CHECK(drops(stats, DropReason::kRingDisabled) == 5);
}

TEST_CASE("a group frame from the wire reaches the VMs of its VLAN only") {
    RingNic nic;
    SwitchHarness host({}, &nic);
    const VnicId vm1 = host.add(in_vlan(1, 10));
    const VnicId vm2 = host.add(vm(2));
    const FrameBytes solicitation = ethernet(0x0100'00FF'3333, kFar, kIpv6, neighbor_solicitation());
    nic.arrive(to_mbuf(buffer_pool(), tagged(solicitation, 10)));
    nic.arrive(to_mbuf(buffer_pool(), tagged(solicitation, 30)));
    host.settle();
    REQUIRE(host.port(vm1).received.size() == 1);
    CHECK((bytes_of(host.port(vm1).received[0]) == solicitation));
    CHECK(host.port(vm2).received.empty());
    const DirectionStats& rx = host.snapshot_worker(0).uplink.rx;
    CHECK(drops(rx, DropReason::kNoSuchMac) == 1);
    CHECK(balanced(rx));
}

TEST_CASE("a frame from the wire reaches its VM without tag, and both ends count what they carried") {
    RingNic nic;
    SwitchHarness host({}, &nic);
    const VnicId vm1 = host.add(in_vlan(1, 10));
    host.port(vm1).ring_frames = 3;
    for (std::uint32_t i = 0; i < 5; ++i)
        nic.arrive(to_mbuf(buffer_pool(), tagged(numbered(mac(1), kFar, 60, i), 10)));
    host.settle();
    REQUIRE(host.port(vm1).received.size() == 3);
    CHECK((bytes_of(host.port(vm1).received[2]) == numbered(mac(1), kFar, 60, 2)));
    CHECK(host.stats(vm1).to_vm.delivered.bytes == 3 * 84);
    CHECK(host.stats(vm1).to_vm.queued.bytes == 2 * 84);  // for the VM to empty its ring
    CHECK(balanced(host.stats(vm1).to_vm));
    const DirectionStats& rx = host.snapshot_worker(0).uplink.rx;
    CHECK(rx.delivered.bytes == 5 * 88);
    CHECK(balanced(rx));
}

TEST_CASE("an unknown address goes to the wire when every VM's is pinned, and nowhere without a wire") {
    RingNic nic;
    SwitchHarness wired({}, &nic);
    const VnicId vm1 = wired.add(vm(1));
    const VnicId vm2 = wired.add(vm(2));
    wired.port(vm1).offered.push_back(frame(kFar, mac(1)));
    wired.settle();
    CHECK(wired.port(vm2).received.empty());
    CHECK(wired.stats(vm1).flood_copies == 0);
    CHECK(nic.drain() == 60);
}

TEST_CASE("without an uplink a frame to an unknown address is dropped") {
    SwitchHarness host;
    const VnicId vm1 = host.add(vm(1));
    host.add(vm(2));
    host.port(vm1).offered.push_back(frame(kFar, mac(1)));
    host.settle();
    CHECK(drops(host.stats(vm1).from_vm, DropReason::kNoSuchMac) == 1);
}

TEST_CASE("a port without anti-spoofing gets what is unknown, and is learned by what it sends") {
    RingNic nic;
    SwitchHarness host({}, &nic);
    const VnicId vm1 = host.add(vm(1));
    const VnicId bridge = host.add(learning_vm(2));
    host.port(vm1).offered.push_back(frame(kFar, mac(1)));
    host.settle();
    CHECK(host.port(bridge).received.size() == 1);
    CHECK(nic.drain() == 60);
    host.port(bridge).offered.push_back(frame(mac(1), kFar));
    host.settle();
    CHECK(host.port(vm1).received.size() == 1);
    host.port(vm1).offered.push_back(frame(kFar, mac(1)));
    host.settle();
    CHECK(host.port(bridge).received.size() == 2);
    CHECK(nic.drain() == 0);
    nic.arrive(frame(mac(1), kFar));  // it has moved to the wire
    host.settle();
    host.port(vm1).offered.push_back(frame(kFar, mac(1)));
    host.settle();
    CHECK(nic.drain() == 60);
}

TEST_CASE("flooding is bounded per vNIC and for the wire; other traffic is not") {
    RingNic nic(1, 4096);
    SwitchConfig config;
    config.flood_limit_pps = 1000;
    SwitchHarness host(config, &nic);
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(vm(2));
    host.port(vm2).sink = [](const rte_mbuf*) {};
    host.port(vm1).source = [] { return frame(kBroadcast, mac(1)); };
    const std::uint64_t before = host.stats(vm1).flood_copies;
    host.run(100'000'000, 20'000);
    host.port(vm1).source = nullptr;
    const std::uint64_t copies = host.stats(vm1).flood_copies - before;
    CHECK(copies >= 160);  // 64 at once, then one per millisecond
    CHECK(copies <= 165);
    CHECK(drops(host.stats(vm1).from_vm, DropReason::kFloodLimited) ==
          host.stats(vm1).from_vm.offered.packets - copies);
    host.port(vm1).offered.push_back(frame(mac(2), mac(1)));
    const std::uint64_t delivered = host.stats(vm2).to_vm.delivered.packets;
    host.settle();
    CHECK(host.stats(vm2).to_vm.delivered.packets == delivered + 1);

    for (std::uint32_t i = 0; i < 200; ++i)
        nic.arrive(frame(kBroadcast, kFar));
    host.settle();
    CHECK(drops(host.snapshot_worker(0).uplink.rx, DropReason::kFloodLimited) == 200 - 64);
}

TEST_CASE("VMs of different workers exchange frames in order, unicast and broadcast") {
    SwitchConfig config;
    config.workers = {1, 2};
    SwitchHarness host(config);
    VnicConfig second = vm(2);
    second.worker = 1;
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(second);
    host.port(vm2).ring_frames = 1000;
    for (std::uint32_t i = 0; i < 200; ++i)
        host.port(vm1).offered.push_back(frame(mac(2), mac(1), i));
    host.port(vm2).offered.push_back(frame(mac(1), mac(2)));
    host.port(vm2).offered.push_back(frame(kBroadcast, mac(2)));
    host.settle();
    REQUIRE(host.port(vm2).received.size() == 200);
    std::uint32_t misplaced = 0;
    for (std::uint32_t i = 0; i < 200; ++i)
        misplaced += number_of(host.port(vm2).received[i]) != i;
    CHECK(misplaced == 0);
    CHECK(host.port(vm1).received.size() == 2);
    CHECK(host.snapshot_worker(0).handoff.posted == 200);
    CHECK(host.snapshot_worker(1).handoff.posted == 2);
    CHECK(balanced(host.stats(vm1).from_vm));
    CHECK(balanced(host.stats(vm2).to_vm));
}

TEST_CASE("a worker that is behind costs what does not fit its inbox, and that is counted once") {
    SwitchConfig config;
    config.workers = {1, 2};
    SwitchHarness host(config);
    VnicConfig second = vm(2);
    second.worker = 1;
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(second);
    host.port(vm2).ring_frames = 4000;
    for (std::uint32_t i = 0; i < 2000; ++i)
        host.port(vm1).offered.push_back(frame(mac(2), mac(1), i));
    while (!host.port(vm1).offered.empty())
        host.worker(0).run_once(host.now);
    for (unsigned i = 0; i < 10; ++i)
        host.port(vm1).offered.push_back(frame(kBroadcast, mac(1)));
    while (!host.port(vm1).offered.empty())
        host.worker(0).run_once(host.now);
    const HandoffStats handoff = host.snapshot_worker(0).handoff;
    CHECK(handoff.posted >= 1023);
    CHECK(handoff.posted <= 1024);
    CHECK(handoff.copies_ring_full == 10);
    host.settle();
    CHECK(host.port(vm2).received.size() == handoff.posted);
    const DirectionStats& sent = host.stats(vm1).from_vm;
    CHECK(drops(sent, DropReason::kWorkerRingFull) == 2000 - handoff.posted);
    CHECK(sent.dropped.packets == 2000 - handoff.posted);
    CHECK(sent.delivered.packets == handoff.posted + 10);  // the frames whose copies were lost
    CHECK(balanced(sent));
}

TEST_CASE("frames on their way to a vNIC that has gone are freed and counted") {
    const unsigned before = buffers_in_use();
    {
        SwitchConfig config;
        config.workers = {1, 2};
        SwitchHarness host(config);
        VnicConfig second = vm(2);
        second.worker = 1;
        const VnicId vm1 = host.add(vm(1));
        const VnicId vm2 = host.add(second);
        for (std::uint32_t i = 0; i < 10; ++i)
            host.port(vm2).offered.push_back(frame(mac(1), mac(2), i));
        host.remove(vm1);  // worker 0 takes the command first: worker 1 goes on sending
        CHECK(host.stats(vm2).from_vm.delivered.packets == 10);
        CHECK(host.snapshot_worker(0).handoff.vnic_gone == 10);
    }
    CHECK(buffers_in_use() == before);
}

TEST_CASE(
    "every address that one worker learned reaches the other, though their rings are full for a while") {
    SwitchConfig config;
    config.workers = {1, 2};
    SwitchHarness host(config);
    const VnicId bridge = host.add(learning_vm(1));
    VnicConfig second = vm(2);
    second.worker = 1;
    const VnicId vm2 = host.add(second);
    host.port(bridge).ring_frames = 4096;
    host.port(vm2).ring_frames = 4096;
    constexpr unsigned kAddresses = 2000;
    const auto inner = [](unsigned n) { return mac(3) | std::uint64_t{n} << 16; };
    for (unsigned n = 0; n < kAddresses; ++n)
        host.port(bridge).offered.push_back(frame(mac(2), inner(n), n));
    MacRelay relay;
    for (unsigned round = 0; round < 40; ++round) {
        for (unsigned i = 0; i < 1000; ++i) {
            host.worker(0).housekeeping_next();
            host.worker(1).housekeeping_next();
            host.turn();
        }
        relay.run(host.workers());
    }
    CHECK(host.snapshot_worker(1).mac_entries == 1 + kAddresses);
}
