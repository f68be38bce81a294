// vhost_rings_test.cc - a guest with several pairs of rings, which two workers poll: each has the pairs of
// its own. Units: frames. Threads: the test's, which polls for both workers, or one more for each of them.
#include "vswitch/ports/vhost_rings.h"

#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <sys/eventfd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "test/hostile/frontend.h"
#include "test/hostile/packed_ring.h"
#include "test/hostile/split_ring.h"
#include "test/support/catch.h"
#include "test/support/eal_fixture.h"
#include "test/support/frames.h"
#include "test/support/temp_folder.h"
#include "test/support/wait.h"
#include "vswitch/ports/vhost_driver.h"
#include "vswitch/ports/vhost_port.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr unsigned kPairsMost = 3;
constexpr unsigned kSpreadOver = 2;
constexpr std::array<std::uint8_t, kSpreadOver> kBoth{0, 1};  // pairs, and the workers that have them

/// Numbers of frames, in the order in which they came.
using Numbers = std::vector<std::uint32_t>;

Numbers first_numbers(std::uint32_t count) {
    Numbers numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0U);
    return numbers;
}

/// Of numbered(), the last byte of the sender's address.
std::uint8_t sender_of(const std::uint8_t* frame) {
    return frame[11];
}

/// A guest that behaves, with up to kPairsMost pairs of rings.
class PairsGuest {
  public:
    static constexpr std::uint16_t kEntries = 64;

    PairsGuest(const std::string& socket, bool packed)
        : endpoint_(socket, false), frontend_(endpoint_, tally_), packed_(packed) {
        for (std::uint32_t number = 0; number < 2 * kPairsMost; ++number) {
            const auto parts = [number](bool in_packed) {
                return hostile::place_ring(in_packed, hostile::Place::kSpaced, number * kRingBytes, kEntries);
            };
            split_rings_.emplace_back(memory_, parts(false), kEntries);
            packed_rings_.emplace_back(memory_, parts(true), kEntries);
            kicks_.push_back(hostile::File::event());
        }
    }

    [[nodiscard]] hostile::Frontend& frontend() { return frontend_; }
    /// Brings the first `pairs` pairs up: new, or as an earlier connection left them, which split rings show.
    bool start(unsigned pairs) {
        return until([&] { return connect(pairs); });
    }
    bool set_up(unsigned pair) { return set_up_ring(2 * pair) && set_up_ring(2 * pair + 1) && is_answered(); }
    bool enable(unsigned pair, bool enabled) {
        const std::uint32_t value = enabled ? 1 : 0;
        return frontend_.send_ring(hostile::kSetVringEnable, 2 * pair, value) &&
               frontend_.send_ring(hostile::kSetVringEnable, 2 * pair + 1, value) && is_answered();
    }
    /// After which the switch has seen all messages before.
    bool is_answered() {
        return until([&] { return frontend_.ask(hostile::kGetFeatures).has_value(); });
    }

    /// Puts the pair's next frame into its transmit ring, which has room. Its sender is the pair's number.
    bool send(unsigned pair) {
        const std::uint32_t number = 2 * pair + 1;
        hostile::Virtqueue& to_switch = ring(number);
        while (to_switch.reap()) {
        }
        const FrameBytes frame = numbered(mac(9), mac(pair), kFrameBytes, sent_[pair]);
        const std::uint64_t address = buffer_at(number, to_switch.next());
        const hostile::Buffer buffer{address, sizeof(hostile::FrameHeader) + kFrameBytes};
        if (to_switch.free() == 0)
            return false;
        const hostile::FrameHeader header;
        std::memcpy(memory_.at(address), &header, sizeof(header));
        std::memcpy(memory_.at(address) + sizeof(header), frame.data(), frame.size());
        ++sent_[pair];
        return to_switch.add({&buffer, 1});
    }
    [[nodiscard]] std::uint32_t sent(unsigned pair) const { return sent_[pair]; }
    [[nodiscard]] bool all_taken(unsigned pair) { return ring(2 * pair + 1).all_used(); }
    /// The pair's transmit ring, a split one, claims more chains than it has entries.
    void claim_too_much(unsigned pair) { split_rings_[2 * pair + 1].avail_index().store(kEntries + 1); }
    void kick(unsigned pair) { eventfd_write(kicks_[2 * pair + 1].number(), 1); }

