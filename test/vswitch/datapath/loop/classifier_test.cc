// classifier_test.cc - frames of a VM: refused with a reason, or given a destination and a cost.
#include "vswitch/datapath/loop/classifier.h"

#include <rte_ether.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"

using namespace weir;
using namespace weir::testing;

namespace {

/// vNIC 1 (mac 1) sends; vNIC 2 (mac 2) lives in the same VLAN.
struct SendingVm {
    explicit SendingVm(const VnicConfig& vnic = vm(1), Accounting accounting = Accounting::kWire)
        : config{make(accounting)},
          path(make_fixed(1, 0, &port, vnic, config), make_vnic_profile(vnic, config), 20'000, 0),
          macs((buffer_pool(), next_worker++), 300 * kNanosPerSec, nullptr) {
        macs.set_static(mac_key(mac(1), vnic.vlan), 1);
        macs.set_static(mac_key(mac(2), vnic.vlan), 2);
    }
    ~SendingVm() { free_batch(); }

    static SwitchConfig make(Accounting accounting) {
        SwitchConfig config;
        config.accounting = accounting;
        return config;
    }
    void free_batch() {
        rte_pktmbuf_free_bulk(batch.frames.data(), batch.count);
        batch = Batch{};
    }
    /// @return how many frames were accepted
    std::uint16_t send_burst(std::vector<rte_mbuf*> frames) {
        free_batch();
        classify_from_vm(path, macs, unknown, tap, frames.data(), static_cast<std::uint16_t>(frames.size()),
                         feedback, 0, batch);
        return batch.count;
    }
    std::uint16_t send(const FrameBytes& frame) { return send_burst({to_mbuf(buffer_pool(), frame)}); }
    [[nodiscard]] std::uint64_t dropped(DropReason reason) const { return drops(path.stats.from_vm, reason); }

    CaptureTap tap;
    static inline WorkerId next_worker = 0;  // a table's name is its worker's
    SwitchConfig config;
    FakePort port;
    VnicPath path;
    MacTable macs;
    Destination unknown = kToUplink;
    bool feedback = true;
    Batch batch;
};

FrameBytes to(std::uint64_t destination, std::size_t bytes = 60) {
    return numbered(destination, mac(1), bytes, 0);
}

}  // namespace

TEST_CASE("a frame to a known address gets its vNIC, one to an unknown address what the caller says") {
    SendingVm sender;
    CHECK(sender.send(to(mac(2))) == 1);
    CHECK(sender.batch.to[0] == 2);
    CHECK(sender.send(to(mac(9))) == 1);
    CHECK(sender.batch.to[0] == kToUplink);
    sender.unknown = kToAll;
    CHECK(sender.send(to(mac(9))) == 1);
    CHECK(sender.batch.to[0] == kToAll);
}

TEST_CASE("a frame shorter than an Ethernet header is a runt") {
    SendingVm sender;
    FrameBytes runt = to(mac(2));
    runt.resize(13);
    CHECK(sender.send(runt) == 0);
    CHECK(sender.dropped(DropReason::kRunt) == 1);
    CHECK(sender.path.stats.from_vm.offered.bytes == 13 + kOverhead);
    SECTION("also when only its first buffer is") {
        CHECK(sender.send_burst({to_mbuf(buffer_pool(), to(mac(2)), 13)}) == 0);
        CHECK(sender.dropped(DropReason::kRunt) == 2);
    }
}

TEST_CASE("with anti-spoofing a foreign source address is refused, without it it is learned") {
    SendingVm pinned;
    CHECK(pinned.send(numbered(mac(2), mac(7), 60, 0)) == 0);
    CHECK(pinned.dropped(DropReason::kMacSpoof) == 1);
    CHECK(pinned.macs.find(mac_key(mac(7), 0)) == kNowhere);

    VnicConfig open = vm(1);
    open.anti_spoofing = false;
    SendingVm learning(open);
    CHECK(learning.send(numbered(mac(2), mac(7), 60, 0)) == 1);
    CHECK(learning.macs.find(mac_key(mac(7), 0)) == 1);
}

TEST_CASE("a group address is no vNIC's source, anti-spoofing or not") {
    VnicConfig open = vm(1);
    open.anti_spoofing = false;
    SendingVm sender(open);
    CHECK(sender.send(numbered(mac(2), mac(7) | kMacGroupBit, 60, 0)) == 0);
    CHECK(sender.dropped(DropReason::kMacSpoof) == 1);
}

TEST_CASE("a VLAN tag from a guest is refused with anti-spoofing, carried without it") {
    SendingVm pinned;
    CHECK(pinned.send(tagged(to(mac(2)), 10)) == 0);
    CHECK(pinned.send(tagged(to(mac(2)), 10, kQinQ)) == 0);
    CHECK(pinned.dropped(DropReason::kVlanSpoof) == 2);

    VnicConfig open = vm(1);
    open.anti_spoofing = false;
    SendingVm trunk(open);
    CHECK(trunk.send(tagged(to(mac(2)), 10)) == 1);
    CHECK(trunk.batch.frames[0]->pkt_len == 64);
}

TEST_CASE("a priority tag is no VLAN's: it is taken off before anything is judged") {
    SendingVm pinned;
    CHECK(pinned.send(tagged(to(mac(2)), 0xE000)) == 1);
    CHECK((bytes_of(pinned.batch.frames[0]) == to(mac(2))));
    CHECK(pinned.batch.bytes[0] == 60 + kOverhead);
    CHECK(pinned.path.stats.from_vm.offered.bytes == 60 + kOverhead);
    CHECK(pinned.send(tagged(to(mac(2)), 0, kQinQ)) == 1);
    CHECK(pinned.send(tagged(numbered(mac(2), mac(7), 60, 0), 0)) == 0);
    CHECK(pinned.dropped(DropReason::kMacSpoof) == 1);
    CHECK(pinned.send(tagged(tagged(to(mac(2)), 10), 0)) == 0);
    CHECK(pinned.dropped(DropReason::kVlanSpoof) == 1);

    VnicConfig open = vm(1);
    open.anti_spoofing = false;
    SendingVm trunk(open);
    CHECK(trunk.send(tagged(to(mac(2)), 0)) == 1);
    CHECK(trunk.batch.frames[0]->pkt_len == 60);
    CHECK(trunk.send(tagged(tagged(to(mac(2)), 0), 0)) == 0);  // one is enough
    CHECK(trunk.dropped(DropReason::kVlanSpoof) == 1);
}

TEST_CASE("a request for segments behind a priority tag is one for the frame without it") {
    SendingVm sender;
    const FrameBytes frame = ethernet(mac(2), mac(1), kIpv4, ipv4(kTcp, tcp(pattern(10'000))));
    rte_mbuf* asked = ask_segments(to_mbuf(buffer_pool(), frame), 1448);
    asked->vlan_tci = 0;
    REQUIRE(rte_vlan_insert(&asked) == 0);
    asked->l2_len = 18;
    CHECK(sender.send_burst({asked}) == 1);
    CHECK(sender.batch.frames[0]->l2_len == 14);
    CHECK(sender.batch.wire_frames[0] == 7);
    CHECK(sender.batch.bytes[0] == 10'000 + 7 * (54 + kOverhead));
}

TEST_CASE("link-local multicast stays on its link, other groups go to all") {
    SendingVm sender;
    const auto group = [](std::uint8_t last) {
        FrameBytes frame = to(0);
        const FrameBytes address{0x01, 0x80, 0xC2, 0x00, 0x00, last};
        std::copy(address.begin(), address.end(), frame.begin());
        return frame;
    };
    CHECK(sender.send(group(0x00)) == 0);
    CHECK(sender.send(group(0x0F)) == 0);
    CHECK(sender.dropped(DropReason::kReservedMulticast) == 2);
    CHECK(sender.send(group(0x10)) == 1);
    CHECK(sender.batch.to[0] == kToAll);
    CHECK(sender.send(to(kBroadcast)) == 1);
    CHECK(sender.batch.to[0] == kToAll);
    CHECK(sender.send(ethernet(kBroadcast, mac(1), kArp, arp_request())) == 1);
    CHECK(sender.send(ethernet(0x0100'00FF'3333, mac(1), kIpv6, neighbor_solicitation())) == 1);
    CHECK(sender.batch.to[0] == kToAll);
}

TEST_CASE("a frame to the sender's own address is a hairpin") {
    SendingVm sender;
    CHECK(sender.send(to(mac(1))) == 0);
    CHECK(sender.dropped(DropReason::kHairpin) == 1);
}

TEST_CASE("the same address in another VLAN is another address") {
    VnicConfig config = vm(1);
    config.vlan = 10;
    SendingVm sender(config);
    sender.macs.set_static(mac_key(mac(3), 20), 3);
    CHECK(sender.send(to(mac(2))) == 1);
    CHECK(sender.batch.to[0] == 2);
    CHECK(sender.send(to(mac(3))) == 1);
    CHECK(sender.batch.to[0] == kToUplink);
}

TEST_CASE("a burst to one destination is recognised, a mixed one keeps its order") {
    SendingVm sender;
    rte_mempool* pool = buffer_pool();
    CHECK(sender.send_burst({to_mbuf(pool, to(mac(2))), to_mbuf(pool, to(mac(2)))}) == 2);
    CHECK(sender.batch.same_destination);
    CHECK(sender.send_burst(
              {to_mbuf(pool, to(mac(2))), to_mbuf(pool, to(mac(9))), to_mbuf(pool, to(mac(2)))}) == 3);
    CHECK_FALSE(sender.batch.same_destination);
    CHECK(sender.batch.to[0] == 2);
    CHECK(sender.batch.to[1] == kToUplink);
    CHECK(sender.batch.to[2] == 2);
}

TEST_CASE("bytes are wire bytes, or L2 bytes where the configuration says so") {
    SendingVm wire;
    CHECK(wire.send(to(mac(2), 1000)) == 1);
    CHECK(wire.batch.bytes[0] == 1024);
    CHECK(wire.batch.longest == 1000);
    CHECK(wire.path.stats.from_vm.offered.bytes == 1024);
    SendingVm l2(vm(1), Accounting::kL2);
    CHECK(l2.send(to(mac(2), 1000)) == 1);
    CHECK(l2.batch.bytes[0] == 1000);
    CHECK(l2.path.stats.from_vm.offered.bytes == 1000);
}

TEST_CASE("a super-frame costs what its segments cost on the wire") {
    SendingVm sender;
    // 10,000 bytes in segments of 1448: 6 full and one of 1312, each with 54 header bytes of its own.
    const FrameBytes frame = ethernet(mac(2), mac(1), kIpv4, ipv4(kTcp, tcp(pattern(10'000))));
    CHECK(sender.send_burst({ask_segments(to_mbuf(buffer_pool(), frame), 1448)}) == 1);
    CHECK(sender.batch.wire_frames[0] == 7);
    CHECK(sender.batch.bytes[0] == 10'000 + 7 * (54 + kOverhead));
    CHECK(sender.batch.longest == 0);
    CHECK(sender.path.stats.from_vm.offered.packets == 1);
    CHECK(sender.path.stats.from_vm.offered.bytes == 10'000 + 7 * (54 + kOverhead));
}

TEST_CASE("an offload request that does not fit its frame is refused") {
    SendingVm sender;
    const FrameBytes whole = ethernet(mac(2), mac(1), kIpv4, ipv4(kTcp, tcp(pattern(20'000))));
    const FrameBytes small = ethernet(mac(2), mac(1), kIpv4, ipv4(kTcp, tcp(pattern(100))));
    const auto refused = [&](const FrameBytes& bytes, const std::function<void(rte_mbuf*)>& spoil) {
        rte_mbuf* frame = ask_segments(to_mbuf(buffer_pool(), bytes), 1448);
        spoil(frame);
        return sender.send_burst({frame}) == 0;
    };
    CHECK(refused(whole, [](rte_mbuf* m) { m->tso_segsz = 0; }));
    CHECK(refused(whole, [](rte_mbuf* m) { m->tso_segsz = 47; }));
    CHECK(refused(whole, [](rte_mbuf* m) { m->tso_segsz = 78; }));      // 257 segments
    CHECK(refused(whole, [](rte_mbuf* m) { m->tso_segsz = 65'500; }));  // a segment beyond 64 KiB
    CHECK(refused(small, [](rte_mbuf* m) { m->l3_len = 200; }));
    CHECK(refused(small, [](rte_mbuf* m) { m->l4_len = 121; }));
    CHECK(refused(small, [](rte_mbuf* m) { m->l4_len = 0; }));
    CHECK(refused(small, [](rte_mbuf* m) { m->l2_len = 0; }));
    CHECK(refused(small, [](rte_mbuf* m) { m->l3_len = 0; }));
    CHECK(refused(small, [](rte_mbuf* m) { m->ol_flags &= ~RTE_MBUF_F_TX_IPV4; }));
    CHECK(refused(small, [](rte_mbuf* m) { m->ol_flags = RTE_MBUF_F_TX_SCTP_CKSUM; }));
    CHECK(refused(small, [](rte_mbuf* m) {
        m->ol_flags = RTE_MBUF_F_TX_IP_CKSUM;
        m->l2_len = 127;
    }));
    CHECK(sender.dropped(DropReason::kBadOffload) == 12);
    CHECK(sender.path.stats.from_vm.dropped.bytes == sender.path.stats.from_vm.offered.bytes);
    CHECK(sender.send_burst({ask_segments(to_mbuf(buffer_pool(), whole), 79)}) == 1);  // 254 segments
}

TEST_CASE("every refused frame is counted once and its buffers come back") {
    const unsigned before = buffers_in_use();
    {
        SendingVm sender;
        CHECK(sender.send_burst({to_mbuf(buffer_pool(), to(mac(1)), 20),
                                 to_mbuf(buffer_pool(), tagged(to(mac(2)), 5)),
                                 to_mbuf(buffer_pool(), to(mac(2)))}) == 1);
        CHECK(sender.path.stats.from_vm.offered.packets == 3);
        CHECK(sender.path.stats.from_vm.dropped.packets == 2);
        CHECK(sender.path.stats.from_vm.offered.bytes ==
              sender.path.stats.from_vm.dropped.bytes + sender.batch.bytes_total);
    }
    CHECK(buffers_in_use() == before);
}
