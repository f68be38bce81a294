// vhost_port_test.cc - a whole switch on real rings in shared memory: guests that behave, beside one that
// does not.
#include "vswitch/ports/vhost_port.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <thread>

#include "test/hostile/attacks.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"
#include "test/support/wait.h"
#include "test/vswitch/datapath/switch_harness.h"
#include "vswitch/ports/memory_fault.h"
#include "vswitch/ports/vhost_driver.h"

using namespace weir;
using namespace weir::testing;

namespace {

using Clock = std::chrono::steady_clock;
using hostile::Endpoint;
using hostile::Guest;
using hostile::Tally;
using hostile::vm_mac;

/// vNICs vm1, vm2 ... of one switch, each with the socket vm<n>.sock, which the switch listens on.
class VhostSwitch {
  public:
    explicit VhostSwitch(unsigned vnics) : driver_(harness_.quiescence()) {
        for (unsigned n = 1; n <= vnics; ++n) {
            VnicConfig config = vm(n);
            config.mode = VhostMode::kServer;
            config.socket = socket(n);
            ports_.push_back(std::make_unique<VhostPort>(buffer_pool(), notifier_, 1));
            ids_.push_back(harness_.add(config, *ports_.back()));
            driver_.add(config, *ports_.back());
        }
    }
    ~VhostSwitch() {
        stop();
        while (!ports_.empty())
            remove_last();
    }

    void start() {
        stop_ = false;
        worker_ = std::thread([this] {
            while (!stop_.load(std::memory_order_relaxed)) {
                harness_.now = kNanosPerSec + static_cast<Nanos>((Clock::now() - began_).count());
                harness_.turn();
            }
        });
    }
    void stop() {
        stop_ = true;
        if (worker_.joinable())
            worker_.join();
    }
    [[nodiscard]] std::string socket(unsigned n) const {
        return folder_.file("vm" + std::to_string(n) + ".sock");
    }
    [[nodiscard]] VhostPort& port(unsigned n) { return *ports_[n - 1]; }
    /// After stop().
    [[nodiscard]] const VnicStats& stats(unsigned n) const { return harness_.stats(ids_[n - 1]); }

  private:
    void remove_last() {
        // The callback of a live connection waits for a checkpoint of the worker.
        std::atomic<bool> done{false};
        std::thread agent([&] {
            driver_.remove(socket(static_cast<unsigned>(ports_.size())));
            done = true;
        });
        while (!done)
            harness_.turn();
        agent.join();
        harness_.remove(ids_.back());
        ids_.pop_back();
        ports_.pop_back();
    }

    weir::test::TempFolder folder_;
    SwitchHarness harness_;
    VhostDriver driver_;
    Notifier notifier_;
    std::vector<std::unique_ptr<VhostPort>> ports_;
    std::vector<VnicId> ids_;
    Clock::time_point began_ = Clock::now();
    std::atomic<bool> stop_{false};
    std::thread worker_;
};

/// A guest and its connection.
struct Vm {
    Vm(const VhostSwitch& where, unsigned number)
        : endpoint(where.socket(number), false), guest(endpoint, tally) {}

    /// Connects again, as QEMU does, when connections of an attack still fill the socket's backlog or an
    /// answer was late.
    bool start(VhostSwitch& where, unsigned number) {
        return until([&] {
            if (!guest.restart())
                return false;
            guest.offer_buffers();
            return until([&] { return where.port(number).up() || !guest.frontend.connected(); }) &&
                   where.port(number).up();
        });
    }
    Tally tally;
    Endpoint endpoint;
    Guest guest;
};

/// vm1 sends numbered frames to vm2 at a steady rate; vm2 counts those that arrive, each once.
class Victims {
  public:
    explicit Victims(VhostSwitch& where) : sender_(where, 1), receiver_(where, 2) {
        REQUIRE(sender_.start(where, 1));
        REQUIRE(receiver_.start(where, 2));
        thread_ = std::thread([this] { run(); });
    }
    ~Victims() { end(); }
    void end() {
        stop_ = true;
        if (thread_.joinable())
            thread_.join();
    }
    std::uint32_t sent = 0;
    std::set<std::uint32_t> arrived;

  private:
    static constexpr std::size_t kBytes = 100;

