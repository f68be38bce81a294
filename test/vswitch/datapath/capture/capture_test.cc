// capture_test.cc - copies of frames: which ones, with which verdict, and the bounds of their rings.
#include "vswitch/datapath/capture/capture.h"

#include <rte_mbuf.h>

#include <cstring>

#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"

using namespace weir;
using namespace weir::testing;

namespace {

using Way = CapturePoint::Direction;
using Verdict = CaptureVerdict;

/// Captured by every worker from the constructor on.
struct Captured {
    struct Frame {
        CaptureRecord record;
        FrameBytes bytes;
    };
    Captured(SwitchHarness& host, VnicId vnic, const CaptureOrder& order = {},
             std::size_t ring_bytes = 256 * 1024)
        : host_(host) {
        for (const auto& worker : host.workers()) {
            captures.push_back(std::make_unique<Capture>(order, vnic, ring_bytes));
            host.post(worker->id(), command::StartCapture{captures.back().get()});
        }
    }
    ~Captured() {
        for (std::size_t i = 0; i < captures.size(); ++i)
            host_.post(static_cast<WorkerId>(i), command::StopCapture{captures[i].get()});
    }
    [[nodiscard]] std::vector<Frame> take() {
        std::vector<Frame> frames;
        for (const auto& capture : captures)
            for (; !capture->ring.front().empty(); capture->ring.pop()) {
                const auto slot = capture->ring.front();
                Frame& frame = frames.emplace_back();
                std::memcpy(&frame.record, slot.data(), sizeof(CaptureRecord));
                const auto* bytes =
                    reinterpret_cast<const std::uint8_t*>(slot.data()) + sizeof(CaptureRecord);
                frame.bytes.assign(bytes, bytes + frame.record.kept);
            }
        return frames;
    }
    std::vector<std::unique_ptr<Capture>> captures;

  private:
    SwitchHarness& host_;
};

/// vm1 and vm2, and a wire.
struct TwoVms {
    explicit TwoVms(const SwitchConfig& config = {}) : host(config, &nic) {
        host.prompt = true;
        vm1 = host.add(vm(1));
        vm2 = host.add(vm(2));
    }
    void send(std::uint64_t to, std::uint32_t number = 0, std::uint64_t from = mac(1),
              std::size_t bytes = 60) {
        host.port(vm1).offered.push_back(frame(to, from, number, bytes));
    }
    RingNic nic;
    SwitchHarness host;
    VnicId vm1 = kNoVnic;
    VnicId vm2 = kNoVnic;
};

/// Loads the protocol of IPv4 and accepts TCP.
const std::vector<FilterInstruction> kTcpOnly{
    {0x30, 0, 0, 23}, {0x15, 0, 1, 6}, {0x06, 0, 0, 0xFFFF}, {0x06, 0, 0, 0}};

}  // namespace

TEST_CASE("a capture copies a vNIC's frames in both directions, with length, bytes and verdict") {
    TwoVms vms;
    Captured of_vm2(vms.host, vms.vm2);
    vms.send(mac(2), 7, mac(1), 100);
    vms.host.port(vms.vm2).offered.push_back(frame(mac(1), mac(2), 8));
    vms.host.port(vms.vm2).offered.push_back(frame(mac(1), mac(9), 9));  // another's address
    vms.host.settle();
    auto frames = of_vm2.take();
    REQUIRE(frames.size() == 3);
    std::ranges::sort(frames, {}, [](const Captured::Frame& each) { return each.record.length; });
    CHECK(frames[2].record.point.direction == Way::kToVm);
    CHECK(frames[2].record.verdict == Verdict::kForwarded);
    CHECK(frames[2].bytes == numbered(mac(2), mac(1), 100, 7));
    for (const auto& each : {frames[0], frames[1]}) {
        const bool dropped = each.record.verdict == Verdict::kDropped;
        CHECK(each.record.point.direction == Way::kFromVm);
        CHECK(each.record.point.vnic == vms.vm2);
        CHECK(each.bytes == (dropped ? numbered(mac(1), mac(9), 60, 9) : numbered(mac(1), mac(2), 60, 8)));
        CHECK(each.record.reason == (dropped ? DropReason::kMacSpoof : DropReason::kCount));
    }
    vms.host.port(vms.vm2).drain();
    vms.host.port(vms.vm1).drain();
}

