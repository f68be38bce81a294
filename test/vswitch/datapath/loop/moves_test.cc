// moves_test.cc - vNICs that go to another worker while they send and receive: order, counts, limits.
// Source: docs/algorithms.md 3.16.
#include <stdexcept>
#include <vector>

#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"
#include "vswitch/datapath/loop/vnic_move.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr unsigned kFrames = 200;

SwitchConfig on_two_workers() {
    SwitchConfig config;
    config.workers = {1, 2};
    return config;
}

VnicConfig vm_of(unsigned n, std::uint16_t worker) {
    VnicConfig config = vm(n);
    config.worker = worker;
    return config;
}

/// VM 1 on worker 0 sends to VM 2, which notes the numbers of the frames that it receives.
struct MovingHost {
    explicit MovingHost(const VnicConfig& first = vm_of(1, 0), std::uint16_t receiver = 1) {
        vm1 = host.add(first);
        vm2 = host.add(vm_of(2, receiver));
        host.port(vm2).sink = [this](const rte_mbuf* arrived) { seen.push_back(number_of(arrived)); };
    }
    void offer(unsigned count) {
        for (unsigned i = 0; i < count; ++i)
            host.port(vm1).offered.push_back(frame(mac(2), mac(1), offered++));
    }
    [[nodiscard]] bool in_order() const {
        for (unsigned i = 0; i < seen.size(); ++i)
            if (seen[i] != i)
                return false;
        return true;
    }

    SwitchHarness host{on_two_workers()};
    VnicId vm1;
    VnicId vm2;
    unsigned offered = 0;
    std::vector<unsigned> seen;
};

}  // namespace

TEST_CASE("a sender and a receiver change workers under traffic: every frame arrives, in order") {
    MovingHost moving;
    SwitchHarness& host = moving.host;
    for (unsigned round = 0; round < 8; ++round) {
        moving.offer(kFrames / 8);
        host.worker(0).run_once(host.now);  // frames are in the other worker's inbox, or at the VM
        const VnicId moved = round % 2 == 0 ? moving.vm2 : moving.vm1;
        const auto to = static_cast<WorkerId>(1 - host.path(moved).fixed.owner);
        REQUIRE(host.move(moved, to));
        CHECK(host.path(moved).fixed.owner == to);
    }
    host.settle();
    CHECK(moving.seen.size() == kFrames);
    CHECK(moving.in_order());
    CHECK(host.stats(moving.vm1).from_vm.delivered.packets == kFrames);
    CHECK(host.stats(moving.vm2).to_vm.delivered.packets == kFrames);
}

TEST_CASE("a vNIC moves when its frames have left: those that wait at a full ring, or for its limit") {
    VnicConfig limited = vm_of(1, 0);
    limited.limit_pps = 1000;
    MovingHost moving(limited, 0);
    SwitchHarness& host = moving.host;
    bool full = true;
    host.port(moving.vm2).full = [&full] { return full; };
    moving.offer(8);
    host.run(100'000);
    CHECK_FALSE(host.worker(0).may_give(host.path(moving.vm1), host.worker(1)));
    CHECK_FALSE(host.worker(0).may_give(host.path(moving.vm2), host.worker(1)));
    full = false;
    host.run(10'000'000);
    REQUIRE(host.move(moving.vm1, 1));
    moving.offer(kFrames);
    host.run(200'000'000);
    CHECK(moving.in_order());
    // The limit is the same bucket: a burst for two workers would be more.
    CHECK(moving.seen.size() <= 8 + 200 + burst_for_packet_rate(1000));
    CHECK(moving.seen.size() >= kFrames);
}

TEST_CASE("the receive_limit of a vNIC goes with it: ten moves bring no second burst") {
    constexpr unsigned kBurst = 8;
    constexpr std::size_t kBytes = 1000;
    MovingHost moving;
    SwitchHarness& host = moving.host;
    VnicConfig limited = vm_of(2, 1);
    limited.receive_limit_bps = 8'000'000;  // a frame each millisecond
    host.change(moving.vm2, limited);
    const auto offer = [&] {
        for (unsigned i = 0; i < kBurst; ++i)
            host.port(moving.vm1).offered.push_back(frame(mac(2), mac(1), moving.offered++, kBytes));
        host.settle();
    };
    offer();
    CHECK(moving.seen.size() > 1);  // the burst
    for (unsigned round = 0; round < 10; ++round) {
        while (moving.seen.size() < moving.offered)
            host.run(100'000, 10'000);
        REQUIRE(host.move(moving.vm2, static_cast<WorkerId>(1 - host.path(moving.vm2).fixed.owner)));
        const std::size_t before = moving.seen.size();
        offer();
        CHECK(moving.seen.size() <= before + 1);
    }
}

TEST_CASE("a vNIC that moved has its promises at its new worker, and its old one polls it no more") {
    RingNic nic(2, 1024);
    SwitchConfig config = on_two_workers();
    config.uplink.rate_bps = 1'000'000'000;
    SwitchHarness host(config, &nic);
    VnicConfig promised = vm_of(1, 0);
    promised.reservation_bps = 400'000'000;
    const VnicId vm1 = host.add(promised);
    REQUIRE(host.move(vm1, 1));
    host.worker(1).run_once(host.now);
    const unsigned calls = host.port(vm1).rx_calls;
    host.worker(0).run_once(host.now);
    CHECK(host.port(vm1).rx_calls == calls);
    for (unsigned i = 0; i < kFrames; ++i)
        host.port(vm1).offered.push_back(frame(kFar, mac(1), i, 1000));
    host.run(10'000'000);
    CHECK(host.stats(vm1).from_vm.delivered.packets == kFrames);
    CHECK(host.snapshot_worker(0).uplink.tx.offered.packets == 0);
    CHECK(host.snapshot_worker(1).uplink.tx.delivered.packets == kFrames);
    host.remove(vm1);
    CHECK_FALSE(host.has(vm1));
}

TEST_CASE("a move during which a worker does not answer leaves nothing behind that stops it, or the ring") {
    MovingHost moving;
    SwitchHarness& host = moving.host;
    for (const unsigned answers : {0U, 1U}) {
        unsigned left = answers;
        VnicMove order{
            .path = host.path(moving.vm1),
            .to = 1,
            .workers = host.workers(),
            .quiescence = host.quiescence(),
            .post = [&](WorkerId worker,
                        const WorkerCommand& command) { return host.worker(worker).control().post(command); },
            .await =
                [&](WorkerId, std::uint64_t) {
                    if (left-- == 0)
                        throw std::runtime_error("no answer");
                    while (host.worker(0).run_commands(host.now)) {
                    }
                },
            .now = [&] { return host.now; },
            .serve = [] {}};
        CHECK_THROWS(order.attempt());  // at the preparation, then behind the standstill
        host.settle();
        moving.offer(1);
        host.run(10'000'000);
        CHECK(moving.seen.size() == answers + 1);
        CHECK(host.path(moving.vm1).fixed.owner == 0);
    }
}
