// receive_test.cc - VMs that take the frames of VMs of their host more slowly than they come: which sender
// is held back, which loses frames.
#include <algorithm>
#include <array>

#include "test/support/catch.h"
#include "test/vswitch/datapath/output/slow_vm.h"

using namespace weir;
using namespace weir::testing;

namespace {

/// Between two looks at a ring that a receiver holds back.
constexpr Nanos kLookPeriod = 5 * kMs;

Nanos held_by_receiver(const VnicStats& stats) {
    return stats.held_ns[static_cast<std::size_t>(HoldReason::kReceiver)];
}

}  // namespace

TEST_CASE(
    "eight VMs flood a ninth that takes 1 Gbit/s: the reserved one has its 250 Mbit/s in 1 ms and no frame "
    "is lost") {
    const unsigned before = buffers_in_use();
    {
        SwitchHarness host;
        std::array<VnicId, 10> ids{};
        for (unsigned n = 1; n <= 9; ++n) {
            VnicConfig config = vm(n);
            config.reservation_bps = n == 3 ? 250'000'000 : 0;
            ids[n] = host.add(config);
        }
        SlowVm slow(host.port(ids[9]), kGbit);
        for (unsigned n = 1; n <= 8; ++n)
            if (n != 3)
                flood(host, ids[n], n, 9);
        run(host, slow, 20 * kMs);
        flood(host, ids[3], 3, 9);
        run(host, slow, kMs);
        slow.bytes.clear();
        run(host, slow, 100 * kMs);
        CHECK(slow.mbit(3, 100 * kMs) == Approx(250).epsilon(0.01));
        for (unsigned n = 1; n <= 8; ++n) {
            if (n != 3)
                CHECK(slow.mbit(n, 100 * kMs) == Approx(750.0 / 7).epsilon(0.01));
            CHECK(host.path(ids[n]).queued_buffers <= limits::kVnicBuffers);
            CHECK(balanced(host.stats(ids[n]).from_vm));
            CHECK(host.stats(ids[n]).from_vm.dropped.packets == 0);
            CHECK(held_by_receiver(host.snapshot(ids[n])) > 50 * kMs);
        }
        const DirectionStats& to = host.stats(ids[9]).to_vm;
        CHECK(to.dropped.packets == 0);
        CHECK(to.queued.packets > 0);
        CHECK(balanced(to));
        CHECK(slow.disordered == 0);
        CHECK(slow.missing == 0);
        for (unsigned n = 1; n <= 8; ++n)
            host.port(ids[n]).source = nullptr;
        run(host, slow, 20 * kMs);
        CHECK(to.queued.packets == 0);
        CHECK_FALSE(host.path(ids[9]).pressure.receives_slowly);
        for (unsigned n = 1; n <= 8; ++n)
            CHECK(host.path(ids[n]).queued_buffers == 0);
    }
    CHECK(buffers_in_use() == before);
}