TEST_CASE("of long frames the first bytes are kept, also when they are in several buffers") {
    TwoVms vms;
    Captured of_vm1(vms.host, vms.vm1, {.snap = 80});
    const FrameBytes whole = numbered(mac(2), mac(1), 200, 1);
    rte_mbuf* head = to_mbuf(buffer_pool(), FrameBytes(whole.begin(), whole.begin() + 64));
    rte_mbuf* tail = to_mbuf(buffer_pool(), FrameBytes(whole.begin() + 64, whole.end()));
    REQUIRE(rte_pktmbuf_chain(head, tail) == 0);
    vms.host.port(vms.vm1).offered.push_back(head);
    vms.host.settle();
    const auto frames = of_vm1.take();
    REQUIRE(frames.size() == 1);
    CHECK(frames[0].record.length == 200);
    CHECK(frames[0].bytes == FrameBytes(whole.begin(), whole.begin() + 80));
    vms.host.port(vms.vm2).drain();
}

TEST_CASE("a capture of drops has these alone: of one reason, and of each reason the first") {
    TwoVms vms;
    Captured all(vms.host, vms.vm1, {.drops = true});
    Captured spoofed(vms.host, vms.vm1, {.drops = true, .reason = DropReason::kMacSpoof});
    Captured first(vms.host, vms.vm1, {.drops = true, .first = 2});
    for (std::uint32_t i = 0; i < 5; ++i) {
        vms.send(mac(2), i);
        vms.send(mac(2), i, mac(9));
        vms.send(mac(1), i);  // to itself
    }
    vms.host.settle();
    CHECK(all.take().size() == 10);
    const auto frames = spoofed.take();
    CHECK(frames.size() == 5);
    for (const auto& each : frames)
        CHECK(each.record.reason == DropReason::kMacSpoof);
    CHECK(first.take().size() == 4);
    vms.host.port(vms.vm2).drain();
}

TEST_CASE("a filter and a sample choose among the frames") {
    TwoVms vms;
    Captured tcp_only(vms.host, vms.vm1, {.filter = kTcpOnly});
    Captured third(vms.host, vms.vm1, {.every = 3});
    for (std::uint32_t i = 0; i < 6; ++i) {
        vms.send(mac(2), i);
        vms.host.port(vms.vm1).offered.push_back(
            to_mbuf(buffer_pool(), ethernet(mac(2), mac(1), kIpv4, ipv4(kTcp, tcp(pattern(10))))));
    }
    vms.host.settle();
    CHECK(tcp_only.take().size() == 6);
    CHECK(third.take().size() == 4);
    vms.host.port(vms.vm2).drain();
}