    /// Frames that came to the pair's receive ring, by sender.
    std::map<std::uint8_t, Numbers>& receive(unsigned pair) {
        hostile::Virtqueue& from_switch = ring(2 * pair);
        while (const auto used = from_switch.reap()) {
            const std::uint8_t* frame =
                memory_.at(buffer_at(2 * pair, used->id % kEntries)) + sizeof(hostile::FrameHeader);
            std::uint32_t number = 0;
            std::memcpy(&number, frame + kFrameBytes - sizeof(number), sizeof(number));
            received_[pair][sender_of(frame)].push_back(number);
        }
        while (from_switch.free() != 0) {
            const hostile::Buffer buffer{buffer_at(2 * pair, from_switch.next()), kBufferBytes,
                                         hostile::kWrite};
            from_switch.add({&buffer, 1});
        }
        return received_[pair];
    }

  private:
    static constexpr std::uint64_t kRingBytes = 0x4000;
    static constexpr std::uint64_t kBuffersAt = 0x10'0000;
    static constexpr std::uint32_t kBufferBytes = 2048;
    static constexpr std::size_t kFrameBytes = 100;

    [[nodiscard]] static std::uint64_t buffer_at(std::uint32_t number, std::uint16_t slot) {
        return kBuffersAt + (std::uint64_t{number} * kEntries + slot) * kBufferBytes;
    }
    [[nodiscard]] hostile::Virtqueue& ring(std::uint32_t number) {
        return packed_ ? static_cast<hostile::Virtqueue&>(packed_rings_[number]) : split_rings_[number];
    }

    bool connect(unsigned pairs) {
        const std::uint64_t wanted =
            hostile::mask(hostile::kVersion1, hostile::kProtocolFeatures, hostile::kMultiqueue) |
            (packed_ ? hostile::mask(hostile::kPackedRing) : 0);
        const hostile::RegionTable table = memory_.guarded_table();
        if (!frontend_.reconnect() || (wanted & ~frontend_.ask(hostile::kGetFeatures).value_or(0)) != 0 ||
            !frontend_.ask(hostile::kGetProtocolFeatures) || !frontend_.send(hostile::kSetOwner) ||
            !frontend_.send(hostile::kSetProtocolFeatures, std::uint64_t{1}) ||
            !frontend_.send(hostile::kSetFeatures, wanted) ||
            !frontend_.send(hostile::kSetMemTable, hostile::bytes_of(table), memory_.guarded_files()))
            return false;
        for (unsigned pair = 0; pair < pairs; ++pair)
            if (!set_up_ring(2 * pair) || !set_up_ring(2 * pair + 1))
                return false;
        return frontend_.ask(hostile::kGetFeatures).has_value();
    }
    bool set_up_ring(std::uint32_t number) {
        hostile::Virtqueue& one = ring(number);
        const std::uint64_t index = number;
        const std::uint32_t base =
            packed_ ? one.base() : split_rings_[number].used_index().load(std::memory_order_acquire);
        if (number % 2 == 0)
            receive(number / 2);  // offers its buffers
        return frontend_.send_ring(hostile::kSetVringNum, number, kEntries) &&
               frontend_.send_ring(hostile::kSetVringBase, number, base) &&
               frontend_.send(hostile::kSetVringAddr, one.addresses(number)) &&
               frontend_.send(hostile::kSetVringCall, index, {call_.number()}) &&
               frontend_.send(hostile::kSetVringKick, index, {kicks_[number].number()}) &&
               frontend_.send_ring(hostile::kSetVringEnable, number, 1);
    }

