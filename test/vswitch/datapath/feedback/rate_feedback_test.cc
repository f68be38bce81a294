// rate_feedback_test.cc - feedback through a whole switch: which senders get it, which obey, which frames are
// refused.
#include "vswitch/datapath/feedback/rate_feedback.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr FeedbackKey kNoKey{};

SwitchConfig with_feedback(std::uint64_t rate_bps = 1'000'000'000) {
    SwitchConfig config;
    config.uplink.rate_bps = rate_bps;
    config.uplink.headroom = 0.1;
    config.feedback.enabled = true;
    config.feedback.rate_min_bps = 1'000'000;
    return config;
}

FrameBytes datagram(std::uint64_t to, std::uint64_t from, std::size_t payload = 1400) {
    return ethernet(to, from, kIpv4, ipv4(kUdp, udp(pattern(payload))));
}

/// The frame in which a far switch advertises a rate to vm<n>.
FrameBytes feedback(unsigned n, std::uint64_t from, std::uint64_t rate_bps, std::uint32_t sequence,
                    const FeedbackKey& key = kNoKey, std::uint16_t vlan = 0) {
    FeedbackBuffer buffer;
    const std::size_t bytes =
        write_feedback({mac(n), from, vlan, rate_bps / 8, sequence}, datagram(from, mac(n)), key, buffer);
    return {buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(bytes)};
}

/// The payload that a guest would have to send to be taken for a switch, but for the tag.
FrameBytes forged() {
    FrameBytes payload{'W', 'E', 'I', 'R', 1, 0, 0, 0};
    payload.resize(28);
    return payload;
}

void arrive(RingNic& nic, const FrameBytes& frame) {
    nic.arrive(to_mbuf(buffer_pool(), frame));
}

/// Takes all from the wire: bytes of guests' frames by destination, and the feedback messages among them.
struct Taken {
    std::map<std::uint64_t, std::uint64_t> bytes;
    std::vector<FeedbackMessage> messages;
};
void take(RingNic& nic, Taken& taken) {
    for (rte_mbuf* frame : nic.take()) {
        const FrameBytes bytes = bytes_of(frame);
        FeedbackMessage message;
        if (is_feedback(bytes)) {
            REQUIRE(read_feedback(bytes, 0, kNoKey, message) == FeedbackVerdict::kValid);
            taken.messages.push_back(message);
        } else {
            taken.bytes[read_head(frame).destination] += frame->pkt_len + limits::kWireOverheadBytes;
        }
        rte_pktmbuf_free(frame);
    }
}

/// `offer` in every turn of 20 us, for `duration`.
template <typename Offer>
Taken run(SwitchHarness& host, RingNic& nic, Nanos duration, Offer&& offer) {
    Taken taken;
    for (const Nanos end = host.now + duration; host.now < end;) {
        offer();
        host.run(20'000);
        take(nic, taken);
    }
    return taken;
}

}  // namespace

TEST_CASE(
    "a vNIC that receives more than its part of the wire has a rate advertised, in a frame of the far side's "
    "words") {
    RingNic nic;
    SwitchHarness host(with_feedback(), &nic);
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(vm(2));
    host.port(vm1).sink = host.port(vm2).sink = [](const rte_mbuf*) {};
    const Taken taken = run(host, nic, 10'000'000, [&] {  // 20 us at 1 Gbit/s are 2500 bytes
        arrive(nic, datagram(mac(1), kFar));
        arrive(nic, datagram(mac(2), mac(0x98), 900));
    });
    REQUIRE(taken.messages.size() > 10);
    std::uint64_t to_peer = 0;
    for (const FeedbackMessage& message : taken.messages)
        if (message.to == kFar) {
            CHECK(message.from == mac(1));
            to_peer = message.rate;
        }
    CHECK(to_peer >= 1'000'000 / 8);  // it ignores feedback, so the rate falls on
    CHECK(to_peer < 600'000'000 / 8);
    CHECK(host.snapshot_worker(0).feedback.sent == taken.messages.size());
    CHECK(host.snapshot(vm1).advertised_rate > 0);
    CHECK(balanced(host.snapshot_worker(0).uplink.rx));
    CHECK(balanced(host.snapshot_worker(0).uplink.tx));
}

