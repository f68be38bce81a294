// flood_weights_test.cc - the cost of a flooded frame to its sender and the poll loop: wire frames where it
// is split, buffers where its bytes are copied. Units: wire frames; buffers; ns.
#include <rte_mbuf.h>

#include <algorithm>

#include "test/support/catch.h"
#include "test/support/random.h"
#include "test/vswitch/datapath/loop/switch_harness.h"
#include "vswitch/datapath/frame/offload.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr std::uint64_t kPerSecond = 1000;
/// The most segments that a super-frame may have: how far one copy may exceed a visit or a turn.
constexpr std::uint32_t kWeightMost = offload::kSegmentsMax;

rte_mbuf* super_frame(std::size_t payload, std::uint16_t segment, unsigned from = 1) {
    return ask_segments(
        to_mbuf(buffer_pool(), ethernet(kBroadcast, mac(from), kIpv4, ipv4(kTcp, tcp(pattern(payload))))),
        segment);
}

/// vm1, vm2, ... send; readers count the frames and bytes that they get.
struct Weighed {
    Weighed(unsigned senders, unsigned readers, const SwitchConfig& config = {}, RingNic* nic = nullptr)
        : host(config, nic) {
        for (unsigned n = 1; n <= senders; ++n) {
            ids.push_back(host.add(vm(n)));
            host.port(ids.back()).read_at_once();
        }
        for (unsigned n = 0; n < readers; ++n) {
            VnicConfig reader = vm(100);
            reader.mac = MacAddress{mac(100) | std::uint64_t{n} << 16};
            const VnicId id = host.add(reader);
            host.port(id).sink = [this](const rte_mbuf* frame) {
                ++frames;
                bytes += frame->pkt_len;
                ++read[bytes_of(frame)[11]];
            };
        }
    }
    void offer(VnicId from, rte_mbuf* frame) { host.port(from).offered.push_back(frame); }
    [[nodiscard]] const DirectionStats& sent(VnicId from) { return host.stats(from).from_vm; }

    std::vector<VnicId> ids;  ///< of the senders
    std::uint64_t frames = 0;
    std::uint64_t bytes = 0;
    std::array<std::uint64_t, 256> read{};  ///< by the last byte of the sender's address
    SwitchHarness host;
};

SwitchConfig limited(std::uint64_t per_second) {
    SwitchConfig config;
    config.flood_limit_pps = per_second;
    return config;
}

}  // namespace

TEST_CASE("a turn in debt copies less, and a sender in debt is passed over") {
    FloodRound round(2);
    std::array<FloodQueue, 2> senders;
    for (FloodQueue& sender : senders)
        REQUIRE(round.push(sender, {}));
    std::array<std::uint32_t, 2> used{};
    const auto visit = [&](FloodQueue& sender, std::uint32_t budget) {
        const bool heavy = &sender == senders.data();
        const std::uint32_t weight = heavy ? kWeightMost : budget;
        used[heavy ? 0 : 1] += weight;
        return weight;
    };
    round.begin_turn();
    round.serve(visit);
    CHECK((used == std::array<std::uint32_t, 2>{256, 0}));  // one copy is a whole turn
    round.begin_turn();
    round.serve(visit);  // 7 x 32 for the other, passing over the first each time, and the rest: 25
    CHECK((used == std::array<std::uint32_t, 2>{256, 249}));
    round.begin_turn();
    round.serve(visit);  // the first has 26 of its 32 left
    CHECK((used == std::array<std::uint32_t, 2>{512, 249}));
}

TEST_CASE("what a turn copies in excess later turns do not copy") {
    FloodRound round(1);
    FloodQueue sender;
    REQUIRE(round.push(sender, {}));
    constexpr std::uint32_t kWeight = 200;
    std::uint32_t used = 0;
    for (std::uint32_t turn = 1; turn <= 100; ++turn) {
        round.begin_turn();
        round.serve([&](FloodQueue& /*sender*/, std::uint32_t /*budget*/) {
            used += kWeight;
            return kWeight;
        });
        CHECK(used < turn * FloodRound::kPerTurn + kWeight);
    }
    CHECK(used > 100 * FloodRound::kPerTurn * 9 / 10);  // to pass over the sender in debt costs a little
}

