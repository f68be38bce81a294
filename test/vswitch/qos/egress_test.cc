// egress_test.cc - the rules around the scheduler on a manual clock, with worked numbers: which packets
// bypass, wait, are marked or dropped, and the effect of feedback and allocations on them.
#include "vswitch/qos/egress.h"

#include <array>
#include <deque>
#include <set>
#include <vector>

#include "test/support/amounts.h"
#include "test/support/catch.h"

using namespace weir;
using weir::testing::kGbit;
using weir::testing::kMs;
using weir::testing::kWireFrame;
using Change = DestinationLimits::Change;

namespace {

constexpr VnicId kVnics = 2;
constexpr std::uint32_t kDestinations = 8;
constexpr std::uint64_t kA = 0xA;
constexpr std::uint64_t kB = 0xB;
constexpr std::uint64_t kC = 0xC;

struct Packet {
    VnicId vnic;
    std::uint64_t address;
    bool marked;
};

/// Two vNICs behind one link, called as a worker calls them.
class Host {
  public:
    explicit Host(std::uint64_t capacity) {
        for (VnicId vnic = 0; vnic < kVnics; ++vnic)
            egress.add(vnic, {}, &limiters[vnic], 0);
        egress.set_capacity(capacity, 0);
    }

    enum class Way { kBypassed, kQueued, kMarked, kCongested, kFull };
    Way send(VnicId vnic, std::uint64_t address, std::uint32_t bytes = kWireFrame) {
        const DestinationId destination = egress.find_limit(vnic, address, now);
        if (egress.try_bypass(vnic, destination, &limiters[vnic], bytes, 1, now))
            return Way::kBypassed;
        Packet& packet = packets.emplace_back(Packet{vnic, address, false});
        const auto mark = [&] { packet.marked = true; };
        const auto drop = egress.enqueue(vnic, destination, {&packet, now, bytes, 1, 1}, now, mark);
        if (drop)
            return *drop == DropReason::kDestinationCongested ? Way::kCongested : Way::kFull;
        return packet.marked ? Way::kMarked : Way::kQueued;
    }
    /// @return packets in a row that take this way, at most 10,000
    unsigned count(Way way, VnicId vnic, std::uint64_t address, std::uint32_t bytes = kWireFrame) {
        unsigned sent = 0;
        while (sent < 10'000 && send(vnic, address, bytes) == way)
            ++sent;
        return sent;
    }
    /// @return the addresses of the packets that leave now
    std::vector<std::uint64_t> poll() {
        wheel.advance(now, limits::kWakesPerIteration, [this](TimingWheel::Ids ids) {
            for (const std::uint32_t id : ids) {
                if (id < kVnics)
                    egress.wake(static_cast<VnicId>(id), now);
                else
                    egress.wake_destination(id - kVnics, now);
            }
        });
        std::vector<std::uint64_t> left;
        std::array<PacketRef, limits::kBurst> out;
        for (std::size_t n = out.size(); n == out.size();) {
            n = egress.dequeue_burst(now, out);
            for (std::size_t i = 0; i < n; ++i) {
                const auto& packet = *static_cast<const Packet*>(out[i].packet);
                egress.count_departure(packet.vnic, out[i], address_of);
                left.push_back(packet.address);
            }
        }
        return left;
    }
    Change feedback(VnicId vnic, std::uint64_t address, std::uint64_t rate) {
        return egress.on_feedback(vnic, address, rate, ++sequence, now, address_of);
    }
    Change allocate(VnicId vnic, std::uint64_t address, std::optional<std::uint64_t> rate) {
        return egress.allocate(vnic, address, rate, now, address_of);
    }

    static constexpr auto address_of = [](const PacketRef& ref) {
        return static_cast<const Packet*>(ref.packet)->address;
    };

    Nanos now = kMs;
    std::uint32_t sequence = UINT32_MAX;  // the next is 0: its limiter begins empty
    TimingWheel wheel{kVnics + kDestinations};
    std::array<Limiter, kVnics> limiters;
    std::deque<Packet> packets;
    Egress egress{{.wheel = &wheel,
                   .vnics = kVnics,
                   .destinations = kDestinations,
                   .destination_wheel_id = kVnics,
                   .limits = {.rate_min = kGbit / 1000, .line_rate = 10 * kGbit}}};
};

using Way = Host::Way;

}  // namespace

TEST_CASE("packets bypass until the link's burst is spent, and again when it was earned") {
    Host host(kGbit);  // burst: 100 us of 125 MB/s
    CHECK(host.egress.capacity() == kGbit);
    for (int i = 0; i < 8; ++i)  // 12,304 of 12,500 bytes
        CHECK(host.send(0, kA) == Way::kBypassed);
    CHECK_FALSE(host.egress.can_bypass(1, kWireFrame, host.now));
    host.now += 10'730;  // 196 + 1341.25 bytes
    CHECK_FALSE(host.egress.can_bypass(1, kWireFrame, host.now));
    host.now += 10;
    CHECK(host.send(1, kA) == Way::kBypassed);
}

TEST_CASE("a vNIC's limit and the link are paid together or not at all") {
    Host host(10 * kGbit);
    host.limiters[0].set_profiles(make_profile(kGbit / 10, burst_for_rate(kGbit / 10)), unlimited_profile(),
                                  0);
    for (int i = 0; i < 32; ++i)  // 49,216 of 50,000 bytes: 4 ms of 12.5 MB/s
        CHECK(host.send(0, kA) == Way::kBypassed);
    CHECK(host.send(0, kA) == Way::kQueued);
    // The packet that the limit refused took none of the link's 125,000 bytes: 75,784 are left.
    CHECK_FALSE(host.egress.can_bypass(1, 70'000, host.now));  // vNIC 0 contends until it is asked
    CHECK(host.poll().empty());
    CHECK(host.egress.can_bypass(1, 70'000, host.now));
    host.now += 61'000;  // 784 + 762.5 bytes, and a slot of the wheel
    CHECK(host.poll() == std::vector<std::uint64_t>{kA});
}

TEST_CASE("a destination with an advertised rate waits alone, and is dropped alone") {
    Host host(10 * kGbit);
    REQUIRE(host.feedback(0, kA, kGbit / 100) == Change::kOpened);
    CHECK(host.count(Way::kQueued, 0, kA) == 86);  // 85 frames are 130,730 of 131,072 bytes
    CHECK(host.send(0, kA) == Way::kCongested);
    CHECK(host.send(0, kB) == Way::kBypassed);
    CHECK(host.send(1, kA) == Way::kBypassed);
    host.now += 1'232'500;  // 1538 bytes at 1.25 MB/s are 1.2304 ms, and a slot of the wheel
    CHECK(host.poll().size() == 1);
    CHECK(host.send(0, kA) == Way::kQueued);
}

TEST_CASE("a limiter lets two frames bypass after a pause") {
    Host host(10 * kGbit);
    REQUIRE(host.feedback(0, kA, kGbit / 100) == Change::kOpened);
    host.now += 3 * kMs;  // its burst of 3,076 bytes takes 2.46 ms
    CHECK(host.count(Way::kBypassed, 0, kA) == 2);
}

TEST_CASE("a vNIC's queue marks above 96 KiB; a limited destination's never does") {
    Host host(0);
    REQUIRE(host.feedback(1, kA, kGbit / 100) == Change::kOpened);
    CHECK(host.count(Way::kQueued, 1, kA) == 86);
    CHECK(host.count(Way::kQueued, 0, kA) == 64);  // the 65th finds 98,432 bytes
    CHECK(host.egress.has_room(0));
    CHECK(host.count(Way::kMarked, 0, kA, 32'768) > 0);
    CHECK_FALSE(host.egress.has_room(0));
    CHECK(host.egress.has_room(1));
}

TEST_CASE("a vNIC's queue drops when its slots are used up") {
    Host host(0);
    CHECK(host.count(Way::kQueued, 0, kA, 24) == limits::kQueuePackets);
    CHECK(host.send(0, kA) == Way::kFull);
}

TEST_CASE("packets that wait move to the queue of a destination that opens, and order holds") {
    Host host(0);
    for (const std::uint64_t address : {kA, kB, kA, kB, kA})
        CHECK(host.send(0, address) == Way::kQueued);
    REQUIRE(host.feedback(0, kA, kGbit) == Change::kOpened);
    host.egress.set_capacity(10 * kGbit, host.now);
    host.now += kMs;
    // The limiter's 18,750 bytes pay for all; the two queues take turns.
    CHECK(host.poll() == std::vector<std::uint64_t>{kB, kA, kB, kA, kA});
}

TEST_CASE("what goes to a destination with an allocation is counted, past the queues and through them") {
    Host host(10 * kGbit);
    CHECK(host.egress.usage(0, kA).bytes == 0);
    REQUIRE(host.allocate(0, kA, UINT64_MAX) == Change::kOpened);
    host.now += kMs;
    CHECK(host.send(0, kA, 1000) == Way::kBypassed);
    CHECK(host.send(0, kB, 700) == Way::kBypassed);
    CHECK(host.egress.usage(0, kA).bytes == 1000);
    REQUIRE(host.allocate(0, kA, kGbit / 100) == Change::kChanged);  // 3,076 bytes of burst
    CHECK(host.send(0, kA, 2500) == Way::kBypassed);
    CHECK(host.send(0, kA, 1500) == Way::kQueued);
    CHECK(host.egress.usage(0, kA).bytes == 3500);
    CHECK(host.egress.usage(0, kA).queued == 1500);
    host.now += 4 * kMs;
    CHECK(host.poll().size() == 1);
    CHECK(host.egress.usage(0, kA).bytes == 5000);
    CHECK(host.egress.usage(0, kA).queued == 0);
    CHECK(host.allocate(0, kA, std::nullopt) == Change::kChanged);
    CHECK(host.egress.usage(0, kA).bytes == 0);
    CHECK(host.allocate(0, kB, std::nullopt) == Change::kNotNeeded);
}

TEST_CASE(
    "bytes that an allocation holds back or refuses are counted, those that the receiver holds are not") {
    Host host(10 * kGbit);
    REQUIRE(host.allocate(0, kA, kGbit / 100) == Change::kOpened);
    host.now += kMs;
    CHECK(host.count(Way::kQueued, 0, kA) == 86);  // the next one is refused
    const Egress::Usage held = host.egress.usage(0, kA);
    CHECK(held.queued > limits::kQueueBytesMax / 2);
    CHECK(held.refused == kWireFrame);
    REQUIRE(host.feedback(0, kA, kGbit / 1000) == Change::kChanged);
    CHECK(host.send(0, kA) == Way::kCongested);
    const Egress::Usage by_receiver = host.egress.usage(0, kA);
    CHECK(by_receiver.queued == 0);
    CHECK(by_receiver.refused == held.refused);
}

TEST_CASE("a table without a free place says so, and the destination stays unlimited") {
    Host host(10 * kGbit);
    for (std::uint64_t address = 1; address <= kDestinations; ++address)
        REQUIRE(host.feedback(0, address, kGbit) == Change::kOpened);
    CHECK(host.feedback(0, 99, kGbit) == Change::kFull);
    CHECK(host.allocate(0, 99, kGbit) == Change::kFull);
    CHECK(host.send(0, 99) == Way::kBypassed);
}

TEST_CASE("a sweep halves a rate without feedback, and erases a limiter that is idle and empty") {
    Host host(10 * kGbit);
    REQUIRE(host.feedback(0, kA, kGbit / 100) == Change::kOpened);
    CHECK(host.count(Way::kQueued, 0, kA, 8 * kWireFrame) > 1);
    const DestinationId destination = host.egress.limits().find(0, kA);
    host.now += 100 * kMs;
    host.egress.sweep(host.now);
    CHECK(host.egress.limits().rate(destination) == kGbit / 200);
    host.now += 2100 * kMs;
    host.egress.sweep(host.now);
    CHECK(host.egress.limits().size() == 1);  // packets wait in it
    while (host.egress.backlogged()) {
        host.now += kMs;
        (void)host.poll();
    }
    host.egress.sweep(host.now);
    CHECK(host.egress.limits().size() == 0);
    CHECK(host.send(0, kA) == Way::kBypassed);
}

TEST_CASE("a vNIC that goes gives back all that waits") {
    Host host(0);
    REQUIRE(host.feedback(0, kA, kGbit) == Change::kOpened);
    CHECK(host.send(0, kA) == Way::kQueued);
    CHECK(host.send(0, kB) == Way::kQueued);
    CHECK(host.send(1, kA) == Way::kQueued);
    unsigned dropped = 0;
    host.egress.remove(0, host.now, [&](const PacketRef& ref) {
        dropped += static_cast<const Packet*>(ref.packet)->vnic == 0;
    });
    CHECK(dropped == 2);
    CHECK(host.egress.limits().size() == 0);
    host.egress.set_capacity(kGbit, host.now);
    host.now += kMs;
    CHECK(host.poll().size() == 1);
}

TEST_CASE("without isolation a vNIC's own queue is respected, and nothing is charged") {
    Host host(0);
    CHECK(host.egress.try_bypass_unisolated(0, kNoDestination, 1'000'000));
    REQUIRE(host.allocate(0, kA, 1) == Change::kOpened);
    CHECK(host.egress.try_bypass_unisolated(0, host.egress.find_limit(0, kA, host.now), 500));
    CHECK(host.egress.usage(0, kA).bytes == 500);
    CHECK(host.send(0, kB) == Way::kQueued);
    CHECK_FALSE(host.egress.try_bypass_unisolated(0, kNoDestination, 100));
    CHECK(host.egress.try_bypass_unisolated(1, kNoDestination, 100));
}

TEST_CASE("without isolation no frame overtakes one that waits for the same destination") {
    Host host(0);
    REQUIRE(host.allocate(0, kA, 1) == Change::kOpened);
    CHECK(host.send(0, kA) == Way::kQueued);
    CHECK_FALSE(host.egress.try_bypass_unisolated(0, host.egress.find_limit(0, kA, host.now), 100));
    CHECK(host.egress.try_bypass_unisolated(0, kNoDestination, 100));
}

TEST_CASE("limiters below 1 Gbit/s get no super-frames") {
    Host host(10 * kGbit);
    CHECK(host.egress.takes_super_frames(0, kA));
    REQUIRE(host.feedback(0, kA, limits::kSuperFrameRateMin) == Change::kOpened);
    CHECK(host.egress.takes_super_frames(0, kA));
    REQUIRE(host.feedback(0, kA, limits::kSuperFrameRateMin - 1) == Change::kChanged);
    CHECK_FALSE(host.egress.takes_super_frames(0, kA));
    CHECK(host.egress.takes_super_frames(1, kA));
}

TEST_CASE("destinations are noted until the controller allocates a rate to them") {
    Host host(10 * kGbit);
    const auto noted = [&] {
        for (const std::uint64_t address : {kA, kC})
            (void)host.send(0, address, 100);
        DestinationSample::Taken taken;
        host.egress.take_destinations(taken);
        std::set<std::uint64_t> addresses;
        for (std::size_t i = 0; i < taken.count; ++i)
            addresses.insert(taken.seen[i].address);
        return addresses;
    };
    CHECK(noted() == std::set<std::uint64_t>{kA, kC});
    REQUIRE(host.feedback(0, kA, kGbit) == Change::kOpened);
    CHECK(noted() == std::set<std::uint64_t>{kA, kC});
    REQUIRE(host.allocate(0, kA, UINT64_MAX) == Change::kChanged);
    CHECK(noted() == std::set<std::uint64_t>{kC});
    REQUIRE(host.allocate(0, kA, std::nullopt) == Change::kChanged);
    CHECK(noted() == std::set<std::uint64_t>{kA, kC});
}