TEST_CASE("a VM sends to a destination what that asked for, and to others what it likes") {
    RingNic nic(1, 4096);
    SwitchHarness host(with_feedback(), &nic);
    const VnicId vm1 = host.add(vm(1));
    arrive(nic, feedback(1, kFar, 100'000'000, 1));
    host.settle();
    CHECK(host.port(vm1).received.empty());
    CHECK(host.snapshot_worker(0).feedback.limiters == 1);
    std::uint32_t sequence = 1;
    const Taken taken = run(host, nic, 100'000'000, [&] {
        if (host.now % 1'000'000 == 0)
            arrive(nic, feedback(1, kFar, 100'000'000, ++sequence));
        for (int i = 0; i < 2; ++i) {
            host.port(vm1).offered.push_back(to_mbuf(buffer_pool(), datagram(kFar, mac(1))));
            host.port(vm1).offered.push_back(to_mbuf(buffer_pool(), datagram(mac(0x98), mac(1), 300)));
        }
    });
    CHECK(static_cast<double>(taken.bytes.at(kFar)) * 80 == Approx(100e6).epsilon(0.02));
    CHECK(static_cast<double>(taken.bytes.at(mac(0x98))) * 80 == Approx(2 * 366 * 8 * 50e3).epsilon(0.02));
    const VnicStats stats = host.stats(vm1);
    CHECK(drops(stats.from_vm, DropReason::kDestinationCongested) > 0);
    CHECK(stats.from_vm.dropped.packets == drops(stats.from_vm, DropReason::kDestinationCongested));
    CHECK(balanced(stats.from_vm));
}

TEST_CASE("forged, malformed, replayed and misdirected feedback changes no rate and is counted") {
    RingNic nic;
    SwitchHarness host(with_feedback(), &nic);
    const VnicId vm1 = host.add(vm(1));
    FeedbackKey other{};
    other[0] = 1;
    arrive(nic, feedback(1, kFar, 1'000'000, 9, other));
    FrameBytes broken = feedback(1, kFar, 1'000'000, 9);
    broken[38] = 2;  // a later version
    arrive(nic, broken);
    arrive(nic, feedback(7, kFar, 1'000'000, 9));
    host.settle();
    FeedbackStats stats = host.snapshot_worker(0).feedback;
    CHECK(stats.forged == 1);
    CHECK(stats.malformed == 1);
    CHECK(stats.unknown == 1);
    CHECK(stats.received == 0);
    CHECK(stats.limiters == 0);

    arrive(nic, feedback(1, kFar, 500'000'000, 10));
    arrive(nic, feedback(1, kFar, 1'000'000, 10));
    arrive(nic, feedback(1, kFar, 1'000'000, 9));
    host.settle();
    stats = host.snapshot_worker(0).feedback;
    CHECK(stats.received == 1);
    CHECK(stats.stale == 2);
    CHECK(host.port(vm1).received.empty());
    CHECK(balanced(host.snapshot_worker(0).uplink.rx));
}

