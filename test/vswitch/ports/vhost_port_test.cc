// vhost_port_test.cc - a whole switch on real rings in shared memory: guests that behave, beside one that
// does not.
#include "vswitch/ports/vhost_port.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>

#include "test/hostile/attacks.h"
#include "test/support/catch.h"
#include "test/vswitch/ports/vhost_switch.h"
#include "vswitch/ports/memory_fault.h"
#include "vswitch/ports/vhost_feature.h"

using namespace weir;
using namespace weir::testing;

namespace {

using Clock = std::chrono::steady_clock;
using hostile::Guest;
using hostile::vm_mac;

std::size_t open_descriptors() {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

/// WEIR_STEPS of the environment: the least number of steps of each attack, by hand.
std::uint32_t steps_wanted() {
    const char* const text = std::getenv("WEIR_STEPS");
    const unsigned long steps = text == nullptr ? 1 : std::strtoul(text, nullptr, 10);
    if (steps == 0 || steps > 1'000'000)
        throw std::invalid_argument("WEIR_STEPS: found '" + std::string(text) +
                                    "', allowed: 1 to 1,000,000 steps of each attack");
    return static_cast<std::uint32_t>(steps);
}

/// vm3 sends frames to vm4, which receives a whole ring of them at a time; both have rings of this shape.
void exchange(VhostSwitch& where, const Guest::Shape& shape) {
    constexpr unsigned kRounds = 3;
    CAPTURE(shape.features, shape.transmit_size, static_cast<int>(shape.place));
    Vm sender(where, 3);
    Vm receiver(where, 4);
    REQUIRE(sender.start(where, 3, shape));
    REQUIRE(receiver.start(where, 4, shape));
    CHECK((shape.features ^ receiver.guest.features()) == 0);
    Arrivals arrivals;
    const auto collect = [&] { receiver.guest.receive([&](auto frame) { arrivals.count(frame, 3); }); };
    std::uint32_t sent = 0;
    for (unsigned round = 0; round < kRounds; ++round) {
        const std::uint32_t first = sent;
        while (sent - first < shape.receive_size && sender.guest.transmit({}, Arrivals::frame(4, 3, sent)))
            ++sent;
        REQUIRE(until([&] { return collect(), arrivals.each_once(0, sent); }));
    }
    CHECK(sent == kRounds * shape.transmit_size);
    CHECK(sender.guest.bytes_changed() + receiver.guest.bytes_changed() == 0);
}

/// At least so many steps. The newcomer starts in the middle.
void attack_beside(VhostSwitch& where, const hostile::Attack& attack, Vm& attacker, Vm& newcomer,
                   std::uint32_t steps) {
    constexpr auto kPerAttack = std::chrono::milliseconds(150);
    constexpr std::uint64_t kSeed = 1;
    hostile::Scene scene(attacker.endpoint, attacker.tally, vm_mac(3), vm_mac(4));
    std::uint32_t step = 0;
    const auto attack_until = [&](std::uint32_t least) {
        const auto end = Clock::now() + kPerAttack / 2;
        do
            hostile::take_step(attack, scene, kSeed, step++);
        while (Clock::now() < end || step < least);
    };
    attack_until(steps / 2);
    CHECK(newcomer.start(where, 4));  // frames reach it from here on, and it does not read
    attack_until(steps);
}

/// The attacker's vNIC serves a guest that behaves.
void check_works(VhostSwitch& where, Vm& attacker) {
    CHECK(attacker.start(where, 3));
    const hostile::Frame frame = hostile::ipv4_frame(vm_mac(2), vm_mac(3), 100, false);
    CHECK(attacker.guest.transmit({}, frame));
    CHECK(attacker.guest.taken(wait_bound()));
}

}  // namespace

TEST_CASE("a front-end is offered the queues of its vNIC, and no channel for requests to it") {
    const VhostSwitch where(1);
    hostile::Tally tally;
    const hostile::Endpoint endpoint(where.socket(1), false);
    hostile::Frontend frontend(endpoint, tally);
    std::optional<std::uint64_t> queues;
    CHECK(until([&] { return frontend.reconnect() && (queues = frontend.ask(hostile::kGetQueueNum)); }));
    CHECK(queues == 1U);
    constexpr std::uint64_t kBackendRequests = 1U << 5;
    const std::uint64_t offered = frontend.ask(hostile::kGetProtocolFeatures).value_or(kBackendRequests);
    CHECK((offered & kBackendRequests) == 0);
}

TEST_CASE("frames of two guests cross the switch on rings in shared memory") {
    VhostSwitch where(5);
    where.start();
    Neighbors neighbors(where);
    REQUIRE(until([&] { return neighbors.sent >= 500; }));
    neighbors.end();
    CHECK(neighbors.unharmed());
    where.stop();
    CHECK(where.stats(2).to_vm.delivered.packets == neighbors.sent);
    CHECK(where.rings(1).ring_errors() == 0);
}

TEST_CASE("guests with rings of any size, in either layout and anywhere in memory, exchange frames",
          "[long]") {
    constexpr std::uint16_t kSplitSizes[] = {1, 2, 8, 32, 256};
    constexpr std::uint16_t kPackedSizes[] = {1, 2, 3, 5, 31, 32, 100, 256};
    VhostSwitch& where = attacked_switch();
    where.start();
    for (const hostile::Place place :
         {hostile::Place::kSpaced, hostile::Place::kAtBegin, hostile::Place::kAtEnd}) {
        for (const std::uint16_t size : kSplitSizes)
            exchange(where, {size, size, Guest::kWanted, place});
        for (const std::uint16_t size : kPackedSizes)
            for (const std::uint64_t more : {std::uint64_t{0}, hostile::mask(hostile::kInOrder)})
                exchange(where,
                         {size, size, Guest::kWanted | hostile::mask(hostile::kPackedRing) | more, place});
    }
    CHECK(until([&] { return !where.rings(3).up() && !where.rings(4).up(); }));
    where.stop();
}

TEST_CASE("two guests lose nothing while a third one attacks, and its vNIC works afterwards", "[long]") {
    const std::uint32_t steps = steps_wanted();
    const unsigned held_before = buffers_in_use();
    VhostSwitch& where = attacked_switch();
    const std::size_t files_before = open_descriptors();
    for (const hostile::Attack& attack : hostile::kAttacks) {
        if (hostile::barred(attack))
            continue;  // vhost_stall_test.cc has them: the socket is of no use afterwards
        DYNAMIC_SECTION(attack.name) {
            where.start();
            {
                Neighbors neighbors(where);
                Vm attacker(where, 3);
                Vm newcomer(where, 4);
                attack_beside(where, attack, attacker, newcomer, steps);
                CHECK(until([&] { return !where.rings(3).up(); }));
                check_works(where, attacker);
                neighbors.end();
                CHECK(neighbors.unharmed());
                CHECK(attacker.tally.steps > 0);
                CHECK(attacker.tally.bytes_changed == 0);
            }
            CHECK(until([&] { return buffers_in_use() == held_before; }));
            CHECK(until([&] { return open_descriptors() <= files_before; }));
            where.stop();
            for (const unsigned n : {1U, 2U, 3U, 4U}) {
                CHECK(balanced(where.stats(n).from_vm));
                CHECK(balanced(where.stats(n).to_vm));
            }
        }
    }
}

TEST_CASE("a memory file that shrinks under traffic is replaced by zeros") {
    VhostSwitch& where = attacked_switch();
    where.start();
    Vm shrinking(where, 3);
    const std::uint64_t before = memory_faults();
    hostile::Guest& guest = shrinking.guest;
    const hostile::File file = hostile::File::memory(hostile::GuestMemory::kRegionBytes);
    REQUIRE(guest.frontend.reconnect());
    CHECK(guest.negotiate());
    CHECK(guest.frontend.send(hostile::kSetMemTable, guest.memory.table(),
                              {file.number(), guest.memory.regions()[1].file.number()}));
    CHECK(guest.set_up_ring(Guest::kReceive));
    CHECK(guest.set_up_ring(Guest::kTransmit));
    REQUIRE(until([&] { return where.rings(3).up(); }));
    REQUIRE(ftruncate(file.number(), 0) == 0);
    CHECK(until([&] { return memory_faults() > before; }));
    guest.stop();
    where.stop();
}

TEST_CASE("a front-end that makes interrupts block, and full, does not hold up the worker") {
    VhostSwitch& where = attacked_switch();
    where.start();
    Neighbors neighbors(where);
    Vm blocking(where, 3);
    REQUIRE(blocking.start(where, 3));
    const hostile::File full = hostile::File::event(~0ULL - 1, true);
    for (const std::uint64_t ring : {Guest::kReceive, Guest::kTransmit})
        CHECK(blocking.guest.frontend.send(hostile::kSetVringCall, ring, {full.number()}));
    // With the answer the switch has seen both.
    CHECK(until([&] { return blocking.guest.frontend.ask(hostile::kGetFeatures).has_value(); }));
    CHECK(fcntl(full.number(), F_SETFL, 0) == 0);
    blocking.guest.tx.unmute();
    const std::uint32_t before = neighbors.sent;
    for (int i = 0; i < 3; ++i) {
        CHECK(blocking.guest.transmit({}, hostile::ipv4_frame(vm_mac(2), vm_mac(3), 100, false)));
        CHECK(blocking.guest.taken(wait_bound()));
    }
    CHECK(until([&] { return neighbors.sent > before; }));
    neighbors.end();
    CHECK(neighbors.unharmed());
    blocking.guest.stop();
    where.stop();
}

TEST_CASE("a second front-end is refused while the first one talks, and replaces one that is silent") {
    VhostSwitch& where = attacked_switch();
    where.start();
    Vm first(where, 3);
    hostile::Tally tally;
    hostile::Frontend second(first.endpoint, tally);
    CHECK(first.guest.frontend.reconnect());
    CHECK(second.reconnect());
    CHECK(until([&] { return second.ask(hostile::kGetFeatures).has_value(); }));
    CHECK(until([&] { return !first.guest.frontend.connected(); }));
    second.close();
    REQUIRE(until([&] { return first.start(where, 3); }));
    CHECK(second.reconnect());
    CHECK(until([&] { return !second.connected(); }));
    const hostile::Frame frame = hostile::ipv4_frame(vm_mac(2), vm_mac(3), 100, false);
    CHECK(first.guest.transmit({}, frame));
    CHECK(first.guest.taken(wait_bound()));
    first.guest.stop();
    CHECK(until([&] { return !where.rings(3).up(); }));
    where.stop();
}

TEST_CASE("a chain of 512 MiB takes no buffer, goes back to its driver and is counted") {
    constexpr std::uint16_t kDescriptorsOf4Mib = 128;
    constexpr std::uint16_t kMost = 32;
    VhostSwitch& where = attacked_switch();
    Vm hostile_vm(where, 3);
    where.start();
    REQUIRE(hostile_vm.start(where, 3));
    where.stop();
    hostile::Guest& guest = hostile_vm.guest;
    VhostRings& rings = where.rings(3);
    for (std::uint16_t i = 0; i < kDescriptorsOf4Mib; ++i)
        guest.tx.descriptor(i) = {hostile::GuestMemory::kRegionBytes, 4U << 20,
                                  i + 1 < kDescriptorsOf4Mib ? hostile::kNext : std::uint16_t{0},
                                  static_cast<std::uint16_t>(i + 1)};
    std::array<rte_mbuf*, kMost> frames;
    const unsigned held_before = buffers_in_use();
    const std::uint64_t errors_before = rings.ring_errors();
    for (int chains = 0; chains < 3; ++chains) {
        guest.tx.publish(0);
        CHECK(rings.rx_burst(frames.data(), kMost) == 0);
        CHECK(rings.take_wasted());
        CHECK(buffers_in_use() == held_before);
    }
    CHECK(rings.ring_errors() == errors_before + 3);
    CHECK(guest.tx.used_index().load() == guest.tx.avail_index().load());
    guest.tx.descriptor(0) = {Guest::kTransmitBuffersAt, 100, 0, 0};
    for (int i = 0; i < 6; ++i)
        guest.tx.publish(0);
    CHECK(rings.rx_burst(frames.data(), kMost) == 6);
    rte_pktmbuf_free_bulk(frames.data(), 6);
    CHECK_FALSE(rings.take_wasted());
    CHECK(rings.ring_fault().empty());
}

TEST_CASE("a front-end learns how many queue pairs the vNIC has, and one that uses others is named") {
    VhostSwitch& where = attacked_switch();
    where.start();
    {
        Vm vm(where, 4);
        REQUIRE(vm.start(where, 4));
        hostile::Frontend& frontend = vm.guest.frontend;
        CHECK(frontend.ask(hostile::kGetQueueNum) == 1);
        const std::optional<std::uint64_t> features = frontend.ask(hostile::kGetFeatures);
        REQUIRE(features);
        CHECK((*features >> vhost::kMultiqueue & 1) == 0);
        frontend.send_ring(hostile::kSetVringEnable, 3, 1);
        CHECK(until([&] { return !frontend.connected(); }));
        CHECK(where.port(4).front_end_fault() ==
              "disconnected the front-end: ring 3; allowed: 0 to 1, as `queues` of the vNIC is 1; raise it "
              "to 2, "
              "or give the front-end fewer queue pairs (QEMU: `queues` of the netdev)");
        REQUIRE(vm.start(where, 4));
        frontend.send(hostile::kSetFeatures, *features | 1ULL << vhost::kMultiqueue);
        CHECK(until([&] { return !frontend.connected(); }));
        CHECK(where.port(4).front_end_fault() ==
              "disconnected the front-end: features 0x400000 (multiqueue) that the vNIC does not offer: "
              "`queues` "
              "of the vNIC is 1");
        REQUIRE(vm.start(where, 4));
        CHECK(until([&] { return where.port(4).front_end_fault().empty(); }));
        CHECK(where.rings(4).up());
    }
    where.stop();
}
