// floods_test.cc - frames for all of a VLAN: which vNICs get them, how many copies a turn makes, whose turn
// it is, and the sums after a vNIC has gone.
#include <rte_mbuf.h>

#include <algorithm>

#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"
#include "vswitch/datapath/vnic/flood_members.h"
#include "vswitch/datapath/vnic/flood_queue.h"

using namespace weir;
using namespace weir::testing;

namespace {

std::vector<VnicId> members(const FloodMembers& of, std::uint16_t vlan, bool group) {
    std::vector<VnicId> found;
    for (VnicId at = of.first(vlan, group); at != kNoVnic; at = of.next(at, group))
        found.push_back(at);
    return found;
}

/// vm1 and vm2, and readers that count.
struct Flooded {
    explicit Flooded(unsigned readers, const SwitchConfig& config = {}, RingNic* nic = nullptr)
        : host(config, nic), first(host.add(vm(1))), second(host.add(vm(2))) {
        for (unsigned n = 0; n < readers; ++n) {
            VnicConfig reader = vm(3);
            reader.mac = MacAddress{mac(3) | std::uint64_t{n} << 16};
            ids.push_back(host.add(reader));
        }
        for (const VnicId id : {first, second})
            host.port(id).sink = [](const rte_mbuf*) {};
        for (const VnicId id : ids)
            host.port(id).sink = [this](const rte_mbuf* frame) { ++read[bytes_of(frame)[11]]; };
    }
    void broadcast(VnicId from, unsigned n, std::uint32_t frames, std::size_t bytes = 60) {
        for (std::uint32_t i = 0; i < frames; ++i)
            host.port(from).offered.push_back(frame(kBroadcast, mac(n), i, bytes));
    }
    [[nodiscard]] std::uint64_t copies() const { return read[1] + read[2]; }

    SwitchHarness host;
    VnicId first;
    VnicId second;
    std::vector<VnicId> ids;
    std::array<std::uint64_t, 256> read{};  ///< by the last byte of the sender's address
};

}  // namespace

TEST_CASE("members are listed per VLAN in their order, and those that take unknown addresses apart") {
    FloodMembers of;
    for (VnicId id = 0; id < 9; ++id)
        of.add(id, id % 2 == 0 ? 10 : 4094, id % 3 == 0);
    CHECK((members(of, 10, true) == std::vector<VnicId>{0, 2, 4, 6, 8}));
    CHECK((members(of, 10, false) == std::vector<VnicId>{0, 6}));
    CHECK((members(of, 4094, true) == std::vector<VnicId>{1, 3, 5, 7}));
    CHECK(members(of, 0, true).empty());
    of.remove(8, 10);
    of.remove(0, 10);
    of.remove(4, 10);
    CHECK((members(of, 10, true) == std::vector<VnicId>{2, 6}));
    CHECK((members(of, 10, false) == std::vector<VnicId>{6}));
    of.add(0, 10, true);
    CHECK((members(of, 10, true) == std::vector<VnicId>{2, 6, 0}));
    CHECK((members(of, 10, false) == std::vector<VnicId>{6, 0}));
}

TEST_CASE("senders are visited in turn, a turn has 256 copies, and one that has gone is not visited") {
    FloodRound round(3);
    std::array<FloodQueue, 3> senders;
    for (FloodQueue& sender : senders)
        for (unsigned i = 0; i < 10; ++i)
            REQUIRE(round.push(sender, {.bytes = 100}));
    std::array<std::uint32_t, 3> used{};
    const auto visit = [&](FloodQueue& sender, std::uint32_t budget) {
        const auto at = static_cast<std::size_t>(&sender - senders.data());
        for (std::uint32_t left = budget; left >= sender.front().bytes;) {
            left -= sender.front().bytes;
            sender.pop();
        }
        if (!sender.empty())
            sender.front().bytes -= std::min(sender.front().bytes - 1, budget);
        used[at] += budget;
        return budget;
    };
    round.begin_turn();
    round.serve(visit);
    CHECK((used == std::array<std::uint32_t, 3>{96, 96, 64}));
    round.serve(visit);
    CHECK(used[2] == 64);
    round.remove(senders[1]);
    round.begin_turn();
    round.serve(visit);
    CHECK((used == std::array<std::uint32_t, 3>{224, 96, 192}));
    CHECK(round.waiting().size() == 2);
}