TEST_CASE("a guest's feedback frame is dropped, over IPv4, IPv6 and in a tag") {
    RingNic nic;
    SwitchHarness host(with_feedback(), &nic);
    VnicConfig trusted = vm(2);
    trusted.anti_spoofing = false;
    const VnicId vm1 = host.add(vm(1));
    const VnicId vm2 = host.add(trusted);
    const FrameBytes v4 = ethernet(kFar, mac(1), kIpv4, ipv4(kFeedbackProtocol, forged()));
    const FrameBytes v6 = ethernet(kFar, mac(1), kIpv6, ipv6(kFeedbackProtocol, forged()));
    host.port(vm1).offered = {to_mbuf(buffer_pool(), v4), to_mbuf(buffer_pool(), v6)};
    host.port(vm2).offered = {to_mbuf(buffer_pool(), v4), to_mbuf(buffer_pool(), tagged(v4, 5)),
                              to_mbuf(buffer_pool(), tagged(v6, 5))};
    host.settle();
    CHECK(drops(host.stats(vm1).from_vm, DropReason::kFeedbackUnexpected) == 2);
    CHECK(drops(host.stats(vm2).from_vm, DropReason::kFeedbackUnexpected) == 3);
    CHECK(nic.take().empty());
}

TEST_CASE("packets of protocol 143 are guests', unless feedback is on and they have the switch's magic") {
    for (const bool on : {false, true}) {
        RingNic nic;
        SwitchHarness host(on ? with_feedback() : SwitchConfig{}, &nic);
        const VnicId vm1 = host.add(vm(1));
        const VnicId vm2 = host.add(vm(2));
        const auto packet = [](std::uint64_t to, std::uint64_t from, bool v6, const FrameBytes& content) {
            return v6 ? ethernet(to, from, kIpv6, ipv6(kFeedbackProtocol, content))
                      : ethernet(to, from, kIpv4, ipv4(kFeedbackProtocol, content));
        };
        constexpr std::uint8_t kRouting = 43;
        FrameBytes routed{kFeedbackProtocol, 0, 4, 0, 0, 0, 0, 0};
        const FrameBytes inner = forged();
        routed.insert(routed.end(), inner.begin(), inner.end());
        const FrameBytes behind = ethernet(mac(2), mac(1), kIpv6, ipv6(kRouting, routed));
        for (const bool v6 : {false, true}) {
            for (const std::size_t bytes : {0U, 3U, 4U, 28U, 500U}) {
                for (const std::uint64_t to : {mac(2), kFar})
                    host.port(vm1).offered.push_back(
                        to_mbuf(buffer_pool(), packet(to, mac(1), v6, pattern(bytes))));
                arrive(nic, packet(mac(2), kFar, v6, pattern(bytes)));
            }
            host.port(vm1).offered.push_back(to_mbuf(buffer_pool(), packet(mac(2), mac(1), v6, forged())));
            arrive(nic, packet(mac(2), kFar, v6, forged()));
        }
        host.port(vm1).offered.push_back(to_mbuf(buffer_pool(), behind));
        host.settle();
        CHECK(host.port(vm2).received.size() == 2 * (2 * 5 + (on ? 0U : 2U)) + 1);
        CHECK(nic.drain() != 0);
        CHECK(host.stats(vm1).from_vm.dropped.packets == (on ? 2U : 0U));
        CHECK(drops(host.stats(vm1).from_vm, DropReason::kFeedbackUnexpected) == (on ? 2U : 0U));
        CHECK(host.snapshot_worker(0).feedback.forged == (on ? 2U : 0U));
        CHECK(host.snapshot_worker(0).uplink.rx.dropped.packets == 0);
    }
}

TEST_CASE("feedback that reaches another worker's queue finds the vNIC's own; so does the metering") {
    SwitchConfig config = with_feedback();
    config.workers = {1, 2};
    RingNic nic(2);
    SwitchHarness host(config, &nic);
    VnicConfig second = vm(2);
    second.worker = 1;
    const VnicId vm2 = host.add(second);
    host.port(vm2).sink = [](const rte_mbuf*) {};
    arrive(nic, feedback(2, kFar, 100'000'000, 1));  // queue 0
    host.settle();
    CHECK(host.snapshot_worker(1).feedback.limiters == 1);
    const Taken taken = run(host, nic, 5'000'000, [&] { arrive(nic, datagram(mac(2), kFar)); });
    CHECK(host.snapshot(vm2).received_rate > 0);
    CHECK(host.snapshot_worker(1).feedback.sent > 0);
    CHECK(host.snapshot_worker(0).feedback.sent == 0);
}