TEST_CASE("a filter that jumps back, ends nowhere or is too long is refused") {
    CHECK(valid_filter({}));
    CHECK(valid_filter(kTcpOnly));
    CHECK_FALSE(valid_filter({{0x05, 0, 0, 0xFFFF'FFFF}, {0x06, 0, 0, 1}}));  // a jump by -1
    CHECK_FALSE(valid_filter({{0x28, 0, 0, 12}}));                            // no return
    CHECK_FALSE(valid_filter({{0x15, 7, 0, 1}, {0x06, 0, 0, 1}}));            // a jump outside
    CHECK_FALSE(valid_filter({{0xFFFF, 0, 0, 0}, {0x06, 0, 0, 1}}));          // no such instruction
    std::vector<FilterInstruction> longest(kFilterInstructionsMax, {0x28, 0, 0, 12});
    longest.back() = {0x06, 0, 0, 1};
    CHECK(valid_filter(longest));
    longest.insert(longest.begin(), {0x28, 0, 0, 12});
    CHECK_FALSE(valid_filter(longest));
}

TEST_CASE("frames without room for a copy are forwarded all the same, and counted as missed") {
    TwoVms vms;
    constexpr std::size_t kSlot = sizeof(CaptureRecord) + CaptureOrder::kSnapMin;
    Captured small(vms.host, vms.vm1, {.snap = CaptureOrder::kSnapMin}, 8 * kSlot);
    for (std::uint32_t i = 0; i < 20; ++i)
        vms.send(mac(2), i);
    vms.host.settle();
    CHECK(vms.host.stats(vms.vm2).to_vm.delivered.packets == 20);
    CHECK(small.take().size() == 8);
    CHECK(small.captures[0]->missed == 12);
    vms.send(mac(2), 20);
    vms.host.settle();
    CHECK(small.take().size() == 1);
    vms.host.port(vms.vm2).drain();
}

TEST_CASE("frames that wait are captured when they go on, with the time that they waited") {
    SECTION("for a VM") {
        TwoVms vms;
        Captured of_vm2(vms.host, vms.vm2);
        vms.host.port(vms.vm2).ring_frames = 4;
        for (std::uint32_t i = 0; i < 10; ++i)
            vms.send(mac(2), i);
        vms.host.settle();
        auto frames = of_vm2.take();
        CHECK(frames.size() == 4);
        for (const auto& each : frames)
            CHECK(each.record.queue_delay == 0);
        vms.host.now += 3'000'000;
        vms.host.port(vms.vm2).drain();
        vms.host.turn();
        frames = of_vm2.take();
        REQUIRE(frames.size() == 4);
        for (std::uint32_t i = 0; i < 4; ++i) {
            CHECK(frames[i].record.queue_delay == 3'000'000);
            CHECK(frames[i].bytes == numbered(mac(2), mac(1), 60, 4 + i));
        }
        vms.host.port(vms.vm2).drain();
    }
    SECTION("for their sender's limit") {
        TwoVms vms;
        VnicConfig limited = vm(1);
        limited.limit_bps = 1'000'000;
        vms.host.change(vms.vm1, limited);
        Captured of_vm1(vms.host, vms.vm1);
        for (std::uint32_t i = 0; i < 40; ++i)
            vms.send(mac(2), i, mac(1), 1000);
        vms.host.port(vms.vm2).read_at_once();
        vms.host.run(100'000'000, 1'000'000);
        const auto frames = of_vm1.take();
        CHECK(frames.size() == vms.host.stats(vms.vm1).from_vm.delivered.packets);
        CHECK(frames.size() > 2);
        CHECK(frames.back().record.verdict == Verdict::kForwarded);
    }
}

TEST_CASE("a capture of the uplink has frames of the wire as they come, and those that the NIC takes") {
    TwoVms vms;
    Captured uplink(vms.host, kNoVnic);
    vms.send(kFar, 1);
    vms.nic.arrive(frame(mac(1), kFar, 2));
    vms.nic.arrive(frame(0x0000'00C2'8001, kFar, 3));  // link-local: stays on its link
    vms.host.settle();
    const auto frames = uplink.take();
    const auto count = [&](Way direction, Verdict verdict) {
        return std::ranges::count_if(frames, [&](const Captured::Frame& each) {
            return each.record.point.direction == direction && each.record.verdict == verdict;
        });
    };
    CHECK(count(Way::kToWire, Verdict::kForwarded) == 1);
    CHECK(count(Way::kFromWire, Verdict::kReceived) == 2);
    CHECK(count(Way::kFromWire, Verdict::kDropped) == 1);
    CHECK(frames.size() == 4);
    vms.nic.drain();
    vms.host.port(vms.vm1).drain();
}

TEST_CASE("after its end a capture gets nothing, and the others go on") {
    TwoVms vms;
    Captured stays(vms.host, vms.vm1);
    {
        Captured ends(vms.host, vms.vm1);
        vms.send(mac(2), 1);
        vms.host.settle();
        CHECK(ends.take().size() == 1);
    }
    vms.send(mac(2), 2);
    vms.host.settle();
    CHECK(stays.take().size() == 2);
    CHECK(vms.host.path(vms.vm1).captured);
    vms.host.port(vms.vm2).drain();
}
