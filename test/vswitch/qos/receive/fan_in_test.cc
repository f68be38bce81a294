// fan_in_test.cc - which sender gets the next place in a receiver's ring.
#include "vswitch/qos/receive/fan_in.h"

#include <algorithm>
#include <map>

#include "test/support/amounts.h"
#include "test/support/catch.h"
#include "test/support/random.h"

using namespace weir;
using testing::kMbit;

namespace {

constexpr VnicId kFannedVm = 9;

PacketRef waiting_packet(std::uint64_t number, std::uint32_t bytes = 1538) {
    return {reinterpret_cast<void*>(number), 0, bytes, 1, 1};
}
std::uint64_t waiting_number(const PacketRef& packet) {
    return reinterpret_cast<std::uint64_t>(packet.packet);
}

/// @param own packets of each sender, and of each group at a receiver; four times as many are common
FanIn::Room room_for(std::uint32_t receivers, std::uint32_t own) {
    return {receivers,
            {kFromWorkers, own, 4 * own},
            {static_cast<std::uint32_t>(FanIn::kGroups) * receivers, own, 4 * own}};
}

/// A receiver that takes frames at a rate, and senders that always have some.
struct Fan {
    struct Sender {
        SenderClaim claim;
        std::uint32_t frame = 1538;
        std::uint64_t bytes = 0;  // delivered
        std::uint64_t offered = 0;
        bool busy = true;
    };
    std::map<SenderId, Sender> senders;
    FanIn fan{room_for(16, 1024)};
    Nanos now = kNanosPerSec;

    /// @param rate bytes per second
    void run(std::uint64_t rate, Nanos duration, Nanos step = 20'000) {
        double credit = 0;
        for (const Nanos end = now + duration; now < end; now += step) {
            for (auto& [id, sender] : senders)
                while (sender.busy && fan.bytes(kFannedVm, id) < 64 * 1024)
                    REQUIRE(fan.push(kFannedVm, id, sender.claim,
                                     waiting_packet(++sender.offered, sender.frame), now));
            credit += static_cast<double>(rate) * static_cast<double>(step) / 1e9;
            while (credit > 0 && fan.stage(kFannedVm, 8, now) != 0)
                fan.pop(kFannedVm, [&](const PacketRef& packet, SenderId sender) {
                    credit -= packet.bytes;
                    senders[sender].bytes += packet.bytes;
                });
        }
    }
    void restart() {
        for (auto& [id, sender] : senders)
            sender.bytes = 0;
    }
    [[nodiscard]] double mbit(SenderId id, Nanos span) {
        return static_cast<double>(senders[id].bytes) * 8e3 / static_cast<double>(span);
    }
};

}  // namespace

TEST_CASE("eight senders flood a VM that takes 1 Gbit/s: the reserved one has its 250 Mbit/s in 1 ms") {
    Fan fan;
    for (SenderId id = 0; id < 8; ++id)
        fan.senders[id] = {};
    fan.senders[3].claim.reservation = 250 * kMbit;
    fan.run(1000 * kMbit, 1'000'000);
    CHECK(fan.mbit(3, 1'000'000) > 225);  // a frame is 12 Mbit/s of a millisecond
    fan.restart();
    fan.run(1000 * kMbit, 200'000'000);
    CHECK(fan.mbit(3, 200'000'000) == Approx(250).epsilon(0.01));
    for (SenderId id = 0; id < 8; ++id)
        if (id != 3)
            CHECK(fan.mbit(id, 200'000'000) == Approx(750.0 / 7).epsilon(0.01));
}

TEST_CASE("without reservations senders share a receiver by their shares, whatever their frames' sizes") {
    Fan fan;
    fan.senders[0] = {.claim = {.shares = 300}, .frame = 88};
    fan.senders[1] = {.claim = {.shares = 100}, .frame = 9038};
    fan.senders[kFromWire] = {.claim = {.shares = 100}};
    fan.run(1000 * kMbit, 300'000'000);
    CHECK(fan.mbit(0, 300'000'000) == Approx(600).epsilon(0.01));
    CHECK(fan.mbit(1, 300'000'000) == Approx(200).epsilon(0.01));
    CHECK(fan.mbit(kFromWire, 300'000'000) == Approx(200).epsilon(0.01));
}

TEST_CASE(
    "a reservation that is not used is given to the others, and earns no more than half a millisecond") {
    Fan fan;
    fan.senders[1] = {};
    fan.senders[2] = {.claim = {.reservation = 900 * kMbit}};
    fan.run(1000 * kMbit, 1'000'000);
    fan.senders[2].busy = false;
    fan.run(1000 * kMbit, 100'000'000);
    CHECK(fan.mbit(1, 100'000'000) > 990);
    fan.senders[2] = {.claim = {.reservation = 100 * kMbit}};
    fan.fan.change(2, {.reservation = 100 * kMbit}, fan.now);
    fan.restart();
    fan.run(1000 * kMbit, 10'000'000);
    CHECK(fan.mbit(2, 10'000'000) == Approx(500).epsilon(0.02));
}