TEST_CASE("a vNIC that goes takes its limiters along, and what waits in them is accounted for") {
    const unsigned before = buffers_in_use();
    {
        RingNic nic;
        SwitchHarness host(with_feedback(), &nic);
        const VnicId vm1 = host.add(vm(1));
        arrive(nic, feedback(1, kFar, 1'000'000, 1));
        host.settle();
        for (int i = 0; i < 30; ++i)
            host.port(vm1).offered.push_back(to_mbuf(buffer_pool(), datagram(kFar, mac(1))));
        host.settle();
        CHECK(host.stats(vm1).from_vm.queued.packets > 20);
        host.remove(vm1);
        const WorkerSnapshot after = host.snapshot_worker(0);
        CHECK(after.feedback.limiters == 0);
        CHECK(balanced(after.uplink.tx));
        CHECK(after.uplink.tx.queued.packets == 0);
        for (rte_mbuf* frame : nic.take())
            rte_pktmbuf_free(frame);
    }
    CHECK(buffers_in_use() == before);
}

TEST_CASE("what the controller allocates a rate to is counted and held to its rate, and nothing else is") {
    RingNic nic(1, 4096);
    SwitchConfig config = with_feedback();
    SwitchHarness host(config, &nic);
    const VnicId vm1 = host.add(vm(1));
    std::vector<PeerAllocation> allocations{{kFar, 100'000'000 / 8}, {mac(0x97), UINT64_MAX}};
    host.post(0, command::AllocatePeers{vm1, allocations});
    const auto offer = [&] {
        for (const std::uint64_t to : {kFar, mac(0x98)})
            for (int i = 0; i < 2; ++i)
                host.port(vm1).offered.push_back(
                    to_mbuf(buffer_pool(), datagram(to, mac(1), to == kFar ? 1400 : 300)));
    };
    Taken taken = run(host, nic, 100'000'000, offer);
    CHECK(static_cast<double>(taken.bytes.at(kFar)) * 80 == Approx(100e6).epsilon(0.02));
    CHECK(static_cast<double>(taken.bytes.at(mac(0x98))) * 80 == Approx(2 * 366 * 8 * 50e3).epsilon(0.02));
    std::vector<PeerReading> peers{{.address = kFar}, {.address = mac(0x97)}, {.address = mac(0x98)}};
    host.post(0, command::ReadPeers{vm1, peers});
    CHECK(static_cast<double>(peers[0].bytes) ==
          Approx(static_cast<double>(taken.bytes.at(kFar))).epsilon(0.02));
    CHECK(peers[0].queued > 0);
    CHECK(peers[1].bytes == 0);
    CHECK(peers[2].bytes == 0);  // no allocation
    allocations = {{kFar, std::nullopt}, {mac(0x97), std::nullopt}};
    host.post(0, command::AllocatePeers{vm1, allocations});
    run(host, nic, 50'000'000, [] {});  // frames that waited
    taken = run(host, nic, 100'000'000, offer);
    CHECK(static_cast<double>(taken.bytes.at(kFar)) * 80 > 400e6);
    CHECK(balanced(host.stats(vm1).from_vm));
}

