// traffic_class_test.cc - DSCP and ECN in IPv4 and IPv6, tagged and not, with the checksum kept right.
#include "vswitch/datapath/frame/traffic_class.h"

#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr std::uint8_t kCapable = 2;  // ECT(0)

FrameBytes v4() {
    return ethernet(kFar, mac(1), kIpv4, ipv4(kUdp, udp(pattern(40))));
}
FrameBytes v6() {
    return ethernet(kFar, mac(1), kIpv6, ipv6(kUdp, udp(pattern(40))));
}

/// Runs `change` on a frame; the bytes after it.
template <typename Change>
FrameBytes changed(const FrameBytes& frame, Change&& change) {
    rte_mbuf* buffer = to_mbuf(buffer_pool(), frame);
    change(buffer);
    FrameBytes bytes = bytes_of(buffer);
    rte_pktmbuf_free(buffer);
    return bytes;
}

FrameBytes with_class(const FrameBytes& frame, std::uint8_t value) {
    return changed(frame, [value](rte_mbuf* buffer) { TrafficClass(buffer).set(value); });
}

std::uint8_t class_of(const FrameBytes& frame) {
    std::uint8_t value = 0;
    changed(frame, [&](rte_mbuf* buffer) { value = TrafficClass(buffer).get(); });
    return value;
}

}  // namespace

TEST_CASE("the byte is where the RFCs have it, and nothing else changes") {
    const FrameBytes before4 = v4();
    const FrameBytes after4 = with_class(before4, 0xB9);
    CHECK(after4[15] == 0xB9);
    CHECK(ip_checksum_good(after4));
    const FrameBytes before6 = v6();
    const FrameBytes after6 = with_class(before6, 0xB9);
    CHECK(after6[14] == 0x6B);
    CHECK((after6[15] >> 4) == 0x9);
    CHECK((after6[15] & 0x0F) == (before6[15] & 0x0F));  // the flow label
    for (const FrameBytes& frame : {after4, after6}) {
        CHECK(class_of(frame) == 0xB9);
        CHECK(class_of(tagged(frame, 10)) == 0xB9);
        CHECK(class_of(with_class(tagged(frame, 10), 0x21)) == 0x21);
    }
}

TEST_CASE("a DSCP leaves the sender's ECN alone") {
    for (const FrameBytes& frame : {v4(), v6()}) {
        const FrameBytes marked =
            changed(with_class(frame, kCapable), [](rte_mbuf* buffer) { set_dscp(buffer, 8); });
        CHECK(class_of(marked) == (8 << 2 | kCapable));
    }
    CHECK(ip_checksum_good(changed(v4(), [](rte_mbuf* buffer) { set_dscp(buffer, 46); })));
}

TEST_CASE("congestion is marked only for ECN-capable senders") {
    for (const FrameBytes& frame : {v4(), v6()}) {
        bool done = true;
        changed(frame,
                [&](rte_mbuf* buffer) { done = mark_congestion(buffer) || congestion_marked(buffer); });
        CHECK_FALSE(done);
        changed(with_class(frame, kCapable), [&](rte_mbuf* buffer) {
            done = !congestion_marked(buffer) && mark_congestion(buffer) && congestion_marked(buffer);
        });
        CHECK(done);
    }
}

TEST_CASE("what is not IP has no such byte") {
    const FrameBytes arp = ethernet(kBroadcast, mac(1), kArp, arp_request());
    CHECK((changed(arp, [](rte_mbuf* buffer) { set_dscp(buffer, 8); }) == arp));
    FrameBytes cut = v4();
    cut.resize(20);
    CHECK((changed(cut, [](rte_mbuf* buffer) { set_dscp(buffer, 8); }) == cut));
}

TEST_CASE("on the wire a vNIC without a reservation is best effort, one with a reservation is not") {
    RingNic nic;
    SwitchConfig config;
    config.uplink.best_effort_dscp = 8;
    config.uplink.best_effort_pcp = 1;
    SwitchHarness host(config, &nic);
    VnicConfig plain = vm(1);
    plain.vlan = 10;
    VnicConfig promised = vm(2);
    promised.vlan = 10;
    promised.reservation_bps = 1'000'000;
    const VnicId vm1 = host.add(plain);
    const VnicId vm2 = host.add(promised);
    const auto sent = [&](VnicId from, unsigned n) {
        host.port(from).offered.push_back(
            to_mbuf(buffer_pool(), ethernet(kFar, mac(n), kIpv4, ipv4(kUdp, udp(pattern(40))))));
        host.settle();
        rte_mbuf* frame = nic.take().at(0);
        FrameBytes bytes = bytes_of(frame);
        rte_pktmbuf_free(frame);
        return bytes;
    };
    const FrameBytes low = sent(vm1, 1);
    CHECK(class_of(low) == 8 << 2);
    CHECK(low[14] == 1 << 5);  // PCP 1, VLAN 10
    CHECK(low[15] == 10);
    const FrameBytes high = sent(vm2, 2);
    CHECK(class_of(high) == 0);
    CHECK(high[14] == 0);
    plain.reservation_bps = 1'000'000;
    host.change(vm1, plain);
    CHECK(class_of(sent(vm1, 1)) == 0);
}
