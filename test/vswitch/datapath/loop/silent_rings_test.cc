// silent_rings_test.cc - rings that were empty for long are not polled, and none is forgotten.
// Source: docs/algorithms.md 3.14.
#include "vswitch/datapath/loop/silent_rings.h"

#include <vector>

#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"

using namespace weir;
using namespace weir::testing;

namespace {

/// Two VMs whose ports can be left alone.
struct SilentHost {
    explicit SilentHost(const VnicConfig& first = vm(1)) {
        vm1 = switch_.add(first, [](FakePort& port) { port.watched = true; });
        vm2 = switch_.add(vm(2), [](FakePort& port) { port.watched = true; });
        port().read_at_once();
    }
    FakePort& port() { return switch_.port(vm1); }
    void turns(unsigned count) {
        for (; count != 0; --count)
            switch_.turn();
    }
    void fall_silent() { turns(2 * SilentRings::kAfterPolls); }
    /// Whether the next turn polls VM 1's ring.
    bool is_polled() {
        const unsigned before = port().rx_calls;
        switch_.turn();
        return port().rx_calls != before;
    }
    void offer() {
        port().offered.push_back(frame(mac(2), mac(1)));
        ++port().word;
    }

    SwitchHarness switch_;
    VnicId vm1;
    VnicId vm2;
};

/// 200 VMs whose rings are silent.
struct SilentHosts {
    static constexpr unsigned kVms = 200;
    SilentHosts() {
        for (unsigned i = 1; i <= kVms; ++i) {
            ids.push_back(switch_.add(vm(i), [](FakePort& port) { port.watched = true; }));
            switch_.port(ids.back()).read_at_once();
        }
        fall_silent();
    }
    FakePort& port(unsigned i) { return switch_.port(ids[i]); }
    void fall_silent() { turns(2 * SilentRings::kAfterPolls); }
    /// 64 words in each turn.
    void sweep_all() { turns(4); }
    void turns(unsigned count) {
        for (; count != 0; --count)
            switch_.turn();
    }

    SwitchHarness switch_;
    std::vector<VnicId> ids;
};

}  // namespace

TEST_CASE(
    "a ring that was empty for 1,024 polls is not polled until its word changes, and then in that turn") {
    SilentHost host;
    host.turns(SilentRings::kAfterPolls / 2);
    CHECK(host.is_polled());
    host.fall_silent();
    CHECK_FALSE(host.is_polled());
    for (int round = 0; round < 3; ++round) {
        host.offer();
        CHECK(host.is_polled());
        CHECK(host.switch_.stats(host.vm1).from_vm.delivered.packets == static_cast<unsigned>(round) + 1);
        CHECK(host.is_polled());  // and is polled again for long
        host.fall_silent();
        CHECK_FALSE(host.is_polled());
    }
}

TEST_CASE("a port that comes or goes, and changed rates, end the silence of their own ring") {
    SilentHost host;
    host.fall_silent();
    host.port().renew();
    host.switch_.quiescence().changed();
    CHECK(host.is_polled());
    host.fall_silent();
    host.switch_.port(host.vm2).renew();
    host.switch_.quiescence().changed();
    CHECK_FALSE(host.is_polled());
    host.fall_silent();
    host.switch_.change(host.vm1, vm(1));
    CHECK(host.is_polled());
    host.fall_silent();
    host.switch_.remove(host.vm1);
    host.switch_.port(host.vm2).renew();
    host.switch_.quiescence().changed();
    host.turns(2);
    CHECK(host.switch_.port(host.vm2).rx_calls != 0);
}

TEST_CASE("a ring with a promise of packets, or that cannot be watched, is always polled") {
    VnicConfig promised = vm(1);
    promised.reservation_pps = 1000;
    SilentHost host(promised);
    host.switch_.port(host.vm2).watched = false;
    const unsigned before = host.switch_.port(host.vm2).rx_calls;
    host.fall_silent();
    CHECK(host.is_polled());
    CHECK(host.switch_.port(host.vm2).rx_calls > before + SilentRings::kAfterPolls);
}

TEST_CASE("200 silent rings that change at once are all polled within four turns") {
    SilentHosts hosts;
    for (unsigned i = 0; i < SilentHosts::kVms; ++i) {
        FakePort& port = hosts.port(i);
        port.offered.push_back(frame(mac((i + 1) % SilentHosts::kVms + 1), mac(i + 1)));
        ++port.word;
    }
    hosts.sweep_all();
    for (const VnicId id : hosts.ids)
        CHECK(hosts.switch_.stats(id).from_vm.delivered.packets == 1);
}

TEST_CASE("of 200 silent rings every third that changes is polled, and the others stay silent") {
    SilentHosts hosts;
    for (unsigned round = 0; round < 6; ++round) {
        std::vector<unsigned> calls;
        for (unsigned i = 0; i < SilentHosts::kVms; ++i)
            calls.push_back(hosts.port(i).rx_calls);
        const auto changes = [round](unsigned i) { return i % 3 == round % 3; };
        for (unsigned i = 0; i < SilentHosts::kVms; ++i)
            if (changes(i))
                ++hosts.port(i).word;
        hosts.sweep_all();
        for (unsigned i = 0; i < SilentHosts::kVms; ++i)
            CHECK((hosts.port(i).rx_calls != calls[i]) == changes(i));
        hosts.fall_silent();
    }
}