TEST_CASE("a limit over the whole is kept, and reservations count below it") {
    Fan fan;
    fan.fan.set_limit(kFannedVm, make_profile(100 * kMbit, 10'000), fan.now);
    fan.senders[0] = {.claim = {.reservation = 60 * kMbit}};
    fan.senders[1] = {};
    fan.run(1000 * kMbit, 500'000'000);
    CHECK(fan.mbit(0, 500'000'000) == Approx(60).epsilon(0.01));
    CHECK(fan.mbit(1, 500'000'000) == Approx(40).epsilon(0.02));
    CHECK_FALSE(fan.fan.admit(kFannedVm, 100, fan.now));  // frames wait
    fan.fan.drain_receiver(kFannedVm, [](const PacketRef&, SenderId) {});
    fan.now += 10'000'000;
    CHECK(fan.fan.admit(kFannedVm, 5000, fan.now));
    CHECK(fan.fan.admit(kFannedVm, 5000, fan.now));
    CHECK_FALSE(fan.fan.admit(kFannedVm, 1538, fan.now));
    fan.fan.give_back(kFannedVm, 5000);
    CHECK(fan.fan.admit(kFannedVm, 1538, fan.now));
}

TEST_CASE("one sender may wait for a few receivers only, and one that goes leaves nothing behind") {
    FanIn fan(room_for(64, 16));
    const Nanos now = kNanosPerSec;
    for (VnicId to = 0; to < FanIn::kReceiversPerSender; ++to)
        CHECK(fan.push(to, 5, {}, waiting_packet(to), now));
    CHECK_FALSE(fan.push(40, 5, {}, waiting_packet(1), now));
    CHECK(fan.push(40, 6, {}, waiting_packet(1), now));
    CHECK(fan.waiting().size() == FanIn::kReceiversPerSender + 1);
    std::uint32_t dropped = 0;
    CHECK(fan.stage(3, 8, now) == 1);
    fan.drain_sender(
        5, [&](const PacketRef& packet, VnicId receiver) { dropped += waiting_number(packet) == receiver; });
    CHECK(dropped == FanIn::kReceiversPerSender);
    CHECK(fan.waiting().size() == 1);
    CHECK(fan.bytes(3, 5) == 0);
    CHECK(fan.push(41, 5, {}, waiting_packet(2), now));
    fan.drain_receiver(40, [&](const PacketRef&, SenderId sender) { CHECK(sender == 6); });
    fan.drain_receiver(41, [](const PacketRef&, SenderId) {});
    CHECK(fan.empty());
    CHECK(fan.has_room(5, 16 + 32));
    CHECK_FALSE(fan.has_room(5, 16 + 33));
}

TEST_CASE("picked packets of others keep their order when a sender goes") {
    FanIn fan(room_for(4, 16));
    for (std::uint64_t i = 1; i <= 6; ++i)
        REQUIRE(fan.push(0, static_cast<SenderId>(i % 2), {}, waiting_packet(i, 4000), 0));
    CHECK(fan.stage(0, 5, 0) == 5);
    fan.drain_sender(0, [](const PacketRef& packet, VnicId) { CHECK(waiting_number(packet) % 2 == 0); });
    std::uint64_t last = 0;
    while (fan.stage(0, 8, 0) != 0)
        fan.pop(0, [&](const PacketRef& packet, SenderId sender) {
            CHECK(sender == 1);
            CHECK(waiting_number(packet) > last);
            last = waiting_number(packet);
        });
    CHECK(last == 5);
    CHECK(fan.empty());
}

TEST_CASE("whatever is pushed, picked, dropped and taken, every packet comes out once and in order") {
    testing::Random32 random(7);
    FanIn fan(room_for(8, 40));
    std::map<std::pair<VnicId, SenderId>, std::uint64_t> last;
    std::uint64_t number = 0;
    std::uint64_t in = 0;
    std::uint64_t out = 0;
    Nanos now = 0;
    const auto came = [&](VnicId receiver, const PacketRef& packet, SenderId sender) {
        std::uint64_t& before = last[{receiver, sender}];
        CHECK(waiting_number(packet) > before);
        before = waiting_number(packet);
        ++out;
    };
    constexpr SenderId kSenders[] = {0, 1, 2, 3, kFromWorkers, kFromWire};
    for (unsigned step = 0; step < 20'000; ++step) {
        const auto receiver = static_cast<VnicId>(random() % 8);
        const SenderId sender = kSenders[random() % 6];
        const SenderClaim claim{.reservation = random() % 3 * kMbit * 100,
                                .shares = static_cast<std::uint32_t>(1 + random() % 1000)};
        const unsigned what = random() % 100;
        if (what < 60)
            in += fan.push(receiver, sender, claim,
                           waiting_packet(++number, 64 + static_cast<std::uint32_t>(random() % 9000)), now);
        else if (what < 95)
            for (std::uint32_t left = fan.stage(receiver, 1 + static_cast<std::uint32_t>(random() % 8), now);
                 left > random() % 3; --left)
                fan.pop(receiver,
                        [&](const PacketRef& packet, SenderId from) { came(receiver, packet, from); });
        else if (what < 96)
            fan.drain_receiver(receiver, [&](const PacketRef&, SenderId) { ++out; });
        else if (what < 97 && sender < kFromWorkers)
            fan.drain_sender(sender, [&](const PacketRef&, VnicId) { ++out; });
        else if (what < 98 && sender < kFromWorkers)
            fan.change(sender, claim, now);
        now += random() % 50'000;
    }
    for (VnicId receiver = 0; receiver < 8; ++receiver)
        fan.drain_receiver(receiver, [&](const PacketRef&, SenderId) { ++out; });
    CHECK(in == out);
    CHECK(fan.empty());
    for (SenderId sender = 0; sender < 4; ++sender)
        CHECK(fan.has_room(sender, 40 + 80));
}
