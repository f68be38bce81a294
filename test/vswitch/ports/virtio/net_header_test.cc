// net_header_test.cc - which wishes of a guest are granted, finished at once or refused, and the headers that
// a guest receives.
#include "vswitch/ports/virtio/net_header.h"

#include <rte_mbuf.h>

#include "test/support/catch.h"
#include "test/support/eal_fixture.h"
#include "test/support/frames.h"
#include "vswitch/datapath/frame/offload.h"

using namespace weir;
using namespace weir::virtio;
using namespace weir::testing;

namespace {

constexpr HeaderRights kAll{.checksum = true, .tso4 = true};
constexpr std::uint16_t kTcpField = 16;
constexpr std::uint16_t kUdpField = 6;

NetHeader checksum(std::uint16_t start, std::uint16_t offset) {
    NetHeader header{};
    header.flags = net_flag::kNeedsChecksum;
    header.checksum_start = start;
    header.checksum_offset = offset;
    return header;
}

NetHeader segments(std::uint16_t bytes, std::uint8_t kind = segmentation::kTcp4) {
    NetHeader header = checksum(34, kTcpField);
    header.segmentation = kind;
    header.segment_bytes = bytes;
    return header;
}

/// A frame to which a wish was applied.
struct Applied {
    Applied(const FrameBytes& bytes, const NetHeader& header, const HeaderRights& rights = kAll,
            std::size_t piece = 0)
        : frame(to_mbuf(buffer_pool(), bytes, piece)) {
        apply(header, rights, frame);
    }
    ~Applied() { rte_pktmbuf_free(frame); }
    [[nodiscard]] bool refused() const { return !offload::valid(frame); }
    rte_mbuf* frame;
};

FrameBytes tcp_frame(std::size_t payload) {
    return ethernet(mac(2), mac(1), kIpv4, ipv4(kTcp, tcp(pattern(payload))));
}

/// Sum of the pseudo header of a TCP or UDP packet whose IP header at `ip` has no extensions.
std::uint16_t pseudo_sum(const FrameBytes& frame, std::size_t ip, std::uint8_t protocol) {
    const bool v4 = frame[ip] >> 4 == 4;
    const std::size_t addresses = v4 ? 8 : 32;
    const std::size_t at = ip + (v4 ? 12 : 8);
    FrameBytes header(frame.begin() + static_cast<std::ptrdiff_t>(at),
                      frame.begin() + static_cast<std::ptrdiff_t>(at + addresses));
    const std::size_t upper = frame.size() - at - addresses;
    for (const std::size_t byte : {std::size_t{0}, std::size_t{protocol}, upper >> 8, upper & 0xFF})
        header.push_back(static_cast<std::uint8_t>(byte));
    return static_cast<std::uint16_t>(~weir::testing::checksum(header));
}

/// A frame as a driver hands it over: its checksum is begun with the pseudo header's sum.
struct Begun {
    FrameBytes bytes;
    std::uint16_t start = 0;
    std::uint16_t offset = 0;
    std::uint16_t right = 0;  ///< the checksum that it has when it is finished

