// intake_test.cc - a burst with super-frames comes out in pieces that fit the quota and the turn.
#include "vswitch/datapath/intake.h"

#include <rte_mbuf.h>

#include <vector>

#include "test/support/catch.h"
#include "test/support/eal_fixture.h"
#include "test/support/frames.h"

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
