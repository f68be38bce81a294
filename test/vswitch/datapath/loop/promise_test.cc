// promise_test.cc - a VM of small frames keeps the packets that were promised to it, in the core and on the
// uplink.
#include <rte_mbuf.h>

#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr std::size_t kGuestRing = 256;
constexpr unsigned kVictim = 1;
constexpr unsigned kReader = 2;
constexpr unsigned kSlowReader = 3;
constexpr unsigned kFirstNeighbor = 4;
constexpr std::uint64_t kPlainFrame = 200;  // cycles

void never_stop(FakePort& port, std::uint64_t to, std::uint64_t from, std::size_t bytes) {
    port.source = [frame = numbered(to, from, bytes, 0)] { return to_mbuf(buffer_pool(), frame); };
}

/// The victim's guest puts `frames` into its ring, as far as they fit.
void offer(FakePort& port, std::uint64_t to, unsigned frames) {
    for (unsigned i = 0; i < frames && port.offered.size() < kGuestRing; ++i)
        port.offered.push_back(frame(to, mac(kVictim), i, 64));
}

/// A victim, a VM that reads its frames, and neighbors that never stop to send to a VM that reads slowly: a
/// frame takes kPlainFrame cycles, one of theirs `burn` more.
struct BusySwitch {
    struct Setup {
        unsigned neighbors = 8;
        std::uint64_t promised_pps = 0;
        std::uint32_t shares = 1;  ///< of the core, the victim's; each neighbor has 10,000
        std::uint64_t burn = 0;
        PollTurn::Profile turn{};
    };
    SwitchHarness host;
    VnicConfig victim_config = vm(kVictim);
    VnicId victim;

    explicit BusySwitch(const Setup& setup) : host({}, nullptr, {}, {}, setup.turn) {
        victim_config.reservation_pps = setup.promised_pps;
        victim_config.cycle_shares = setup.shares;
        victim = host.add(victim_config);
        host.port(host.add(vm(kReader))).sink = [this](const rte_mbuf*) { host.cycles += kPlainFrame; };
        host.port(host.add(vm(kSlowReader))).sink = [this, burn = setup.burn](const rte_mbuf*) {
            host.cycles += kPlainFrame + burn;
        };
        for (unsigned i = 0; i < setup.neighbors; ++i) {
            VnicConfig config = vm(kFirstNeighbor + i);
            config.cycle_shares = 10'000;
            host.add(config);
        }
        for (unsigned i = 0; i < setup.neighbors; ++i)
            never_stop(neighbor(i), mac(kSlowReader), mac(kFirstNeighbor + i), 60);
    }
    [[nodiscard]] static VnicId neighbor_id(unsigned i) {
        return static_cast<VnicId>(kFirstNeighbor - 1 + i);
    }
    [[nodiscard]] FakePort& neighbor(unsigned i) { return host.port(neighbor_id(i)); }
    void promise(std::uint64_t packets_per_sec) {
        victim_config.reservation_pps = packets_per_sec;
        host.change(victim, victim_config);
    }
    /// Turns of 100 us in each of which the victim offers `frames`. @return its frames that were delivered
    std::uint64_t run(unsigned turns, unsigned frames) {
        const std::uint64_t before = host.stats(victim).from_vm.delivered.packets;
        for (unsigned i = 0; i < turns; ++i) {
            offer(host.port(victim), mac(kReader), frames);
            host.now += 100'000;
            host.turn();
        }
        return host.stats(victim).from_vm.delivered.packets - before;
    }
};

constexpr unsigned kTurns = 400;
constexpr unsigned kFramesPerTurn = 20;       // 200,000 per second
constexpr std::uint64_t kPromised = 400'000;  // twice the offered rate: waiting frames leave, too
constexpr unsigned kAll = kTurns * kFramesPerTurn;

}  // namespace

