// flow_hash_test.cc - the fields that keep a flow on one ring, and those that spread flows.
#include "vswitch/ports/flow_hash.h"

#include <set>

#include "test/support/catch.h"
#include "test/support/frames.h"

using namespace weir;
using namespace weir::testing;

namespace {

FrameBytes ip6_flow(std::uint16_t port, std::uint8_t protocol = kTcp, std::uint8_t last = 1) {
    FrameBytes frame = ethernet(mac(2), mac(1), kIpv6, ipv6(protocol, tcp(pattern(20))));
    write16(frame, 54, port);
    frame[37] = last;  // of the source address
    return frame;
}

FrameBytes ip4_flow(std::uint16_t port, std::uint8_t protocol = kUdp) {
    FrameBytes frame = ethernet(mac(2), mac(1), kIpv4, ipv4(protocol, udp(pattern(20))));
    write16(frame, 34, port);
    return frame;
}

/// Rings of 4 that 64 frames get.
template <class Make>
std::size_t rings_used(Make&& make) {
    std::set<std::uint16_t> used;
    for (unsigned i = 0; i < 64; ++i)
        used.insert(FlowHash::ring(FlowHash::of(make(i)), 4));
    return used.size();
}

}  // namespace

TEST_CASE("flows of IPv4 and IPv6 behind one router are spread by addresses and ports") {
    CHECK(rings_used([](unsigned i) { return ip4_flow(static_cast<std::uint16_t>(i)); }) == 4);
    CHECK(rings_used([](unsigned i) { return ip6_flow(static_cast<std::uint16_t>(i)); }) == 4);
    CHECK(rings_used([](unsigned i) { return ip6_flow(7, 58, static_cast<std::uint8_t>(i)); }) == 4);
    CHECK(rings_used([](unsigned i) { return ethernet(mac(2), mac(i), kArp, arp_request()); }) == 4);
}

TEST_CASE("fragments and protocols without ports stay on one ring, whatever their payload is") {
    CHECK(rings_used([](unsigned i) { return ip4_flow(static_cast<std::uint16_t>(i), 47); }) == 1);
    CHECK(rings_used([](unsigned i) { return ip6_flow(static_cast<std::uint16_t>(i), 44); }) == 1);
    CHECK(rings_used([](unsigned i) {
              FrameBytes frame = ip4_flow(static_cast<std::uint16_t>(i));
              write16(frame, 20, static_cast<std::uint16_t>(i == 0 ? 0x2000 : i));
              return frame;
          }) == 1);
}

TEST_CASE("ports are read behind options, and nothing behind the end") {
    const auto with_options = [](unsigned i) {
        FrameBytes frame = ip4_flow(9);
        frame[14] = 0x47;  // two words of options
        write16(frame, 42, static_cast<std::uint16_t>(i));
        return frame;
    };
    CHECK(rings_used(with_options) == 4);
    FrameBytes frame = with_options(1);
    for (; frame.size() >= 14; frame.pop_back())
        (void)FlowHash::of(frame);
    for (FrameBytes six = ip6_flow(1); six.size() >= 14; six.pop_back())
        (void)FlowHash::of(six);
}

TEST_CASE("every ring is in range and gets its part") {
    for (const std::uint16_t rings : {std::uint16_t{1}, std::uint16_t{3}, std::uint16_t{16}}) {
        CHECK(FlowHash::ring(0, rings) == 0);
        CHECK(FlowHash::ring(UINT32_MAX, rings) == rings - 1);
    }
}