TEST_CASE("a queue takes what may come at once, and no more") {
    FloodQueue queue;
    for (std::size_t i = 0; i < FloodQueue::kMax; ++i)
        CHECK(queue.push({.bytes = static_cast<std::uint32_t>(i)}));
    CHECK_FALSE(queue.push({}));
    CHECK(queue.front().bytes == 0);
    queue.pop();
    CHECK(queue.push({}));
    CHECK(queue.front().bytes == 1);
}

TEST_CASE("a burst of broadcasts among many vNICs is copied 256 times a turn, and reaches everyone",
          "[long]") {
    constexpr unsigned kReaders = 300;
    constexpr std::uint32_t kBroadcasts = 32;
    Flooded vlan(kReaders);
    vlan.broadcast(vlan.first, 1, kBroadcasts);
    std::uint64_t most = 0;
    unsigned turns = 0;
    for (; vlan.copies() < kReaders * kBroadcasts && turns < 1000; ++turns) {
        const std::uint64_t before = vlan.copies();
        vlan.host.turn();
        most = std::max(most, vlan.copies() - before);
        REQUIRE(balanced(vlan.host.stats(vlan.first).from_vm));
    }
    CHECK(most <= 2 * FloodRound::kPerTurn);  // the copies that one turn left, and those of the next
    CHECK(turns >= kReaders * kBroadcasts / FloodRound::kPerTurn);
    CHECK(turns < 2 * kReaders * kBroadcasts / FloodRound::kPerTurn);
    CHECK(vlan.copies() == kReaders * kBroadcasts);
    CHECK(vlan.host.stats(vlan.first).flood_copies == (kReaders + 1) * kBroadcasts);
    CHECK(vlan.host.stats(vlan.first).from_vm.delivered.packets == kBroadcasts);
    CHECK(vlan.host.path(vlan.first).queued_buffers == 0);
}

TEST_CASE("a sender with one broadcast does not wait for another's burst", "[long]") {
    Flooded vlan(200);
    vlan.broadcast(vlan.first, 1, 64);
    vlan.host.turn();
    vlan.host.turn();
    vlan.broadcast(vlan.second, 2, 1);
    unsigned turns = 0;
    for (; vlan.read[2] < 200 && turns < 100; ++turns)
        vlan.host.turn();
    CHECK(turns <= 4);  // every second visit of eight in a turn: 128 copies
    CHECK(vlan.read[1] < 64 * 200 / 4);
    vlan.host.settle();
    CHECK(vlan.read[1] == 64 * 200);
}

TEST_CASE("floods that do not fit the queue are dropped as flood_limited, the sender's other frames pass") {
    SwitchConfig config;
    config.flood_limit_pps = 100'000'000;
    Flooded vlan(200, config);
    vlan.broadcast(vlan.first, 1, 200);
    vlan.host.port(vlan.first).offered.push_back(frame(mac(2), mac(1), 0));
    for (unsigned i = 0; i < 60 && !vlan.host.port(vlan.first).offered.empty(); ++i) {
        vlan.host.now += 1'000'000;
        vlan.host.turn();
    }
    const DirectionStats& stats = vlan.host.stats(vlan.first).from_vm;
    REQUIRE(stats.offered.packets == 201);
    CHECK(drops(stats, DropReason::kFloodLimited) > 0);
    CHECK(stats.queued.packets <= FloodQueue::kMax);
    vlan.host.settle();
    CHECK(balanced(stats));
    CHECK(stats.queued.packets == 0);
    CHECK(vlan.read[1] == 200 * (200 - drops(stats, DropReason::kFloodLimited)));
    CHECK(vlan.host.stats(vlan.second).to_vm.delivered.packets == stats.delivered.packets);
}

