// receive_wire_test.cc - VMs that take the wire's frames more slowly than they come: reservations, the
// sources that lose frames, the rates that are advertised.
#include <rte_mbuf.h>

#include <array>
#include <cstring>
#include <map>

#include "test/support/catch.h"
#include "test/support/random.h"
#include "test/vswitch/datapath/output/slow_vm.h"
#include "vswitch/datapath/frame/feedback_frame.h"

using namespace weir;
using namespace weir::testing;

namespace {

/// The address of an IPv4 frame's sender; its checksum does not matter here.
rte_mbuf* from_address(rte_mbuf* frame, std::uint32_t address) {
    std::memcpy(rte_pktmbuf_mtod_offset(frame, void*, 26), &address, sizeof(address));
    return frame;
}

}  // namespace

TEST_CASE("frames of the wire that another worker hands over are no VM's, and their number is bounded") {
    const unsigned before = buffers_in_use();
    {
        RingNic nic(2, 1024);
        SwitchConfig config;
        config.workers = {1, 2};
        SwitchHarness host(config, &nic);
        VnicConfig receiver = vm(9);
        receiver.worker = 1;
        const VnicId vm9 = host.add(receiver);
        host.port(vm9).ring_frames = 0;
        std::uint32_t number = 0;
        for (unsigned i = 0; i < 300; ++i, host.now += kStep) {
            for (unsigned k = 0; k < 10; ++k)
                nic.arrive(frame(mac(9), kFar, ++number, kFullBytes), 0);
            host.turn();
        }
        const DirectionStats& to = host.stats(vm9).to_vm;
        CHECK(to.queued.bytes <= 256 * 1024);
        CHECK(to.queued.packets > 32);
        CHECK(drops(to, DropReason::kVmRingFull) > 2000);
        CHECK(balanced(to));
    }
    CHECK(buffers_in_use() == before);
}

