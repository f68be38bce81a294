// net_header_test.cc - which wishes of a guest are granted, finished at once or refused, and what a guest is
// received.
#include "vswitch/ports/virtio/net_header.h"

#include <rte_mbuf.h>

#include "test/support/catch.h"
#include "test/support/eal_fixture.h"
#include "test/support/frames.h"
#include "vswitch/datapath/offload.h"

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
