// guarded_guests_test.cc - the address guard in the switch: refused frames are counted, honest ones arrive.
#include <rte_mbuf.h>

#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"
#include "test/vswitch/datapath/vnic/guard_frames.h"

using namespace weir;
using namespace weir::testing;

namespace {

VnicConfig with_address(unsigned n, const std::string& address) {
    VnicConfig config = vm(n);
    config.addresses.push_back(IpNetwork::parse(address).value());
    return config;
}
VnicConfig dhcp_client(unsigned n) {
    VnicConfig config = vm(n);
    config.dhcp = DhcpRole::kClient;
    return config;
}

/// A switch in which vm1, as configured, sends to vm2.
struct TwoGuests {
    explicit TwoGuests(const VnicConfig& first, const VnicConfig& second = vm(2))
        : vm1(host.add(first)), vm2(host.add(second)) {}
    /// @return whether the frame reached vm2
    bool arrives(rte_mbuf* frame) {
        host.port(vm1).offered.push_back(frame);
        host.settle();
        CHECK(balanced(host.stats(vm1).from_vm));
        return host.port(vm2).drain() != 0;
    }
    bool arrives(const FrameBytes& frame) { return arrives(to_mbuf(buffer_pool(), frame)); }
    [[nodiscard]] std::uint64_t dropped(DropReason reason) const {
        return drops(host.stats(vm1).from_vm, reason);
    }
    SwitchHarness host;
    VnicId vm1;
    VnicId vm2;
};

}  // namespace

TEST_CASE("each lie of a guarded guest is dropped under its reason, and its honest frames arrive") {
    const unsigned before = buffers_in_use();
    {
        TwoGuests guests(with_address(1, "10.0.0.1"));
        const FrameBytes advertisement =
            neighbor_frame("fe80::5054:ff:fe00:1", kRouterAdvertisement, "", link_option(1, mac(1)));
        const FrameBytes offer = frame_from("10.0.0.1", kUdp, udp_between(67, 68, pattern(300)));
        CHECK(guests.arrives(frame_from("10.0.0.1")));
        CHECK(guests.arrives(arp_from(mac(1), "10.0.0.1", "10.0.0.2")));
        CHECK_FALSE(guests.arrives(frame_from("10.0.0.2")));
        CHECK_FALSE(guests.arrives(arp_from(mac(1), "10.0.0.2", "10.0.0.9")));
        CHECK_FALSE(guests.arrives(neighbor_frame("fd00::7", kNeighborAdvertisement, "fd00::7", {})));
        CHECK_FALSE(guests.arrives(offer));
        CHECK_FALSE(guests.arrives(advertisement));
        CHECK_FALSE(guests.arrives(ethernet(mac(2), mac(1), 0x8847, pattern(46))));
        for (const DropReason reason :
             {DropReason::kIpSpoof, DropReason::kArpSpoof, DropReason::kNdSpoof, DropReason::kDhcpSpoof,
              DropReason::kRouterSpoof, DropReason::kUnreadable})
            CHECK(guests.dropped(reason) == 1);
        CHECK(guests.host.stats(guests.vm1).from_vm.delivered.packets == 2);
    }
    CHECK(buffers_in_use() == before);
}

TEST_CASE("a guest without addresses is not guarded") {
    TwoGuests guests(vm(1));
    CHECK(guests.arrives(frame_from("192.0.2.7")));
    CHECK(guests.arrives(arp_from(mac(1), "10.0.0.2", "10.0.0.9")));
    CHECK(guests.arrives(neighbor_frame("fe80::fe", kRouterAdvertisement, "", {})));
    CHECK(guests.arrives(ethernet(mac(2), mac(1), 0x8847, pattern(46))));
    CHECK(guests.host.stats(guests.vm1).from_vm.dropped.packets == 0);
}

TEST_CASE("a foreign source MAC is still the first thing that is refused") {
    TwoGuests guests(with_address(1, "10.0.0.1"));
    CHECK_FALSE(guests.arrives(frame_of(ip_from("10.0.0.2", kUdp, udp({})), mac(7))));
    CHECK(guests.dropped(DropReason::kMacSpoof) == 1);
}

TEST_CASE("the headers of a guarded guest's frame lie in its first buffer") {
    TwoGuests guests(with_address(1, "10.0.0.1"));
    const FrameBytes frame = frame_from("10.0.0.1", kUdp, udp(pattern(1000)));
    CHECK(guests.arrives(to_mbuf(buffer_pool(), frame, 42)));
    CHECK_FALSE(guests.arrives(to_mbuf(buffer_pool(), frame, 41)));
    CHECK_FALSE(guests.arrives(to_mbuf(buffer_pool(), frame, 20)));
    CHECK(guests.dropped(DropReason::kUnreadable) == 2);
}

TEST_CASE("an offload that would write into what was judged is refused") {
    TwoGuests guests(with_address(1, "10.0.0.1"));
    const auto honest = [] {
        return ask_checksum(to_mbuf(buffer_pool(), frame_from("10.0.0.1", kTcp, tcp(pattern(100)))));
    };
    CHECK(guests.arrives(honest()));
    rte_mbuf* inner = honest();  // an "IP header" two bytes on: its checksum is the source address
    rte_pktmbuf_mtod(inner, std::uint8_t*)[16] = 0x45;
    inner->l2_len = 16;
    inner->ol_flags |= RTE_MBUF_F_TX_IP_CKSUM;
    CHECK_FALSE(guests.arrives(inner));
    rte_mbuf* longer = honest();
    longer->l3_len = 24;
    CHECK_FALSE(guests.arrives(longer));
    rte_mbuf* target = to_mbuf(  // the TCP checksum would lie in the target
        buffer_pool(), neighbor_frame("fe80::5054:ff:fe00:1", kNeighborAdvertisement, "fe80::5054:ff:fe00:1",
                                      link_option(2, mac(1))));
    target->l2_len = 14;
    target->l3_len = 40;
    target->ol_flags |= RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_IPV6;
    CHECK_FALSE(guests.arrives(target));
    CHECK(guests.dropped(DropReason::kBadOffload) == 3);
}

