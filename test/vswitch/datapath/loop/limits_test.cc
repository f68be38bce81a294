// limits_test.cc - promises kept by a whole worker on a clock moved by hand: limits, reservations, shares.
#include <rte_mbuf.h>

#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr Nanos kWarmUp = 20'000'000;
constexpr Nanos kSpan = 100'000'000;

/// A VM that never runs out of frames.
void flood_from(FakePort& port, std::uint64_t to, std::uint64_t from, std::size_t bytes) {
    port.source = [frame = numbered(to, from, bytes, 0)] { return to_mbuf(buffer_pool(), frame); };
}
/// Bits per second that the switch took from the VM over kSpan, after the first burst.
double measure(SwitchHarness& host, VnicId id, RingNic* nic = nullptr) {
    const auto run = [&](Nanos span) {
        for (const Nanos end = host.now + span; host.now < end;) {
            host.run(20'000);
            if (nic != nullptr)
                nic->drain();
        }
    };
    run(kWarmUp);
    const std::uint64_t before = host.stats(id).from_vm.delivered.bytes;
    const Nanos start = host.now;
    run(kSpan);
    return static_cast<double>(host.stats(id).from_vm.delivered.bytes - before) * 8e9 /
           static_cast<double>(host.now - start);
}

SwitchConfig link(std::uint64_t rate_bps) {
    SwitchConfig config;
    config.uplink.rate_bps = rate_bps;
    config.uplink.headroom = 0;
    return config;
}

}  // namespace

