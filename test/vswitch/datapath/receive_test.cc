// receive_test.cc - VMs that do not take what is sent to them as fast as it comes: which sender is held back,
// which loses.
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "test/support/amounts.h"
#include "test/support/catch.h"
#include "test/support/random.h"
#include "test/vswitch/datapath/switch_harness.h"
#include "vswitch/datapath/feedback/feedback_frame.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr std::size_t kFullBytes = 1514;
constexpr Nanos kStep = 10 * kUs;
/// Between two looks at a ring that a receiver holds back.
constexpr Nanos kLookPeriod = 5 * kMs;

/// A VM that takes frames from its ring at a rate, and keeps count of each sender's.
struct SlowVm {
    SlowVm(FakePort& vm_port, std::uint64_t bytes_per_sec) : port(vm_port), rate(bytes_per_sec) {
        port.ring_frames = 32;
    }
    void take(Nanos span) {
        credit = std::min(credit + static_cast<double>(rate) * static_cast<double>(span) / 1e9,
                          static_cast<double>(2 * kWireFrame));
        std::size_t count = 0;
        for (; credit > 0 && count < port.received.size(); ++count) {
            rte_mbuf* frame = port.received[count];
            const std::uint64_t from = read_head(frame).source;
            const std::uint32_t number = number_of(frame);
            credit -= frame->pkt_len + kOverhead;
            bytes[from] += frame->pkt_len + kOverhead;
            disordered += number <= last[from];
            missing += number > last[from] + 1;
            last[from] = std::max(last[from], number);
            rte_pktmbuf_free(frame);
        }
        port.received.erase(port.received.begin(),
                            port.received.begin() + static_cast<std::ptrdiff_t>(count));
    }
    [[nodiscard]] double mbit(unsigned n, Nanos span) {
        return static_cast<double>(bytes[mac(n)]) * 8e3 / static_cast<double>(span);
    }

    FakePort& port;
    std::uint64_t rate;
    double credit = 0;
    std::map<std::uint64_t, std::uint64_t> bytes;
    std::map<std::uint64_t, std::uint32_t> last;
    unsigned disordered = 0;
    unsigned missing = 0;  // gaps in a sender's numbers
};

void run(SwitchHarness& host, SlowVm& slow, Nanos duration) {
    for (const Nanos end = host.now + duration; host.now < end; host.now += kStep) {
        host.turn();
        slow.take(kStep);
    }
}

/// vm<n> has always another frame for vm<to>.
void flood(SwitchHarness& host, VnicId id, unsigned n, unsigned to) {
    host.port(id).source = [n, to, number = 0U]() mutable {
        return frame(mac(to), mac(n), ++number, kFullBytes);
    };
}

Nanos held_by_receiver(const VnicStats& stats) {
    return stats.held_ns[static_cast<std::size_t>(HoldReason::kReceiver)];
}

/// The address of an IPv4 frame's sender; its checksum does not matter here.
rte_mbuf* from_address(rte_mbuf* frame, std::uint32_t address) {
    std::memcpy(rte_pktmbuf_mtod_offset(frame, void*, 26), &address, sizeof(address));
    return frame;
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

TEST_CASE("a receive limit holds senders of this host back, without loss, and can change") {
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

TEST_CASE("a VM that turns from a slow receiver to another one waits for one look at its ring, 5 ms") {
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
    CHECK(passed > 12 * kLookPeriod);  // what the first polls took waits before
    CHECK(host.stats(vm9).to_vm.dropped.packets == 0);
}

TEST_CASE(
    "for a receiver that is slower than the looks at its ring 512 KiB of one sender wait, of short frames "
    "128 "
    "KiB") {
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

TEST_CASE("an outside flood of 10,000 invented sources costs the others neither a frame nor their share") {
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
                if (is_feedback(bytes_of(frame).data()) &&
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
    CHECK(part(vm1) == Approx(600).epsilon(0.1));  // and what is lent of the headroom
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