TEST_CASE("a frame to an address that is learned while others to it wait does not overtake them") {
    constexpr unsigned kTaps = 60;
    constexpr std::uint32_t kBefore = 32;
    constexpr std::uint32_t kBehind = 8;
    SwitchHarness host;
    const VnicId sender = host.add(vm(1));
    std::vector<VnicId> taps;
    for (unsigned n = 0; n < kTaps; ++n) {
        VnicConfig tap = vm(0x20 + n);
        tap.anti_spoofing = false;
        taps.push_back(host.add(tap));
    }
    const std::uint64_t there = mac(0x99);  // behind the last one
    for (std::uint32_t i = 0; i < kBefore; ++i)
        host.port(sender).offered.push_back(frame(there, mac(1), i));
    host.turn();
    host.port(taps.back()).offered.push_back(frame(mac(1), there, 0));
    host.turn();
    CHECK(host.stats(sender).to_vm.delivered.packets == 1);
    CHECK(host.stats(sender).from_vm.queued.packets > 0);
    for (std::uint32_t i = 0; i < kBehind; ++i)
        host.port(sender).offered.push_back(frame(there, mac(1), kBefore + i));
    host.settle();
    std::vector<std::uint32_t> numbers;
    for (const rte_mbuf* received : host.port(taps.back()).received)
        numbers.push_back(number_of(received));
    CHECK(numbers.size() == kBefore + kBehind);
    CHECK(std::ranges::is_sorted(numbers));
    CHECK(balanced(host.stats(sender).from_vm));
    host.port(sender).offered.push_back(frame(there, mac(1), 99));
    host.settle();
    CHECK(host.port(taps.front()).received.size() == kBefore + kBehind);  // it is flooded no more
}