TEST_CASE("the limit of floods takes a token for each wire frame, not for each super-frame") {
    Weighed vlan(1, 1, limited(kPerSecond));
    const VnicId sender = vlan.ids[0];
    for (unsigned i = 0; i < 10; ++i)
        vlan.offer(sender, super_frame(16'000, 125));  // 128 segments
    vlan.host.settle();
    // 64 tokens come at once: the first passes and leaves a debt of 64. 128 ms later the bucket is full.
    CHECK(vlan.frames == 128);
    CHECK(drops(vlan.sent(sender), DropReason::kFloodLimited) == 9);
    vlan.host.now += 127'000'000;
    vlan.offer(sender, super_frame(16'000, 125));
    vlan.host.settle();
    CHECK(vlan.frames == 128);
    vlan.host.now += 1'000'000;
    vlan.offer(sender, super_frame(16'000, 125));
    vlan.host.settle();
    CHECK(vlan.frames == 256);
    CHECK(balanced(vlan.sent(sender)));
}

TEST_CASE("the limit of floods takes a token for each buffer of a frame whose bytes are copied") {
    SwitchConfig config = limited(kPerSecond);
    config.uplink.mtu = 9000;
    Weighed vlan(1, 1, config);
    const FrameBytes jumbo = ethernet(kBroadcast, mac(1), kIpv4, ipv4(kUdp, udp(pattern(8500))));
    for (unsigned i = 0; i < 32; ++i)
        vlan.offer(vlan.ids[0], ask_checksum(to_mbuf(buffer_pool(), jumbo)));  // 5 buffers each
    vlan.host.settle();
    CHECK(vlan.frames == 12);  // 60 of 64 tokens
    CHECK(drops(vlan.sent(vlan.ids[0]), DropReason::kFloodLimited) == 20);
}

TEST_CASE("super-frames among many vNICs that split them are as many wire frames a turn as plain copies") {
    constexpr unsigned kReaders = 50;
    constexpr std::uint32_t kBroadcasts = 6;
    Weighed vlan(1, kReaders, limited(100'000'000));
    for (unsigned i = 0; i < kBroadcasts; ++i)
        vlan.offer(vlan.ids[0], super_frame(64'000, 250));
    std::uint64_t most = 0;
    unsigned turns = 0;
    for (; vlan.frames < std::uint64_t{kReaders} * kBroadcasts * 256 && turns < 2000; ++turns) {
        const std::uint64_t before = vlan.frames;
        vlan.host.turn();
        vlan.host.now += 10'000;
        most = std::max(most, vlan.frames - before);
    }
    CHECK(most <= 2 * FloodRound::kPerTurn + kWeightMost);
    CHECK(vlan.frames == std::uint64_t{kReaders} * kBroadcasts * 256);
    CHECK(turns >= kReaders * kBroadcasts);  // each copy is a turn's
    CHECK(balanced(vlan.sent(vlan.ids[0])));
}

TEST_CASE("a sender of super-frames takes no more of the copies than one of plain broadcasts", "[long]") {
    Weighed vlan(2, 200, limited(100'000'000));
    for (unsigned i = 0; i < 30; ++i)
        vlan.offer(vlan.ids[0], super_frame(64'000, 250, 1));
    for (std::uint32_t i = 0; i < 32; ++i)
        vlan.offer(vlan.ids[1], frame(kBroadcast, mac(2), i));
    const auto all = std::uint64_t{32} * 200;
    for (unsigned turns = 0; vlan.read[2] < all && turns < 1000; ++turns)
        vlan.host.turn();
    CHECK(vlan.read[2] == all);
    CHECK(vlan.read[1] > all / 2);  // neither is left out
    CHECK(vlan.read[1] < all * 3 / 2);
}

TEST_CASE("whatever is flooded, the weights counted cover the wire frames and the buffers that come out",
          "[long]") {
    Random32 random(1);
    constexpr unsigned kReaders = 20;
    for (unsigned round = 0; round < 200; ++round) {
        INFO("round " << round);
        Weighed vlan(1, kReaders, limited(kPerSecond));
        const VnicId sender = vlan.ids[0];
        std::uint64_t most = 0;
        std::uint64_t before = 0;
        for (unsigned i = 0; i < 20; ++i) {
            const std::uint32_t payload = 1000 + random() % 60'000;
            const std::uint32_t least = payload / kWeightMost + 1;
            vlan.offer(
                sender,
                super_frame(payload, static_cast<std::uint16_t>(std::max(least, 50 + random() % 9000))));
            vlan.host.turn();
            most = std::max(most, vlan.frames - before);
            before = vlan.frames;
            vlan.host.now += random() % 100'000'000;
        }
        CHECK(most <= 2 * FloodRound::kPerTurn + kWeightMost);
        vlan.host.settle();
        // At each reader, in wire frames: 64 at once, those that the limit allowed meanwhile, and one
        // super-frame beyond.
        const std::uint64_t span = vlan.host.now - kNanosPerSec;
        const std::uint64_t allowed = 64 + kWeightMost + span * kPerSecond / kNanosPerSec;
        CHECK(vlan.frames <= kReaders * allowed);
        CHECK(vlan.bytes <= kReaders * allowed * (RTE_MBUF_DEFAULT_DATAROOM + 64));
        CHECK(balanced(vlan.sent(sender)));
    }
}
