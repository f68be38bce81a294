// spread_test.cc - vNICs whose queue pairs several workers poll: frames, limits, the uplink, feedback.
// Source: docs/algorithms.md 3.17.
#include <rte_mbuf.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"
#include "vswitch/datapath/frame/feedback_frame.h"
#include "vswitch/datapath/loop/mac_relay.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr Nanos kTenth = 100'000'000;
constexpr std::uint64_t kGigabit = 1'000'000'000;

SwitchConfig of_workers(std::size_t workers, std::uint64_t uplink_bps = 10 * kGigabit) {
    SwitchConfig config;
    config.workers.clear();
    for (unsigned core = 0; core < workers; ++core)
        config.workers.push_back(core + 1);
    config.uplink.rate_bps = uplink_bps;
    return config;
}

/// A VM that always has frames of 1000 bytes for an address, on each of these queue pairs.
void floods(SwitchHarness& host, const std::vector<VnicId>& members, unsigned n, std::uint64_t to) {
    for (const VnicId id : members)
        host.port(id).source = [to, n] { return frame(to, mac(n), 0, 976); };
}

void falls_quiet(SwitchHarness& host, const std::vector<VnicId>& members) {
    for (const VnicId id : members)
        host.port(id).source = nullptr;
}

std::uint64_t sent_bytes(const SwitchHarness& host, const std::vector<VnicId>& members) {
    return std::accumulate(
        members.begin(), members.end(), std::uint64_t{0},
        [&](std::uint64_t sum, VnicId id) { return sum + host.stats(id).from_vm.delivered.bytes; });
}

/// Bits per second that the vNIC sends in 100 ms, behind 20 ms that nothing counts.
double rate(SwitchHarness& host, const std::vector<VnicId>& members, const std::vector<RingNic*>& nics = {}) {
    const auto run = [&](Nanos span) {
        for (Nanos end = host.now + span; host.now < end;) {
            host.run(20'000);
            for (RingNic* nic : nics)
                for (std::uint16_t queue = 0; queue < host.workers().size(); ++queue)
                    nic->drain(0, queue);
        }
    };
    run(kTenth / 5);
    const std::uint64_t before = sent_bytes(host, members);
    run(kTenth);
    return static_cast<double>(sent_bytes(host, members) - before) * 80;
}

void all_balanced(const SwitchHarness& host, const std::vector<VnicId>& members) {
    for (const VnicId id : members) {
        CHECK(balanced(host.stats(id).from_vm));
        CHECK(balanced(host.stats(id).to_vm));
    }
}

}  // namespace

TEST_CASE("spread: each worker polls its pairs, and delivers to its own of the receiver") {
    SwitchHarness host(of_workers(2));
    const std::vector<VnicId> one = host.add_spread(vm(1));
    const std::vector<VnicId> two = host.add_spread(vm(2));
    for (unsigned i = 0; i < 2; ++i)
        for (unsigned number = 0; number < 40; ++number)
            host.port(one[i]).offered.push_back(frame(mac(2), mac(1), number));
    host.settle();
    for (unsigned i = 0; i < 2; ++i) {
        REQUIRE(host.port(two[i]).received.size() == 40);
        for (unsigned number = 0; number < 40; ++number)
            CHECK(number_of(host.port(two[i]).received[number]) == number);
        CHECK(host.snapshot_worker(static_cast<WorkerId>(i)).handoff.posted == 0);
    }
    all_balanced(host, one);
}

TEST_CASE("spread: a member without a ring gets no frames, the home does; later they are its own") {
    SwitchHarness host(of_workers(2));
    const VnicId vm1 = host.add(vm(1));
    VnicConfig config = vm(2);
    config.worker = 1;
    const std::vector<VnicId> two = host.add_spread(config);
    CHECK(host.path(two[1]).fixed.owner == 0);
    host.port(two[1]).receive_rings = 0;
    host.run(1'000'000);
    host.port(vm1).offered.push_back(frame(mac(2), mac(1)));
    host.settle();
    CHECK(host.port(two[0]).received.size() == 1);
    host.port(two[1]).receive_rings = 1;
    host.run(1'000'000);
    host.port(vm1).offered.push_back(frame(mac(2), mac(1)));
    host.settle();
    CHECK(host.port(two[1]).received.size() == 1);
}

