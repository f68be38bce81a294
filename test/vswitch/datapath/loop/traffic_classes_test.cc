// traffic_classes_test.cc - bytes by destination (host, cluster, outside) and between tenants, and the rest
// of a limit's burst.
#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr std::uint64_t kPeer = mac(0x98);  // a vNIC on another host
constexpr std::uint64_t kFrame = 100 + kOverhead;

VnicConfig of_tenant(const char* tenant, unsigned n, WorkerId worker = 0) {
    VnicConfig config = vm(n);
    config.tenant = tenant;
    config.worker = worker;
    return config;
}

void offer(SwitchHarness& host, VnicId from, std::uint64_t to, unsigned n, unsigned frames = 1) {
    for (unsigned i = 0; i < frames; ++i)
        host.port(from).offered.push_back(frame(to, mac(n), i, 100));
}

}  // namespace

TEST_CASE("bytes between tenants are counted by pair, at once, after a wait and over workers") {
    constexpr TenantSlot kA = 1;
    constexpr TenantSlot kB = 2;
    SwitchConfig config;
    config.workers = {0, 1};
    SwitchHarness host(config);
    const VnicId vm1 = host.add(of_tenant("A", 1));
    const VnicId vm2 = host.add(of_tenant("B", 2));
    const VnicId vm3 = host.add(of_tenant("B", 3, 1));
    const VnicId vm4 = host.add(vm(4));
    for (const VnicId id : {vm1, vm2, vm3, vm4})
        host.port(id).read_at_once();
    offer(host, vm1, mac(2), 1, 3);
    offer(host, vm1, mac(3), 1, 2);
    offer(host, vm2, mac(3), 2);
    offer(host, vm3, mac(1), 3);
    offer(host, vm4, mac(1), 4);
    offer(host, vm1, mac(1), 1);      // dropped
    offer(host, vm1, kBroadcast, 1);  // to all
    host.settle();
    const TenantTraffic& first = host.worker(0).tenant_traffic();
    CHECK(first.bytes(kA, kB) == 5 * kFrame);
    CHECK(first.bytes(kB, kB) == kFrame);
    CHECK(first.bytes(0, kA) == kFrame);
    CHECK(first.bytes(kA, kA) == 0);
    CHECK(first.bytes(kB, kA) == 0);
    CHECK(host.worker(1).tenant_traffic().bytes(kB, kA) == kFrame);
    VnicConfig limited = of_tenant("A", 1);
    limited.limit_bps = 1'000'000;
    host.change(vm1, limited);
    offer(host, vm1, mac(2), 1, 40);
    host.run(100'000'000, 1'000'000);
    CHECK(first.bytes(kA, kB) == 45 * kFrame);
}

TEST_CASE("bytes over the wire are the cluster's when the controller knows the address") {
    RingNic nic(1, 1024);
    SwitchConfig config;
    config.feedback.enabled = true;  // else the harness has no limits of destinations
    SwitchHarness host(config, &nic);
    const VnicId vm1 = host.add(vm(1));
    const std::vector<PeerAllocation> peers{{kPeer, UINT64_MAX}};
    host.post(0, command::AllocatePeers{vm1, peers});
    offer(host, vm1, kPeer, 1, 3);
    offer(host, vm1, kFar, 1, 2);
    host.run(10'000'000, 100'000);
    CHECK(host.snapshot(vm1).cluster_bytes == 3 * kFrame);
    CHECK(host.snapshot(vm1).uplink_bytes == 5 * kFrame);
    const std::vector<PeerAllocation> withdrawn{{kPeer, std::nullopt}};
    host.post(0, command::AllocatePeers{vm1, withdrawn});
    offer(host, vm1, kPeer, 1);
    host.run(10'000'000, 100'000);
    CHECK(host.snapshot(vm1).cluster_bytes == 3 * kFrame);
    CHECK(host.snapshot(vm1).uplink_bytes == 6 * kFrame);
    nic.drain();
}

TEST_CASE("the rest of a limit's burst falls with each frame and comes back with time") {
    SwitchHarness host;
    host.prompt = true;
    VnicConfig limited = vm(1);
    limited.limit_bps = 80'000'000;  // 10 bytes per us
    const VnicId vm1 = host.add(limited);
    const VnicId vm2 = host.add(vm(2));
    host.port(vm2).read_at_once();
    const std::int64_t full = host.snapshot(vm1).limit_left.value();
    CHECK(full > 0);
    CHECK_FALSE(host.snapshot(vm2).limit_left);
    offer(host, vm1, mac(2), 1, 10);
    host.settle();
    CHECK(host.snapshot(vm1).limit_left == full - static_cast<std::int64_t>(10 * kFrame));
    host.now += 24'000;
    CHECK(host.snapshot(vm1).limit_left == full - static_cast<std::int64_t>(10 * kFrame) + 240);
    host.now += 1'000'000;
    CHECK(host.snapshot(vm1).limit_left == full);
}
