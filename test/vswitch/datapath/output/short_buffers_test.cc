// short_buffers_test.cc - VMs whose receive buffers are shorter than frames that their MTU allows: these
// frames are lost, at once and alone.
#include <algorithm>
#include <vector>

#include "test/support/catch.h"
#include "test/vswitch/datapath/output/slow_vm.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr std::size_t kShortBuffers = 2048;
constexpr std::size_t kLongFrame = 4000;

SwitchConfig jumbo() {
    SwitchConfig config;
    config.uplink.mtu = 9000;
    return config;
}

VnicId add_short(SwitchHarness& host, unsigned n, const VnicConfig& config) {
    const VnicId id = host.add(config);
    host.port(id).buffer_bytes = kShortBuffers;
    CHECK(host.path(id).fixed.mac == mac(n));
    return id;
}

std::vector<std::uint32_t> numbers_of(const FakePort& port) {
    std::vector<std::uint32_t> numbers;
    for (const rte_mbuf* one : port.received)
        numbers.push_back(number_of(one));
    return numbers;
}

}  // namespace

TEST_CASE("a frame that a VM's buffers cannot hold is lost at once and alone, from a VM and from the wire") {
    const unsigned before = buffers_in_use();
    {
        RingNic nic;
        SwitchHarness host(jumbo(), &nic);
        const VnicId vm1 = host.add(vm(1));
        VnicConfig receiver = vm(2);
        if (GENERATE(false, true))
            receiver.receive_limit_bps = 10'000'000'000;
        const VnicId vm2 = add_short(host, 2, receiver);
        for (std::uint32_t number = 0; number < 10; ++number) {
            const std::size_t bytes = number % 3 == 0 ? kLongFrame : 100;
            host.port(vm1).offered.push_back(frame(mac(2), mac(1), number, bytes));
            nic.arrive(frame(mac(2), kFar, 100 + number, bytes));
        }
        host.settle();  // the clock stands still
        CHECK(host.port(vm2).received.size() == 12);
        const DirectionStats& to = host.stats(vm2).to_vm;
        CHECK(drops(to, DropReason::kVmBufferShort) == 8);
        CHECK(to.dropped.packets == 8);
        CHECK(to.queued.packets == 0);
        CHECK(balanced(to));
        CHECK(host.path(vm1).queued_buffers == 0);
    }
    CHECK(buffers_in_use() == before);
}

TEST_CASE("a broadcast that one VM's buffers cannot hold reaches the others") {
    SwitchHarness host(jumbo());
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = add_short(host, 2, vm(2));
    const VnicId vm3 = host.add(vm(3));
    host.port(vm1).offered = {frame(kBroadcast, mac(1), 1, kLongFrame), frame(kBroadcast, mac(1), 2)};
    host.settle();
    CHECK((numbers_of(host.port(vm2)) == std::vector<std::uint32_t>{2}));
    CHECK((numbers_of(host.port(vm3)) == std::vector<std::uint32_t>{1, 2}));
    CHECK(drops(host.stats(vm2).to_vm, DropReason::kVmBufferShort) == 1);
    CHECK(balanced(host.stats(vm2).to_vm));
}

TEST_CASE("frames that wait for a full ring go on behind one that its buffers cannot hold") {
    SwitchHarness host(jumbo());
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = add_short(host, 2, vm(2));
    FakePort& port = host.port(vm2);
    port.ring_frames = 4;
    constexpr std::uint32_t kOffered = 60;
    for (std::uint32_t number = 0; number < kOffered; ++number)
        host.port(vm1).offered.push_back(frame(mac(2), mac(1), number, number % 4 == 3 ? kLongFrame : 100));
    std::vector<std::uint32_t> got;
    for (unsigned turn = 0; turn < 200; ++turn, host.now += kStep) {
        host.turn();
        const auto some = numbers_of(port);
        got.insert(got.end(), some.begin(), some.end());
        port.drain();
    }
    CHECK(got.size() == kOffered / 4 * 3);
    CHECK(std::ranges::is_sorted(got));
    const DirectionStats& to = host.stats(vm2).to_vm;
    CHECK(drops(to, DropReason::kVmBufferShort) == kOffered / 4);
    CHECK(to.dropped.packets == kOffered / 4);
    CHECK(balanced(to));
    CHECK(host.path(vm1).queued_buffers == 0);
}