TEST_CASE("spread: a limit holds for all members together, exact to 0.5 %, however they share it") {
    for (const std::size_t workers : {2U, 3U}) {
        SwitchHarness host(of_workers(workers));
        VnicConfig config = vm(1);
        config.limit_bps = kGigabit;
        const std::vector<VnicId> one = host.add_spread(config);
        const VnicId sink = host.add(vm(2));
        host.port(sink).read_at_once();
        floods(host, one, 1, mac(2));
        CHECK(std::abs(rate(host, one) / 1e9 - 1) < 0.005);
        for (const VnicId id : one)
            CHECK(host.stats(id).from_vm.delivered.packets > 100);
        falls_quiet(host, one);
        floods(host, {one[1]}, 1, mac(2));  // one queue pair may use all of it
        CHECK(std::abs(rate(host, one) / 1e9 - 1) < 0.005);
        config.limit_bps = 4 * kGigabit;
        host.change_spread(one, config);
        floods(host, one, 1, mac(2));
        CHECK(std::abs(rate(host, one) / 4e9 - 1) < 0.005);
        all_balanced(host, one);
    }
}

TEST_CASE("spread: packets, floods and received bytes are limited for all members together") {
    SwitchConfig switch_config = of_workers(2);
    switch_config.flood_limit_pps = 1000;
    SwitchHarness host(switch_config);
    VnicConfig config = vm(1);
    config.limit_pps = 100'000;
    config.receive_limit_bps = 80'000'000;
    const std::vector<VnicId> one = host.add_spread(config);
    const VnicId vm2 = host.add(vm(2));
    VnicConfig other = vm(3);
    other.worker = 1;
    const VnicId vm3 = host.add(other);
    for (const VnicId id : {vm2, vm3, one[0], one[1]})
        host.port(id).read_at_once();
    floods(host, one, 1, mac(2));
    CHECK(std::abs(rate(host, one) / 8000 / 100'000 - 1) < 0.005);
    floods(host, one, 1, mac(0xff) | 1);  // to a group: as many copies as the bucket gives
    const std::uint64_t copies = host.stats(one[0]).flood_copies + host.stats(one[1]).flood_copies;
    host.run(kTenth);
    const std::uint64_t made = host.stats(one[0]).flood_copies + host.stats(one[1]).flood_copies - copies;
    CHECK(made >= 2 * 100);
    CHECK(made <= 2 * (100 + kFloodBurst + 8));
    falls_quiet(host, one);
    host.port(vm2).source = [] { return frame(mac(1), mac(2), 0, 976); };
    host.port(vm3).source = [] { return frame(mac(1), mac(3), 0, 976); };
    host.run(kTenth / 5);
    const auto received = [&] {
        return host.stats(one[0]).to_vm.delivered.bytes + host.stats(one[1]).to_vm.delivered.bytes;
    };
    const std::uint64_t before = received();
    host.run(kTenth);
    CHECK(std::abs(static_cast<double>(received() - before) / 1e6 - 1) < 0.01);
}

TEST_CASE("spread: a frame for all comes once, and not back to its sender") {
    SwitchHarness host(of_workers(2));
    const std::vector<VnicId> one = host.add_spread(vm(1));
    const VnicId vm2 = host.add(vm(2));
    const std::uint64_t group = mac(0xff) | 1;
    host.port(one[1]).offered.push_back(frame(group, mac(1)));
    host.settle();
    CHECK(host.port(vm2).received.size() == 1);
    CHECK(host.port(one[0]).received.empty());
    host.port(vm2).offered.push_back(frame(group, mac(2)));
    host.settle();
    CHECK(host.port(one[0]).received.size() + host.port(one[1]).received.size() == 1);
    host.port(one[1]).offered.push_back(frame(mac(1), mac(1)));
    host.settle();
    CHECK(drops(host.stats(one[1]).from_vm, DropReason::kHairpin) == 1);
}

TEST_CASE("spread: an address that one worker learns is at the other one's own member") {
    SwitchHarness host(of_workers(2));
    VnicConfig bridge = vm(1);
    bridge.anti_spoofing = false;
    const std::vector<VnicId> one = host.add_spread(bridge);
    VnicConfig other = vm(2);
    other.worker = 1;
    const VnicId vm2 = host.add(other);
    host.port(one[0]).offered.push_back(frame(mac(0x77) | 1 << 8, mac(0x77)));  // learned by worker 0
    host.settle();
    MacRelay relay;
    relay.run(host.workers());
    host.run(1'000'000);
    host.port(one[0]).drain();
    host.port(vm2).offered.push_back(frame(mac(0x77), mac(2)));
    host.settle();
    CHECK(host.port(one[1]).received.size() == 1);
    CHECK(host.port(one[0]).received.empty());
}

TEST_CASE("spread: a reservation of the uplink is that of all members, though one of them alone sends") {
    RingNic nic(2, 1024);
    SwitchConfig config = of_workers(2, kGigabit);
    config.uplink.headroom = 0;
    SwitchHarness host(config, &nic);
    VnicConfig reserved = vm(1);
    reserved.reservation_bps = 600'000'000;
    const std::vector<VnicId> one = host.add_spread(reserved);
    VnicConfig other = vm(2);
    other.worker = 1;
    const VnicId vm2 = host.add(other);
    other = vm(3);
    const VnicId vm3 = host.add(other);
    floods(host, one, 1, kFar);
    floods(host, {vm2}, 2, kFar);
    floods(host, {vm3}, 3, kFar);
    const double both = rate(host, one, {&nic});
    falls_quiet(host, {one[0]});
    const double second = rate(host, one, {&nic});
    floods(host, one, 1, kFar);
    falls_quiet(host, {one[1]});
    const double first = rate(host, one, {&nic});
    INFO(both << ", " << second << ", " << first);
    CHECK(both > 0.97 * 600e6);
    CHECK(second > 0.97 * 600e6);
    CHECK(first > 0.97 * 600e6);
}

TEST_CASE("spread: its shares of the uplink are not more than those of a vNIC on one worker") {
    RingNic nic(2, 1024);
    SwitchConfig config = of_workers(2, kGigabit);
    config.uplink.headroom = 0;
    SwitchHarness host(config, &nic);
    const std::vector<VnicId> one = host.add_spread(vm(1));
    const VnicId vm2 = host.add(vm(2));
    floods(host, one, 1, kFar);
    floods(host, {vm2}, 2, kFar);
    const double spread = rate(host, one, {&nic});
    const double alone = rate(host, {vm2}, {&nic});
    INFO(spread << ", " << alone);
    CHECK(spread / alone > 0.9);
    CHECK(spread / alone < 1.1);
}

namespace {

/// The frame in which a far switch advertises a rate for vm1's frames to kFar.
rte_mbuf* advertised(std::uint64_t rate_bps, std::uint32_t sequence) {
    FeedbackBuffer buffer;
    const FrameBytes answered = ethernet(kFar, mac(1), kIpv4, ipv4(kUdp, udp(pattern(100))));
    const std::size_t bytes =
        write_feedback({mac(1), kFar, 0, rate_bps / 8, sequence}, answered, FeedbackKey{}, buffer);
    return to_mbuf(buffer_pool(), {buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(bytes)});
}

}  // namespace

TEST_CASE(
    "spread: a destination's rate holds for all members together, and the other destinations are free") {
    RingNic nic(2, 1024);
    SwitchConfig config = of_workers(2, kGigabit);
    config.uplink.headroom = 0;
    config.feedback.enabled = true;
    SwitchHarness host(config, &nic);
    const std::vector<VnicId> one = host.add_spread(vm(1));
    for (unsigned i = 0; i < 2; ++i)
        host.port(one[i]).source = [number = 0U]() mutable {
            return to_mbuf(buffer_pool(), ethernet(++number % 4 == 0 ? mac(0x98) : kFar, mac(1), kIpv4,
                                                   ipv4(kUdp, udp(pattern(900)))));
        };
    std::uint64_t to_far = 0;
    std::uint64_t to_other = 0;
    const auto run = [&](Nanos span) {
        std::uint32_t sequence = static_cast<std::uint32_t>(host.now / 1000);
        for (const Nanos end = host.now + span; host.now < end;) {
            host.run(20'000);
            if (host.now / 1'000'000 != (host.now - 20'000) / 1'000'000)
                nic.arrive(advertised(50'000'000, ++sequence), 1);
            for (std::uint16_t queue = 0; queue < 2; ++queue)
                for (rte_mbuf* sent : nic.take(queue)) {
                    (read_head(sent).destination == kFar ? to_far : to_other) += sent->pkt_len + kOverhead;
                    rte_pktmbuf_free(sent);
                }
        }
    };
    run(kTenth / 2);
    to_far = to_other = 0;
    run(kTenth);
    CHECK(std::abs(static_cast<double>(to_far) * 80 / 50e6 - 1) < 0.02);
    CHECK(to_other > to_far);
    CHECK(host.snapshot_worker(1).handoff.posted > 100);
    all_balanced(host, one);
}

TEST_CASE("spread: with feedback the home meters all frames of the wire; without it each worker delivers") {
    for (const bool feedback : {true, false}) {
        RingNic nic(2, 1024);
        SwitchConfig config = of_workers(2, kGigabit);
        config.feedback.enabled = feedback;
        SwitchHarness host(config, &nic);
        const std::vector<VnicId> one = host.add_spread(vm(1));
        for (std::uint16_t queue = 0; queue < 2; ++queue)
            for (unsigned i = 0; i < 8; ++i)
                nic.arrive(frame(mac(1), kFar, i), queue);
        host.settle();
        CHECK(host.port(one[0]).received.size() == (feedback ? 16 : 8));
        CHECK(host.port(one[1]).received.size() == (feedback ? 0 : 8));
    }
}

TEST_CASE("spread: promised packets are those of all members") {
    SwitchHarness host(of_workers(2));
    VnicConfig config = vm(1);
    config.reservation_pps = 100'000;
    const std::vector<VnicId> one = host.add_spread(config);
    const std::uint64_t burst = burst_for_promise(100'000);
    host.path(one[0]).promise.pay(static_cast<std::uint32_t>(burst), 0, host.now);
    CHECK_FALSE(host.path(one[0]).promise_pays(host.now));
    CHECK_FALSE(host.path(one[1]).promise_pays(host.now));
    CHECK(host.path(one[1]).promise_pays(host.now + 20'000));
}

TEST_CASE("spread: members go while their frames wait, and the switch serves the others") {
    RingNic nic(2, 64);
    SwitchConfig config = of_workers(2, kGigabit);
    SwitchHarness host(config, &nic);
    VnicConfig limited = vm(1);
    limited.limit_pps = 1000;
    const std::vector<VnicId> one = host.add_spread(limited);
    const VnicId vm2 = host.add(vm(2));
    floods(host, one, 1, mac(2));
    host.run(10'000'000);
    floods(host, one, 1, kFar);
    host.run(10'000'000);
    host.port(vm2).full = [] { return true; };
    host.run(1'000'000);
    host.remove_spread(one);
    CHECK_FALSE(host.has(one[0]));
    host.port(vm2).full = nullptr;
    host.port(vm2).drain();
    VnicConfig other = vm(3);
    other.worker = 1;
    const VnicId vm3 = host.add(other);
    host.port(vm3).offered.push_back(frame(mac(2), mac(3), 7));
    host.settle();
    REQUIRE_FALSE(host.port(vm2).received.empty());
    CHECK(number_of(host.port(vm2).received.back()) == 7);
}
