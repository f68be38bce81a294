// offload_test.cc - checksums and segments made in software, judged by an independent implementation.
#include "vswitch/datapath/frame/offload.h"

#include <rte_ip.h>

#include <algorithm>
#include <cstring>

#include "test/support/catch.h"
#include "test/support/eal_fixture.h"
#include "test/support/frames.h"
#include "test/support/random.h"
#include "vswitch/datapath/frame/frame.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr std::uint32_t kSuperPayload = 65'495;
constexpr std::size_t kIpAt = 14;
constexpr std::size_t kTcpAt = 34;
constexpr std::size_t kPayloadAt = 54;

FrameBytes filled(rte_mbuf* frame) {
    REQUIRE(offload::valid(frame));
    offload::fill_checksums(frame);
    CHECK((frame->ol_flags & kOffloadFlags) == 0);
    FrameBytes bytes = bytes_of(frame);
    rte_pktmbuf_free(frame);
    return bytes;
}

FrameBytes filled(const FrameBytes& frame, std::size_t piece = 0) {
    return filled(ask_checksum(to_mbuf(buffer_pool(), frame, piece)));
}

/// The segments as bytes; the super-frame is consumed.
std::vector<FrameBytes> segments_of(const FrameBytes& super_frame, std::uint16_t payload,
                                    std::size_t piece = 0) {
    rte_mbuf* frame = ask_segments(to_mbuf(buffer_pool(), super_frame, piece), payload);
    REQUIRE(offload::valid(frame));
    const std::uint16_t announced = offload::wire_frames(frame);
    offload::Segments segments;
    const std::uint16_t made = offload::split(frame, buffer_pool(), segments);
    CHECK(made == announced);
    std::vector<FrameBytes> bytes;
    for (std::uint16_t i = 0; i < made; ++i) {
        offload::fill_checksums(segments[i]);
        bytes.push_back(bytes_of(segments[i]));
        rte_pktmbuf_free(segments[i]);
    }
    return bytes;
}