TEST_CASE("a receiver that keeps up has no state, and its senders none") {
    SwitchHarness host;
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(vm(2));
    flood(host, vm1, 1, 2);
    host.port(vm2).read_at_once();
    unsigned slow = 0;
    for (unsigned i = 0; i < 1000; ++i, host.now += kStep) {
        host.turn();
        slow += host.path(vm2).pressure.receives_slowly || host.path(vm1).pressure.pressed ||
                !host.worker().drained();
    }
    CHECK(slow == 0);
    CHECK(host.stats(vm2).to_vm.delivered.packets == 32'000);
    CHECK(held_by_receiver(host.snapshot(vm1)) == 0);
}

TEST_CASE("a receive limit holds senders of this host back, without loss, and can change", "[long]") {
    SwitchHarness host;
    const VnicId vm1 = host.add(vm(1));
    VnicConfig limited = vm(9);
    limited.receive_limit_bps = 100'000'000;
    const VnicId vm9 = host.add(limited);
    host.port(vm9).read_at_once();
    flood(host, vm1, 1, 9);
    host.run(kNanosPerSec / 10, kStep);
    const auto mbit = [&](std::uint64_t from) {
        return static_cast<double>(host.stats(vm9).to_vm.delivered.bytes - from) * 8 / 0.1 / 1e6;
    };
    CHECK(mbit(0) == Approx(100).epsilon(0.06));  // and the bucket's burst
    limited.receive_limit_bps = 400'000'000;
    host.change(vm9, limited);
    std::uint64_t from = host.stats(vm9).to_vm.delivered.bytes;
    host.run(kNanosPerSec / 10, kStep);
    CHECK(mbit(from) == Approx(400).epsilon(0.02));
    CHECK(host.stats(vm9).to_vm.dropped.packets == 0);
    CHECK(balanced(host.stats(vm9).to_vm));
    limited.receive_limit_bps.reset();
    host.change(vm9, limited);
    from = host.stats(vm9).to_vm.delivered.bytes;
    host.run(kNanosPerSec / 10, kStep);
    CHECK(mbit(from) > 10'000);
    CHECK_FALSE(host.path(vm9).pressure.receives_slowly);
}

TEST_CASE("a VM that sends to several is not held back by one of them that takes nothing") {
    SwitchHarness host;
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(vm(2));
    const VnicId vm9 = host.add(vm(9));
    host.port(vm2).read_at_once();
    SlowVm slow(host.port(vm9), 10 * kMbit);
    host.port(vm1).source = [number = 0U]() mutable {
        ++number;
        return frame(mac(number % 64 < 32 ? 2 : 9), mac(1), number, kFullBytes);
    };
    std::uint32_t most = 0;
    for (unsigned i = 0; i < 1000; ++i) {
        run(host, slow, kStep);
        most = std::max(most, host.path(vm1).queued_buffers);
    }
    const DirectionStats& to = host.stats(vm9).to_vm;
    CHECK(host.stats(vm2).to_vm.delivered.packets > 15'000);
    CHECK(held_by_receiver(host.snapshot(vm1)) == 0);
    CHECK(drops(to, DropReason::kVmRingFull) > 10'000);
    CHECK(most * kWireFrame <= 128 * 1024);
    CHECK(slow.disordered == 0);
    CHECK(balanced(to));
    CHECK(balanced(host.stats(vm1).from_vm));
}

TEST_CASE("a VM that turns from a slow receiver to another one waits for one look at its ring, 5 ms",
          "[long]") {
    const WorkerId slow_worker = GENERATE(WorkerId{0}, WorkerId{1});
    SwitchConfig config;
    config.workers = {1, 2};
    SwitchHarness host(config);
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(vm(2));
    VnicConfig receiver = vm(9);
    receiver.worker = slow_worker;
    const VnicId vm9 = host.add(receiver);
    host.port(vm2).read_at_once();
    SlowVm slow(host.port(vm9), kMbit);
    flood(host, vm1, 1, 9);
    run(host, slow, 20 * kMs);
    CHECK(held_by_receiver(host.snapshot(vm1)) > 10 * kMs);
    flood(host, vm1, 1, 2);
    run(host, slow, kLookPeriod + 2 * kStep);
    CHECK(host.stats(vm2).to_vm.delivered.packets > 0);
    const std::uint64_t before = host.stats(vm2).to_vm.delivered.packets;
    run(host, slow, 100 * kMs);  // 10,000 turns; half of the cycles are for the wire
    CHECK(host.stats(vm2).to_vm.delivered.packets - before > 300'000);
    CHECK(host.stats(vm9).to_vm.queued.packets > 0);
    CHECK(host.stats(vm9).to_vm.dropped.packets == 0);
    CHECK(slow.disordered == 0);
    CHECK(balanced(host.stats(vm1).from_vm));
}

TEST_CASE("a ring full of frames for a slow receiver is passed in 16 looks, and none of them is lost") {
    SwitchHarness host;
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(vm(2));
    const VnicId vm9 = host.add(vm(9));
    host.port(vm2).read_at_once();
    SlowVm slow(host.port(vm9), kMbit);
    for (std::uint32_t i = 1; i <= 64 + 256; ++i)
        host.port(vm1).offered.push_back(frame(mac(9), mac(1), i, kFullBytes));
    host.port(vm1).offered.push_back(frame(mac(2), mac(1), 1, kFullBytes));
    Nanos passed = 0;
    for (; host.stats(vm2).to_vm.delivered.packets == 0 && passed < kNanosPerSec; passed += kStep)
        run(host, slow, kStep);
    CHECK(passed <= 16 * (kLookPeriod + kStep) + 3 * kStep);
    CHECK(passed > 12 * kLookPeriod);  // the first polls had taken some of the frames before
    CHECK(host.stats(vm9).to_vm.dropped.packets == 0);
}

TEST_CASE(
    "a ring whose next frame is known to go to the slow receiver waits and loses nothing, and passes with "
    "another") {
    SwitchHarness host;
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(vm(2));
    const VnicId vm9 = host.add(vm(9));
    host.port(vm2).read_at_once();
    host.port(vm1).peeks = true;
    SlowVm slow(host.port(vm9), kMbit / 4);
    for (std::uint32_t i = 1; i <= 1000; ++i)
        host.port(vm1).offered.push_back(frame(mac(9), mac(1), i, kFullBytes));
    run(host, slow, 200 * kMs);
    const std::size_t left = host.port(vm1).offered.size();
    CHECK(left > 800);  // out of the ring are 64 KiB, a burst and the frames that the receiver took
    CHECK(host.stats(vm9).to_vm.dropped.packets == 0);
    CHECK(slow.missing == 0);
    CHECK(held_by_receiver(host.snapshot(vm1)) > 150 * kMs);
    host.port(vm1).offered.push_front(frame(mac(2), mac(1), 1, kFullBytes));
    run(host, slow, kLookPeriod + 2 * kStep);
    CHECK(host.stats(vm2).to_vm.delivered.packets == 1);
}

TEST_CASE(
    "for a receiver slower than the looks at its ring 512 KiB of one sender wait, 128 KiB of short frames") {
    const std::size_t bytes = GENERATE(std::size_t{60}, kFullBytes);
    SwitchHarness host;
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm9 = host.add(vm(9));
    SlowVm slow(host.port(vm9), kMbit / 4);
    host.port(vm1).source = [bytes, number = 0U]() mutable { return frame(mac(9), mac(1), ++number, bytes); };
    std::uint64_t most = 0;
    for (unsigned i = 0; i < 50'000; ++i) {
        run(host, slow, kStep);
        most = std::max(most, host.stats(vm9).to_vm.queued.bytes);
    }
    const DirectionStats& to = host.stats(vm9).to_vm;
    const std::uint64_t bound = (bytes == kFullBytes ? 512 : 128) * 1024;
    CHECK(most <= bound);
    CHECK(most > bound - kWireFrame);
    CHECK(drops(to, DropReason::kVmRingFull) == to.dropped.packets);
    CHECK(to.dropped.packets > 0);
    CHECK(held_by_receiver(host.snapshot(vm1)) > 450 * kMs);
    CHECK(slow.disordered == 0);
    CHECK(balanced(to));
}

TEST_CASE("frames behind 96 KiB that wait for a receiver are marked, those before are not") {
    SwitchHarness host;
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm9 = host.add(vm(9));
    SlowVm slow(host.port(vm9), 0);
    FrameBytes capable = ethernet(mac(9), mac(1), 0x0800, ipv4(17, udp(pattern(kFullBytes - 14 - 20 - 8))));
    capable[15] = 2;  // ECT(0)
    host.port(vm1).source = [capable] { return to_mbuf(buffer_pool(), capable); };
    run(host, slow, 12 * kMs);
    const DirectionStats& to = host.stats(vm9).to_vm;
    const std::uint64_t beyond = to.queued.bytes - 96 * 1024;
    CHECK(to.queued.bytes > 96 * 1024);
    CHECK(host.stats(vm1).ecn_marked == beyond / kWireFrame + 1);
    CHECK(to.dropped.packets == 0);
}

TEST_CASE("no sender waits for a VM that takes nothing for 100 ms, until it takes frames again") {
    SwitchHarness host;
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm9 = host.add(vm(9));
    SlowVm slow(host.port(vm9), 0);
    flood(host, vm1, 1, 9);
    run(host, slow, 50 * kMs);
    CHECK(host.stats(vm9).to_vm.dropped.packets == 0);
    const std::uint64_t waiting = host.stats(vm9).to_vm.queued.packets;
    constexpr std::uint64_t kLooks = 50 * kMs / kLookPeriod;
    CHECK(waiting * kWireFrame < 64 * 1024 + (32 + kLooks * 16) * kWireFrame);
    run(host, slow, 100 * kMs);
    CHECK(host.stats(vm9).to_vm.queued.packets == 0);
    CHECK(drops(host.stats(vm9).to_vm, DropReason::kVmRingFull) > 10 * waiting);
    CHECK(host.path(vm1).queued_buffers == 0);
    slow.rate = kGbit;
    run(host, slow, 5 * kMs);
    const std::uint64_t lost = host.stats(vm9).to_vm.dropped.packets;
    run(host, slow, 50 * kMs);
    CHECK(host.stats(vm9).to_vm.dropped.packets == lost);
    CHECK(slow.disordered == 0);
    CHECK(balanced(host.stats(vm9).to_vm));
}

TEST_CASE("what waits for a VM that goes is dropped and counted, and so is what a VM that goes had sent") {
    const unsigned before = buffers_in_use();
    {
        SwitchHarness host;
        std::array<VnicId, 4> ids{};
        for (unsigned n = 1; n <= 3; ++n)
            ids[n] = host.add(vm(n));
        const VnicId vm9 = host.add(vm(9));
        SlowVm slow(host.port(vm9), 10 * kMbit);
        for (unsigned n = 1; n <= 3; ++n)
            flood(host, ids[n], n, 9);
        run(host, slow, 5 * kMs);
        const std::uint64_t queued = host.stats(vm9).to_vm.queued.packets;
        host.remove(ids[2]);
        const DirectionStats& to = host.stats(vm9).to_vm;
        CHECK(drops(to, DropReason::kVnicRemoved) > queued / 4);
        CHECK(drops(to, DropReason::kVnicRemoved) < queued / 2);
        CHECK(balanced(to));
        host.port(vm9).attached = false;
        run(host, slow, kMs);
        CHECK(drops(to, DropReason::kVmDown) > 0);
        CHECK(to.queued.packets == 0);
        CHECK(balanced(to));
        host.port(vm9).attached = true;
        run(host, slow, kMs);
        CHECK(to.queued.packets > 0);
        host.remove(vm9);
        CHECK(host.path(ids[1]).queued_buffers == 0);
        CHECK(host.path(ids[1]).backpressure.buffers == 0);
        CHECK(balanced(host.stats(ids[1]).from_vm));
    }
    CHECK(buffers_in_use() == before);
}

TEST_CASE("senders on another worker are held back, too, and lose nothing") {
    const unsigned before = buffers_in_use();
    {
        SwitchConfig config;
        config.workers = {1, 2};
        SwitchHarness host(config);
        std::array<VnicId, 5> ids{};
        for (unsigned n = 1; n <= 4; ++n) {
            VnicConfig sender = vm(n);
            sender.worker = n == 1 ? 0 : 1;
            ids[n] = host.add(sender);
        }
        VnicConfig receiver = vm(9);
        receiver.worker = 0;
        const VnicId vm9 = host.add(receiver);
        SlowVm slow(host.port(vm9), kGbit);
        for (unsigned n = 1; n <= 4; ++n)
            flood(host, ids[n], n, 9);
        const auto run_workers = [&](Nanos duration) {  // a worker takes others' frames more than once a turn
            for (const Nanos end = host.now + duration; host.now < end; run(host, slow, kStep))
                for (unsigned i = 0; i < 4; ++i)
                    host.worker(0).run_once(host.now);
        };
        run_workers(20 * kMs);
        slow.bytes.clear();
        run_workers(100 * kMs);
        const DirectionStats& to = host.stats(vm9).to_vm;
        CHECK(to.dropped.packets == 0);
        CHECK(balanced(to));
        CHECK(slow.disordered == 0);
        CHECK(slow.missing == 0);
        CHECK(slow.mbit(1, 100 * kMs) == Approx(500).epsilon(0.02));  // the others share one claim
        for (unsigned n = 2; n <= 4; ++n) {
            CHECK(slow.mbit(n, 100 * kMs) > 50);
            CHECK(host.stats(ids[n]).from_vm.dropped.packets == 0);
            CHECK(held_by_receiver(host.snapshot(ids[n])) > 50 * kMs);
        }
        host.remove(ids[2]);
        host.remove(vm9);
        for (unsigned n = 3; n <= 4; ++n)
            CHECK(host.path(ids[n]).backpressure.holders == 0);
    }
    CHECK(buffers_in_use() == before);
}

TEST_CASE(
    "copies of floods wait, too, while their sender's quota has room for a burst, and hold it back nowhere") {
    SwitchHarness host;
    const VnicId vm1 = host.add(vm(1));
    std::array<VnicId, 24> slow{};
    for (unsigned n = 3; n < 24; ++n) {
        slow[n] = host.add(vm(n));
        host.port(slow[n]).ring_frames = 0;
    }
    const VnicId vm2 = host.add(vm(2));
    host.port(vm2).read_at_once();
    std::uint32_t most = 0;
    for (unsigned i = 0; i < 1000; ++i, host.now += kStep) {
        host.port(vm1).offered.push_back(frame(kBroadcast, mac(1), i));
        host.port(vm1).offered.push_back(frame(mac(2), mac(1), i));
        host.turn();
        most = std::max(most, host.path(vm1).queued_buffers);
    }
    CHECK(most == limits::kVnicBuffers - limits::kBurst * limits::kFrameBuffersMax);
    CHECK(host.stats(vm2).to_vm.delivered.packets >= 1000 + 200);  // and those that flood_limit lets pass
    CHECK(held_by_receiver(host.snapshot(vm1)) == 0);
    for (unsigned n = 3; n < 24; ++n)
        CHECK(balanced(host.stats(slow[n]).to_vm));
    CHECK(balanced(host.stats(vm1).from_vm));
}

TEST_CASE("without isolation nothing waits: a full ring is a drop") {
    SwitchConfig config;
    config.isolation = false;
    SwitchHarness host(config);
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm9 = host.add(vm(9));
    SlowVm slow(host.port(vm9), kGbit);
    flood(host, vm1, 1, 9);
    run(host, slow, 10 * kMs);
    CHECK(host.stats(vm9).to_vm.queued.packets == 0);
    CHECK(drops(host.stats(vm9).to_vm, DropReason::kVmRingFull) > 1000);
    CHECK(held_by_receiver(host.snapshot(vm1)) == 0);
}