    hostile::Tally tally_;
    hostile::Endpoint endpoint_;
    hostile::Frontend frontend_;
    bool packed_;
    hostile::GuestMemory memory_;
    std::vector<hostile::SplitRing> split_rings_;
    std::vector<hostile::PackedRing> packed_rings_;
    std::vector<hostile::File> kicks_;
    hostile::File call_ = hostile::File::event();
    std::array<std::uint32_t, kPairsMost> sent_{};
    std::array<std::map<std::uint8_t, Numbers>, kPairsMost> received_;
};

/// The switch's side: a vNIC that two workers serve.
class SpreadVnic {
  public:
    /// Sender of the frames that a worker gives.
    static constexpr std::uint8_t worker_address(unsigned server) {
        return static_cast<std::uint8_t>(0x80 + server);
    }

    SpreadVnic() {
        config_.name = "vm1";
        config_.socket = folder_.file("vm1.sock");
        config_.mode = VhostMode::kServer;
        config_.queues = kPairsMost;
        driver_.add(config_, port_);
    }
    ~SpreadVnic() { driver_.remove(config_.socket); }
    SpreadVnic(const SpreadVnic&) = delete;
    SpreadVnic& operator=(const SpreadVnic&) = delete;

    [[nodiscard]] const std::string& socket() const { return config_.socket; }
    [[nodiscard]] VhostPort& port() { return port_; }
    [[nodiscard]] Quiescence& quiescence() { return quiescence_; }
    [[nodiscard]] VhostRings& rings(unsigned server) { return port_.rings(server); }
    [[nodiscard]] std::array<std::uint16_t, kSpreadOver> ring_counts() {
        return {rings(0).rings(), rings(1).rings()};
    }
    /// Takes all frames that the guest has put into the server's rings. @return all until now, by pair
    std::map<std::uint8_t, Numbers>& take(unsigned server) {
        std::array<rte_mbuf*, limits::kBurst> frames;
        while (const std::uint16_t count = rings(server).rx_burst(frames.data(), limits::kBurst)) {
            for (std::uint16_t i = 0; i < count; ++i)
                taken_[server][sender_of(rte_pktmbuf_mtod(frames[i], const std::uint8_t*))].push_back(
                    number_of(frames[i]));
            rte_pktmbuf_free_bulk(frames.data(), count);
            if (rings(server).owes_chains())
                rings(server).return_chains();
        }
        return taken_[server];
    }
    /// Gives the guest the worker's next frame. @return whether there was room
    bool give(unsigned server) {
        rte_mbuf* frame =
            to_mbuf(buffer_pool(), numbered(mac(9), mac(worker_address(server)), 100, given_[server]));
        if (rings(server).tx_burst(&frame, 1) == 0) {
            rte_pktmbuf_free(frame);
            return false;
        }
        ++given_[server];
        return true;
    }
    /// The first server's worker takes buffers of this pool from now on.
    void serve_from(rte_mempool* pool) { port_.serve(server(0, pool)); }
    /// Of the next frame that the guest has put into the first server's rings; null: there is none.
    rte_mempool* pool_of_next() {
        rte_mbuf* frame = nullptr;
        if (rings(0).rx_burst(&frame, 1) == 0)
            return nullptr;
        rte_mempool* pool = frame->pool;
        rte_pktmbuf_free(frame);
        if (rings(0).owes_chains())
            rings(0).return_chains();
        return pool;
    }
    [[nodiscard]] std::uint32_t given(unsigned server) const { return given_[server]; }

