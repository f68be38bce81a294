// quotas_test.cc - the parts that may be held add up to the whole, for one vNIC and for as many as a switch
// has: buffers of the pool, places and claims of frames that wait for receivers, connections and requests,
// floods. The parts are read from the constants that the data path is built with.
#include <algorithm>
#include <vector>

#include "test/support/catch.h"
#include "vswitch/datapath/frame/intake.h"
#include "vswitch/datapath/output/delivery.h"
#include "vswitch/datapath/requests/request_path.h"
#include "vswitch/datapath/vnic/flood_queue.h"

using namespace weir;

namespace {

constexpr std::uint32_t kMost = limits::kVnicsMax;
constexpr Nanos kPresent = kNanosPerSec;

/// Buffers of the longest frame of the wire: 9,600 bytes in buffers of 2 KiB.
constexpr std::uint32_t kWireFrameBuffers = 5;

SwitchConfig with_vnics(std::uint32_t vnics, std::size_t workers, std::uint32_t quota) {
    SwitchConfig config;
    config.uplink.device = "net_tap0";
    config.workers.assign(workers, 1);
    config.vnics.assign(vnics, VnicConfig{});
    for (VnicConfig& vnic : config.vnics)
        vnic.buffers = quota;
    return config;
}

PacketRef a_packet(std::uint16_t buffers = 1) {
    static int any;
    return {&any, 0, 84, 1, buffers};
}

/// The vNIC has all waiting that it may, for as many receivers as it may.
void hoard(FanIn& fan, VnicId sender) {
    for (VnicId to = 0; to < FanIn::kReceiversPerSender; ++to)
        (void)fan.push(to, sender, {}, a_packet(), kPresent);
    for (VnicId to = 0; to < FanIn::kReceiversPerSender; ++to)
        while (fan.push(to, sender, {}, a_packet(), kPresent)) {
        }
}

void hoard_for(FanIn& fan, VnicId receiver, SenderId group) {
    while (fan.push(receiver, group, {}, a_packet(), kPresent)) {
    }
}

ConnectionId id_of_connection(VnicId vnic, std::uint32_t number) {
    return (std::uint64_t{vnic} << 20 | number) * 0x9E37'79B9'7F4A'7C15;
}

}  // namespace

TEST_CASE("the pool has a buffer for all that vNICs, rings, and workers may hold at once") {
    const std::uint32_t vnics = GENERATE(1U, 2U, 100U, kMost + 0);
    const std::size_t workers = GENERATE(std::size_t{1}, std::size_t{2}, limits::kWorkersMax);
    const std::uint32_t quota = GENERATE(0U, 64U, 4000U);
    const SwitchConfig config = with_vnics(vnics, workers, quota);
    const std::uint64_t of_senders =
        std::uint64_t{vnics} * (quota == 0 ? limits::kVnicBuffers : std::max(quota, limits::kVnicBuffersMin));
    const SharedRoom::Size& waiting = WaitingFrames::kRoom.buffers;
    const std::uint64_t for_receivers = vnics * FanIn::kGroups * waiting.own + workers * waiting.common;
    const std::uint64_t inboxes =
        workers > 1 ? workers * (limits::kInboxBuffers + limits::kInboxPieceBuffers) : 0;
    const std::uint64_t elsewhere =
        workers * (2 * config.uplink.descriptors + limits::kInFlightBuffers + limits::kCachedBuffers);
    CHECK(pool_buffers(config) >= of_senders + for_receivers + inboxes + elsewhere);
}

TEST_CASE("what no quota counts is less than what the pool has for it") {
    const std::uint32_t split = 3 * Intake::kSegmentsMax + 2 * limits::kFrameBuffersMax;
    const std::uint32_t floods_of_wire = FloodQueue::kMax * kWireFrameBuffers;
    const std::uint32_t copies = FloodRound::kPerTurn + limits::kBurst * kWireFrameBuffers;
    STATIC_REQUIRE(limits::kVnicBuffersMin >= 3 * Intake::kSegmentsMax + 2 * limits::kFrameBuffersMax);
    CHECK(split + floods_of_wire + copies <= limits::kInFlightBuffers);
    STATIC_REQUIRE(limits::kInboxBuffers > limits::kInboxFrames);
}

TEST_CASE("places, claims, connections, and requests are as many as their users' own and what is common") {
    const FanIn::Room& waiting = WaitingFrames::kRoom;
    CHECK(waiting.packets.users == kFromWorkers);
    CHECK(waiting.buffers.users == FanIn::kGroups * limits::kVnicsMax);
    CHECK(waiting.packets.own >= limits::kBurst);
    CHECK(waiting.buffers.own >= limits::kFrameBuffersMax);
    CHECK(FanIn::kSenderClaims.users == kFromWorkers);
    CHECK(FanIn::kSenderClaims.own >= 1);
    CHECK(FanIn::kSenderClaims.total() + FanIn::kGroups * limits::kVnicsMax <= FanIn::kClaimsMax);
    CHECK(limits::kVnicsMax * limits::kConnectionsOwn < limits::kConnectionsMax);
    CHECK(limits::kVnicsMax * limits::kPendingsOwn < limits::kPendingsMax);
    CHECK(limits::kVnicsMax * limits::kStreamBuffersOwn < limits::kStreamBuffersMax);
    CHECK(limits::kRequestFlowsMax < limits::kHeldConnectionsMax);
    CHECK(limits::kRequestFlowsMax < limits::kHeldPacketsMax);
    CHECK(limits::kRequestFlowsMax < limits::kClosedWindowsMax);
}

