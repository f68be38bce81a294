// intake_test.cc - a burst with super-frames comes out in pieces that fit the quota and the turn.
#include "vswitch/datapath/frame/intake.h"

#include <rte_ether.h>
#include <rte_mbuf.h>

#include <array>
#include <vector>

#include "test/support/catch.h"
#include "test/support/eal_fixture.h"
#include "test/support/frames.h"
#include "vswitch/datapath/frame/offload.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr std::uint32_t kPlenty = 1'000'000;

/// A super-frame of `payload` bytes in segments of `segment` bytes.
rte_mbuf* super_frame(std::size_t payload, std::uint16_t segment) {
    return ask_segments(
        to_mbuf(buffer_pool(), ethernet(mac(2), mac(1), kIpv4, ipv4(kTcp, tcp(pattern(payload))))), segment);
}
rte_mbuf* plain() {
    return to_mbuf(buffer_pool(), numbered(mac(2), mac(1), 60, 0));
}

constexpr std::uint8_t kCwr = 0x80;
constexpr std::size_t kTcpStart = 34;
constexpr std::size_t kDataStart = 54;

/// The frames that an intake and a software split make of a super-frame.
std::vector<FrameBytes> segments_through(Intake& intake, rte_mbuf* super_frame) {
    intake.fill(std::vector<rte_mbuf*>{super_frame});
    std::vector<FrameBytes> out;
    while (!intake.empty()) {
        std::uint32_t of_piece = 0;
        for (rte_mbuf* part : intake.next(kPlenty, limits::kBurst, false)) {
            REQUIRE(offload::valid(part));
            of_piece += offload::wire_frames(part);
            offload::Segments segments;
            const std::uint16_t made = offload::split(part, buffer_pool(), segments);
            REQUIRE(made != 0);
            for (std::uint16_t i = 0; i < made; ++i) {
                offload::fill_checksums(segments[i]);
                out.push_back(bytes_of(segments[i]));
            }
            rte_pktmbuf_free_bulk(segments.data(), made);
        }
        CHECK(of_piece <= Intake::kSegmentsMax);
    }
    return out;
}

std::size_t take(Intake& intake, std::uint32_t room = kPlenty, bool one = false) {
    const std::span<rte_mbuf*> piece = intake.next(room, limits::kBurst, one);
    rte_pktmbuf_free_bulk(piece.data(), static_cast<unsigned>(piece.size()));
    return piece.size();
}

}  // namespace

TEST_CASE("only a burst with a super-frame needs pieces") {
    std::vector<rte_mbuf*> burst{plain(), plain()};
    CHECK(!Intake::needed_for(burst));
    burst.push_back(super_frame(9'000, 1'000));
    CHECK(Intake::needed_for(burst));
    rte_pktmbuf_free_bulk(burst.data(), 3);
}