  private:
    Quiescence quiescence_{(buffer_pool(), kSpreadOver)};
    std::array<Notifier, kSpreadOver> notifiers_;
    SignalRelay relay_;
    [[nodiscard]] VhostPort::Server server(WorkerId worker, rte_mempool* pool) {
        return {.notifier = &notifiers_[worker],
                .access = &quiescence_.access(worker),
                .wakeups = &quiescence_.wakeups(worker),
                .pool = pool,
                .relay = &relay_};
    }
    VhostPort port_{kPairsMost, std::array{server(0, buffer_pool()), server(1, buffer_pool())}};
    weir::test::TempFolder folder_;
    VnicConfig config_;
    VhostDriver driver_{quiescence_};
    std::array<std::map<std::uint8_t, Numbers>, kSpreadOver> taken_;
    std::array<std::uint32_t, kSpreadOver> given_{};
};

/// `count` frames of each of the first two pairs, and as many of each worker.
void send_and_give(PairsGuest& guest, SpreadVnic& vnic, unsigned count) {
    for (unsigned i = 0; i < count; ++i)
        for (const std::uint8_t n : kBoth) {
            CHECK(guest.send(n));
            CHECK(vnic.give(n));
        }
}

/// Each frame until now came once, in order, and to the side of its pair alone.
void check_all_came(PairsGuest& guest, SpreadVnic& vnic) {
    for (const std::uint8_t n : kBoth) {
        CHECK(vnic.take(n).size() == 1);
        CHECK(vnic.take(n)[n] == first_numbers(guest.sent(n)));
        CHECK(guest.receive(n).size() == 1);
        CHECK(guest.receive(n)[SpreadVnic::worker_address(n)] == first_numbers(vnic.given(n)));
    }
}

}  // namespace

TEST_CASE("each worker has the pairs of its own, in both directions") {
    const bool packed = GENERATE(false, true);
    CAPTURE(packed);
    SpreadVnic vnic;
    PairsGuest guest(vnic.socket(), packed);
    REQUIRE(guest.start(2));
    CHECK(vnic.ring_counts() == std::array<std::uint16_t, 2>{1, 1});
    send_and_give(guest, vnic, 40);
    check_all_came(guest, vnic);
    REQUIRE(guest.set_up(2));
    CHECK(vnic.ring_counts() == std::array<std::uint16_t, 2>{2, 1});
    for (int i = 0; i < 40; ++i)
        CHECK(guest.send(2));
    CHECK(vnic.take(1).size() == 1);
    CHECK(vnic.take(0).size() == 2);
    CHECK(vnic.take(0)[2] == first_numbers(40));
    while (vnic.give(0)) {  // one flow: one of the two rings
    }
    CHECK(guest.receive(1).size() == 1);
    std::size_t came = 0;
    for (const unsigned pair : {0U, 2U})
        came += guest.receive(pair)[SpreadVnic::worker_address(0)].size();
    CHECK(came == vnic.given(0));
    CHECK(vnic.rings(0).ring_errors() + vnic.rings(1).ring_errors() == 0);
}

TEST_CASE("both workers' rings go on where they were when messages change them") {
    const bool packed = GENERATE(false, true);
    CAPTURE(packed);
    SpreadVnic vnic;
    PairsGuest guest(vnic.socket(), packed);
    REQUIRE(guest.start(2));
    for (int round = 0; round < 8; ++round) {  // 160 frames are several times around the ring
        send_and_give(guest, vnic, 20);
        if (round % 2 == 0)
            check_all_came(guest, vnic);  // else the frames wait in the rings
        REQUIRE(guest.enable(1, false));
        CHECK(vnic.ring_counts() == std::array<std::uint16_t, 2>{1, 0});
        CHECK_FALSE(vnic.give(1));
        vnic.take(1);
        vnic.take(0);
        REQUIRE(guest.enable(1, true));
        CHECK(vnic.ring_counts() == std::array<std::uint16_t, 2>{1, 1});
        check_all_came(guest, vnic);
    }
}

