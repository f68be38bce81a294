// moved_vms_test.cc - a VM that moved to another host, or waits to come to this one: its vNIC here is down.
// Source: IEEE 802.1Q 8.8; docs/algorithms.md 3.8.
#include <rte_mbuf.h>

#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"
#include "vswitch/datapath/loop/mac_relay.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr std::uint16_t kReverseArp = 0x8035;

VnicConfig on_worker(VnicConfig config, std::uint16_t worker) {
    config.worker = worker;
    return config;
}

VnicConfig learning(unsigned n) {
    VnicConfig config = vm(n);
    config.anti_spoofing = false;
    config.mac.reset();
    return config;
}

SwitchConfig two_workers() {
    SwitchConfig config;
    config.workers = {1, 2};
    return config;
}

/// vm1 on worker 0 and vm2 on the last one, which moves. With `bridge`, a port behind which unknown addresses
/// may be.
struct Host {
    explicit Host(const SwitchConfig& config = {}, bool uplink = true, bool with_bridge = false)
        : nic(static_cast<std::uint16_t>(config.workers.size())), host(config, uplink ? &nic : nullptr) {
        vm1 = host.add(vm(1));
        vm2 = host.add(on_worker(vm(2), static_cast<std::uint16_t>(config.workers.size() - 1)));
        if (with_bridge)
            bridge = host.add(learning(3));
    }
    /// The workers look which VMs are there, and the agent passes on the addresses that they learned.
    void look() {
        for (const auto& worker : host.workers())
            worker->housekeeping_next();
        host.turn();
        relay.run(host.workers());
        for (const auto& worker : host.workers())
            worker->housekeeping_next();
        host.settle();
    }
    void connected(bool is) {
        host.port(vm2).attached = is;
        look();
    }
    /// Where a frame of vm1 to vm2 arrives.
    struct Arrived {
        std::size_t there;
        std::size_t wire;
        std::size_t bridge;
        bool operator==(const Arrived&) const = default;
    };
    Arrived send() {
        host.port(vm1).offered.push_back(frame(mac(2), mac(1)));
        host.settle();
        return arrived();
    }
    Arrived arrived() {
        return {host.port(vm2).drain(), on_wire(), host.has(bridge) ? host.port(bridge).drain() : 0};
    }
    std::size_t on_wire() {
        std::size_t count = 0;
        for (std::uint16_t queue = 0; queue < host.workers().size(); ++queue)
            for (rte_mbuf* each : nic.take(queue)) {
                rte_pktmbuf_free(each);
                ++count;
            }
        return count;
    }
    void from_wire(const FrameBytes& bytes) {
        nic.arrive(to_mbuf(buffer_pool(), bytes));
        host.settle();
    }
    /// The frame that a hypervisor sends when its VM has arrived.
    void announce_on_wire() {
        from_wire(ethernet(kBroadcast, mac(2), kReverseArp, arp_request()));
        look();
        (void)host.port(vm1).drain();
        (void)arrived();
    }
    [[nodiscard]] std::uint64_t vm_down() const { return drops(host.stats(vm2).to_vm, DropReason::kVmDown); }

    RingNic nic;
    SwitchHarness host;
    MacRelay relay;
    VnicId vm1 = 0;
    VnicId vm2 = 0;
    VnicId bridge = kNoVnic;
};

constexpr Host::Arrived kAtVm{1, 0, 0};
constexpr Host::Arrived kOnWire{0, 1, 0};
constexpr Host::Arrived kNowhereAtAll{0, 0, 0};

}  // namespace

TEST_CASE("a VM that is not connected here is looked for on the wire, until it is here again") {
    Host on(GENERATE(false, true) ? two_workers() : SwitchConfig{});
    CHECK(on.send() == kAtVm);
    on.connected(false);
    CHECK(on.send() == kOnWire);
    CHECK(on.vm_down() == 0);
    on.announce_on_wire();
    CHECK(on.send() == kOnWire);
    SECTION("it connects") {
        on.connected(true);
        CHECK(on.send() == kAtVm);
        on.announce_on_wire();  // the wire claims the address of a VM that is here
        CHECK(on.send() == kAtVm);
        on.connected(false);
        CHECK(on.send() == kOnWire);
    }
    SECTION("its vNIC is removed") {
        on.host.remove(on.vm2);
        on.host.port(on.vm1).offered.push_back(frame(mac(2), mac(1)));
        on.host.settle();
        CHECK(on.on_wire() == 1);
        on.host.add_again(on.vm2, vm(2));
        CHECK(on.send() == kAtVm);
    }
}

TEST_CASE("the first frame of a VM that is here again takes its address back") {
    Host on;
    on.connected(false);
    on.announce_on_wire();
    on.host.port(on.vm2).attached = true;
    on.host.port(on.vm2).offered.push_back(frame(mac(1), mac(2)));
    on.host.turn();
    CHECK(on.host.port(on.vm1).drain() == 1);
    on.host.port(on.vm1).offered.push_back(frame(mac(2), mac(1)));
    on.host.turn();
    CHECK(on.host.port(on.vm2).drain() == 1);
    CHECK(on.on_wire() == 0);
}

TEST_CASE("no frame of the wire goes back to the wire because its VM is not here") {
    const bool with_bridge = GENERATE(false, true);
    Host on({}, true, with_bridge);
    on.connected(false);
    on.from_wire(numbered(mac(2), kFar, 60, 1));
    CHECK(on.arrived() == Host::Arrived{0, 0, with_bridge ? std::size_t{1} : 0});
    CHECK(on.vm_down() == (with_bridge ? 0 : 1));
    on.announce_on_wire();
    on.from_wire(numbered(mac(2), kFar, 60, 2));
    CHECK(on.arrived() == kNowhereAtAll);
    const DirectionStats& rx = on.host.snapshot_worker(0).uplink.rx;
    CHECK(drops(rx, DropReason::kHairpin) == (with_bridge ? 1 : 0));
    CHECK(balanced(rx));
}

TEST_CASE("where unknown addresses are flooded, those of VMs that are not here are, and are learned") {
    Host on({}, true, true);
    CHECK(on.send() == kAtVm);
    on.connected(false);
    CHECK(on.send() == Host::Arrived{0, 1, 1});
    SECTION("on the wire") {
        on.announce_on_wire();
        CHECK(on.send() == kOnWire);
    }
    SECTION("at a port of this host") {
        on.host.port(on.bridge).offered.push_back(frame(mac(1), mac(2)));
        on.host.settle();
        CHECK(on.host.port(on.vm1).drain() == 1);
        CHECK(on.send() == Host::Arrived{0, 0, 1});
    }
    on.connected(true);
    CHECK(on.send() == kAtVm);
}

TEST_CASE("a guest cannot take the address of a VM that is not here") {
    Host on;
    on.connected(false);
    on.host.port(on.vm1).offered.push_back(frame(kBroadcast, mac(2)));
    on.host.settle();
    CHECK(drops(on.host.stats(on.vm1).from_vm, DropReason::kMacSpoof) == 1);
    CHECK(on.send() == kOnWire);
}

TEST_CASE("frames that could go nowhere else are counted at the vNIC whose VM is not connected") {
    Host on({}, false);
    on.connected(false);
    CHECK(on.send() == kNowhereAtAll);
    CHECK(on.vm_down() == 1);
    on.connected(true);
    CHECK(on.send() == kAtVm);
}