TEST_CASE("an outside flood of 10,000 invented sources costs the others neither a frame nor their share",
          "[long]") {
    RingNic nic(1, 4096);
    SwitchConfig config;
    config.uplink.rate_bps = 10'000'000'000;
    SwitchHarness host(config, &nic);
    const VnicId vm9 = host.add(vm(9));
    const VnicId vm2 = host.add(vm(2));
    SlowVm slow(host.port(vm9), kGbit);
    host.port(vm2).read_at_once();
    Random32 random(3);
    std::uint32_t number = 0;
    std::uint64_t honest = 0;
    std::uint64_t to_vm2 = 0;
    // In 10 us: 8 frames of the flood, 10 Gbit/s; one in 3 ms of an honest source, 4 Mbit/s: 40 times its
    // share.
    const auto offer = [&](unsigned i) {
        for (unsigned k = 0; k < 8; ++k)
            nic.arrive(from_address(frame(mac(9), kFar, ++number, kFullBytes), random() % 10'000));
        nic.arrive(from_address(frame(mac(2), kFar, ++number, 200), 5));
        ++to_vm2;
        if (i % 300 == 0) {
            nic.arrive(from_address(frame(mac(9), mac(0x77), ++number, kFullBytes), 1'000'000));
            ++honest;
        }
        host.turn();
        host.turn();
        slow.take(kStep);
        host.now += kStep;
    };
    for (unsigned i = 0; i < 30'000; ++i)
        offer(i);
    CHECK(host.stats(vm2).to_vm.delivered.packets == to_vm2);
    const std::uint64_t taken = host.stats(vm9).to_vm.delivered.bytes;
    CHECK(static_cast<double>(taken) == Approx(0.3 * kGbit).epsilon(0.02));
    const double share = 0.3 * kGbit / 10'001;
    CHECK(static_cast<double>(slow.bytes[mac(0x77)]) > share);
    CHECK(balanced(host.stats(vm9).to_vm));
}

TEST_CASE("with feedback the rate at which a VM takes frames is advertised, and few are lost") {
    constexpr FeedbackKey kKey{};
    RingNic nic(1, 4096);
    SwitchConfig config;
    config.uplink.rate_bps = 10'000'000'000;
    config.feedback.enabled = true;
    SwitchHarness host(config, &nic);
    const VnicId vm9 = host.add(vm(9));
    SlowVm slow(host.port(vm9), kGbit);
    slow.port.ring_frames = 256;
    const FrameBytes full =
        ethernet(mac(9), kFar, 0x0800, ipv4(17, udp(pattern(kFullBytes - 14 - 20 - 8 - 4))));
    std::uint64_t rate = 10 * kGbit;  // of the far sender, which obeys
    std::uint64_t wanted = 10 * kGbit;
    double due = 0;
    double advertised = 0;
    unsigned steps = 0;
    const auto run_for = [&](Nanos duration) {
        for (const Nanos end = host.now + duration; host.now < end; host.now += kStep, ++steps) {
            for (due += static_cast<double>(rate) * kStep / 1e9; due > 0; due -= kWireFrame)
                nic.arrive(to_mbuf(buffer_pool(), full));
            host.turn();
            slow.take(kStep);
            for (rte_mbuf* frame : nic.take()) {
                FeedbackMessage message;
                if (is_feedback(bytes_of(frame)) &&
                    read_feedback(bytes_of(frame), 0, kKey, message) == FeedbackVerdict::kValid)
                    rate = std::min(message.rate, wanted);
                rte_pktmbuf_free(frame);
            }
            advertised += static_cast<double>(rate);
        }
    };
    run_for(20 * kMs);
    const DirectionStats before = host.stats(vm9).to_vm;
    advertised = steps = 0;
    run_for(500 * kMs);
    const DirectionStats& after = host.stats(vm9).to_vm;
    CHECK(advertised / steps == Approx(1.0 * kGbit).epsilon(0.1));
    CHECK(static_cast<double>(after.dropped.packets - before.dropped.packets) <
          0.01 * static_cast<double>(after.offered.packets - before.offered.packets));
    CHECK(static_cast<double>(after.delivered.bytes - before.delivered.bytes) > 0.9 * 0.5 * kGbit);
    CHECK(balanced(after));
    rate = wanted = kGbit / 10;
    run_for(10 * kMs);
    CHECK(host.path(vm9).drain_rate == UINT64_MAX);
    CHECK_FALSE(host.path(vm9).pressure.receives_slowly);
}

TEST_CASE("the downlink is divided by what vNICs may receive, where that differs from what they may send") {
    RingNic nic(1, 4096);
    SwitchConfig config;
    config.uplink.rate_bps = 1'000'000'000;
    config.feedback.enabled = true;
    SwitchHarness host(config, &nic);
    VnicConfig first = vm(1);
    first.reservation_bps = 100'000'000;
    first.receive_reservation_bps = 600'000'000;
    VnicConfig second = vm(2);
    const VnicId vm1 = host.add(first);
    const VnicId vm2 = host.add(second);
    host.port(vm1).read_at_once();
    host.port(vm2).read_at_once();
    const auto run_both = [&] {
        for (unsigned i = 0; i < 1000; ++i, host.now += kWireFrame * 8) {  // each at 1 Gbit/s
            nic.arrive(frame(mac(1), kFar, i, kFullBytes));
            nic.arrive(frame(mac(2), kFar, i, kFullBytes));
            host.turn();
            nic.drain();
        }
    };
    const auto part = [&](VnicId id) {
        return static_cast<double>(host.snapshot(id).receive_capacity) * 8 / 1e6;
    };
    run_both();
    CHECK(part(vm1) == Approx(600).epsilon(0.1));  // Mbit/s, with a lent part of the headroom
    CHECK(part(vm2) == Approx(300).epsilon(0.1));
    first.receive_reservation_bps = 0;
    first.receive_shares = 200;
    host.change(vm1, first);
    run_both();
    CHECK(part(vm1) == Approx(600).epsilon(0.1));
    first.receive_shares = 100;
    second.receive_limit_bps = 100'000'000;
    host.change(vm1, first);
    host.change(vm2, second);
    run_both();
    CHECK(part(vm1) == Approx(800).epsilon(0.1));
    CHECK(part(vm2) == Approx(100).epsilon(0.01));
}

TEST_CASE("a receive reservation holds for the wire's frames against VMs of the same host, and no more") {
    std::map<std::uint64_t, std::uint64_t> bytes;  // outlives the port whose sink counts
    RingNic nic(1, 4096);
    SwitchConfig config;
    config.uplink.rate_bps = 10'000'000'000;
    SwitchHarness host(config, &nic);
    VnicConfig receiver = vm(9);
    receiver.receive_limit_bps = 10'000'000'000;
    receiver.receive_reservation_bps = 4'000'000'000;
    const VnicId vm9 = host.add(receiver);
    std::array<VnicId, 4> ids{};
    for (unsigned n = 1; n <= 3; ++n)
        ids[n] = host.add(vm(n));
    for (unsigned n = 1; n <= 3; ++n)
        flood(host, ids[n], n, 9);
    host.port(vm9).sink = [&bytes](const rte_mbuf* frame) {
        bytes[read_head(frame).source] += frame->pkt_len + kOverhead;
    };
    std::uint32_t number = 0;
    double due = 0;
    const auto run_with = [&](std::uint64_t wire_rate, Nanos duration) {
        bytes.clear();
        for (const Nanos end = host.now + duration; host.now < end; host.now += kStep) {
            for (due += static_cast<double>(wire_rate) * kStep / 1e9; due > 0; due -= kWireFrame)
                nic.arrive(frame(mac(9), kFar, ++number, kFullBytes));
            host.turn();
        }
    };
    const auto gbit = [&](std::uint64_t from) { return static_cast<double>(bytes[from]) * 8 / 20e6; };
    const DirectionStats& to = host.stats(vm9).to_vm;
    run_with(4 * kGbit, 5 * kMs);
    run_with(4 * kGbit, 20 * kMs);
    CHECK(gbit(kFar) == Approx(4).epsilon(0.01));  // by shares alone it were a quarter, 2.5
    for (unsigned n = 1; n <= 3; ++n)
        CHECK(gbit(mac(n)) == Approx(2).epsilon(0.01));
    CHECK(to.dropped.packets == 0);
    run_with(8 * kGbit, 5 * kMs);
    run_with(8 * kGbit, 20 * kMs);
    CHECK(gbit(kFar) == Approx(4).epsilon(0.01));
    run_with(kGbit, 5 * kMs);
    run_with(kGbit, 20 * kMs);
    CHECK(gbit(kFar) == Approx(1).epsilon(0.01));
    for (unsigned n = 1; n <= 3; ++n)
        CHECK(gbit(mac(n)) == Approx(3).epsilon(0.01));
    run_with(8 * kGbit, 5 * kMs);
    receiver.receive_reservation_bps = 6'000'000'000;
    host.change(vm9, receiver);  // while frames of the wire wait
    run_with(8 * kGbit, 5 * kMs);
    run_with(8 * kGbit, 20 * kMs);
    CHECK(gbit(kFar) == Approx(6).epsilon(0.01));
    receiver.receive_reservation_bps = 0;
    host.change(vm9, receiver);
    run_with(8 * kGbit, 5 * kMs);
    run_with(8 * kGbit, 20 * kMs);
    CHECK(gbit(kFar) == Approx(2.5).epsilon(0.01));
    CHECK(balanced(to));
}
