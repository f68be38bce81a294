// tunnel_routes_test.cc - the tunnels of frames of every kind, and their permitted sources.
#include "vswitch/datapath/tunnels/tunnel_routes.h"

#include "test/support/catch.h"
#include "test/support/frames.h"

using namespace weir;
using namespace weir::testing;

namespace {

FrameEnd four(std::uint32_t address) {
    return {FrameEnd::Kind::kOne, false, std::uint64_t{address} << 32, 0};
}

TunnelRoutes routes() {
    TunnelRoutes made;
    const char* const networks[] = {"10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "fd00::/16", "fd00:0:0:2::/64"};
    for (std::size_t i = 0; i < std::size(networks); ++i)
        made.add(*IpNetwork::parse(networks[i]), static_cast<TunnelId>(i));
    return made;
}

FrameBytes packet4(std::uint32_t from, std::uint32_t to) {
    FrameBytes frame = ethernet(mac(2), mac(1), kIpv4, ipv4(kUdp, udp(pattern(9))));
    write32(frame, 26, from);
    write32(frame, 30, to);
    return frame;
}

TunnelId way(TunnelRoutes& table, const FrameBytes& frame) {
    return table.find(read_destination(frame));
}

}  // namespace

TEST_CASE("the longest prefix wins, by whichever order, and again from the cache") {
    TunnelRoutes table = routes();
    for (int again = 0; again < 2; ++again) {
        CHECK(table.find(four(0x0A020304)) == 0);
        CHECK(table.find(four(0x0A010304)) == 1);
        CHECK(table.find(four(0x0A010203)) == 2);
        CHECK(table.find(four(0x0B010203)) == kNoTunnel);
        CHECK(table.find({FrameEnd::Kind::kOne, true, 0xFD00'0000'0000'0001, 5}) == 3);
        CHECK(table.find({FrameEnd::Kind::kOne, true, 0xFD00'0000'0000'0002, 5}) == 4);
        CHECK(table.find({FrameEnd::Kind::kOne, true, 0x0A01'0203'0000'0000, 0}) == kNoTunnel);
    }
    TunnelRoutes all;
    all.add(*IpNetwork::parse("0.0.0.0/0"), 7);
    CHECK(all.find(four(1)) == 7);
}

TEST_CASE(
    "packets go by their destination, tagged or not; ARP and solicitations by the address that they ask "
    "for") {
    TunnelRoutes table = routes();
    CHECK(way(table, packet4(1, 0x0A010203)) == 2);
    CHECK(way(table, tagged(packet4(1, 0x0A010203), 9)) == 2);
    CHECK(way(table, packet4(1, 0x0C010203)) == kNoTunnel);
    CHECK(way(table, packet4(1, 0xE0000001)) == kAllTunnels);
    FrameBytes broadcast = packet4(1, 0x0A010203);
    broadcast[0] |= 1;
    CHECK(way(table, broadcast) == kAllTunnels);
    FrameBytes arp = ethernet(kBroadcast, mac(1), kArp, arp_request());
    write32(arp, 28, 0x0A010009);
    write32(arp, 38, 0x0A010005);
    CHECK(way(table, arp) == 1);
    write32(arp, 38, 0x0C010005);
    CHECK(way(table, arp) == kNoTunnel);
    write32(arp, 28, 0x0C010005);  // its own address: an announcement
    CHECK(way(table, arp) == kAllTunnels);
    CHECK(way(table, ethernet(mac(2), mac(1), 0x88B5, pattern(46))) == kNoTunnel);
    CHECK(way(table, ethernet(kBroadcast, mac(1), 0x88B5, pattern(46))) == kAllTunnels);
}

TEST_CASE("link-local and unspecified addresses are not checked, any other source is") {
    TunnelRoutes table = routes();
    CHECK(table.find(read_source(packet4(0x0A010203, 1))) == 2);
    CHECK(table.find(read_source(packet4(0, 1))) == kAllTunnels);
    CHECK(table.find(read_source(packet4(0x0C010203, 1))) == kNoTunnel);
    FrameBytes six = ethernet(mac(2), mac(1), kIpv6, ipv6(kUdp, udp(pattern(9))));
    write32(six, 22, 0xFE800000);
    CHECK(table.find(read_source(six)) == kAllTunnels);
    write32(six, 22, 0x20010DB8);
    CHECK(table.find(read_source(six)) == kNoTunnel);
}

TEST_CASE("frames that are cut anywhere are read without a look beyond their end") {
    TunnelRoutes table = routes();
    for (const FrameBytes& whole :
         {packet4(1, 2), tagged(packet4(1, 2), 3), ethernet(mac(2), mac(1), kIpv6, neighbor_solicitation()),
          ethernet(kBroadcast, mac(1), kArp, arp_request())})
        for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
            const FrameBytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes));
            (void)table.find(read_destination(cut));
            (void)table.find(read_source(cut));
        }
    CHECK(table.find(read_destination({})) == kNoTunnel);
}