FrameBytes super_frame(std::size_t payload, std::uint8_t flags = kAck | kPsh | kFin) {
    return ethernet(mac(2), mac(1), kIpv4, ipv4(kTcp, tcp(pattern(payload), 0xFFFF'F000, flags), 0xFFF0));
}

}  // namespace

TEST_CASE("the judge knows the sums of RFC 1071 and of a captured packet") {
    CHECK(checksum({0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7}) == 0x220D);
    FrameBytes header{0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11,
                      0xB8, 0x61, 0xC0, 0xA8, 0x00, 0x01, 0xC0, 0xA8, 0x00, 0xC7};
    CHECK(checksum(header) == 0);
}

TEST_CASE("checksums of TCP and UDP over IPv4 and IPv6 are right, of odd lengths too") {
    for (const std::size_t payload : {0U, 1U, 2U, 17U, 1000U, 1447U}) {
        const FrameBytes data = pattern(payload);
        CHECK(l4_checksum_good(filled(ethernet(mac(2), mac(1), kIpv4, ipv4(kTcp, tcp(data))))));
        CHECK(l4_checksum_good(filled(ethernet(mac(2), mac(1), kIpv4, ipv4(kUdp, udp(data))))));
        CHECK(l4_checksum_good(filled(ethernet(mac(2), mac(1), kIpv6, ipv6(kTcp, tcp(data))))));
        CHECK(l4_checksum_good(filled(ethernet(mac(2), mac(1), kIpv6, ipv6(kUdp, udp(data))))));
    }
}

TEST_CASE("a known datagram gets its known checksum") {
    // 10.0.0.1:40000 > 10.0.0.2:5001, "Weir": summed by hand.
    const FrameBytes frame = filled(ethernet(mac(2), mac(1), kIpv4, ipv4(kUdp, udp({'W', 'e', 'i', 'r'}))));
    CHECK(read16(frame, 40) == 0x7B32);
}

TEST_CASE("what stood in the checksum field before does not matter, nor how the frame is cut") {
    FrameBytes frame = ethernet(mac(2), mac(1), kIpv4, ipv4(kTcp, tcp(pattern(1000))));
    const FrameBytes right = filled(frame);
    write16(frame, kTcpAt + 16, 0xBEEF);
    CHECK((filled(frame) == right));
    CHECK((filled(frame, 55) == right));
    CHECK((filled(frame, 101) == right));
}

TEST_CASE("a UDP checksum that comes out as zero is sent as all ones") {
    FrameBytes datagram = udp({0, 0});
    FrameBytes frame = ethernet(mac(2), mac(1), kIpv4, ipv4(kUdp, datagram));
    write16(datagram, 8, read16(filled(frame), 40));  // now the sum of all is 0xFFFF
    frame = filled(ethernet(mac(2), mac(1), kIpv4, ipv4(kUdp, datagram)));
    CHECK(read16(frame, 40) == 0xFFFF);
    CHECK(l4_checksum_good(frame));
}

TEST_CASE("an IP checksum is filled in when it is asked for") {
    FrameBytes bytes = ethernet(mac(2), mac(1), kIpv4, ipv4(kTcp, tcp(pattern(10))));
    write16(bytes, kIpAt + 10, 0x1234);
    rte_mbuf* frame = ask_checksum(to_mbuf(buffer_pool(), bytes));
    frame->ol_flags |= RTE_MBUF_F_TX_IP_CKSUM;
    CHECK(ip_checksum_good(filled(frame)));
}

TEST_CASE("a 64 KiB super-frame becomes 46 segments that together have its bytes") {
    const unsigned before = buffers_in_use();
    for (const std::size_t piece : {std::size_t{0}, std::size_t{777}}) {
        const auto segments = segments_of(super_frame(kSuperPayload), 1448, piece);
        REQUIRE(segments.size() == 46);
        FrameBytes together;
        std::uint32_t bad_sums = 0;
        std::uint32_t bad_places = 0;
        for (std::size_t i = 0; i < segments.size(); ++i) {
            const FrameBytes& one = segments[i];
            bad_sums += !ip_checksum_good(one) + !l4_checksum_good(one);
            bad_places += one.size() != (i == 45 ? kSuperPayload - 45 * 1448 : 1448) + kPayloadAt;
            bad_places += read16(one, kIpAt + 2) != one.size() - kIpAt;
            bad_places += read16(one, kIpAt + 4) != ((0xFFF0 + i) & 0xFFFF);
            bad_places += read32(one, kTcpAt + 4) != static_cast<std::uint32_t>(0xFFFF'F000 + i * 1448);
            bad_places += one[kTcpAt + 13] != (i == 45 ? (kAck | kPsh | kFin) : kAck);
            together.insert(together.end(), one.begin() + kPayloadAt, one.end());
        }
        CHECK(bad_sums == 0);
        CHECK(bad_places == 0);
        CHECK((together == pattern(kSuperPayload)));
    }
    CHECK(buffers_in_use() == before);
}

TEST_CASE("a 64 KiB super-frame clamped to 32 KiB becomes two of whole segments, and a rest") {
    constexpr std::uint32_t kMost = 32 * 1024;
    constexpr std::uint32_t kPiece = (kMost - kPayloadAt) / 1448 * 1448;  // 22 segments
    rte_mbuf* frame = ask_segments(to_mbuf(buffer_pool(), super_frame(kSuperPayload)), 1448);
    offload::Segments pieces;
    REQUIRE(offload::split(frame, buffer_pool(), pieces, kMost) == 3);
    const std::uint32_t payloads[] = {kPiece, kPiece, kSuperPayload - 2 * kPiece};
    const std::uint16_t wire_frames[] = {22, 22, 2};
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(pieces[i]->pkt_len == payloads[i] + kPayloadAt);
        CHECK(offload::valid(pieces[i]));
        CHECK(offload::wire_frames(pieces[i]) == wire_frames[i]);
        offload::Segments segments;
        REQUIRE(offload::split(pieces[i], buffer_pool(), segments) == wire_frames[i]);
        for (std::uint16_t at = 0; at < wire_frames[i]; ++at) {
            offload::fill_checksums(segments[at]);
            CHECK(l4_checksum_good(bytes_of(segments[at])));
            rte_pktmbuf_free(segments[at]);
        }
    }
}

TEST_CASE("a piece carries the sum of its own pseudo header, for the side that completes it") {
    rte_mbuf* frame = ask_segments(to_mbuf(buffer_pool(), super_frame(3 * 1448)), 1448);
    offload::Segments segments;
    REQUIRE(offload::split(frame, buffer_pool(), segments) == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        // As the receiving guest does it: the sum over all of TCP, with the sum in the checksum field.
        FrameBytes bytes = bytes_of(segments[i]);
        const std::uint16_t sum = rte_raw_cksum(bytes.data() + kTcpAt, bytes.size() - kTcpAt);
        const auto completed = static_cast<std::uint16_t>(~sum);
        std::memcpy(bytes.data() + kTcpAt + 16, &completed, sizeof(completed));
        CHECK(l4_checksum_good(bytes));
        rte_pktmbuf_free(segments[i]);
    }
}

TEST_CASE("a super-frame that fits one segment stays one, with its checksums") {
    const auto segments = segments_of(super_frame(1448), 1448);
    REQUIRE(segments.size() == 1);
    CHECK(segments[0].size() == 1448 + kPayloadAt);
    CHECK(ip_checksum_good(segments[0]));
    CHECK(l4_checksum_good(segments[0]));
    CHECK(segments[0][kTcpAt + 13] == (kAck | kPsh | kFin));
}

TEST_CASE("a fragment that asks for segments is not split and not lost") {
    FrameBytes bytes = super_frame(3000);
    write16(bytes, kIpAt + 6, 0x2000);
    rte_mbuf* frame = ask_segments(to_mbuf(buffer_pool(), bytes), 1448);
    offload::Segments segments;
    CHECK(offload::split(frame, buffer_pool(), segments) == 1);
    CHECK(segments[0]->pkt_len == bytes.size());
    rte_pktmbuf_free(segments[0]);
}

TEST_CASE("without buffers a super-frame stays the caller's, and no buffer is lost") {
    rte_mbuf* frame = ask_segments(to_mbuf(buffer_pool(), super_frame(20'000)), 1448);
    rte_mempool* small = rte_pktmbuf_pool_create("small", 7, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    offload::Segments segments;
    CHECK(offload::split(frame, small, segments) == 0);
    CHECK(rte_mempool_in_use_count(small) == 0);
    CHECK((bytes_of(frame) == super_frame(20'000)));
    CHECK((frame->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0);
    rte_pktmbuf_free(frame);
    rte_mempool_free(small);
}

TEST_CASE("a receiver takes as it is what it has the offloads for") {
    using offload::accepted_as_is;
    constexpr PortOffloads kNone{};
    constexpr PortOffloads kSums{.checksum = true};
    constexpr PortOffloads kAll{.checksum = true, .tso = true};
    constexpr std::uint64_t kSegments = RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_TCP_CKSUM;
    CHECK(accepted_as_is(0, kNone));
    CHECK_FALSE(accepted_as_is(RTE_MBUF_F_TX_UDP_CKSUM, kNone));
    CHECK(accepted_as_is(RTE_MBUF_F_TX_UDP_CKSUM, kSums));
    CHECK_FALSE(accepted_as_is(kSegments, kSums));
    CHECK(accepted_as_is(kSegments, kAll));
}

TEST_CASE("the weight of a random frame is no less than the pieces and the buffers that are made of it") {
    Random32 random(1);
    for (unsigned i = 0; i < 300; ++i) {
        const std::uint32_t payload = 1 + random() % 65'000;
        const std::uint32_t least = std::max(48U, payload / offload::kSegmentsMax + 1);
        const auto segment = static_cast<std::uint16_t>(std::max(least, random() % 20'000));
        rte_mbuf* frame = ask_segments(
            to_mbuf(buffer_pool(), ethernet(mac(2), mac(1), kIpv4, ipv4(kTcp, tcp(pattern(payload))))),
            segment);
        REQUIRE(offload::valid(frame));
        const std::uint32_t weight = offload::weight(frame);
        rte_mbuf* copy = rte_pktmbuf_copy(frame, buffer_pool(), 0, UINT32_MAX);
        REQUIRE(copy != nullptr);
        CHECK(copy->nb_segs <= weight);
        rte_pktmbuf_free(copy);
        offload::Segments segments;
        const std::uint16_t made = offload::split(frame, buffer_pool(), segments);
        REQUIRE(made != 0);
        CHECK(made <= weight);
        CHECK(weight <= offload::kSegmentsMax);
        rte_pktmbuf_free_bulk(segments.data(), made);
    }
}