    void run() {
        while (!stop_) {
            send();
            collect();
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
        const auto complete = [this] { return collect(), arrived.size() == sent; };
        (void)until(complete);
    }
    void send() {
        hostile::Frame frame = hostile::ipv4_frame(vm_mac(2), vm_mac(1), kBytes, false);
        hostile::put16(frame, kBytes - 4, sent >> 16);
        hostile::put16(frame, kBytes - 2, sent);
        sent += sender_.guest.transmit({}, frame);
    }
    void collect() {
        receiver_.guest.receive([this](std::span<const std::uint8_t> frame) {
            if (frame.size() == kBytes && frame[11] == 1)  // from vm1
                arrived.insert(static_cast<std::uint32_t>(frame[kBytes - 4] << 24 | frame[kBytes - 3] << 16 |
                                                          frame[kBytes - 2] << 8 | frame[kBytes - 1]));
        });
    }

    Vm sender_;
    Vm receiver_;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

std::size_t open_descriptors() {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

/// The switch of all attacks: the library notices new sockets once a second, which only the first one waits
/// for.
VhostSwitch& attacked_switch() {
    static VhostSwitch where(4);
    return where;
}

}  // namespace

TEST_CASE("a front-end is offered the queues of its vNIC, and no channel for requests to it") {
    const VhostSwitch where(1);
    hostile::Tally tally;
    const Endpoint endpoint(where.socket(1), false);
    hostile::Frontend frontend(endpoint, tally);
    std::optional<std::uint64_t> queues;
    CHECK(until([&] { return frontend.reconnect() && (queues = frontend.ask(hostile::kGetQueueNum)); }));
    CHECK(queues == 1U);
    constexpr std::uint64_t kBackendRequests = 1U << 5;
    const std::uint64_t offered = frontend.ask(hostile::kGetProtocolFeatures).value_or(kBackendRequests);
    CHECK((offered & kBackendRequests) == 0);
}

TEST_CASE("frames of two guests cross the switch on rings in shared memory") {
    VhostSwitch where(2);
    where.start();
    Victims victims(where);
    REQUIRE(until([&] { return victims.sent >= 500; }));
    victims.end();
    CHECK(victims.arrived.size() == victims.sent);
    where.stop();
    CHECK(where.stats(2).to_vm.delivered.packets == victims.sent);
    CHECK(where.port(1).ring_errors() == 0);
}

TEST_CASE("two guests lose nothing while a third one attacks, and its vNIC works afterwards") {
    constexpr auto kPerAttack = std::chrono::milliseconds(150);
    constexpr std::uint64_t kSeed = 1;
    VhostSwitch& where = attacked_switch();
    const unsigned held_before = buffers_in_use();
    const std::size_t files_before = open_descriptors();
    for (const hostile::Attack& attack : hostile::kAttacks) {
        DYNAMIC_SECTION(attack.name) {
            where.start();
            {
                Victims victims(where);
                Vm attacker(where, 3);
                Vm newcomer(where, 4);
                {
                    hostile::Scene scene(attacker.endpoint, attacker.tally, vm_mac(3), vm_mac(4));
                    std::uint32_t step = 0;
                    const auto attack_for = [&](std::chrono::milliseconds time) {
                        const auto end = Clock::now() + time;
                        do
                            hostile::take_step(attack, scene, kSeed, step++);
                        while (Clock::now() < end);
                    };
                    attack_for(kPerAttack / 2);
                    CHECK(newcomer.start(where, 4));  // frames reach it from here on, and it does not read
                    attack_for(kPerAttack / 2);
                }
                CHECK(until([&] { return !where.port(3).up(); }));
                CHECK(attacker.start(where, 3));
                const hostile::Frame frame = hostile::ipv4_frame(vm_mac(2), vm_mac(3), 100, false);
                CHECK(attacker.guest.transmit({}, frame));
                CHECK(attacker.guest.taken(wait_bound()));
                victims.end();
                CHECK(victims.sent > 0);
                CHECK(victims.arrived.size() == victims.sent);
                CHECK(attacker.tally.steps > 0);
            }
            CHECK(until([&] { return buffers_in_use() == held_before; }));
            CHECK(until([&] { return open_descriptors() == files_before; }));
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
    REQUIRE(until([&] { return where.port(3).up(); }));
    REQUIRE(ftruncate(file.number(), 0) == 0);
    CHECK(until([&] { return memory_faults() > before; }));
    guest.stop();
    where.stop();
}

TEST_CASE("a front-end that makes interrupts block, and full, does not hold up the worker") {
    VhostSwitch& where = attacked_switch();
    where.start();
    Victims victims(where);
    Vm blocking(where, 3);
    REQUIRE(blocking.start(where, 3));
    const hostile::File full = hostile::File::event(~0ULL - 1, true);
    for (const std::uint64_t ring : {Guest::kReceive, Guest::kTransmit})
        CHECK(blocking.guest.frontend.send(hostile::kSetVringCall, ring, {full.number()}));
    REQUIRE(blocking.guest.frontend.ask(hostile::kGetFeatures).has_value());  // the switch has seen both
    REQUIRE(fcntl(full.number(), F_SETFL, 0) == 0);
    blocking.guest.tx.unmute();
    const std::uint32_t before = victims.sent;
    for (int i = 0; i < 3; ++i) {
        CHECK(blocking.guest.transmit({}, hostile::ipv4_frame(vm_mac(2), vm_mac(3), 100, false)));
        CHECK(blocking.guest.taken(wait_bound()));
    }
    CHECK(until([&] { return victims.sent > before; }));
    victims.end();
    CHECK(victims.arrived.size() == victims.sent);
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
    CHECK(until([&] { return !where.port(3).up(); }));
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
    VhostPort& port = where.port(3);
    for (std::uint16_t i = 0; i < kDescriptorsOf4Mib; ++i)
        guest.tx.descriptor(i) = {hostile::GuestMemory::kRegionBytes, 4U << 20,
                                  i + 1 < kDescriptorsOf4Mib ? hostile::kNext : std::uint16_t{0},
                                  static_cast<std::uint16_t>(i + 1)};
    std::array<rte_mbuf*, kMost> frames;
    const unsigned held_before = buffers_in_use();
    const std::uint64_t errors_before = port.ring_errors();
    for (int chains = 0; chains < 3; ++chains) {
        guest.tx.publish(0);
        CHECK(port.rx_burst(frames.data(), kMost) == 0);
        CHECK(port.take_wasted());
        CHECK(buffers_in_use() == held_before);
    }
    CHECK(port.ring_errors() == errors_before + 3);
    CHECK(guest.tx.used_index().load() == guest.tx.avail_index().load());
    guest.tx.descriptor(0) = {Guest::kTransmitBuffersAt, 100, 0, 0};
    for (int i = 0; i < 6; ++i)
        guest.tx.publish(0);
    CHECK(port.rx_burst(frames.data(), kMost) == 6);
    rte_pktmbuf_free_bulk(frames.data(), 6);
    CHECK_FALSE(port.take_wasted());
    CHECK(port.ring_fault().empty());
}