TEST_CASE("super-frames of a guarded guest pass, whole and split, and others' do not") {
    VnicConfig limited = with_address(1, "10.0.0.1");
    limited.limit_bps = GENERATE(std::uint64_t{100'000'000}, std::uint64_t{10'000'000'000});
    TwoGuests guests(limited);
    const auto super_frame = [](const char* source) {
        return ask_segments(to_mbuf(buffer_pool(), frame_from(source, kTcp, tcp(pattern(6'000)))), 1'000);
    };
    CHECK(guests.arrives(super_frame("10.0.0.1")));
    CHECK_FALSE(guests.arrives(super_frame("10.0.0.2")));
    CHECK(guests.dropped(DropReason::kIpSpoof) >= 1);
}

TEST_CASE("a DHCP client may use the address that came over the wire, and may not before") {
    RingNic nic;
    SwitchHarness host({}, &nic);
    const VnicId client = host.add(dhcp_client(1));
    const VnicId other = host.add(vm(2));
    const auto sends = [&](const FrameBytes& frame) {
        host.port(client).offered.push_back(to_mbuf(buffer_pool(), frame));
        host.settle();
        return host.port(other).drain() != 0;
    };
    CHECK_FALSE(sends(frame_from("10.0.0.7")));
    CHECK(sends(frame_of(ip_from("0.0.0.0", kUdp, udp_between(68, 67, dhcp(1, 1, mac(1), "0.0.0.0"))), mac(1),
                         kBroadcast)));
    FrameBytes ack = dhcp_ack(mac(1), "10.0.0.7", 60);
    SECTION("to the guest") {}
    SECTION("to all") {
        std::fill_n(ack.begin(), 6, std::uint8_t{0xFF});
    }
    nic.arrive(to_mbuf(buffer_pool(), ack));
    host.settle();
    CHECK(host.port(client).drain() == 1);
    host.port(other).drain();
    CHECK(sends(frame_from("10.0.0.7")));
    const VnicReading stats = host.snapshot(client);
    CHECK(stats.learned[0].address.to_string() == "10.0.0.7");
    CHECK(stats.learned[0].until == host.now + 60 * kNanosPerSec);
    host.now += 60 * kNanosPerSec;
    CHECK_FALSE(sends(frame_from("10.0.0.7")));
    CHECK(drops(host.stats(client).from_vm, DropReason::kIpSpoof) == 2);
    nic.drain();
}

TEST_CASE("a DHCP client learns from a server on this host, of any worker, and from no other guest") {
    VnicConfig server = with_address(2, "10.0.0.254");
    server.dhcp = DhcpRole::kServer;
    server.worker = 1;
    SwitchConfig config;
    config.workers = {1, 2};
    SwitchHarness host(config);
    const VnicId client = host.add(dhcp_client(1));
    const VnicId good = host.add(server);
    const VnicId bad = host.add(with_address(3, "10.0.0.3"));
    const auto assign = [&](VnicId from, unsigned n, const char* source, const char* address) {
        host.port(from).offered.push_back(to_mbuf(
            buffer_pool(),
            frame_of(
                ip_from(source, kUdp, udp_between(67, 68, dhcp(2, 5, mac(1), address, lease_option(60)))),
                mac(n), mac(1))));
        host.settle();
        return host.snapshot(client).learned[0].address;
    };
    CHECK(assign(bad, 3, "10.0.0.3", "10.0.0.8") == IpAddress{});
    CHECK(drops(host.stats(bad).from_vm, DropReason::kDhcpSpoof) == 1);
    CHECK(assign(good, 2, "10.0.0.254", "10.0.0.7") == IpAddress::parse("10.0.0.7"));
}

TEST_CASE("addresses change while the guest runs, and what was learned goes with the role") {
    TwoGuests guests(dhcp_client(1));
    guests.host.port(guests.vm2)
        .offered.push_back(
            to_mbuf(buffer_pool(),
                    frame_of(ip_from("10.0.0.254", kUdp,
                                     udp_between(67, 68, dhcp(2, 5, mac(1), "10.0.0.7", lease_option(60)))),
                             mac(2), mac(1))));
    guests.host.settle();
    CHECK(guests.arrives(frame_from("10.0.0.7")));
    VnicConfig both = dhcp_client(1);
    both.addresses.push_back(IpNetwork::parse("10.0.0.1").value());
    guests.host.change(guests.vm1, both);
    CHECK(guests.arrives(frame_from("10.0.0.7")));
    CHECK(guests.arrives(frame_from("10.0.0.1")));
    guests.host.change(guests.vm1, with_address(1, "10.0.0.1"));
    CHECK_FALSE(guests.arrives(frame_from("10.0.0.7")));
    CHECK(guests.arrives(frame_from("10.0.0.1")));
    guests.host.change(guests.vm1, vm(1));
    CHECK(guests.arrives(frame_from("10.0.0.99")));
}
