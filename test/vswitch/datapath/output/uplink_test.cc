// uplink_test.cc - the way out: tags, offloads, a NIC that is behind or down.
#include "vswitch/datapath/output/uplink.h"

#include <rte_mbuf.h>

#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"

using namespace weir;
using namespace weir::testing;

namespace {

rte_mbuf* plain(std::uint32_t number, std::size_t bytes = 100, unsigned from = 1) {
    return to_mbuf(buffer_pool(), numbered(kFar, mac(from), bytes, number));
}

SwitchConfig config_with(std::uint64_t rate_bps) {
    SwitchConfig config;
    config.uplink.rate_bps = rate_bps;
    config.uplink.headroom = 0;
    return config;
}

std::vector<FrameBytes> wire_bytes(RingNic& nic) {
    std::vector<FrameBytes> frames;
    for (rte_mbuf* frame : nic.take()) {
        frames.push_back(bytes_of(frame));
        rte_pktmbuf_free(frame);
    }
    return frames;
}

}  // namespace

TEST_CASE("what a VM in a VLAN sends leaves with its tag and is otherwise unchanged") {
    RingNic nic;
    SwitchHarness host({}, &nic);
    VnicConfig config = vm(1);
    config.vlan = 10;
    const VnicId vm1 = host.add(config);
    host.port(vm1).offered.push_back(plain(7));
    host.settle();
    const auto frames = wire_bytes(nic);
    REQUIRE(frames.size() == 1);
    CHECK((frames[0] == tagged(numbered(kFar, mac(1), 100, 7), 10)));
    CHECK(host.stats(vm1).from_vm.delivered.packets == 1);
    CHECK(host.stats(vm1).from_vm.delivered.bytes == 104 + kOverhead);
    CHECK(balanced(host.stats(vm1).from_vm));
}

