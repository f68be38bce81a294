// cycle_bill_test.cc - a port that burns time shows which vNIC pays for it: the sender, the receiver, the
// stuck VM.
#include <array>
#include <chrono>
#include <ctime>
#include <thread>

#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr std::uint64_t kBurn = 1'000'000;
constexpr std::uint64_t kPlainFrame = 300;
constexpr unsigned kFrames = 20;

void burn(SwitchHarness& host) {
    host.cycles += kBurn;
}

/// A VM that reads at once, each frame at the cost of kBurn.
void read_slowly(SwitchHarness& host, VnicId id) {
    host.port(id).sink = [&host](const rte_mbuf*) { burn(host); };
}

/// A VM whose ring is never empty, each frame at the cost of kPlainFrame.
void flood(SwitchHarness& host, VnicId id, std::uint64_t to, std::uint64_t from) {
    host.port(id).source = [&host, to, from] {
        host.cycles += kPlainFrame;
        return frame(to, from);
    };
}

}  // namespace

TEST_CASE("between two VMs the sender pays for the delivery too") {
    SwitchHarness host;
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(vm(2));
    read_slowly(host, vm2);
    for (std::uint32_t i = 0; i < kFrames; ++i)
        host.port(vm1).offered.push_back(frame(mac(2), mac(1), i));
    host.settle();
    CHECK(host.stats(vm1).cycles == kFrames * kBurn);
    CHECK(host.stats(vm2).cycles == 0);
}

TEST_CASE("frames from the wire are paid by the VMs that receive them") {
    RingNic nic;
    SwitchHarness host({}, &nic);
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(vm(2));
    const VnicId vm3 = host.add(vm(3));
    read_slowly(host, vm1);
    read_slowly(host, vm2);
    for (std::uint32_t i = 0; i < kFrames; ++i)
        nic.arrive(frame(mac(1), mac(9), i));
    host.settle();
    CHECK(host.stats(vm1).cycles == kFrames * kBurn);
    CHECK(host.stats(vm2).cycles == 0);

    for (std::uint32_t i = 0; i < kFrames; ++i)
        nic.arrive(frame(mac(i % 2 + 1), mac(9), i));  // a mixed burst
    host.settle();
    CHECK(host.stats(vm1).cycles == kFrames * 3 / 2 * kBurn);
    CHECK(host.stats(vm2).cycles == kFrames / 2 * kBurn);
    CHECK(host.stats(vm3).cycles == 0);
}

TEST_CASE("frames from another worker are paid by the VM that receives them") {
    SwitchConfig config;
    config.workers = {1, 2};
    SwitchHarness host(config);
    VnicConfig second = vm(2);
    second.worker = 1;
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(second);
    read_slowly(host, vm2);
    for (std::uint32_t i = 0; i < kFrames; ++i)
        host.port(vm1).offered.push_back(frame(mac(2), mac(1), i));
    host.settle();
    CHECK(host.stats(vm2).cycles == kFrames * kBurn);
    CHECK(host.stats(vm1).cycles == 0);
}

TEST_CASE("the second attempt at a full ring is paid by the VM that does not empty it") {
    SwitchHarness host;
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(vm(2));
    host.path(vm2).profile.isolated = false;  // frames that do not fit are dropped
    host.port(vm2).ring_frames = 0;
    host.port(vm2).when_full = [&] { burn(host); };
    for (std::uint32_t i = 0; i < kFrames; ++i) {
        host.port(vm1).offered.push_back(frame(mac(2), mac(1), i));
        host.settle();
    }
    CHECK(drops(host.stats(vm2).to_vm, DropReason::kVmRingFull) == kFrames);
    CHECK(host.stats(vm2).cycles == kFrames * kBurn);
}

TEST_CASE("a poll that delivers nothing and used the core for it is paid by its sender") {
    SwitchHarness host;
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(vm(2));
    FakePort& wasteful = host.port(vm1);
    wasteful.source = [&]() -> rte_mbuf* {
        burn(host);
        wasteful.waste();
        return nullptr;
    };
    flood(host, vm2, mac(9), mac(2));
    host.turn();
    CHECK(host.stats(vm1).cycles == kBurn);
    CHECK_FALSE(wasteful.take_wasted());
}

TEST_CASE("a promise of packets pays for polls that deliver nothing and used the core") {
    constexpr unsigned kTurns = 200;
    unsigned polls = 0;  // outlives the harness, which polls once more at its end
    SwitchHarness host;
    VnicConfig promised = vm(1);
    promised.reservation_pps = 10'000;
    const VnicId vm1 = host.add(promised);
    const VnicId vm2 = host.add(vm(2));
    FakePort& wasteful = host.port(vm1);
    wasteful.source = [&]() -> rte_mbuf* {
        ++polls;
        burn(host);
        wasteful.waste();
        return nullptr;
    };
    flood(host, vm2, mac(9), mac(2));
    for (unsigned turns = 0; turns < kTurns; ++turns)
        host.turn();
    // Both have equal shares: 32 frames of vm2 take 9,600 cycles, and a poll of vm1 is as much as 104 such
    // turns. Its promise, and the bound of its debt, are worth a few polls more.
    CHECK(polls >= 1);
    CHECK(polls * kBurn <= host.stats(vm2).cycles + 8 * kBurn);
}

TEST_CASE("cycles of one call for several frames are charged in proportion to what the frames cost") {
    SwitchHarness host;
    VnicPath& vm1 = host.path(host.add(vm(1)));
    VnicPath& vm2 = host.path(host.add(vm(2)));
    CycleBill bill(&host.cycles);
    bill.start(host.cycles);
    host.cycles += 2'000;
    const std::uint64_t start = host.cycles;
    host.cycles += 8'000;
    const std::array parts{CycleBill::Part{&vm1, 1'000}, CycleBill::Part{&vm2, 500},
                           CycleBill::Part{nullptr, 250}, CycleBill::Part{&vm1, 250}};
    CHECK(bill.divert_since(parts, start) == 8'000);
    CHECK(vm1.stats.cycles == 5'000);
    CHECK(vm2.stats.cycles == 2'000);
    bill.charge(vm2);  // 2,000 more, and the 1,000 that none of the two caused
    CHECK(vm2.stats.cycles == 5'000);
    const std::uint64_t next = host.cycles;
    host.cycles += 300;
    bill.divert_since(std::array{CycleBill::Part{&vm1, 0}}, next);
    CHECK(vm1.stats.cycles == 5'000);
}

TEST_CASE("a thread that had no core in a long span is not billed for it, and one that had is") {
    constexpr std::uint64_t kBelieved = UsedCycles::kBelieved;
    SwitchHarness host;
    VnicPath& vm1 = host.path(host.add(vm(1)));
    CycleBill bill;  // of this thread
    const auto charge = [&](auto&& spend) {
        const std::uint64_t before = vm1.stats.cycles;
        bill.restart();
        spend();
        bill.charge(vm1);
        return vm1.stats.cycles - before;
    };
    constexpr std::uint64_t kLonger = 4 * kBelieved;
    const auto work = [] {
        timespec time{};
        const auto own = [&time] {
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
            return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
        };
        const double end = own() + static_cast<double>(kLonger) / static_cast<double>(rte_get_tsc_hz());
        while (own() < end) {
        }
    };
    const auto sleep = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
    CHECK(charge(work) == kBelieved);  // nothing is known of the time before
    CHECK(charge(sleep) < 2 * kBelieved);
    CHECK(charge(work) >= kLonger - kBelieved);
}