TEST_CASE("super-frames that are flooded keep to their sender's quota when the uplink splits them") {
    const unsigned before = buffers_in_use();
    {
        RingNic nic(1, 64);
        SwitchConfig config;
        config.uplink.rate_bps = 100'000'000;
        Flooded vlan(10, config, &nic);
        const FrameBytes bytes =
            ethernet(kBroadcast, mac(1), weir::testing::kIpv4, ipv4(kTcp, tcp(pattern(64'000))));
        for (unsigned i = 0; i < 20; ++i)  // 128 segments each, 384 buffers or more
            vlan.host.port(vlan.first).offered.push_back(ask_segments(to_mbuf(buffer_pool(), bytes), 500));
        const VnicPath& path = vlan.host.path(vlan.first);
        for (unsigned turns = 0; turns < 200; ++turns) {
            vlan.host.now += 10'000;
            vlan.host.turn();
            REQUIRE(path.queued_buffers + path.intake.buffers() <= limits::kVnicBuffers);
        }
        CHECK(path.stats.from_vm.queued.packets > 0);
        nic.drain();
    }
    CHECK(buffers_in_use() == before);
}

TEST_CASE("a sender or a receiver that goes while floods wait leaves every sum right", "[long]") {
    constexpr unsigned kReaders = 60;
    const unsigned before = buffers_in_use();
    for (unsigned leaver = 0; leaver <= kReaders; leaver += 10) {
        INFO("leaver " << leaver);
        RingNic nic(1, 1024);
        Flooded vlan(kReaders, {}, &nic);
        vlan.broadcast(vlan.first, 1, 32, 1000);
        vlan.broadcast(vlan.second, 2, 32, 1000);
        for (std::uint32_t i = 0; i < 32; ++i)
            nic.arrive(frame(kBroadcast, kFar, i));
        vlan.host.turn();
        CHECK(vlan.host.stats(vlan.first).from_vm.queued.packets > 0);
        CHECK_FALSE(vlan.host.worker().drained());
        vlan.host.worker().housekeeping_next();
        vlan.host.remove(leaver < kReaders ? vlan.ids[leaver] : vlan.first);
        vlan.host.settle();
        vlan.host.run(20'000'000, 100'000);
        CHECK(balanced(vlan.host.stats(vlan.second).from_vm));
        CHECK(vlan.host.stats(vlan.second).from_vm.delivered.packets == 32);
        CHECK(vlan.read[2] >= 32 * (kReaders - 1));  // no other reader misses any
        const DirectionStats& rx = vlan.host.snapshot_worker(0).uplink.rx;
        CHECK(balanced(rx));
        CHECK(rx.delivered.packets == 32);
        CHECK(vlan.host.worker().drained());
        nic.drain();
    }
    CHECK(buffers_in_use() == before);
}

TEST_CASE("receivers of a long broadcast share its data, and what the wire's tag changes is not theirs") {
    const unsigned before = buffers_in_use();
    {
        RingNic nic;
        SwitchHarness host({}, &nic);
        std::vector<VnicId> ids;
        for (unsigned n = 1; n <= 4; ++n) {
            VnicConfig config = vm(n);
            config.vlan = 10;
            ids.push_back(host.add(config));
        }
        const FrameBytes bytes = numbered(kBroadcast, mac(1), 1000, 7);
        host.port(ids[0]).offered.push_back(to_mbuf(buffer_pool(), bytes));
        host.settle();
        for (unsigned n = 1; n < 4; ++n) {
            REQUIRE(host.port(ids[n]).received.size() == 1);
            CHECK((bytes_of(host.port(ids[n]).received[0]) == bytes));
            CHECK(is_shared(host.port(ids[n]).received[0]));
        }
        const auto wire = nic.take();
        REQUIRE(wire.size() == 1);
        CHECK((bytes_of(wire[0]) == tagged(bytes, 10)));
        rte_pktmbuf_free(wire[0]);
    }
    CHECK(buffers_in_use() == before);
}

TEST_CASE(
    "a broadcast that asks for a checksum is finished for those that need it, and only in their copies") {
    SwitchHarness host;
    const VnicId vm1 = host.add(vm(1));
    const VnicId plain = host.add(vm(2));
    const VnicId able = host.add(vm(3));
    host.port(able).taken = {.checksum = true, .tso = true};
    FrameBytes bytes = ethernet(kBroadcast, mac(1), weir::testing::kIpv4, ipv4(kUdp, udp(pattern(900))));
    host.port(vm1).offered.push_back(ask_checksum(to_mbuf(buffer_pool(), bytes)));
    host.settle();
    REQUIRE(host.port(plain).received.size() == 1);
    REQUIRE(host.port(able).received.size() == 1);
    CHECK(l4_checksum_good(bytes_of(host.port(plain).received[0])));
    CHECK((host.port(plain).received[0]->ol_flags & kOffloadFlags) == 0);
    CHECK((host.port(able).received[0]->ol_flags & kOffloadFlags) != 0);
}

TEST_CASE("copies for vNICs of other workers share data, too, and come back") {
    const unsigned before = buffers_in_use();
    {
        SwitchConfig config;
        config.workers = {1, 2};
        SwitchHarness host(config);
        std::vector<VnicId> ids;
        for (unsigned n = 1; n <= 6; ++n) {
            VnicConfig vnic = vm(n);
            vnic.worker = static_cast<std::uint16_t>(n % 2);
            ids.push_back(host.add(vnic));
        }
        const FrameBytes bytes = numbered(kBroadcast, mac(1), 1400, 3);
        for (unsigned i = 0; i < 20; ++i)
            host.port(ids[0]).offered.push_back(to_mbuf(buffer_pool(), bytes));
        host.settle();
        for (unsigned n = 1; n < 6; ++n) {
            REQUIRE(host.port(ids[n]).received.size() == 20);
            CHECK((bytes_of(host.port(ids[n]).received[19]) == bytes));
        }
        CHECK(balanced(host.stats(ids[0]).from_vm));
    }
    CHECK(buffers_in_use() == before);
}

TEST_CASE("a flooded frame of a vNIC with a VLAN counts its tag where it is on the wire") {
    RingNic nic;
    SwitchHarness host({}, &nic);
    VnicConfig config = vm(1);
    config.vlan = 10;
    const VnicId vm1 = host.add(config);
    config = vm(2);
    config.vlan = 10;
    const VnicId vm2 = host.add(config);
    host.port(vm1).offered.push_back(frame(kBroadcast, mac(1)));
    host.settle();
    CHECK(nic.drain() == 64);
    CHECK(host.stats(vm1).from_vm.offered.bytes == 64 + kOverhead);
    CHECK(host.stats(vm1).from_vm.delivered.bytes == 64 + kOverhead);
    CHECK(host.snapshot_worker(0).uplink.tx.delivered.bytes == 64 + kOverhead);
    CHECK(host.stats(vm2).to_vm.delivered.bytes == 60 + kOverhead);
    CHECK(balanced(host.stats(vm1).from_vm));
}