    [[nodiscard]] std::size_t field() const { return std::size_t{start} + offset; }
    [[nodiscard]] NetHeader header() const { return checksum(start, offset); }
};

/// @param ip an IP packet of TCP or UDP without options or extension headers
Begun begin(const FrameBytes& ip) {
    const bool v4 = ip[0] >> 4 == 4;
    const std::uint8_t protocol = ip[v4 ? 9 : 6];
    Begun begun;
    begun.bytes = ethernet(mac(2), mac(1), v4 ? kIpv4 : kIpv6, ip);
    begun.start = v4 ? 34 : 54;
    begun.offset = protocol == kTcp ? kTcpField : kUdpField;
    write16(begun.bytes, begun.field(), pseudo_sum(begun.bytes, 14, protocol));
    const FrameBytes upper(begun.bytes.begin() + begun.start, begun.bytes.end());
    begun.right = weir::testing::checksum(upper);
    FrameBytes whole = begun.bytes;
    write16(whole, begun.field(), begun.right);
    REQUIRE(l4_checksum_good(whole));
    return begun;
}

/// Puts bytes in front of the upper header, which the checksum does not cover.
Begun with(Begun begun, std::size_t at, const FrameBytes& more) {
    begun.bytes.insert(begun.bytes.begin() + static_cast<std::ptrdiff_t>(at), more.begin(), more.end());
    begun.start = static_cast<std::uint16_t>(begun.start + more.size());
    return begun;
}

Begun with_tag(const Begun& begun, std::uint16_t type) {
    return with(begun, 12, {static_cast<std::uint8_t>(type >> 8), static_cast<std::uint8_t>(type), 0, 5});
}

/// @param kind of the IPv6 extension header: 0 hop by hop, 60 destination options, 43 routing
Begun with_extension(const Begun& begun, std::uint8_t kind, std::size_t bytes = 8) {
    FrameBytes header(bytes);
    header[0] = begun.bytes[20];
    header[1] = static_cast<std::uint8_t>(bytes / 8 - 1);
    header[2] = 1;  // an option that fills the rest
    header[3] = static_cast<std::uint8_t>(bytes - 4);
    Begun extended = with(begun, 54, header);
    extended.bytes[20] = kind;
    write16(extended.bytes, 18, static_cast<std::uint16_t>(extended.bytes.size() - 54));
    return extended;
}

/// The checksum is right in the frame for a wire without offloads, and in the frame of a guest that finishes
/// it as its header asks.
void check_finished(const Begun& begun, std::size_t piece = 0) {
    Applied to_wire(begun.bytes, begun.header(), kAll, piece);
    REQUIRE_FALSE(to_wire.refused());
    offload::fill_checksums(to_wire.frame);
    FrameBytes right = begun.bytes;
    write16(right, begun.field(), begun.right);
    CHECK(bytes_of(to_wire.frame) == right);

    const Applied to_guest(begun.bytes, begun.header(), kAll, piece);
    const NetHeader received = header_of(to_guest.frame);
    FrameBytes seen = bytes_of(to_guest.frame);
    if (received.flags == net_flag::kNeedsChecksum) {
        const FrameBytes upper(seen.begin() + received.checksum_start, seen.end());
        write16(seen, std::size_t{received.checksum_start} + received.checksum_offset,
                weir::testing::checksum(upper));
    }
    CHECK(seen == right);
}

}  // namespace

TEST_CASE("virtio: checksums of TCP and UDP over IPv4 and IPv6, with and without a tag, are granted") {
    const FrameBytes tcp6 = ethernet(mac(2), mac(1), kIpv6, ipv6(kTcp, tcp(pattern(80))));
    const FrameBytes udp4 = ethernet(mac(2), mac(1), kIpv4, ipv4(kUdp, udp(pattern(80))));
    const Applied four(tcp_frame(100), checksum(34, kTcpField));
    CHECK(four.frame->ol_flags == (RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_IPV4));
    CHECK((four.frame->l2_len == 14 && four.frame->l3_len == 20));
    const Applied six(tcp6, checksum(54, kTcpField));
    CHECK(six.frame->ol_flags == (RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_IPV6));
    const Applied datagram(udp4, checksum(34, kUdpField));
    CHECK(datagram.frame->ol_flags == (RTE_MBUF_F_TX_UDP_CKSUM | RTE_MBUF_F_TX_IPV4));
    const Applied with_tag(tagged(udp4, 5), checksum(38, kUdpField));
    CHECK(with_tag.frame->ol_flags == (RTE_MBUF_F_TX_UDP_CKSUM | RTE_MBUF_F_TX_IPV4));
    CHECK(with_tag.frame->l2_len == 18);
    for (const Applied* one : {&four, &six, &datagram, &with_tag})
        CHECK_FALSE(one->refused());
}

TEST_CASE("virtio: a checksum over other headers is filled in at once") {
    // Ones' complement: 0x0001 + 0x0203 + the field's 0 + 0x0600 (an odd byte at the end) = 0x0804, inverted
    // 0xF7FB.
    FrameBytes frame = ethernet(mac(2), mac(1), 0x88B5, {0x00, 0x01, 0x02, 0x03, 0x00, 0x00, 0x06});
    for (const std::size_t piece : {std::size_t{0}, std::size_t{20}}) {
        const Applied odd(frame, checksum(14, 4), kAll, piece);
        CHECK_FALSE(odd.refused());
        CHECK(odd.frame->ol_flags == 0);
        FrameBytes filled = frame;
        filled[18] = 0xF7;
        filled[19] = 0xFB;
        CHECK(bytes_of(odd.frame) == filled);
    }
}