TEST_CASE("a limit in bit/s holds within 0.5 % over 100 ms, towards a VM and towards the uplink") {
    for (const std::uint64_t rate : {100'000'000ULL, 1'000'000'000ULL, 5'000'000'000ULL}) {
        for (const bool uplink : {false, true}) {
            RingNic nic(1, 1024);
            SwitchHarness host(link(40'000'000'000), &nic);
            VnicConfig limited = vm(1);
            limited.limit_bps = rate;
            const VnicId vm1 = host.add(limited);
            host.port(host.add(vm(2))).read_at_once();
            flood_from(host.port(vm1), uplink ? mac(0x99) : mac(2), mac(1), 1514);
            CHECK(measure(host, vm1, &nic) == Approx(static_cast<double>(rate)).epsilon(0.005));
            CHECK(host.stats(vm1).from_vm.dropped.packets == 0);
            CHECK(balanced(host.stats(vm1).from_vm));
        }
    }
}

TEST_CASE("a limit in packet/s holds within 0.5 % over 100 ms") {
    for (const std::uint64_t rate : {20'000ULL, 1'000'000ULL}) {
        SwitchHarness host;
        VnicConfig limited = vm(1);
        limited.limit_pps = rate;
        const VnicId vm1 = host.add(limited);
        host.port(host.add(vm(2))).read_at_once();
        flood_from(host.port(vm1), mac(2), mac(1), 60);
        CHECK(measure(host, vm1) / 8 / 84 == Approx(static_cast<double>(rate)).epsilon(0.005));
    }
}

TEST_CASE("what the limit holds back stays in the guest's ring, and the time is counted under its reason") {
    SwitchHarness host;
    VnicConfig limited = vm(1);
    limited.limit_bps = 100'000'000;
    const VnicId vm1 = host.add(limited);
    host.port(host.add(vm(2))).read_at_once();
    for (int i = 0; i < 3000; ++i)
        host.port(vm1).offered.push_back(to_mbuf(buffer_pool(), numbered(mac(2), mac(1), 1514, 0)));
    host.run(100'000'000);
    const VnicStats& stats = host.stats(vm1);
    CHECK(host.port(vm1).offered.size() + stats.from_vm.offered.packets == 3000);
    CHECK(stats.from_vm.queued.packets < 64);
    CHECK(stats.from_vm.dropped.packets == 0);
    CHECK(stats.held_ns[static_cast<std::size_t>(HoldReason::kLimit)] > 90'000'000);
    CHECK(stats.held_ns[static_cast<std::size_t>(HoldReason::kUplink)] == 0);
    CHECK(stats.held_ns[static_cast<std::size_t>(HoldReason::kBuffers)] == 0);
}

TEST_CASE("from a limit of 1 Gbit/s on, a 64 KiB super-frame meets it in pieces of 32 KiB") {
    SwitchHarness host;
    VnicConfig limited = vm(1);
    limited.limit_bps = 2'000'000'000;
    const VnicId vm1 = host.add(limited);
    const VnicId vm2 = host.add(vm(2));
    host.port(vm2).taken = {.checksum = true, .tso = true};
    const FrameBytes super_frame = ethernet(mac(2), mac(1), kIpv4, ipv4(kTcp, tcp(pattern(65'000))));
    host.port(vm1).offered.push_back(ask_segments(to_mbuf(buffer_pool(), super_frame), 1448));
    host.run(1'000'000);
    REQUIRE(host.port(vm2).received.size() == 3);
    CHECK(host.port(vm2).received[0]->pkt_len == 22 * 1448 + 54);
    CHECK(balanced(host.stats(vm1).from_vm));
}

TEST_CASE("a ring full of super-frames below 1 Gbit/s loses nothing on its way to a VM here") {
    SwitchHarness host;
    VnicConfig limited = vm(1);
    limited.limit_bps = 500'000'000;
    const VnicId vm1 = host.add(limited);
    const VnicId vm2 = host.add(vm(2));
    host.port(vm2).taken = {.checksum = true, .tso = true};
    host.port(vm2).read_at_once();
    const FrameBytes super_frame = ethernet(mac(2), mac(1), kIpv4, ipv4(kTcp, tcp(pattern(60'000))));
    for (int i = 0; i < 64; ++i)
        host.port(vm1).offered.push_back(ask_segments(to_mbuf(buffer_pool(), super_frame), 1448));
    host.run(100'000'000);
    CHECK(host.stats(vm1).from_vm.dropped.packets == 0);
    CHECK(host.stats(vm2).to_vm.delivered.packets == 64 * 42);
    CHECK(balanced(host.stats(vm1).from_vm));
}

TEST_CASE("two VMs that compete for the uplink get their reservations and shares") {
    struct Case {
        std::uint64_t reservation1;
        std::uint32_t shares1, shares2;
        double expected1;
    };
    // 1 Gbit/s: each gets the larger of its reservation and its part by shares.
    for (const Case& c : {Case{0, 100, 100, 0.5}, Case{0, 100, 300, 0.25}, Case{600'000'000, 100, 100, 0.6},
                          Case{600'000'000, 300, 100, 0.75}}) {
        RingNic nic(1, 1024);
        SwitchHarness host(link(1'000'000'000), &nic);
        VnicConfig first = vm(1);
        first.reservation_bps = c.reservation1;
        first.shares = c.shares1;
        VnicConfig second = vm(2);
        second.shares = c.shares2;
        const VnicId vm1 = host.add(first);
        const VnicId vm2 = host.add(second);
        flood_from(host.port(vm1), mac(0x99), mac(1), 1514);
        flood_from(host.port(vm2), mac(0x99), mac(2), 1514);
        const double rate1 = measure(host, vm1, &nic);
        CHECK(rate1 == Approx(c.expected1 * 1e9).epsilon(0.01));
        const VnicStats& stats2 = host.stats(vm2);
        const double all =
            static_cast<double>(host.stats(vm1).from_vm.delivered.bytes + stats2.from_vm.delivered.bytes) *
            8e9 / static_cast<double>(kWarmUp + kSpan);
        CHECK(all == Approx(1e9).epsilon(0.01));
        CHECK(stats2.from_vm.dropped.packets == 0);
        CHECK(stats2.held_ns[static_cast<std::size_t>(HoldReason::kUplink)] > 0);
    }
}

TEST_CASE("what one VM does not use the other gets: the uplink conserves work") {
    RingNic nic(1, 1024);
    SwitchHarness host(link(1'000'000'000), &nic);
    VnicConfig modest = vm(1);
    modest.reservation_bps = 900'000'000;
    modest.limit_bps = 100'000'000;
    const VnicId vm1 = host.add(modest);
    const VnicId vm2 = host.add(vm(2));
    flood_from(host.port(vm1), mac(0x99), mac(1), 1514);
    flood_from(host.port(vm2), mac(0x99), mac(2), 60);
    CHECK(measure(host, vm2, &nic) == Approx(9e8).epsilon(0.01));
}

TEST_CASE("a reservation's packets pass a flood at once") {
    RingNic nic(1, 1024);
    SwitchHarness host(link(1'000'000'000), &nic);
    VnicConfig victim = vm(1);
    victim.reservation_bps = 300'000'000;
    const VnicId vm1 = host.add(victim);
    const VnicId vm2 = host.add(vm(2));
    flood_from(host.port(vm2), mac(0x99), mac(2), 60);
    for (int i = 0; i < 1000; ++i) {  // 1538 wire bytes per 50 us: 246 Mbit/s
        host.port(vm1).offered.push_back(to_mbuf(buffer_pool(), numbered(mac(0x99), mac(1), 1514, 0)));
        host.run(50'000);
        nic.drain();
    }
    CHECK(host.stats(vm1).from_vm.delivered.packets >= 999);
    HistogramSnapshot delay = host.path(vm1).queue_delay.snapshot();
    delay.add_zeros(1000 - delay.count());  // those that never waited
    CHECK(delay.percentile(0.5) < 10'000);
    CHECK(host.stats(vm2).from_vm.delivered.packets > 0);
}

TEST_CASE("a vNIC's buffers are bounded: what is beyond stays in its ring") {
    RingNic nic;
    SwitchHarness host(link(1'000'000), &nic);
    VnicConfig config = vm(1);
    config.buffers = 100;
    const VnicId vm1 = host.add(config);
    flood_from(host.port(vm1), mac(0x99), mac(1), 60);
    host.run(5'000'000);
    CHECK(host.path(vm1).queued_buffers > 100 - limits::kFrameBuffersMax);  // the next may be this large
    CHECK(host.path(vm1).queued_buffers <= 100);
    CHECK(host.path(vm1).held);
    CHECK(host.path(vm1).held_for == HoldReason::kBuffers);
    CHECK(host.stats(vm1).from_vm.dropped.packets == 0);
}

TEST_CASE("with isolation off limits are not kept and nothing is held back") {
    SwitchConfig config = link(10'000'000'000);
    config.isolation = false;
    SwitchHarness host(config);
    VnicConfig limited = vm(1);
    limited.limit_bps = 1'000'000;
    const VnicId vm1 = host.add(limited);
    host.port(host.add(vm(2))).read_at_once();
    flood_from(host.port(vm1), mac(2), mac(1), 1514);
    host.run(200'000);
    CHECK(host.stats(vm1).from_vm.delivered.packets == 100 * limits::kBurst);
}
