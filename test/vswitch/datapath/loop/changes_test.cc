// changes_test.cc - vNICs come, change and go by command, and no other vNIC notices.
#include <rte_mbuf.h>

#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"

using namespace weir;
using namespace weir::testing;

namespace {

/// vm1 sends numbered frames to vm2 for ever; vm2 checks that none is missing.
struct Witness {
    explicit Witness(SwitchHarness& host) : from(host.add(vm(1))), to(host.add(vm(2))) {
        host.port(from).source = [this, budget = 0]() mutable -> rte_mbuf* {
            return ++budget % 4 == 0 ? nullptr : frame(mac(2), mac(1), sent++);
        };
        host.port(to).sink = [this](const rte_mbuf* received) {
            if (bytes_of(received)[11] == 1)  // the last byte of mac(1); others broadcast
                lost += number_of(received) != next++;
        };
    }
    std::uint32_t sent = 0;
    std::uint32_t next = 0;
    std::uint32_t lost = 0;
    VnicId from;
    VnicId to;
};

}  // namespace

TEST_CASE("a vNIC that is added forwards at once, one that is removed leaves nothing behind") {
    const unsigned before = buffers_in_use();
    {
        SwitchHarness host;
        const VnicId vm2 = host.add(vm(2));
        for (unsigned round = 0; round < 20; ++round) {
            const VnicId vm3 = host.add(vm(3));
            host.port(vm3).offered.push_back(frame(mac(2), mac(3), round));
            host.settle();
            CHECK(host.stats(vm3).from_vm.delivered.packets == 1);
            host.remove(vm3);
        }
        CHECK(host.port(vm2).received.size() == 20);
        CHECK(host.snapshot_worker(0).mac_entries == 1);
    }
    CHECK(buffers_in_use() == before);
}