TEST_CASE(
    "virtio: a checksum behind any tags and IPv6 extension headers is finished, for the wire and for a "
    "guest") {
    const FrameBytes data = pattern(101);
    for (const FrameBytes& ip :
         {ipv4(kUdp, udp(data)), ipv4(kTcp, tcp(data)), ipv6(kUdp, udp(data)), ipv6(kTcp, tcp(data))}) {
        const Begun plain = begin(ip);
        check_finished(plain);
        for (const std::uint16_t type : {kVlan, kQinQ, std::uint16_t{0x9100}}) {
            check_finished(with_tag(plain, type));
            check_finished(with_tag(with_tag(plain, kVlan), type));
            check_finished(with_tag(with_tag(with_tag(plain, kVlan), kVlan), type), 64);
        }
    }
    for (const FrameBytes& ip : {ipv6(kUdp, udp(data)), ipv6(kTcp, tcp(data))})
        for (const std::uint8_t kind : {std::uint8_t{0}, std::uint8_t{60}, std::uint8_t{43}}) {
            check_finished(with_extension(begin(ip), kind));
            check_finished(with_tag(with_extension(with_extension(begin(ip), 60), kind), kQinQ), 90);
        }
}

TEST_CASE("virtio: a checksum field in a later buffer of the frame, or in two, is finished") {
    const Begun far = with_extension(begin(ipv6(kUdp, udp(pattern(300)))), 60, 200);  // field at 260
    for (const std::size_t piece : {60U, 87U, 128U, 261U})
        check_finished(far, piece);
}

TEST_CASE(
    "virtio: a checksum over a fragment is as the driver has begun it, not as the fragment's header says") {
    Begun fragment = begin(ipv4(kUdp, udp(pattern(200))));
    write16(fragment.bytes, 20, 0x2000);  // more fragments: the driver's sum has the datagram's length
    write16(fragment.bytes, 38, 2000);
    const std::uint16_t begun = 0x1234;
    write16(fragment.bytes, fragment.field(), begun);
    fragment.right = weir::testing::checksum(FrameBytes(fragment.bytes.begin() + 34, fragment.bytes.end()));
    check_finished(fragment);
}

TEST_CASE(
    "virtio: with a source route the pseudo header has the last destination, which the driver has summed") {
    Begun routed = with(begin(ipv4(kTcp, tcp(pattern(200)))), 34, {131, 7, 4, 10, 0, 0, 2, 0});
    routed.bytes[14] = 0x47;
    write16(routed.bytes, 16, static_cast<std::uint16_t>(routed.bytes.size() - 14));
    check_finished(routed);    // the options' own words change nothing
    routed.bytes[33] ^= 0x40;  // now the first hop is another host than the destination
    check_finished(routed);
    NetHeader cut = routed.header();  // the pseudo header of segments would be unknown
    cut.segmentation = segmentation::kTcp4;
    cut.segment_bytes = 100;
    CHECK(Applied(routed.bytes, cut).refused());
}

TEST_CASE("virtio: bytes behind the IP packet are summed, as the driver asks, wherever it is finished") {
    Begun trailed = begin(ipv4(kUdp, udp(pattern(20))));
    trailed.bytes.insert(trailed.bytes.end(), {0xAA, 0xBB, 0xCC});
    trailed.right = weir::testing::checksum(FrameBytes(trailed.bytes.begin() + 34, trailed.bytes.end()));
    check_finished(trailed);
}

TEST_CASE("virtio: a UDP checksum of zero is sent as all ones behind extension headers, too") {
    Begun zero = begin(ipv6(kUdp, udp({0, 0})));
    write16(zero.bytes, 62, zero.right);  // now the sum of all is 0xFFFF
    zero.right = 0xFFFF;
    for (const Begun& each : {zero, with_extension(zero, 60), with_tag(zero, kQinQ)}) {
        const Applied applied(each.bytes, each.header());
        offload::fill_checksums(applied.frame);
        CHECK(read16(bytes_of(applied.frame), each.field()) == 0xFFFF);
    }
}

