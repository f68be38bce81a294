// delivery_test.cc - the last step towards a VM: frames that it cannot take are finished, refused or
// dropped.
#include "vswitch/datapath/output/delivery.h"

#include <rte_mbuf.h>

#include <numeric>

#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"
#include "vswitch/datapath/frame/frame.h"
#include "vswitch/datapath/frame/offload.h"

using namespace weir;
using namespace weir::testing;

namespace {

/// A VM that receives, and the runs that are sent to it.
struct ReceivingVm {
    explicit ReceivingVm(std::uint32_t mtu = 1500)
        : delivery({.worker = 0,
                    .pool = buffer_pool(),
                    .inboxes = {},
                    .bill = bill,
                    .tap = tap,
                    .source_key = kSourceKey}) {
        VnicConfig config = vm(2);
        config.mtu = mtu;
        path = std::make_unique<VnicPath>(make_fixed(2, 0, &port, config, {}), make_vnic_profile(config, {}),
                                          20'000, 0);
    }

    struct Burst {
        std::vector<rte_mbuf*> frames;
        std::vector<std::uint32_t> bytes;
        std::vector<std::uint16_t> wire_frames;
        Run run{};
    };
    static Burst make(const std::vector<rte_mbuf*>& frames) {
        Burst burst;
        burst.frames = frames;
        for (rte_mbuf* frame : frames) {
            const std::uint16_t parts = offload::wire_frames(frame);
            burst.wire_frames.push_back(parts);
            burst.bytes.push_back(frame->pkt_len + (parts - 1U) * offload::header_bytes(frame) +
                                  parts * kOverhead);
            burst.run.longest = std::max(burst.run.longest, parts > 1 ? 0 : frame->pkt_len);
            burst.run.offload_flags |= frame->ol_flags & kOffloadFlags;
        }
        burst.run.frames = burst.frames.data();
        burst.run.bytes = burst.bytes.data();
        burst.run.wire_frames = burst.wire_frames.data();
        burst.run.count = static_cast<std::uint16_t>(frames.size());
        burst.run.bytes_total = std::accumulate(burst.bytes.begin(), burst.bytes.end(), 0U);
        burst.run.wire_frames_total = std::accumulate(burst.wire_frames.begin(), burst.wire_frames.end(), 0U);
        return burst;
    }
    void send(const std::vector<rte_mbuf*>& frames) {
        const Burst burst = make(frames);
        delivery.deliver({}, *path, burst.run, true);
    }
    void stage(const std::vector<rte_mbuf*>& frames) {
        const Burst burst = make(frames);
        delivery.stage({}, *path, burst.run);
    }
    [[nodiscard]] const DirectionStats& stats() const { return path->stats.to_vm; }

    FakePort port;
    CycleBill bill;
    CaptureTap tap;
    Delivery delivery;
    std::unique_ptr<VnicPath> path;
};

std::vector<rte_mbuf*> numbers(std::uint32_t first, std::uint32_t count, std::size_t bytes = 100) {
    std::vector<rte_mbuf*> frames;
    for (std::uint32_t i = 0; i < count; ++i)
        frames.push_back(to_mbuf(buffer_pool(), numbered(mac(2), mac(1), bytes, first + i)));
    return frames;
}

rte_mbuf* tcp_frame(std::size_t payload) {
    return to_mbuf(buffer_pool(), ethernet(mac(2), mac(1), kIpv4, ipv4(kTcp, tcp(pattern(payload)))));
}

std::uint32_t bad_sums(const FakePort& port) {
    return static_cast<std::uint32_t>(
        std::count_if(port.received.begin(), port.received.end(), [](const rte_mbuf* frame) {
            const FrameBytes bytes = bytes_of(frame);
            return !ip_checksum_good(bytes) || !l4_checksum_good(bytes);
        }));
}

}  // namespace

TEST_CASE("a burst that fits is one call to the port") {
    ReceivingVm vm2;
    vm2.send(numbers(0, 32));
    CHECK(vm2.port.received.size() == 32);
    CHECK(vm2.port.tx_calls == 1);
    CHECK(vm2.stats().delivered.packets == 32);
    CHECK(vm2.stats().delivered.bytes == 32 * (100 + kOverhead));
    CHECK(balanced(vm2.stats()));
}

TEST_CASE("a full ring is tried once more, then the rest is dropped under its reason") {
    ReceivingVm vm2;
    vm2.port.ring_frames = 20;
    vm2.send(numbers(0, 32));
    CHECK(vm2.port.tx_calls == 2);
    CHECK(vm2.port.received.size() == 20);
    CHECK(drops(vm2.stats(), DropReason::kVmRingFull) == 12);
    CHECK(vm2.stats().dropped.bytes == 12 * (100 + kOverhead));
    CHECK(balanced(vm2.stats()));
}

TEST_CASE("what is sent to a VM that is not there is dropped as vm_down") {
    const unsigned before = buffers_in_use();
    ReceivingVm vm2;
    vm2.port.attached = false;
    vm2.send(numbers(0, 5));
    CHECK(drops(vm2.stats(), DropReason::kVmDown) == 5);
    CHECK(balanced(vm2.stats()));
    CHECK(buffers_in_use() == before);
}

TEST_CASE("a frame longer than the receiver's MTU is dropped, its neighbors are not") {
    ReceivingVm vm2;
    std::vector<rte_mbuf*> frames = numbers(0, 3, 1514);
    rte_pktmbuf_free(frames[1]);
    frames[1] = to_mbuf(buffer_pool(), numbered(mac(2), mac(1), 1515, 1));
    vm2.send(frames);
    CHECK(drops(vm2.stats(), DropReason::kMtuExceeded) == 1);
    CHECK(vm2.port.received.size() == 2);
    CHECK(balanced(vm2.stats()));

    ReceivingVm jumbo(9000);
    jumbo.send({to_mbuf(buffer_pool(), numbered(mac(2), mac(1), 9014, 0))});
    CHECK(jumbo.port.received.size() == 1);
}

TEST_CASE("a receiver that wants checksums finished gets them finished") {
    ReceivingVm vm2;
    vm2.send({ask_checksum(tcp_frame(500)), ask_checksum(tcp_frame(501))});
    CHECK(vm2.port.received.size() == 2);
    CHECK(bad_sums(vm2.port) == 0);
    CHECK((vm2.port.received[0]->ol_flags & kOffloadFlags) == 0);
}

TEST_CASE("a receiver that takes unfinished checksums gets the frame as it is") {
    ReceivingVm vm2;
    vm2.port.taken = {.checksum = true};
    vm2.send({ask_checksum(tcp_frame(500))});
    CHECK(vm2.port.tx_calls == 1);
    CHECK((vm2.port.received[0]->ol_flags & RTE_MBUF_F_TX_L4_MASK) == RTE_MBUF_F_TX_TCP_CKSUM);
}

TEST_CASE("a receiver with TSO gets a super-frame whole, and it counts as the one frame that it is") {
    ReceivingVm vm2;
    vm2.port.taken = {.checksum = true, .tso = true};
    vm2.send({ask_segments(tcp_frame(10'000), 1448), tcp_frame(50)});
    CHECK(vm2.port.received.size() == 2);
    CHECK(vm2.port.received[0]->pkt_len == 10'054);
    CHECK(vm2.stats().delivered.packets == 2);
    CHECK(vm2.stats().delivered.bytes == 10'054 + 104 + 2 * kOverhead);
    CHECK(balanced(vm2.stats()));
}

TEST_CASE("a receiver without TSO gets segments, with checksums where it wants them") {
    for (const bool sums : {false, true}) {
        ReceivingVm vm2;
        vm2.port.taken = {.checksum = sums};
        vm2.send({ask_segments(tcp_frame(10'000), 1448), ask_checksum(tcp_frame(50))});
        CHECK(vm2.port.received.size() == 8);
        CHECK(vm2.port.received[6]->pkt_len == 10'000 - 6 * 1448 + 54);
        CHECK(bad_sums(vm2.port) == (sums ? 8 : 0));
        CHECK(vm2.port.tx_calls == 1);
        CHECK(vm2.stats().delivered.packets == 8);
        CHECK(vm2.stats().delivered.bytes == 10'000 + 7 * 54 + 104 + 8 * kOverhead);
        CHECK(balanced(vm2.stats()));
    }
}

TEST_CASE("one frame of a burst that is too long or needs a checksum costs no further write of the ring") {
    ReceivingVm vm2;
    std::vector<rte_mbuf*> burst = numbers(0, 30);
    burst.push_back(ask_checksum(tcp_frame(50)));
    burst.push_back(tcp_frame(3000));
    vm2.send(burst);
    CHECK(vm2.port.received.size() == 31);
    CHECK(vm2.port.tx_calls == 1);
    CHECK(l4_checksum_good(bytes_of(vm2.port.received[30])));
    CHECK(drops(vm2.stats(), DropReason::kMtuExceeded) == 1);
    CHECK(balanced(vm2.stats()));
}

TEST_CASE("segments longer than the receiver's MTU are refused like any frame") {
    ReceivingVm vm2;
    vm2.send({ask_segments(tcp_frame(20'000), 5000)});
    CHECK(vm2.port.received.empty());
    CHECK(drops(vm2.stats(), DropReason::kMtuExceeded) == 4);
    FrameBytes fragment = ethernet(mac(2), mac(1), kIpv4, ipv4(kTcp, tcp(pattern(20'000))));
    write16(fragment, 20, 0x2000);  // a fragment, which the segmenter does not cut
    vm2.send({ask_segments(to_mbuf(buffer_pool(), fragment), 1448)});
    CHECK(vm2.port.received.empty());
    CHECK(drops(vm2.stats(), DropReason::kMtuExceeded) == 5);
    CHECK(balanced(vm2.stats()));
}

TEST_CASE("staged frames leave in order, 32 at a time at most") {
    ReceivingVm vm2;
    vm2.port.ring_frames = 1000;
    std::uint32_t next = 0;
    for (const std::uint32_t count : {5U, 32U, 1U, 30U, 32U}) {
        vm2.stage(numbers(next, count));
        next += count;
    }
    vm2.delivery.flush({});
    REQUIRE(vm2.port.received.size() == 100);
    std::uint32_t out_of_place = 0;
    for (std::uint32_t i = 0; i < 100; ++i)
        out_of_place += number_of(vm2.port.received[i]) != i;
    CHECK(out_of_place == 0);
    CHECK(vm2.port.tx_calls == 4);
    CHECK(balanced(vm2.stats()));
    vm2.delivery.flush({});
    CHECK(vm2.port.tx_calls == 4);
}

TEST_CASE("what a staged frame asks for is honoured also when its run is flushed in two parts") {
    ReceivingVm vm2;
    vm2.stage(numbers(0, 30));
    std::vector<rte_mbuf*> asking;
    for (int i = 0; i < 4; ++i)
        asking.push_back(ask_checksum(tcp_frame(100)));
    vm2.stage(asking);
    vm2.delivery.flush({});
    REQUIRE(vm2.port.received.size() == 34);
    std::uint32_t unfinished = 0;
    for (const rte_mbuf* frame : vm2.port.received)
        unfinished += (frame->ol_flags & kOffloadFlags) != 0;
    CHECK(unfinished == 0);
}

TEST_CASE("a long frame in the first part of a run is still too long") {
    ReceivingVm vm2;
    vm2.stage(numbers(0, 31));
    vm2.stage(numbers(31, 2, 2000));
    vm2.delivery.flush({});
    CHECK(vm2.port.received.size() == 31);
    CHECK(drops(vm2.stats(), DropReason::kMtuExceeded) == 2);
}
