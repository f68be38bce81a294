// kernel_frames_test.cc - which checksums of a kernel's frames are finished, and which are left.
#include "vswitch/ports/kernel_frames.h"

#include <rte_mbuf.h>

#include "test/support/catch.h"
#include "test/support/eal_fixture.h"
#include "test/support/frames.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr std::uint16_t kTcpField = 16;
constexpr std::uint16_t kUdpField = 6;

/// Where the packet's checksum stands. The frame has no tags and no extension headers.
std::size_t field_of(const FrameBytes& frame) {
    const bool v4 = read16(frame, 12) == kIpv4;
    const std::uint8_t protocol = frame[v4 ? 23 : 20];
    return (v4 ? 34U : 54U) + (protocol == kTcp ? kTcpField : kUdpField);
}

/// The frame as its sender's kernel leaves it to a device: with the sum of the pseudo header.
FrameBytes begun(FrameBytes frame) {
    const bool v4 = read16(frame, 12) == kIpv4;
    const std::size_t upper = v4 ? 34 : 54;
    const std::size_t addresses = v4 ? 8 : 32;
    FrameBytes pseudo(frame.begin() + static_cast<std::ptrdiff_t>(upper - addresses),
                      frame.begin() + static_cast<std::ptrdiff_t>(upper));
    const std::size_t bytes = frame.size() - upper;
    for (const std::size_t byte :
         {std::size_t{0}, std::size_t{frame[v4 ? 23 : 20]}, bytes >> 8, bytes & 0xFF})
        pseudo.push_back(static_cast<std::uint8_t>(byte));
    write16(frame, field_of(frame), static_cast<std::uint16_t>(~checksum(pseudo)));
    return frame;
}

FrameBytes received(const FrameBytes& frame, std::size_t piece = 0) {
    rte_mbuf* mbuf = to_mbuf(buffer_pool(), frame, piece);
    finish_kernel_checksums(&mbuf, 1);
    FrameBytes bytes = bytes_of(mbuf);
    rte_pktmbuf_free(mbuf);
    return bytes;
}

/// Puts bytes before the upper header.
FrameBytes with(FrameBytes frame, std::size_t at, const FrameBytes& more) {
    frame.insert(frame.begin() + static_cast<std::ptrdiff_t>(at), more.begin(), more.end());
    return frame;
}

std::vector<FrameBytes> packets() {
    const FrameBytes data = pattern(101);
    return {ethernet(mac(2), mac(1), kIpv4, ipv4(kTcp, tcp(data))),
            ethernet(mac(2), mac(1), kIpv4, ipv4(kUdp, udp(data))),
            ethernet(mac(2), mac(1), kIpv6, ipv6(kTcp, tcp(data))),
            ethernet(mac(2), mac(1), kIpv6, ipv6(kUdp, udp(data)))};
}

}  // namespace

TEST_CASE("a checksum that the sender has left to its device is finished, and what is right stays as it is") {
    for (const FrameBytes& packet : packets()) {
        const FrameBytes finished = received(begun(packet));
        CHECK(l4_checksum_good(finished));
        CHECK(received(finished) == finished);
        CHECK(received(begun(packet), 80) == finished);
        FrameBytes same = begun(packet);
        write16(same, field_of(same), read16(finished, field_of(same)));
        CHECK(same == finished);  // nothing else was written
    }
}

TEST_CASE("behind tags, extension headers and before padding a checksum is finished, too") {
    for (const FrameBytes& packet : packets()) {
        const FrameBytes right = received(begun(packet));
        const FrameBytes tag{0x88, 0xA8, 0, 5};
        CHECK(received(with(begun(packet), 12, tag)) == with(right, 12, tag));
        const FrameBytes tags{0x88, 0xA8, 0, 5, 0x81, 0, 0, 6};
        CHECK(received(with(begun(packet), 12, tags)) == with(right, 12, tags));
        const FrameBytes padding{1, 2, 3};
        CHECK(received(with(begun(packet), packet.size(), padding)) == with(right, packet.size(), padding));
        if (read16(packet, 12) != kIpv6)
            continue;
        const FrameBytes options{packet[20], 0, 1, 4, 0, 0, 0, 0};
        for (const std::uint8_t kind : {std::uint8_t{0}, std::uint8_t{60}}) {
            FrameBytes extended = with(begun(packet), 54, options);
            extended[20] = kind;
            write16(extended, 18, static_cast<std::uint16_t>(extended.size() - 54));
            FrameBytes wanted = extended;
            write16(wanted, field_of(packet) + options.size(), read16(right, field_of(packet)));
            CHECK(received(extended) == wanted);
        }
    }
}

TEST_CASE("a wrong checksum, a missing one, a fragment and a cut packet are left as they are") {
    for (const FrameBytes& packet : packets()) {
        FrameBytes wrong = received(begun(packet));
        write16(wrong, field_of(wrong), static_cast<std::uint16_t>(read16(wrong, field_of(wrong)) ^ 0x0100));
        CHECK(received(wrong) == wrong);
        FrameBytes none = packet;
        write16(none, field_of(none), 0);
        CHECK(received(none) == none);
        FrameBytes cut = begun(packet);
        cut.resize(cut.size() - 20);
        CHECK(received(cut) == cut);
        FrameBytes shorter = begun(packet);
        shorter.resize(field_of(packet) + 1);
        CHECK(received(shorter) == shorter);
        if (read16(packet, 12) == kIpv4) {
            FrameBytes fragment = begun(packet);
            write16(fragment, 20, 0x2000);
            CHECK(received(fragment) == fragment);
        }
    }
}

TEST_CASE("a right checksum that equals the sum of its pseudo header is left as it is") {
    // The field holds the sum of the pseudo header, as if the checksum were only begun. The payload's last
    // bytes make it right all the same: header and payload without the field sum to 0xFFFF less twice that
    // sum.
    for (const FrameBytes& packet : packets()) {
        FrameBytes equal = begun(packet);
        const std::size_t last = equal.size() - 3;  // an even place behind the header: 101 bytes of payload
        write16(equal, last, 0);
        const std::uint16_t begun_sum = read16(equal, field_of(equal));
        const FrameBytes upper(equal.begin() + (read16(equal, 12) == kIpv4 ? 34 : 54), equal.end());
        // ~(sum of `upper` + begun_sum) has to be 0. `upper` holds begun_sum once already, in the field.
        const std::uint32_t sum = std::uint32_t{static_cast<std::uint16_t>(~checksum(upper))} + begun_sum;
        const auto folded = static_cast<std::uint16_t>((sum & 0xFFFF) + (sum >> 16));
        write16(equal, last, static_cast<std::uint16_t>(~folded));
        REQUIRE(l4_checksum_good(equal));
        CHECK(received(equal) == equal);
    }
}

TEST_CASE("frames of other kinds, down to a single byte, are left as they are") {
    for (const FrameBytes& frame :
         {ethernet(mac(2), mac(1), kArp, arp_request()),
          ethernet(mac(2), mac(1), kIpv4, ipv4(1, pattern(64))),
          ethernet(mac(2), mac(1), kIpv6, ipv6(58, pattern(64))), FrameBytes{1}, FrameBytes(14, 0),
          ethernet(mac(2), mac(1), kVlan, {0, 1}), ethernet(mac(2), mac(1), kIpv4, {0x45}),
          ethernet(mac(2), mac(1), kIpv6, ipv6(60, {17, 255}))})
        CHECK(received(frame) == frame);
}
