// reuse_test.cc - a removed vNIC's id goes to another tenant: nothing that was meant for the first reaches
// the second.
#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>

#include "cost_functions/protocols/registry.h"
#include "test/support/amounts.h"
#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr std::uint32_t kThere = 0x0A00'0009;
constexpr std::uint16_t kThatPort = 11211;

/// A memcached at 10.0.0.9 whose tokens are bytes.
std::vector<Appliance> key_value_store() {
    Appliance appliance;
    appliance.address = {10, 0, 0, 9};
    appliance.port = kThatPort;
    appliance.protocol = protocol_index("memcached").value();
    appliance.cost = std::make_shared<CostTable>();
    return {appliance};
}

SwitchConfig with_store() {
    SwitchConfig config;
    config.appliances.emplace_back().name = "kv";
    return config;
}

VnicConfig asker(unsigned n, std::uint64_t tokens) {
    VnicConfig config = vm(n);
    VnicApplianceConfig& appliance = config.appliances.emplace_back();
    appliance.name = "kv";
    appliance.limit_tokens = tokens;
    return config;
}

/// A TCP segment of vm1 to the store, which is at `to`.
rte_mbuf* to_store(std::uint64_t to, std::uint32_t seq, const char* words, std::uint8_t flags = kAck) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(words);
    FrameBytes frame = ethernet(to, mac(1), weir::testing::kIpv4,
                                ipv4(kTcp, tcp({bytes, bytes + std::strlen(words)}, seq, flags)));
    write32(frame, 26, 0x0A00'0001);
    write32(frame, 30, kThere);
    write16(frame, 34, 5000);
    write16(frame, 36, kThatPort);
    return to_mbuf(buffer_pool(), frame);
}

RequestFlowStats reading_of(SwitchHarness& host, VnicId id) {
    std::vector<RequestPath::Reading> readings;
    readings.reserve(limits::kAppliancesPerVnic);
    host.post(0, command::ReadRequests{id, &readings});
    return readings.at(0).stats;
}

}  // namespace

TEST_CASE("the word in a waiting frame keeps destination, origin and generation apart") {
    rte_mbuf* one = frame(mac(2), mac(1));
    FrameWord{5, FrameOrigin::kWire, 2}.write_to(one);
    CHECK(one->hash.usr == 0x9'0005);
    FrameWord{1023, FrameOrigin::kTunnel, 16'383}.write_to(one);
    CHECK(FrameWord::of(one).destination == 1023);
    CHECK(FrameWord::of(one).generation == 16'383);
    CHECK(FrameWord::of(one).origin == FrameOrigin::kTunnel);
    rte_pktmbuf_free(one);
}

TEST_CASE("frames that wait for their sender's limit are not delivered to the next vNIC of the id") {
    SwitchHarness host;
    VnicConfig sender = vm(1);
    sender.limit_bps = 8'000'000;
    const VnicId vm1 = host.add(sender);
    const VnicId vm2 = host.add(vm(2));
    host.port(vm1).offered.push_back(frame(mac(2), mac(1)));  // the limit seems to pay for 32 of this size
    host.run(10'000'000);
    for (std::uint32_t i = 0; i < limits::kBurst; ++i)
        host.port(vm1).offered.push_back(frame(mac(2), mac(1), i, 1514));
    host.settle();
    const std::uint64_t waiting = host.stats(vm1).from_vm.queued.packets;
    REQUIRE(waiting > 0);
    host.remove(vm2);
    host.add_again(vm2, vm(3));
    host.run(2 * kNanosPerSec, 100'000);
    CHECK(host.port(vm2).received.empty());
    CHECK(drops(host.stats(vm1).from_vm, DropReason::kVnicRemoved) == waiting);
    CHECK(balanced(host.stats(vm1).from_vm));
}

TEST_CASE("requests that wait for tokens are not delivered to the next vNIC of the id") {
    SwitchHarness host(with_store(), nullptr, key_value_store());
    const VnicId vm1 = host.add(asker(1, 1));
    const VnicId store = host.add(vm(2));
    host.port(vm1).offered.push_back(to_store(mac(2), 0, "", 0x02));
    for (const std::uint32_t seq : {1U, 8U, 15U})
        host.port(vm1).offered.push_back(to_store(mac(2), seq, "get a\r\n"));
    host.settle();
    const std::uint64_t waiting = host.stats(vm1).from_vm.queued.packets;
    REQUIRE(waiting > 0);
    host.remove(store);
    host.add_again(store, vm(3));
    host.run(60 * kNanosPerSec, 2'000'000);
    CHECK(host.port(store).received.empty());
    CHECK(drops(host.stats(vm1).from_vm, DropReason::kVnicRemoved) == waiting);
    CHECK(balanced(host.stats(vm1).from_vm));
}

TEST_CASE("frames in a worker's inbox are not delivered to the next vNIC of the id") {
    SwitchConfig config;
    config.workers = {1, 2};
    SwitchHarness host(config);
    VnicConfig second = vm(2);
    second.worker = 1;
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(second);
    constexpr std::uint64_t kInFlight = 100;
    for (std::uint32_t i = 0; i < kInFlight; ++i)
        host.port(vm2).offered.push_back(frame(mac(1), mac(2), i));
    host.remove(vm1);  // worker 0 takes the command first: worker 1 goes on sending
    host.worker(0).housekeeping_next();
    host.add_again(vm1, vm(3));  // while most of the frames are in the inbox
    host.settle();
    CHECK(host.port(vm1).received.empty());
    CHECK(host.snapshot_worker(0).handoff.vnic_gone == kInFlight);
}

TEST_CASE("connections of a removed vNIC are neither found nor settled for the next one of the id") {
    RingNic nic;
    SwitchHarness host(with_store(), &nic, key_value_store());
    const VnicId vm1 = host.add(asker(1, 1'000'000));
    host.port(vm1).offered.push_back(to_store(kFar, 0, "", 0x02));
    host.port(vm1).offered.push_back(to_store(kFar, 1, "set a 0 0 9\r\n123456789\r\n"));
    host.settle();
    REQUIRE(reading_of(host, vm1).outstanding == 1);
    REQUIRE(reading_of(host, vm1).connections == 1);
    host.remove(vm1);
    host.add_again(vm1, asker(1, 1'000'000));  // the same addresses and ports
    CHECK(reading_of(host, vm1).connections == 0);
    host.port(vm1).offered.push_back(to_store(kFar, 0, "", 0x02));
    host.port(vm1).offered.push_back(to_store(kFar, 1, "set a 0 0 9\r\n123456789\r\n"));
    host.settle();
    const RequestFlowStats again = reading_of(host, vm1);
    CHECK(again.requests == 1);
    CHECK(again.outstanding == 1);
    CHECK(again.connections == 1);
    nic.drain();
}

TEST_CASE("an update of an address at a removed vNIC is not believed of the next one of the id") {
    SwitchHarness host;
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(vm(2));
    host.remove(vm2);
    host.add_again(vm2, vm(3));
    host.post(0, command::UpdateMac{{mac_key(mac(9), 0), vm2, 0}});
    host.port(vm1).offered.push_back(frame(mac(9), mac(1)));
    host.settle();
    CHECK(host.port(vm2).received.empty());
    CHECK(drops(host.stats(vm1).from_vm, DropReason::kNoSuchMac) == 1);
    host.post(0, command::UpdateMac{{mac_key(mac(9), 0), vm2, 1}});
    host.port(vm1).offered.push_back(frame(mac(9), mac(1)));
    host.settle();
    CHECK(host.port(vm2).received.size() == 1);
}