TEST_CASE("the NIC's missing offloads are made up for, inside a VLAN too") {
    for (const std::uint16_t vlan : {std::uint16_t{0}, std::uint16_t{10}}) {
        RingNic nic;
        SwitchHarness host({}, &nic);
        VnicConfig config = vm(1);
        config.vlan = vlan;
        const VnicId vm1 = host.add(config);
        const FrameBytes super_frame = ethernet(kFar, mac(1), kIpv4, ipv4(kTcp, tcp(pattern(10'000))));
        host.port(vm1).offered.push_back(ask_segments(to_mbuf(buffer_pool(), super_frame), 1448));
        const FrameBytes small = ethernet(kFar, mac(1), kIpv6, ipv6(kUdp, udp(pattern(99))));
        host.port(vm1).offered.push_back(ask_checksum(to_mbuf(buffer_pool(), small)));
        host.settle();
        auto frames = wire_bytes(nic);
        REQUIRE(frames.size() == 8);
        unsigned bad = 0;
        std::size_t payload = 0;
        for (FrameBytes& frame : frames) {
            if (vlan != 0)
                frame.erase(frame.begin() + 12, frame.begin() + 16);
            bad += !l4_checksum_good(frame);
            payload += frame.size() - (&frame == &frames.back() ? 62 : 54);
        }
        CHECK(bad == 0);
        CHECK(payload == 10'000 + 99);
        CHECK(host.stats(vm1).from_vm.delivered.packets == 8);
        CHECK(balanced(host.stats(vm1).from_vm));
        CHECK(balanced(host.snapshot_worker(0).uplink.tx));
    }
}

TEST_CASE("a frame longer than the uplink's MTU is dropped at its sender") {
    RingNic nic;
    SwitchHarness host({}, &nic);
    const VnicId vm1 = host.add(vm(1));
    host.port(vm1).offered = {plain(0, 1514), plain(1, 1515), plain(2, 1514)};
    host.settle();
    CHECK(wire_bytes(nic).size() == 2);
    CHECK(drops(host.stats(vm1).from_vm, DropReason::kMtuExceeded) == 1);
    CHECK(balanced(host.stats(vm1).from_vm));
}

TEST_CASE("without link frames are dropped as uplink_down, with it they flow again") {
    RingNic nic;
    SwitchHarness host({}, &nic);
    const VnicId vm1 = host.add(vm(1));
    nic.set_link(false);
    for (std::uint32_t i = 0; i < 40; ++i)
        host.port(vm1).offered.push_back(plain(i));
    host.settle();
    CHECK(wire_bytes(nic).empty());
    CHECK(drops(host.stats(vm1).from_vm, DropReason::kUplinkDown) == 40);
    nic.set_link(true);
    host.port(vm1).offered.push_back(plain(40));
    host.settle();
    CHECK(wire_bytes(nic).size() == 1);
    CHECK(balanced(host.stats(vm1).from_vm));
}

TEST_CASE(
    "frames that wait for the wire when its link goes are dropped as uplink_down, and none leaves late") {
    RingNic nic(1, 64);
    SwitchHarness host(config_with(100'000'000'000), &nic);
    const VnicId vm1 = host.add(vm(1));
    for (std::uint32_t i = 0; i < 300; ++i)
        host.port(vm1).offered.push_back(plain(i));
    host.run(100'000);  // the NIC holds 64, others are pending behind it, others are in the scheduler's queue
    CHECK(host.path(vm1).queued_buffers != 0);
    nic.set_link(false);
    nic.drain();
    host.run(1'000'000);
    CHECK(host.path(vm1).queued_buffers == 0);
    CHECK(drops(host.stats(vm1).from_vm, DropReason::kUplinkDown) != 0);
    nic.set_link(true);
    host.port(vm1).offered.push_back(plain(1000));
    host.settle();
    const std::vector<rte_mbuf*> sent = nic.take();
    CHECK(sent.size() == 1);
    for (rte_mbuf* frame : sent) {
        CHECK(number_of(frame) == 1000);
        rte_pktmbuf_free(frame);
    }
    const UplinkStats uplink = host.snapshot_worker(0).uplink;
    CHECK(uplink.tx.queued.packets == 0);
    CHECK(uplink.tx.queued.bytes == 0);
    CHECK(balanced(uplink.tx));
    CHECK(balanced(host.stats(vm1).from_vm));
}

TEST_CASE("a NIC that takes nothing for a while costs no frame: the rest stays in the guest's ring") {
    for (const bool isolation : {true, false}) {
        RingNic nic(1, 64);
        SwitchConfig config = config_with(100'000'000'000);
        config.isolation = isolation;
        SwitchHarness host(config, &nic);
        const VnicId vm1 = host.add(vm(1));
        constexpr std::uint32_t kOffered = 5000;
        for (std::uint32_t i = 0; i < kOffered; ++i)
            host.port(vm1).offered.push_back(plain(i, 1000));
        host.run(1'000'000);
        const std::size_t waiting = host.port(vm1).offered.size();
        CHECK(waiting > kOffered - 64 - 64 - 32 - 160);  // NIC, pending, a burst, 128 KiB
        const VnicStats& stats = host.stats(vm1);
        CHECK(stats.from_vm.offered.packets == kOffered - waiting);
        if (isolation)
            CHECK(stats.held_ns[static_cast<std::size_t>(HoldReason::kUplink)] +
                      (host.path(vm1).held ? host.now - host.path(vm1).held_since : 0) >
                  900'000);

        std::uint32_t next = 0;
        std::uint32_t misplaced = 0;
        for (int round = 0; round < 2000 && next < kOffered; ++round) {
            for (rte_mbuf* frame : nic.take()) {
                misplaced += number_of(frame) != next++;
                rte_pktmbuf_free(frame);
            }
            host.run(4000);
        }
        CHECK(next == kOffered);
        CHECK(misplaced == 0);
        CHECK(stats.from_vm.delivered.packets == kOffered);
        CHECK(stats.from_vm.dropped.packets == 0);
        const DirectionStats& tx = host.snapshot_worker(0).uplink.tx;
        CHECK(tx.dropped.packets == 0);
        CHECK(tx.delivered.packets == kOffered);
        CHECK(tx.delivered.bytes == kOffered * (1000 + kOverhead));
        CHECK(balanced(tx));
    }
}

TEST_CASE("a frame is charged once to its vNIC's limit, whether it waits or not") {
    RingNic nic;
    SwitchHarness host(config_with(1'000'000'000), &nic);
    VnicConfig config = vm(1);
    config.limit_bps = 800'000'000;  // 100 bytes per microsecond, 100 KB of burst
    const VnicId vm1 = host.add(config);
    host.run(1'000'000);
    const auto bytes_left = [&] { return host.path(vm1).limiter.level(Limiter::kBytes, host.now); };
    const std::int64_t full = bytes_left();
    for (std::uint32_t i = 0; i < 40; ++i)
        host.port(vm1).offered.push_back(plain(i, 976));
    host.settle();  // the link's own burst is 12.5 KB: most of these wait for it
    const auto sent = static_cast<std::int64_t>(host.stats(vm1).from_vm.delivered.packets);
    CHECK(sent > 0);
    CHECK(sent < 40);
    CHECK(full - bytes_left() == sent * 1000);
    host.run(1'000'000);
    CHECK(host.stats(vm1).from_vm.delivered.packets == 40);
    CHECK(bytes_left() == full);
}

TEST_CASE("bytes towards the wire are counted apart from those to VMs here, whether they waited or not") {
    RingNic nic;
    SwitchHarness host(config_with(1'000'000'000), &nic);
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(vm(2));
    host.port(vm1).offered.push_back(plain(0, 976));
    host.settle();
    CHECK(host.stats(vm1).uplink_bytes == 1'000);
    for (std::uint32_t i = 0; i < 40; ++i)  // more than the link's burst
        host.port(vm1).offered.push_back(plain(i, 976));
    host.port(vm1).offered.push_back(to_mbuf(buffer_pool(), numbered(mac(2), mac(1), 976, 0)));
    host.run(1'000'000);
    CHECK(host.stats(vm1).from_vm.delivered.packets == 42);
    CHECK(host.stats(vm1).uplink_bytes == 41'000);
    CHECK(host.stats(vm1).uplink_bytes == host.snapshot_worker(0).uplink.tx.delivered.bytes);
    CHECK(host.stats(vm2).uplink_bytes == 0);
}

TEST_CASE("what waits for the uplink when its vNIC goes is dropped as vnic_removed, others stay") {
    RingNic nic;
    SwitchHarness host(config_with(1'000'000), &nic);
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(vm(2));
    for (std::uint32_t i = 0; i < 100; ++i) {
        host.port(vm1).offered.push_back(plain(i, 100, 1));
        host.port(vm2).offered.push_back(plain(i, 100, 2));
    }
    host.settle();
    const Tally queued = host.stats(vm1).from_vm.queued;
    CHECK(queued.packets > 50);
    const std::uint64_t vm2_queued = host.stats(vm2).from_vm.queued.packets;
    host.remove(vm1);
    const DirectionStats& tx = host.snapshot_worker(0).uplink.tx;
    CHECK(drops(tx, DropReason::kVnicRemoved) == queued.packets);
    CHECK(host.stats(vm2).from_vm.queued.packets == vm2_queued);
    host.run(200'000'000, 20'000);
    CHECK(host.stats(vm2).from_vm.delivered.packets == 100);
}