TEST_CASE("addresses over the wire without an allocation are sampled, with feedback and without") {
    const bool is_limited = GENERATE(false, true);
    RingNic nic(1, 4096);
    SwitchHarness host(with_feedback(), &nic);
    const VnicId vm1 = host.add(vm(1));
    if (is_limited)
        arrive(nic, feedback(1, kFar, 100'000'000, 1));
    const auto offer = [&] {
        for (const std::uint64_t to : {kFar, mac(0x98)})
            host.port(vm1).offered.push_back(to_mbuf(buffer_pool(), datagram(to, mac(1), 300)));
    };
    const auto sampled = [&] {
        run(host, nic, 5'000'000, offer);
        DestinationSample::Taken taken;
        host.post(0, command::TakeDestinations{&taken});
        std::set<std::uint64_t> addresses;
        for (std::size_t i = 0; i < taken.count; ++i) {
            CHECK(taken.seen[i].vnic == vm1);
            addresses.insert(taken.seen[i].address);
        }
        return addresses;
    };
    CHECK(sampled() == std::set<std::uint64_t>{kFar, mac(0x98)});
    const std::vector<PeerAllocation> allocations{{kFar, UINT64_MAX}};
    host.post(0, command::AllocatePeers{vm1, allocations});
    (void)sampled();
    CHECK(sampled() == std::set<std::uint64_t>{mac(0x98)});
}

TEST_CASE(
    "a burst to allocated and other destinations: each one's order, the vNIC's limit and every byte are "
    "kept") {
    const auto limit = GENERATE(std::optional<std::uint64_t>{}, std::optional<std::uint64_t>{300'000'000});
    const auto stretch = GENERATE(1U, 5U, 32U);
    CAPTURE(limit.value_or(0), stretch);
    RingNic nic(1, 4096);
    SwitchHarness host(with_feedback(), &nic);
    VnicConfig wanted = vm(1);
    wanted.limit_bps = limit;
    const VnicId vm1 = host.add(wanted);
    const std::array<std::uint64_t, 3> to{kFar, mac(0x98), mac(0x97)};
    std::vector<PeerAllocation> allocations{{to[0], 100'000'000 / 8}, {to[1], UINT64_MAX}};
    host.post(0, command::AllocatePeers{vm1, allocations});

    std::map<std::uint64_t, std::uint32_t> sent_frames;
    std::map<std::uint64_t, std::vector<std::uint32_t>> received;
    std::map<std::uint64_t, std::uint64_t> bytes;
    unsigned at = 0;
    for (const Nanos begin = host.now; host.now < begin + 250'000'000;) {
        if (host.now < begin + 200'000'000 && host.port(vm1).offered.size() < 64)
            for (unsigned i = 0; i < 32; ++i, ++at) {
                const std::uint64_t peer = to[at / stretch % to.size()];
                const std::uint32_t number = sent_frames[peer]++;
                host.port(vm1).offered.push_back(
                    to_mbuf(buffer_pool(), numbered(peer, mac(1), number % 2 == 0 ? 540 : 60, number)));
            }
        host.run(100'000);
        for (rte_mbuf* frame : nic.take()) {
            const std::uint64_t peer = read_head(frame).destination;
            received[peer].push_back(number_of(frame));
            bytes[peer] += frame->pkt_len + limits::kWireOverheadBytes;
            rte_pktmbuf_free(frame);
        }
    }
    for (const std::uint64_t peer : to) {
        CHECK(std::ranges::is_sorted(received[peer], std::ranges::less_equal{}));
        CHECK((peer == to[0] ||
               received[peer].size() == sent_frames[peer]));  // no limiter costs other destinations a frame
    }
    CHECK(bytes[to[0]] * 8 < 25'500'000);
    const std::uint64_t sent = bytes[to[0]] + bytes[to[1]] + bytes[to[2]];
    CHECK((!limit || sent * 8 < 76'500'000));
    std::vector<PeerReading> peers{{.address = to[0]}, {.address = to[1]}};
    host.post(0, command::ReadPeers{vm1, peers});
    CHECK(peers[0].bytes == bytes[to[0]]);
    CHECK(peers[1].bytes == bytes[to[1]]);
    const VnicStats stats = host.stats(vm1);
    CHECK(stats.from_vm.delivered.bytes == sent);
    CHECK(stats.from_vm.queued.packets == 0);
    CHECK(stats.from_vm.dropped.packets == drops(stats.from_vm, DropReason::kDestinationCongested));
    CHECK(balanced(stats.from_vm));
    CHECK(balanced(host.snapshot_worker(0).uplink.tx));
}