TEST_CASE("promised packets pass beside neighbors whose bursts are expensive, and do not without a promise") {
    BusySwitch busy({.burn = 2'000});
    CHECK(busy.run(kTurns, kFramesPerTurn) < kAll / 2);
    busy.promise(kPromised);
    CHECK(busy.run(kTurns, kFramesPerTurn) >= kAll);
    busy.promise(0);
    CHECK(busy.run(kTurns, kFramesPerTurn) < kAll / 2);
}

TEST_CASE("a round that is cut short does not delay promised packets") {
    const PollTurn::Profile one_vm_per_turn{.outside_every = UINT64_MAX, .length_max = 0};
    BusySwitch busy({.neighbors = 24, .shares = 10'000, .turn = one_vm_per_turn});
    CHECK(busy.run(kTurns, kFramesPerTurn) < kAll / 2);
    busy.promise(kPromised);
    CHECK(busy.run(kTurns, kFramesPerTurn) >= kAll);
}

TEST_CASE("promised rings are polled again between two VMs, as the wire is") {
    BusySwitch busy({.promised_pps = kPromised, .turn = {.outside_every = 0, .length_max = UINT64_MAX}});
    // The victim's guest sends while its neighbors are polled: a frame with each of their polls.
    unsigned polls = 0;
    for (unsigned i = 0; i < 8; ++i) {
        busy.neighbor(i).source = nullptr;
        busy.neighbor(i).offered.push_back(frame(mac(kSlowReader), mac(kFirstNeighbor + i)));
    }
    busy.host.port(kSlowReader - 1).sink = [&](const rte_mbuf*) {
        ++polls;
        offer(busy.host.port(busy.victim), mac(kReader), 1);
    };
    busy.host.turn();
    CHECK(polls == 8);
    CHECK(busy.host.stats(busy.victim).bursts == 8);
}

TEST_CASE("a promise lets no more pass than was promised, and the neighbors keep the rest") {
    BusySwitch busy({.promised_pps = 100'000, .burn = 2'000});
    const std::uint64_t delivered = busy.run(kTurns, kGuestRing);
    // 10 in each turn; a burst of 128, the 31 above it of the last poll, and one poll by the first credit.
    CHECK(delivered <= kTurns * 10 + 128 + 31 + 32);
    CHECK(delivered >= kTurns * 10);
    std::uint64_t bursts = 0;
    for (unsigned i = 0; i < 8; ++i)
        bursts += busy.host.stats(BusySwitch::neighbor_id(i)).bursts;
    CHECK(bursts >= kTurns * 8 / 2);
}

TEST_CASE("twenty promises are kept though a call looks at sixteen rings") {
    constexpr unsigned kVms = 20;
    SwitchHarness host;
    for (unsigned i = 1; i <= kVms; ++i) {
        VnicConfig config = vm(i);
        config.reservation_pps = 100'000;
        host.port(host.add(config)).sink = [&host](const rte_mbuf*) { host.cycles += kPlainFrame; };
    }
    VnicConfig flooding = vm(kVms + 1);
    flooding.cycle_shares = 10'000;
    never_stop(host.port(host.add(flooding)), mac(1), mac(kVms + 1), 60);
    for (unsigned turn = 0; turn < 100; ++turn) {
        for (unsigned i = 1; i <= kVms; ++i)
            host.port(static_cast<VnicId>(i - 1)).offered.push_back(frame(mac(i % kVms + 1), mac(i)));
        host.now += 100'000;
        host.turn();
    }
    for (unsigned i = 1; i <= kVms; ++i)
        CHECK(host.stats(static_cast<VnicId>(i - 1)).from_vm.delivered.packets == 100);
}

TEST_CASE("a removed vNIC's promise goes with it") {
    BusySwitch busy({.neighbors = 2, .promised_pps = kPromised});
    busy.run(10, kFramesPerTurn);
    busy.host.remove(busy.victim);
    for (int i = 0; i < 10; ++i)
        busy.host.turn();
    CHECK_FALSE(busy.host.has(busy.victim));
}

TEST_CASE("at the uplink promised packets pass a flood of neighbors with all the shares") {
    constexpr unsigned kSteps = 5'000;  // of 20 us
    const bool promised = GENERATE(true, false);
    RingNic nic;
    SwitchConfig config;
    config.uplink.rate_bps = 100'000'000;
    SwitchHarness host(config, &nic);
    VnicConfig victim_config = vm(kVictim);
    victim_config.shares = 1;
    victim_config.reservation_pps = promised ? 50'000 : 0;  // 35.2 of 90 Mbit/s
    const VnicId victim = host.add(victim_config);
    for (unsigned i = 2; i <= 5; ++i) {
        VnicConfig neighbor = vm(i);
        neighbor.shares = 10'000;
        never_stop(host.port(host.add(neighbor)), kFar, mac(i), 1'500);
    }
    for (unsigned i = 0; i < kSteps; ++i) {
        offer(host.port(victim), kFar, 1);
        host.now += 20'000;
        host.turn();
        nic.drain();
    }
    const std::uint64_t delivered = host.stats(victim).from_vm.delivered.packets;
    if (promised)
        CHECK(delivered >= kSteps * 99 / 100);
    else
        CHECK(delivered < kSteps / 2);
    CHECK(balanced(host.stats(victim).from_vm));
}

TEST_CASE("promised packets reserve their bytes at the uplink: 88 each, or what the reservation is above") {
    SwitchConfig config;
    config.uplink.device = "net_x";
    VnicConfig vnic = vm(1);
    vnic.reservation_pps = 500'000;
    const auto reserved = [&] { return make_vnic_profile(vnic, config).uplink.reservation; };
    CHECK(reserved() == 44'000'000);
    CHECK(make_vnic_profile(vnic, config).promised_packets == make_profile(500'000, 500));
    vnic.vlan = 10;
    CHECK(reserved() == 46'000'000);
    config.accounting = Accounting::kL2;
    vnic.vlan = 0;
    CHECK(reserved() == 32'000'000);
    vnic.reservation_bps = 1'000'000'000;
    CHECK(reserved() == 125'000'000);
    config.isolation = false;
    CHECK(make_vnic_profile(vnic, config).promised_packets.unlimited());
}

TEST_CASE("a vNIC with promised packets is no best effort: its frames on the wire keep their marks") {
    SwitchConfig config;
    config.uplink.best_effort_dscp = 8;
    VnicConfig vnic = vm(1);
    CHECK(make_vnic_profile(vnic, config).dscp == 8);
    vnic.reservation_pps = 1'000;
    CHECK_FALSE(make_vnic_profile(vnic, config).dscp);
}
