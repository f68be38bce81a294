// straight_test.cc - frames whose payloads are left with their sender: one copy into another VM's ring, and
// whole frames on every other way.
#include <rte_mbuf.h>

#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"
#include "vswitch/ports/virtio/left_payload.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr std::size_t kLong = 1400;

/// A numbered frame whose bytes are all different from scribble.
FrameBytes long_frame(std::uint64_t to, std::uint32_t number, std::size_t bytes = kLong) {
    return numbered(to, mac(1), bytes, number);
}

/// vm1, which leaves its payloads, vm2 and vm3.
struct Hosts {
    explicit Hosts(const SwitchConfig& config = {}, const VnicConfig& sender = vm(1), WorkerId other = 0)
        : host(config, &nic) {
        host.prompt = true;
        vm1 = host.add(sender);
        vm2 = host.add(vm(2));
        VnicConfig third = vm(3);
        third.worker = other;
        vm3 = host.add(third);
        host.port(vm1).leaves = true;
    }
    ~Hosts() {
        for (std::uint16_t queue = 0; queue < 2; ++queue)
            nic.drain(0, queue);
    }
    void offer(const FrameBytes& frame) { host.port(vm1).offered.push_back(to_mbuf(buffer_pool(), frame)); }
    /// The VM has got these frames, and no others, in this order.
    void check_received(VnicId id, const std::vector<FrameBytes>& frames) {
        const auto& received = host.port(id).received;
        REQUIRE(received.size() == frames.size());
        for (std::size_t i = 0; i < frames.size(); ++i)
            CHECK(bytes_of(received[i]) == frames[i]);
        host.port(id).drain();
    }
    [[nodiscard]] std::uint64_t straight(VnicId id) { return host.port(id).straight; }

    RingNic nic{2, 1024};
    SwitchHarness host;
    VnicId vm1 = kNoVnic;
    VnicId vm2 = kNoVnic;
    VnicId vm3 = kNoVnic;
};

SwitchConfig over_two_workers() {
    SwitchConfig config;
    config.workers = {0, 1};
    return config;
}

}  // namespace

TEST_CASE(
    "straight: long frames to VMs of the worker are copied once, alone and mixed, and short ones twice") {
    Hosts all;
    std::vector<FrameBytes> to_vm2;
    std::vector<FrameBytes> to_vm3;
    for (std::uint32_t i = 0; i < 10; ++i)
        all.offer(to_vm2.emplace_back(long_frame(mac(2), i)));
    all.host.settle();
    all.check_received(all.vm2, to_vm2);
    CHECK(all.straight(all.vm2) == 10);
    to_vm2.clear();
    for (std::uint32_t i = 0; i < 8; ++i) {  // one burst for both
        all.offer(to_vm2.emplace_back(long_frame(mac(2), i)));
        all.offer(to_vm3.emplace_back(long_frame(mac(3), i, i % 2 == 0 ? kLong : 100)));
    }
    all.host.settle();
    all.check_received(all.vm2, to_vm2);
    all.check_received(all.vm3, to_vm3);
    CHECK(all.straight(all.vm2) == 18);
    CHECK(all.straight(all.vm3) == 4);
    CHECK_FALSE(all.host.port(all.vm1).owes_chains());
}

TEST_CASE("straight: frames that wait for a full ring, or for their sender's limit, are whole") {
    Hosts all;
    all.host.port(all.vm2).ring_frames = 3;
    std::vector<FrameBytes> frames;
    for (std::uint32_t i = 0; i < 12; ++i)
        all.offer(frames.emplace_back(long_frame(mac(2), i)));
    all.host.settle();
    CHECK(all.straight(all.vm2) == 3);
    all.check_received(all.vm2, {frames.begin(), frames.begin() + 3});
    all.host.port(all.vm2).ring_frames = 256;
    all.host.settle();
    all.check_received(all.vm2, {frames.begin() + 3, frames.end()});
    CHECK(all.straight(all.vm2) == 3);
    VnicConfig limited = vm(1);
    limited.limit_bps = 10'000'000;
    all.host.change(all.vm1, limited);
    frames.clear();
    for (std::uint32_t i = 0; i < 60; ++i)
        all.offer(frames.emplace_back(long_frame(mac(2), i)));
    all.host.run(100'000'000, 500'000);
    all.check_received(all.vm2, frames);
}

TEST_CASE("straight: frames to the wire, to another worker's VM and to all are whole") {
    Hosts all(over_two_workers(), vm(1), 1);
    const FrameBytes to_wire = long_frame(kFar, 1);
    const FrameBytes to_vm3 = long_frame(mac(3), 2);
    const FrameBytes to_all = long_frame(kBroadcast, 3);
    all.offer(to_wire);
    all.offer(to_vm3);
    all.offer(to_all);
    all.host.settle();
    all.check_received(all.vm2, {to_all});
    all.check_received(all.vm3, {to_vm3, to_all});
    std::vector<FrameBytes> sent;
    for (rte_mbuf* frame : all.nic.take()) {
        sent.push_back(bytes_of(frame));
        rte_pktmbuf_free(frame);
    }
    CHECK(sent == std::vector<FrameBytes>{to_wire, to_all});
    CHECK(all.straight(all.vm2) + all.straight(all.vm3) == 0);
}

TEST_CASE("straight: guarded, captured and observed frames are read whole") {
    SECTION("a guard reads its guest's frames") {
        VnicConfig guarded = vm(1);
        guarded.addresses = {IpNetwork::parse("10.0.0.1").value()};
        Hosts all({}, guarded);
        const FrameBytes frame = ethernet(mac(2), mac(1), kIpv4, ipv4(kTcp, tcp(pattern(kLong))));
        all.offer(frame);
        all.host.settle();
        CHECK(all.straight(all.vm2) == 0);
        all.host.port(all.vm2).drain();
    }
    SECTION("a capture on the worker") {
        Hosts all;
        Capture capture({}, all.vm3, 1 << 16);
        all.host.post(0, command::StartCapture{&capture});
        const FrameBytes frame = long_frame(mac(2), 1);
        all.offer(frame);
        all.host.settle();
        all.check_received(all.vm2, {frame});
        CHECK(all.straight(all.vm2) == 0);
        all.host.post(0, command::StopCapture{&capture});
    }
    SECTION("a receiver that learns addresses") {
        Hosts all;
        VnicConfig learning = vm(2);
        learning.dhcp = DhcpRole::kClient;
        all.host.change(all.vm2, learning);
        const FrameBytes frame = long_frame(mac(2), 1);
        all.offer(frame);
        all.host.settle();
        all.check_received(all.vm2, {frame});
        CHECK(all.straight(all.vm2) == 0);
    }
}

TEST_CASE("straight: a frame longer than its receiver's MTU is dropped, and its neighbors arrive whole") {
    Hosts all;
    VnicConfig small = vm(4);
    small.mtu = 1000;
    const VnicId vm4 = all.host.add(small);
    const FrameBytes fits = long_frame(mac(4), 2, 900);
    all.offer(long_frame(mac(4), 1));
    all.offer(fits);
    all.host.settle();
    all.check_received(vm4, {fits});
    CHECK(drops(all.host.stats(vm4).to_vm, DropReason::kMtuExceeded) == 1);
}