TEST_CASE("frames of a disabled transmit ring are taken and marked, and none comes when it is enabled") {
    const bool packed = GENERATE(false, true);
    CAPTURE(packed);
    SpreadVnic vnic;
    PairsGuest guest(vnic.socket(), packed);
    REQUIRE(guest.start(2));
    VhostRings& rings = vnic.rings(1);
    // Frames that come now, and whether all are of a disabled ring.
    const auto take = [&rings](bool disabled) {
        rte_mbuf* frame = nullptr;
        unsigned count = 0;
        for (; rings.rx_burst(&frame, 1) == 1; ++count) {
            CHECK(rings.ring_is_disabled() == disabled);
            rte_pktmbuf_free(frame);
        }
        return count;
    };
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 5; ++i)
            CHECK(guest.send(1));  // they stand in the ring when it is disabled
        REQUIRE(guest.enable(1, false));
        CHECK(take(true) == 5);
        CHECK(guest.send(1));
        CHECK(take(true) == 1);
        CHECK(guest.all_taken(1));
        CHECK(guest.send(0));  // of an enabled ring
        CHECK(vnic.take(0)[0].size() == static_cast<std::size_t>(round) + 1);
        CHECK_FALSE(vnic.rings(0).ring_is_disabled());
        REQUIRE(guest.enable(1, true));
        CHECK(take(false) == 0);
        CHECK(guest.send(1));
        CHECK(take(false) == 1);
    }
}

TEST_CASE("both workers' rings go on when the front-end comes again") {
    SpreadVnic vnic;
    PairsGuest guest(vnic.socket(), false);
    for (int round = 0; round < 8; ++round) {
        REQUIRE(guest.start(2));
        CHECK(vnic.rings(0).up());
        CHECK(vnic.rings(1).up());
        send_and_give(guest, vnic, 20);
        check_all_came(guest, vnic);
        send_and_give(guest, vnic, 5);  // the guest's frames are there for the next connection
        guest.frontend().close();
        REQUIRE(until([&] { return !vnic.rings(0).up() && !vnic.rings(1).up(); }));
        CHECK_FALSE(vnic.give(0));
        CHECK_FALSE(vnic.give(1));
    }
    REQUIRE(guest.start(2));
    check_all_came(guest, vnic);
}

TEST_CASE("a worker without a pair gives and takes nothing until the guest has one for it") {
    SpreadVnic vnic;
    PairsGuest guest(vnic.socket(), false);
    CHECK(vnic.ring_counts() == std::array<std::uint16_t, 2>{1, 0});  // before there is a guest
    REQUIRE(guest.start(1));
    CHECK(vnic.ring_counts() == std::array<std::uint16_t, 2>{1, 0});
    VhostRings& idle = vnic.rings(1);
    CHECK(idle.up());
    CHECK(idle.features() == vnic.rings(0).features());
    CHECK_FALSE(vnic.give(1));
    CHECK(vnic.take(1).empty());
    CHECK_FALSE(idle.peek_destination());
    std::array<virtio::RingWatch, limits::kQueuesMax> words;
    CHECK(idle.watch(words) == 0);
    CHECK(idle.ask_for_wake() == Port::Wake::kWill);
    idle.forget_wake();
    CHECK(guest.frontend().send(hostile::kSendRarp, mac(1)));  // the first worker announces the guest
    REQUIRE(guest.is_answered());
    rte_mbuf* frame = nullptr;
    CHECK(idle.rx_burst(&frame, 1) == 0);
    REQUIRE(vnic.rings(0).rx_burst(&frame, 1) == 1);
    rte_pktmbuf_free(frame);
    REQUIRE(guest.set_up(1));
    CHECK(vnic.ring_counts() == std::array<std::uint16_t, 2>{1, 1});
    send_and_give(guest, vnic, 10);
    check_all_came(guest, vnic);
}