TEST_CASE("virtio: a super-frame has the sum of its own pseudo header for the guest that cuts it again") {
    for (const bool stated : {true, false}) {
        Begun super = with_tag(with_tag(begin(ipv4(kTcp, tcp(pattern(3000)))), kVlan), kQinQ);
        const FrameBytes right = super.bytes;
        if (!stated)
            write16(super.bytes, 24, 0);  // some drivers leave the length to the device
        NetHeader wish = super.header();
        wish.segmentation = segmentation::kTcp4;
        wish.segment_bytes = 1448;
        const Applied applied(super.bytes, wish);
        REQUIRE_FALSE(applied.refused());
        const NetHeader received = header_of(applied.frame);
        CHECK((received.checksum_start == 42 && received.header_bytes == 62));
        CHECK(read16(bytes_of(applied.frame), super.field()) == read16(right, super.field()));
        CHECK(read16(bytes_of(applied.frame), 24) == 3040);
    }
}

TEST_CASE("virtio: a super-frame whose IP header has another length, or that is a fragment, is refused") {
    FrameBytes frame = tcp_frame(3000);
    write16(frame, 16, 2000);
    CHECK(Applied(frame, segments(1448)).refused());
    frame = tcp_frame(3000);
    write16(frame, 20, 0x2000);
    CHECK(Applied(frame, segments(1448)).refused());
}

TEST_CASE("virtio: TCP segmentation is granted when it was negotiated and fits") {
    const Applied super(tcp_frame(3000), segments(1448), kAll, 2000);
    CHECK((super.frame->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0);
    CHECK(super.frame->tso_segsz == 1448);
    CHECK(super.frame->l4_len == 20);
    CHECK_FALSE(super.refused());
    CHECK_FALSE(Applied(tcp_frame(3000),
                        segments(1448, std::uint8_t{segmentation::kTcp4 | segmentation::kEcn}), kAll, 2000)
                    .refused());
}

TEST_CASE("virtio: wishes that were not negotiated, or do not fit the frame, are refused") {
    const FrameBytes frame = tcp_frame(100);
    const auto bytes = static_cast<std::uint16_t>(frame.size());
    CHECK(Applied(frame, checksum(34, kTcpField), {}).refused());
    CHECK(Applied(frame, checksum(bytes, 0)).refused());
    CHECK(
        Applied(frame, checksum(34, static_cast<std::uint16_t>(bytes - 35))).refused());  // half of the field
    CHECK(Applied(frame, checksum(0xFFFF, 0xFFFF)).refused());
    CHECK(Applied(frame, segments(1448), {.checksum = true, .tso4 = false}).refused());
    CHECK(Applied(frame, segments(0)).refused());
    for (const int kind : {3, 4, 5, 6, 0x7F})  // UDP, TCP over IPv6, UDP segmentation, unknown
        CHECK(Applied(frame, segments(1448, static_cast<std::uint8_t>(kind))).refused());
    NetHeader unchecked = segments(1448);
    unchecked.flags = 0;
    CHECK(Applied(frame, unchecked).refused());
    CHECK(Applied(FrameBytes(10), segments(1448)).refused());
    CHECK_FALSE(Applied(frame, NetHeader{}).refused());
}

TEST_CASE("virtio: the header of a frame without a checksum and of a super-frame, to a guest") {
    rte_mbuf* plain = to_mbuf(buffer_pool(), tcp_frame(100));
    const NetHeader nothing = header_of(plain);
    CHECK((nothing.flags == 0 && nothing.segmentation == 0 && nothing.buffers == 1));
    const Applied super(tcp_frame(3000), segments(1448), kAll, 2000);
    const NetHeader received = header_of(super.frame);
    CHECK((received.flags == net_flag::kNeedsChecksum && received.checksum_start == 34 &&
           received.checksum_offset == kTcpField));
    CHECK((received.segmentation == segmentation::kTcp4 && received.segment_bytes == 1448 &&
           received.header_bytes == 54));
    rte_pktmbuf_free(plain);
}
