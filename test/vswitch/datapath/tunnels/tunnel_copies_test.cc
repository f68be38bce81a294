// tunnel_copies_test.cc - a frame for everyone goes into every tunnel: the cost of its copies to the sender
// and the poll loop. Units: buffers; frames.
#include <rte_mbuf.h>

#include <algorithm>

#include "test/support/catch.h"
#include "test/vswitch/datapath/tunnels/tunnel_ends.h"
#include "vswitch/datapath/frame/offload.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr unsigned kTunnels = 40;

/// From 10.0.1.1 to a multicast group.
FrameBytes packet_to_all(std::uint64_t to, const FrameBytes& content, std::uint8_t protocol) {
    FrameBytes frame = ethernet(to, mac(1), kIpv4, ipv4(protocol, content));
    write32(frame, 26, 0x0A000101);
    write32(frame, 30, 0xEF000001);
    return frame;
}
rte_mbuf* multicast(std::uint64_t to = kBroadcast) {
    return to_mbuf(buffer_pool(), packet_to_all(to, udp(pattern(20)), kUdp));
}
rte_mbuf* super_frame(std::size_t payload, std::uint16_t segment) {
    return ask_segments(to_mbuf(buffer_pool(), packet_to_all(kBroadcast, tcp(pattern(payload)), kTcp)),
                        segment);
}

SwitchConfig uplink_of(std::uint64_t rate_bps) {
    SwitchConfig config;
    config.uplink.rate_bps = rate_bps;
    config.uplink.headroom = 0;
    return config;
}

}  // namespace

TEST_CASE("a frame for everyone leaves once into each tunnel, each copy a frame of its sender") {
    const unsigned before = buffers_in_use();
    {
        TunnelHost a(true, 1, uplink_of(10'000'000'000), 5);
        a.agree();
        a.host.port(0).offered.push_back(multicast());
        std::vector<rte_mbuf*> wire = a.send({});
        REQUIRE(wire.size() == 5);
        std::vector<std::uint32_t> spis;
        for (rte_mbuf* frame : wire) {
            spis.push_back(read32(bytes_of(frame), 34));
            rte_pktmbuf_free(frame);
        }
        std::ranges::sort(spis);
        for (unsigned n = 0; n < 5; ++n)
            CHECK((spis[n] & ~kSpiLowMask) == tunnel_end(false, n).spi_in);
        const DirectionStats sent = a.host.snapshot(0).from_vm;
        CHECK(sent.offered.packets == 5);
        CHECK(sent.delivered.packets == 5);
        CHECK(balanced(sent));
    }
    CHECK(buffers_in_use() == before);
}

TEST_CASE("copies for tunnels count in the sender's quota of buffers, and beyond it are dropped as that") {
    const unsigned before = buffers_in_use();
    {
        TunnelHost a(true, 1, uplink_of(100'000'000), kTunnels);
        a.agree();
        VnicConfig sender = vm(1);
        sender.encrypt = true;
        sender.buffers = limits::kVnicBuffersMin;
        a.host.change(0, sender);
        for (unsigned i = 0; i < 60; ++i)
            a.host.port(0).offered.push_back(i % 20 == 19 ? super_frame(3000, 100) : multicast());
        const VnicPath& path = a.host.path(0);
        for (unsigned turns = 0; turns < 200; ++turns) {
            a.host.now += 10'000;
            a.host.turn();
            REQUIRE(path.queued_buffers + path.intake.buffers() <= limits::kVnicBuffersMin);
        }
        CHECK(drops(a.host.stats(0).from_vm, DropReason::kBufferQuota) > 0);
        CHECK(balanced(a.host.stats(0).from_vm));
        for (unsigned turns = 0; turns < 2000; ++turns) {
            a.nic.drain();
            a.host.now += 1'000'000;
            a.host.turn();
        }
        CHECK(a.host.stats(0).from_vm.queued.packets == 0);
        CHECK(a.host.stats(0).from_vm.delivered.packets > limits::kVnicBuffersMin);
        CHECK(a.host.path(0).queued_buffers == 0);
        CHECK(balanced(a.host.stats(0).from_vm));
        CHECK(balanced(a.to_wire()));
    }
    CHECK(buffers_in_use() == before);
}

TEST_CASE("a turn cuts a super-frame for a few tunnels, and goes on with the others") {
    TunnelHost a(true, 1, uplink_of(10'000'000'000), kTunnels);
    a.agree();
    for (unsigned i = 0; i < 4; ++i)
        a.host.port(0).offered.push_back(super_frame(25'000, 100));  // 250 segments
    const DirectionStats& sent = a.host.stats(0).from_vm;
    std::uint64_t most = 0;
    for (unsigned turns = 0; turns < 600; ++turns) {
        const std::uint64_t before = sent.offered.packets;
        a.host.turn();
        a.host.now += 1'000'000;
        a.nic.drain();
        most = std::max(most, sent.offered.packets - before);
    }
    CHECK(most <= 2 * FloodRound::kPerTurn + offload::kSegmentsMax);
    CHECK(sent.offered.packets >= 250 * kTunnels);
    CHECK(sent.queued.packets == 0);
    CHECK(balanced(sent));
}

TEST_CASE("frames to a host's own address that go into every tunnel are bounded as floods are") {
    TunnelHost a(true, 1, uplink_of(10'000'000'000), 4);
    a.agree();
    for (unsigned i = 0; i < 100; ++i)
        a.host.port(0).offered.push_back(multicast(mac(2)));
    std::uint64_t wire = 0;
    for (unsigned turns = 0; turns < 100; ++turns) {
        a.host.turn();
        for (rte_mbuf* frame : a.nic.take()) {
            ++wire;
            rte_pktmbuf_free(frame);
        }
    }
    const DirectionStats& sent = a.host.stats(0).from_vm;
    CHECK(wire == 64 * 4);
    CHECK(drops(sent, DropReason::kFloodLimited) == 36);
    CHECK(balanced(sent));
    CHECK(a.host.stats(1).to_vm.offered.packets == 0);  // its address is known to be elsewhere
}