TEST_CASE("other vNICs lose no frame while vNICs come, change and go") {
    RingNic nic(1, 1024);
    SwitchConfig config;
    config.uplink.rate_bps = 100'000'000;
    SwitchHarness host(config, &nic);
    Witness witness(host);
    for (unsigned round = 0; round < 50; ++round) {
        VnicConfig third = vm(3);
        third.limit_bps = 10'000'000;
        const VnicId vm3 = host.add(third);
        for (std::uint32_t i = 0; i < 100; ++i)  // to a VM, to the wire, nowhere
            host.port(vm3).offered.push_back(frame(i % 2 == 0 ? mac(9) : kBroadcast, mac(3), i, 1000));
        host.run(100'000);
        third.limit_bps = 20'000'000 * (round % 3);
        if (round % 3 == 0)
            third.limit_bps.reset();
        third.shares = 1 + round;
        host.change(vm3, third);
        host.run(100'000);
        host.remove(vm3);
        nic.drain();
    }
    host.port(witness.from).source = nullptr;
    host.settle();
    CHECK(witness.lost == 0);
    CHECK(witness.next == witness.sent);
    CHECK(witness.sent > 100'000);
}

TEST_CASE("a raised limit lets what it held back go at once") {
    SwitchHarness host;
    VnicConfig config = vm(1);
    config.limit_bps = 1'000'000;
    const VnicId vm1 = host.add(config);
    const VnicId vm2 = host.add(vm(2));
    host.port(vm2).ring_frames = 1000;
    for (std::uint32_t i = 0; i < 200; ++i)
        host.port(vm1).offered.push_back(frame(mac(2), mac(1), i, 1514));
    host.run(1'000'000);
    CHECK(host.port(vm2).received.size() < 10);
    config.limit_bps.reset();
    host.change(vm1, config);
    host.settle();
    REQUIRE(host.port(vm2).received.size() == 200);
    std::uint32_t misplaced = 0;
    for (std::uint32_t i = 0; i < 200; ++i)
        misplaced += number_of(host.port(vm2).received[i]) != i;
    CHECK(misplaced == 0);
}

TEST_CASE("a vNIC that goes while it waits for its limit takes its frames along and no timer fires for it") {
    const unsigned before = buffers_in_use();
    {
        SwitchHarness host;
        VnicConfig config = vm(1);
        config.limit_bps = 1'000'000;
        const VnicId vm1 = host.add(config);
        host.add(vm(2));
        for (std::uint32_t i = 0; i < 100; ++i)
            host.port(vm1).offered.push_back(frame(mac(2), mac(1), i, 1514));
        host.run(1'000'000);
        CHECK(host.path(vm1).parked);
        host.remove(vm1);
        CHECK(host.worker().drained());
        host.run(100'000'000, 100'000);
    }
    CHECK(buffers_in_use() == before);
}

TEST_CASE("after a vNIC has gone its address is unknown, and may come back elsewhere") {
    SwitchHarness host;
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(vm(2));
    host.remove(vm2);
    host.port(vm1).offered.push_back(frame(mac(2), mac(1), 0));
    host.settle();
    CHECK(drops(host.stats(vm1).from_vm, DropReason::kNoSuchMac) == 1);
    const VnicId again = host.add(vm(2));
    host.port(vm1).offered.push_back(frame(mac(2), mac(1), 1));
    host.settle();
    CHECK(host.port(again).received.size() == 1);
}

TEST_CASE("an update of an address at a vNIC that has gone meanwhile is not believed") {
    SwitchHarness host;
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(vm(2));
    host.remove(vm2);
    host.post(0, command::UpdateMac{{mac_key(mac(9), 0), vm2}});
    host.port(vm1).offered.push_back(frame(mac(9), mac(1), 0));
    host.settle();
    CHECK(drops(host.stats(vm1).from_vm, DropReason::kNoSuchMac) == 1);
    host.post(0, command::UpdateMac{{mac_key(mac(9), 0), vm1}});
    CHECK(host.snapshot_worker(0).mac_entries == 2);
}

TEST_CASE("a snapshot is a copy of one moment: its sums hold while traffic flows") {
    SwitchHarness host;
    Witness witness(host);
    VnicConfig limited = vm(1);
    limited.limit_pps = 100'000;
    host.change(witness.from, limited);
    std::uint64_t last = 0;
    for (int i = 0; i < 50; ++i) {
        host.run(50'000);
        const VnicStats stats = host.snapshot(witness.from);
        CHECK(balanced(stats.from_vm));
        CHECK(stats.from_vm.offered.packets >= last);
        last = stats.from_vm.offered.packets;
    }
    CHECK(last > 0);
    const WorkerSnapshot worker = host.snapshot_worker(0);
    CHECK(worker.mac_entries == 2);
    CHECK(worker.worker.packets >= last);
    CHECK(worker.worker.bursts <= worker.worker.packets);
    CHECK(worker.uplink_capacity == 0);
}

TEST_CASE("what a VM sends to a guest that is down, full or gone does not hurt its other traffic") {
    SwitchHarness host;
    Witness witness(host);
    const VnicId dead = host.add(vm(3));
    const VnicId sender = host.add(vm(4));
    host.port(dead).attached = false;
    host.port(sender).source = [n = 0U]() mutable { return frame(mac(3), mac(4), n++); };
    const auto refused = [&] { return drops(host.stats(dead).to_vm, DropReason::kVmDown); };
    // The cycles are real: a vNIC that is interrupted in its turn pays for that in the next ones.
    for (unsigned i = 0; i < 100 && refused() <= 1000; ++i)
        host.run(1'000'000);
    host.port(witness.from).source = nullptr;
    host.port(sender).source = nullptr;
    host.settle();
    CHECK(witness.lost == 0);
    CHECK(witness.next == witness.sent);
    CHECK(refused() > 1000);
    CHECK(balanced(host.stats(dead).to_vm));
}

TEST_CASE("frames of a refused vNIC wait until it is refused no more, and the others notice nothing") {
    SwitchHarness host;
    Witness witness(host);
    const VnicId vm3 = host.add(vm(3));
    const auto post = [&](const VnicProfile& profile) {
        host.post(host.path(vm3).fixed.owner, command::ChangeVnic{vm3, &profile});
        host.settle();
    };
    host.port(witness.from).source = nullptr;
    const VnicProfile refused = make_refused_profile(vm(3), {}, OnRefused::kHold);
    post(refused);
    for (std::uint32_t i = 0; i < 50; ++i)
        host.port(vm3).offered.push_back(frame(mac(2), mac(3), i));
    host.run(10'000'000);
    CHECK(host.stats(vm3).from_vm.offered.packets == 0);
    CHECK(host.port(vm3).offered.size() == 50);
    const Nanos held = host.snapshot(vm3).held_ns[static_cast<std::size_t>(HoldReason::kRefused)];
    CHECK(held > 9'000'000);  // it grows while the vNIC is refused
    CHECK(held <= 10'100'000);
    host.port(witness.from).offered.push_back(frame(mac(3), mac(1), 7));
    host.settle();
    CHECK(host.port(vm3).received.size() == 1);
    const VnicProfile served = make_vnic_profile(vm(3), {});
    post(served);
    host.run(1'000'000);
    CHECK(host.stats(vm3).from_vm.delivered.packets == 50);
    CHECK(host.stats(vm3).from_vm.dropped.packets == 0);
    CHECK(host.port(vm3).offered.empty());
}

TEST_CASE("as best effort a refused vNIC keeps its limit, and has no reservation and the smallest shares") {
    const SwitchConfig config;
    VnicConfig vnic = vm(1);
    vnic.reservation_bps = 1'000'000'000;
    vnic.reservation_pps = 100'000;
    vnic.guarantee = GuaranteeKind::kStrict;
    vnic.limit_bps = 2'000'000'000;
    vnic.shares = vnic.cycle_shares = 500;
    const VnicProfile profile = make_refused_profile(vnic, config, OnRefused::kBestEffort);
    CHECK_FALSE(profile.refused);
    CHECK(profile.uplink.reservation == 0);
    CHECK(profile.uplink.shares == 1);
    CHECK(profile.cycle_shares == 1);
    CHECK(profile.receive_reservation == 0);
    CHECK(profile.receive_shares == 1);
    CHECK(profile.promised_packets.unlimited());
    CHECK(profile.limit_bytes == make_vnic_profile(vnic, config).limit_bytes);
}
