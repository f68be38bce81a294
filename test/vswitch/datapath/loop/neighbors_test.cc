// neighbors_test.cc - one VM does its worst, and the others' buffers and turns of the loop stay theirs.
#include <rte_mbuf.h>

#include <algorithm>

#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"

using namespace weir;
using namespace weir::testing;

namespace {

/// A VM that never runs out of super-frames of 64,000 bytes in segments of 250 bytes.
void flood_super_frames(FakePort& port, std::uint64_t to, std::uint64_t from) {
    port.source = [frame = ethernet(to, from, kIpv4, ipv4(kTcp, tcp(pattern(64'000))))] {
        return ask_segments(to_mbuf(buffer_pool(), frame), 250);
    };
}

void flood_small_frames(FakePort& port, std::uint64_t to, std::uint64_t from) {
    port.source = [frame = numbered(to, from, 60, 0)] { return to_mbuf(buffer_pool(), frame); };
}

}  // namespace

TEST_CASE("a VM that splits the largest frames into the smallest segments holds no more than its quota") {
    RingNic nic;
    SwitchConfig config;
    config.uplink.rate_bps = 10'000'000'000;
    SwitchHarness host(config, &nic);
    const bool limited = GENERATE(true, false);
    const bool to_wire = GENERATE(true, false);
    VnicConfig attacker = vm(1);
    attacker.buffers = GENERATE(limits::kVnicBuffers, limits::kVnicBuffersMin);
    if (limited)
        attacker.limit_bps = 100'000'000;
    const VnicId vm1 = host.add(attacker);
    const VnicId vm2 = host.add(vm(2));
    const VnicId vm3 = host.add(vm(3));
    host.port(vm2).read_at_once();
    host.port(vm3).read_at_once();
    flood_super_frames(host.port(vm1), to_wire ? kFar : mac(2), mac(1));
    const unsigned before = buffers_in_use();
    unsigned most = 0;
    for (unsigned i = 0; i < 400; ++i) {
        host.port(vm3).offered.push_back(frame(mac(2), mac(3), i));
        host.run(20'000, 10'000);
        nic.drain();  // the frames in its ring are sent
        most = std::max(most, buffers_in_use() - before);
    }
    CHECK(most <= attacker.buffers);
    host.port(vm1).source = nullptr;
    host.run(20'000'000, 100'000);
    CHECK(host.stats(vm3).from_vm.delivered.packets == 400);
    CHECK(host.stats(vm1).from_vm.delivered.packets != 0);
    CHECK(host.stats(vm1).from_vm.dropped.packets == 0);
    CHECK(balanced(host.stats(vm1).from_vm));
}

TEST_CASE(
    "super-frames with the smallest segments arrive whole, at a VM with TSO, without it, and at the wire") {
    constexpr std::size_t kPayloadBytes = 20'000;
    constexpr std::uint16_t kSegment = 8;
    RingNic nic(1, 4096);
    SwitchConfig config;
    config.uplink.rate_bps = 10'000'000'000;
    SwitchHarness host(config, &nic);
    const VnicId vm1 = host.add(vm(1));
    const VnicId plain = host.add(vm(2));
    const VnicId able = host.add(vm(3), [](FakePort& port) { port.taken = {.checksum = true, .tso = true}; });
    std::size_t segments = 0;
    host.port(plain).sink = [&](const rte_mbuf*) { ++segments; };
    for (const std::uint64_t to : {mac(2), mac(3), kFar})
        host.port(vm1).offered.push_back(ask_segments(
            to_mbuf(buffer_pool(), ethernet(to, mac(1), kIpv4, ipv4(kTcp, tcp(pattern(kPayloadBytes))))),
            kSegment));
    std::size_t on_wire = 0;
    for (unsigned i = 0; i < 100; ++i) {
        host.run(100'000, 10'000);
        for (rte_mbuf* frame : nic.take()) {
            ++on_wire;
            rte_pktmbuf_free(frame);
        }
    }
    CHECK(segments == kPayloadBytes / kSegment);
    CHECK(on_wire == kPayloadBytes / kSegment);
    std::size_t payload = 0;
    for (const rte_mbuf* frame : host.port(able).received)
        payload += frame->pkt_len - 54;
    CHECK(host.port(able).received.size() == 10);  // 20,000 / (256 x 8) = 9.8
    CHECK(payload == kPayloadBytes);
    CHECK(host.stats(vm1).from_vm.dropped.packets == 0);
    CHECK(balanced(host.stats(vm1).from_vm));
}

TEST_CASE("a turn forwards at most one piece of a VM's super-frames") {
    SwitchHarness host;
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(vm(2));
    host.port(vm2).read_at_once();
    flood_super_frames(host.port(vm1), mac(2), mac(1));
    for (unsigned i = 0; i < 20; ++i) {
        const std::uint64_t before = host.stats(vm2).to_vm.delivered.packets;
        host.turn();
        CHECK(host.stats(vm2).to_vm.delivered.packets - before <= 256);
    }
}

TEST_CASE("a turn splits at most one piece of the super-frames that other workers hand over") {
    constexpr unsigned kSenders = 4;
    const unsigned before = buffers_in_use();
    {
        SwitchConfig config;
        config.workers = {1, 2};
        SwitchHarness host(config);
        VnicConfig receiver = vm(1);
        receiver.worker = 1;
        const VnicId vm1 = host.add(receiver);
        host.port(vm1).read_at_once();
        for (unsigned n = 2; n < 2 + kSenders; ++n)
            flood_super_frames(host.port(host.add(vm(n))), mac(1), mac(n));
        for (unsigned turns = 0; turns < 5;
             ++turns)  // 20 super-frames of 256 segments, while worker 1 is behind
            host.worker(0).run_once(host.now);
        for (unsigned turns = 0; turns < 10; ++turns) {
            const std::uint64_t received = host.stats(vm1).to_vm.delivered.packets;
            host.worker(1).run_once(host.now);
            CHECK(host.stats(vm1).to_vm.delivered.packets - received == 256);
            CHECK_FALSE(host.worker(1).drained());
        }
        for (unsigned n = 2; n < 2 + kSenders; ++n)
            host.port(static_cast<VnicId>(n - 1)).source = nullptr;
        host.settle();
        CHECK(host.worker(1).drained());
        CHECK(balanced(host.stats(vm1).to_vm));
        CHECK(host.stats(vm1).to_vm.dropped.packets == 0);
        CHECK(host.stats(vm1).to_vm.delivered.packets % 256 == 0);
    }
    CHECK(buffers_in_use() == before);
}

TEST_CASE("a turn gives a VM that was late a few of the super-frames that wait for it") {
    constexpr unsigned kSenders = 120;
    constexpr unsigned kFramesMost =
        11;  // of 32 buffers: less than 64 buffers, and eight frames picked at once
    SwitchHarness host;
    const VnicId late = host.add(vm(1));
    FakePort& port = host.port(late);
    port.taken = {.checksum = true, .tso = true};
    port.read_at_once();
    port.full = [] { return true; };
    for (unsigned n = 2; n < 2 + kSenders; ++n) {
        const FrameBytes sent = ethernet(mac(1), mac(n), kIpv4, ipv4(kTcp, tcp(pattern(64'000))));
        host.port(host.add(vm(n))).offered.push_back(ask_segments(to_mbuf(buffer_pool(), sent), 1448));
    }
    host.settle();
    const DirectionStats& got = host.stats(late).to_vm;
    REQUIRE(got.queued.packets == kSenders);
    port.full = nullptr;
    for (unsigned turns = 0; got.queued.packets != 0 && turns < 100; ++turns) {
        const std::uint64_t before = got.delivered.packets;
        host.turn();
        CHECK(got.delivered.packets - before <= kFramesMost);
    }
    CHECK(got.delivered.packets == kSenders);
}

TEST_CASE("a poll copies 128 KiB of long frames; behind short ones it grows by a frame per 2 ms") {
    SwitchHarness host;
    host.cycles = 1000;
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(vm(2));
    host.port(vm2).read_at_once();
    FakePort& from = host.port(vm1);
    const auto taken_in_a_turn = [&] {
        const std::size_t before = from.offered.size();
        host.turn();
        return before - from.offered.size();
    };
    const auto offer = [&](unsigned count, std::size_t bytes) {
        for (unsigned i = 0; i < count; ++i)
            from.offered.push_back(frame(mac(2), mac(1), i, bytes));
    };
    for (unsigned turns = 0; turns < 64; ++turns) {  // the core is short of cycles
        offer(1, 60);
        CHECK(taken_in_a_turn() == 1);
    }
    offer(32 + 14 + 14, 9'014);
    CHECK(taken_in_a_turn() == 32);  // before it is known how long they are
    CHECK(taken_in_a_turn() == 14);
    CHECK(taken_in_a_turn() == 14);
    CHECK(host.path(vm1).quiet_until == 0);  // not left to fill: these 14 are a whole burst
    offer(14 + 14 + 15 + 15 + 16, 60);
    CHECK(taken_in_a_turn() == 14);
    host.now += 2'000'000;
    CHECK(taken_in_a_turn() == 14);  // grows behind it
    CHECK(taken_in_a_turn() == 15);
    host.now += 2'000'000;
    CHECK(taken_in_a_turn() == 15);
    CHECK(taken_in_a_turn() == 16);
}

TEST_CASE("a ring with a small burst is left to fill while no turn of the last 64 was idle") {
    SwitchHarness host;
    host.cycles = 1000;
    const VnicId vm1 = host.add(vm(1));
    const VnicId busy = host.add(vm(3));
    host.port(host.add(vm(2))).read_at_once();
    const auto is_left_to_fill = [&] {
        for (unsigned i = 0; i < 4; ++i)
            host.port(vm1).offered.push_back(frame(mac(2), mac(1), i));
        CHECK(host.turn() >= 4);
        return host.path(vm1).quiet_until != 0;
    };
    CHECK_FALSE(is_left_to_fill());
    host.port(busy).source = [] { return frame(mac(2), mac(3), 1); };
    for (unsigned turns = 0; turns < 62; ++turns)
        CHECK(host.turn() == 32);
    CHECK_FALSE(is_left_to_fill());
    CHECK(is_left_to_fill());
    host.port(busy).source = nullptr;
    host.settle();
    CHECK_FALSE(is_left_to_fill());
}

TEST_CASE("the wire is polled between the rings of busy VMs") {
    constexpr unsigned kVms = 16;
    RingNic nic(1, 1024);
    SwitchHarness host({}, &nic, {}, {}, {.outside_every = 0, .length_max = UINT64_MAX});
    for (unsigned i = 1; i <= kVms; ++i)
        host.port(host.add(vm(i))).read_at_once();
    for (unsigned i = 1; i <= kVms; ++i)
        flood_small_frames(host.port(static_cast<VnicId>(i - 1)), mac(i % kVms + 1), mac(i));
    for (unsigned i = 0; i < 512; ++i)
        nic.arrive(frame(mac(1), kFar, i));
    for (int i = 0; i < 4; ++i)
        host.turn();
    // Once a turn would be 4 x 32; here after every VM whose poll took as long as a burst of the wire.
    CHECK(host.snapshot_worker(0).uplink.rx.delivered.packets >= 2 * 4 * 32);
}

TEST_CASE("frames for the wire leave between the rings of busy VMs") {
    constexpr unsigned kVms = 16;
    RingNic nic;
    SwitchHarness host({}, &nic, {}, {}, {.outside_every = 0, .length_max = UINT64_MAX});
    for (unsigned i = 1; i <= kVms; ++i)
        host.port(host.add(vm(i))).read_at_once();
    for (unsigned i = 2; i < kVms; ++i)
        flood_small_frames(host.port(static_cast<VnicId>(i - 1)), mac(i + 1), mac(i));
    host.port(0).offered.push_back(frame(kFar, mac(1)));
    std::size_t left_before_the_last = 0;
    host.port(kVms - 1).source = [&] {
        for (rte_mbuf* frame : nic.take()) {
            ++left_before_the_last;
            rte_pktmbuf_free(frame);
        }
        return to_mbuf(buffer_pool(), numbered(mac(1), mac(kVms), 60, 0));
    };
    host.turn();
    CHECK(left_before_the_last == 1);
    host.port(kVms - 1).source = nullptr;  // the harness polls once more at its end
    nic.drain();
}

TEST_CASE("a round that takes long goes on in the next turn with the VM behind") {
    constexpr unsigned kVms = 4;
    SwitchHarness host({}, nullptr, {}, {}, {.outside_every = UINT64_MAX, .length_max = 0});
    std::vector<VnicId> ids;
    for (unsigned i = 1; i <= kVms; ++i) {
        ids.push_back(host.add(vm(i)));
        host.port(ids.back()).read_at_once();
    }
    for (unsigned i = 1; i <= kVms; ++i)
        flood_small_frames(host.port(ids[i - 1]), mac(i % kVms + 1), mac(i));
    std::vector<std::uint64_t> before;
    for (const VnicId id : ids)
        before.push_back(host.stats(id).bursts);
    for (unsigned i = 0; i < 10 * kVms; ++i)
        host.turn();
    for (unsigned i = 0; i < kVms; ++i)
        CHECK(host.stats(ids[i]).bursts - before[i] == 10);
}