TEST_CASE("however many senders hoard, every other one has a burst waiting for the receiver that it wants") {
    const std::uint32_t greedy = GENERATE(1U, 2U, 100U, kMost - 1);
    FanIn fan(WaitingFrames::kRoom);
    for (std::uint32_t id = 0; id < greedy; ++id)
        hoard(fan, static_cast<VnicId>(id));
    unsigned refused = 0;
    for (std::uint32_t id = greedy; id < limits::kVnicsMax; ++id)
        for (std::uint32_t i = 0; i < limits::kReceivePacketsOwn; ++i)
            refused += !fan.push(static_cast<VnicId>(id), static_cast<VnicId>(id), {}, a_packet(), kPresent);
    CHECK(refused == 0);
}

TEST_CASE(
    "however many receivers are flooded, the largest frame of the wire and of workers waits for any other") {
    const std::uint32_t flooded = GENERATE(1U, 2U, 100U, kMost - 1);
    FanIn fan(WaitingFrames::kRoom);
    for (std::uint32_t id = 0; id < flooded; ++id) {
        hoard_for(fan, static_cast<VnicId>(id), kFromWorkers);
        hoard_for(fan, static_cast<VnicId>(id), kFromWire);
        hoard(fan, static_cast<VnicId>(id));
    }
    const auto largest = a_packet(static_cast<std::uint16_t>(limits::kFrameBuffersMax));
    unsigned refused = 0;
    for (std::uint32_t id = flooded; id < limits::kVnicsMax; ++id) {
        refused += !fan.push(static_cast<VnicId>(id), kFromWorkers, {}, largest, kPresent);
        refused += !fan.push(static_cast<VnicId>(id), kFromWire, {}, largest, kPresent);
    }
    CHECK(refused == 0);
}

TEST_CASE("a sender whose claims are used up gives one without packets up for the next receiver") {
    FanIn fan(WaitingFrames::kRoom);
    constexpr VnicId kSender = 1023;
    for (VnicId id = 0; id < 1000; ++id)
        hoard(fan, id);
    REQUIRE(fan.push(900, kSender, {}, a_packet(), kPresent));
    CHECK_FALSE(fan.push(901, kSender, {}, a_packet(), kPresent));
    for (unsigned i = 0; i < 200; ++i)
        REQUIRE(fan.push(900, kFromWire, {}, a_packet(), kPresent));
    while (fan.bytes(900, kSender) != 0) {
        REQUIRE(fan.stage(900, 1, kPresent) == 1);
        fan.pop(900, [](const PacketRef&, SenderId) {});
    }
    REQUIRE(fan.waits(900));
    CHECK(fan.push(901, kSender, {}, a_packet(), kPresent));
}

TEST_CASE("however many vNICs fill the table of connections, every other one has its own") {
    const std::uint32_t greedy = GENERATE(1U, 2U, 100U, kMost - 1);
    ConnectionTable table(
        {.connections = limits::kConnectionsMax, .vnics = limits::kVnicsMax, .own = limits::kConnectionsOwn});
    for (std::uint32_t id = 0; id < greedy; ++id)
        for (std::uint32_t number = 0; table.add(id_of_connection(static_cast<VnicId>(id), number),
                                                 static_cast<VnicId>(id), 0, kPresent);
             ++number) {
        }
    unsigned refused = 0;
    for (std::uint32_t id = greedy; id < limits::kVnicsMax; ++id)
        for (std::uint32_t number = 0; number < limits::kConnectionsOwn; ++number)
            refused += table.add(id_of_connection(static_cast<VnicId>(id), number), static_cast<VnicId>(id),
                                 0, kPresent) == nullptr;
    CHECK(refused == 0);
    CHECK(table.size() <= limits::kConnectionsMax);
}

TEST_CASE("however many vNICs have requests outstanding, every other one has records of its own") {
    const std::uint32_t greedy = GENERATE(1U, 2U, 100U, kMost - 1);
    PendingRequests pending(
        SharedRoom::divide(limits::kPendingsMax, limits::kVnicsMax, limits::kPendingsOwn));
    std::vector<TrackedConnection> connections;
    connections.reserve(limits::kPendingsMax);
    const auto ask = [&](std::uint32_t vnic) {
        connections.emplace_back();
        connections.back().vnic = static_cast<VnicId>(vnic);
        pending.add(connections.back(), {}, true, kPresent);
        return pending.is_recorded(connections.back());
    };
    for (std::uint32_t id = 0; id < greedy; ++id)
        while (ask(id)) {
        }
    unsigned refused = 0;
    for (std::uint32_t id = greedy; id < limits::kVnicsMax; ++id)
        for (std::uint32_t number = 0; number < limits::kPendingsOwn; ++number)
            refused += !ask(id);
    CHECK(refused == 0);
}

TEST_CASE("however many service flows have closed windows, every other one can close one") {
    ClosedWindows closed(limits::kRequestFlowsMax, limits::kClosedWindowsMax);
    std::uint64_t id = 0;
    for (std::uint32_t flow = 0; flow < limits::kRequestFlowsMax; ++flow) {
        const std::uint64_t before = closed.count();
        while (closed.close(flow, ++id, {})) {
        }
        CHECK(closed.count() > before);
    }
    CHECK(closed.count() <= limits::kClosedWindowsMax);
}

TEST_CASE("the round of floods has a place for every sender, and each sender a queue of its own") {
    FloodRound round(limits::kVnicsMax + 1);
    std::vector<FloodQueue> senders(limits::kVnicsMax + 1);
    unsigned refused = 0;
    for (FloodQueue& sender : senders)
        for (std::size_t i = 0; i < FloodQueue::kMax; ++i)
            refused += !round.push(sender, {});
    CHECK(refused == 0);
    CHECK(round.waiting().size() == senders.size());
}