TEST_CASE("a kick wakes the worker of its pair, and no other") {
    SpreadVnic vnic;
    PairsGuest guest(vnic.socket(), false);
    REQUIRE(guest.start(2));
    for (const std::uint8_t awake : kBoth) {
        Wakeups& wakeups = vnic.quiescence().wakeups(awake);
        Wakeups& others = vnic.quiescence().wakeups(awake == 0 ? 1 : 0);
        while (wakeups.sleep(0) || others.sleep(0)) {  // events of the set-up
        }
        CHECK(vnic.rings(awake).ask_for_wake() == Port::Wake::kWill);
        guest.kick(awake);
        CHECK(wakeups.sleep(kNanosPerSec));
        CHECK_FALSE(others.sleep(0));
        vnic.rings(awake).forget_wake();
    }
}

TEST_CASE("after a move the buffers are of the new worker's pool, those of an announcement too") {
    SpreadVnic vnic;
    PairsGuest guest(vnic.socket(), GENERATE(false, true));
    const std::unique_ptr<rte_mempool, decltype(&rte_mempool_free)> other(
        rte_pktmbuf_pool_create("other_node", 63, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY),
        rte_mempool_free);
    REQUIRE(other != nullptr);
    REQUIRE(guest.start(2));
    CHECK(guest.send(0));
    CHECK(vnic.pool_of_next() == buffer_pool());
    CHECK(guest.send(0));  // waits in the ring during the move
    vnic.serve_from(other.get());
    CHECK(vnic.pool_of_next() == other.get());
    vnic.port().announce(mac(1));
    CHECK(vnic.pool_of_next() == other.get());
    vnic.serve_from(buffer_pool());
    CHECK(guest.send(0));
    CHECK(vnic.pool_of_next() == buffer_pool());
    CHECK(rte_mempool_full(other.get()) == 1);
}

TEST_CASE("a ring that is stopped is named, whichever worker has it") {
    SpreadVnic vnic;
    PairsGuest guest(vnic.socket(), false);
    REQUIRE(guest.start(2));
    CHECK(vnic.port().ring_fault().empty());
    guest.claim_too_much(1);
    CHECK(vnic.take(0).empty());
    CHECK(vnic.take(1).empty());
    CHECK(vnic.rings(0).ring_errors() == 0);
    CHECK(vnic.rings(1).ring_errors() == 1);
    CHECK(vnic.rings(0).ring_fault().empty());
    CHECK(vnic.port().ring_fault().starts_with("transmit ring of pair 1: "));
    CHECK(vnic.port().ring_fault() == vnic.rings(1).ring_fault());
}

TEST_CASE("no frame is lost or repeated when messages change the rings that two threads poll") {
    SpreadVnic vnic;
    PairsGuest guest(vnic.socket(), GENERATE(false, true));
    REQUIRE(guest.start(2));
    std::atomic<bool> stop{false};
    std::vector<std::thread> workers;
    for (const std::uint8_t server : kBoth)
        workers.emplace_back([&vnic, &stop, server] {
            vnic.quiescence().online(server);
            while (!stop.load(std::memory_order_relaxed)) {
                vnic.take(server);
                vnic.give(server);
                vnic.quiescence().checkpoint(server);
                std::this_thread::yield();
            }
            vnic.quiescence().offline(server);
        });
    for (unsigned round = 0; round < 200; ++round) {
        for (int i = 0; i < 10; ++i)
            for (const unsigned pair : kBoth) {
                guest.send(pair);
                guest.receive(pair);
            }
        CHECK(guest.enable(round % 2, round % 4 < 2));
    }
    for (const unsigned pair : kBoth) {
        CHECK(guest.enable(pair, true));
        CHECK(until([&] {  // the rings have gone round, however late the threads came to run
            guest.send(pair);
            return guest.sent(pair) >= PairsGuest::kEntries &&
                   guest.receive(pair)[SpreadVnic::worker_address(static_cast<std::uint8_t>(pair))].size() >=
                       PairsGuest::kEntries;
        }));
        CHECK(until([&] { return guest.all_taken(pair); }));
    }
    stop = true;
    for (std::thread& worker : workers)
        worker.join();
    check_all_came(guest, vnic);
}