TEST_CASE("a piece has at most 256 segments, and all frames come out in order") {
    const unsigned before = buffers_in_use();
    std::vector<rte_mbuf*> burst;
    for (int i = 0; i < 4; ++i)
        burst.push_back(super_frame(10'000, 100));  // 100 segments
    for (int i = 0; i < 20; ++i)
        burst.push_back(plain());
    Intake intake;
    intake.fill(burst);
    CHECK(intake.buffers() == buffers_in_use() - before);
    std::vector<rte_mbuf*> out;
    std::vector<std::size_t> sizes;
    while (!intake.empty()) {
        const std::span<rte_mbuf*> piece = intake.next(kPlenty, limits::kBurst, false);
        sizes.push_back(piece.size());
        out.insert(out.end(), piece.begin(), piece.end());
    }
    CHECK(sizes == std::vector<std::size_t>{2, 22});  // 2 x 100; 2 x 100 and 20 x 1
    CHECK(out == burst);
    CHECK(intake.buffers() == 0);
    rte_pktmbuf_free_bulk(out.data(), static_cast<unsigned>(out.size()));
    CHECK(buffers_in_use() == before);
}

TEST_CASE("a super-frame comes out when the quota has room for what it may become, or when it is alone") {
    const std::vector<rte_mbuf*> burst{super_frame(25'600, 100), plain()};  // 256 segments in 13 buffers
    const std::uint32_t needed = 3 * 256 + 2U * burst[0]->nb_segs;
    Intake intake;
    intake.fill(burst);
    CHECK(take(intake, needed - 1) == 0);
    CHECK(take(intake, needed - 1, true) == 1);  // nothing else of the vNIC could leave and make room
    CHECK(take(intake, 0) == 1);                 // a plain frame takes no buffers besides its own
    CHECK(intake.empty());
}

TEST_CASE("a super-frame with wrong headers counts as one frame: it is dropped whole") {
    rte_mbuf* wrong = super_frame(25'600, 100);
    wrong->tso_segsz = 0;
    Intake intake;
    intake.fill(std::vector<rte_mbuf*>{wrong, plain(), plain()});
    CHECK(take(intake, 0) == 3);
}

TEST_CASE("a super-frame of any segment size comes out, and its segments are those of one split") {
    struct Case {
        std::size_t payload;
        std::uint16_t segment;
        std::size_t tags;
    };
    const unsigned before = buffers_in_use();
    for (const Case& each : {Case{64'000, 251, 0}, Case{64'000, 249, 0}, Case{4'000, 47, 0},
                             Case{65'495, 8, 0}, Case{2'049, 8, 1}, Case{20'000, 13, 2}}) {
        constexpr std::uint32_t kSequence = 0xFFFF'F000;
        FrameBytes whole =
            ethernet(mac(2), mac(1), kIpv4,
                     ipv4(kTcp, tcp(pattern(each.payload), kSequence, kAck | kPsh | kFin | kCwr), 0xFFF0));
        rte_mbuf* frame = ask_segments(to_mbuf(buffer_pool(), whole, 2000), each.segment);
        for (std::size_t tag = 0; tag < each.tags; ++tag)
            REQUIRE(rte_vlan_insert(&frame) == 0);
        Intake intake;
        const auto segments = segments_through(intake, frame);
        const std::size_t count = (each.payload + each.segment - 1) / each.segment;
        REQUIRE(segments.size() == count);
        FrameBytes together;
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < count; ++i) {
            FrameBytes one = segments[i];
            const auto tags = static_cast<std::ptrdiff_t>(each.tags * limits::kVlanTagBytes);
            one.erase(one.begin() + 12, one.begin() + 12 + tags);
            const std::uint8_t flags = one[kTcpStart + 13];
            wrong += !ip_checksum_good(one) + !l4_checksum_good(one);
            wrong += read16(one, 18) != ((0xFFF0 + i) & 0xFFFF);
            wrong += read32(one, kTcpStart + 4) != static_cast<std::uint32_t>(kSequence + i * each.segment);
            wrong += (flags & (kPsh | kFin)) != (i + 1 == count ? kPsh | kFin : 0);
            wrong += (flags & kCwr) != (i == 0 ? kCwr : 0);
            together.insert(together.end(), one.begin() + kDataStart, one.end());
        }
        CHECK(wrong == 0);
        CHECK((together == pattern(each.payload)));
    }
    CHECK(buffers_in_use() == before);
}

TEST_CASE(
    "a burst of the largest frames with the smallest segments comes out in order, within what is counted") {
    const unsigned before = buffers_in_use();
    std::vector<rte_mbuf*> burst;
    for (unsigned i = 0; i < 4; ++i) {
        burst.push_back(super_frame(65'000, 8));
        burst.push_back(plain());
    }
    Intake intake;
    intake.fill(burst);
    std::size_t super_frames = 0;
    std::vector<std::size_t> plain_after;
    while (!intake.empty()) {
        CHECK(buffers_in_use() - before <= intake.buffers());
        for (rte_mbuf* frame : intake.next(kPlenty, limits::kBurst, false)) {
            if (offload::wire_frames(frame) == 1)
                plain_after.push_back(super_frames);
            ++super_frames;
            rte_pktmbuf_free(frame);
        }
    }
    CHECK(plain_after == std::vector<std::size_t>{32, 65, 98, 131});  // 65,000 / (256 x 8) = 31.7
    CHECK(intake.buffers() == 0);
    CHECK(buffers_in_use() == before);
}

TEST_CASE("without buffers a super-frame with too many segments waits in the intake") {
    rte_mempool* small = rte_pktmbuf_pool_create("few", 127, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    const FrameBytes whole = ethernet(mac(2), mac(1), kIpv4, ipv4(kTcp, tcp(pattern(60'000))));
    Intake intake;
    intake.fill(std::vector<rte_mbuf*>{ask_segments(to_mbuf(small, whole), 100)});  // 30 of the 127
    std::array<rte_mbuf*, 96> others;
    REQUIRE(rte_pktmbuf_alloc_bulk(small, others.data(), others.size()) == 0);
    CHECK(take(intake, kPlenty, true) == 0);
    CHECK(!intake.empty());
    rte_pktmbuf_free_bulk(others.data(), others.size());
    CHECK(take(intake, kPlenty, true) == 1);
    intake.drop_all();
    rte_mempool_free(small);
}

TEST_CASE("an intake frees what it holds when its vNIC goes") {
    const unsigned before = buffers_in_use();
    {
        Intake intake;
        intake.fill(std::vector<rte_mbuf*>{super_frame(9'000, 1'000), plain()});
        CHECK(intake.drop_all() == 2);
        CHECK(intake.empty());
        intake.fill(std::vector<rte_mbuf*>{super_frame(9'000, 1'000), plain()});
    }
    CHECK(buffers_in_use() == before);
}
