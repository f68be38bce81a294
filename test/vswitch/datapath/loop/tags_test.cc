// tags_test.cc - VLAN tags of a guest's own: no MTU counts two of them, and a priority tag keeps its marks.
// Source: IEEE 802.1Q.
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>

#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr std::size_t kFullSize = 1514;
using Frames = std::vector<FrameBytes>;

VnicConfig trunk_vm(unsigned n, std::uint16_t vlan = 0) {
    VnicConfig config = vm(n);
    config.anti_spoofing = false;
    config.vlan = vlan;
    return config;
}

/// A frame that carries an IP packet of 1500 bytes, or more, behind these tags, the inmost first.
FrameBytes full_size(std::uint64_t to, unsigned from, const std::vector<std::uint16_t>& types,
                     std::size_t bytes = kFullSize) {
    FrameBytes frame = numbered(to, mac(from), bytes, 7);
    for (const std::uint16_t type : types)
        frame = tagged(frame, 20, type);
    return frame;
}
const std::array<std::vector<std::uint16_t>, 5> kTags{
    {{kVlan}, {kQinQ}, {kVlan, kVlan}, {kVlan, kQinQ}, {kQinQ, kQinQ}}};
const std::vector<std::uint16_t> kThreeTags{kVlan, kVlan, kVlan};

void vm_sends(SwitchHarness& host, VnicId id, const FrameBytes& frame) {
    host.port(id).offered.push_back(to_mbuf(buffer_pool(), frame));
}

Frames taken_by(SwitchHarness& host, VnicId id) {
    Frames frames;
    for (const rte_mbuf* frame : host.port(id).received)
        frames.push_back(bytes_of(frame));
    host.port(id).drain();
    return frames;
}

Frames left_for_wire(RingNic& nic) {
    Frames frames;
    for (rte_mbuf* frame : nic.take()) {
        frames.push_back(bytes_of(frame));
        rte_pktmbuf_free(frame);
    }
    return frames;
}

/// The tag of a frame that has one: PCP, DEI and VLAN.
std::uint16_t outer_tag(const FrameBytes& frame) {
    CHECK(read16(frame, 12) == kVlan);
    return read16(frame, 14);
}

/// Sends a frame with a priority tag from VM 1, whose VLAN is 7. @return the frame on the wire
FrameBytes tagged_on_wire(const FrameBytes& frame, const SwitchConfig& config = {},
                          std::uint64_t reservation_bps = 0) {
    RingNic nic;
    SwitchHarness host(config, &nic);
    VnicConfig sender = vm(1);
    sender.vlan = 7;
    sender.reservation_bps = reservation_bps;
    const VnicId vm1 = host.add(sender);
    vm_sends(host, vm1, frame);
    host.settle();
    const Frames frames = left_for_wire(nic);
    REQUIRE(frames.size() == 1);
    return frames[0];
}

}  // namespace

TEST_CASE(
    "1500 bytes of IP behind one or two tags pass to a VM here, also of another worker, one byte more does "
    "not") {
    SwitchConfig config;
    config.workers = {1, 2};
    SwitchHarness host(config);
    const VnicId vm1 = host.add(trunk_vm(1));
    const VnicId vm2 = host.add(trunk_vm(2));
    VnicConfig other = trunk_vm(3);
    other.worker = 1;
    const VnicId vm3 = host.add(other);
    for (const auto& [to, number] : {std::pair{vm2, 2U}, std::pair{vm3, 3U}}) {
        for (const auto& types : kTags) {
            vm_sends(host, vm1, full_size(mac(number), 1, types));
            host.settle();
            CHECK(taken_by(host, to) == Frames{full_size(mac(number), 1, types)});
        }
        vm_sends(host, vm1, full_size(mac(number), 1, {kVlan}, kFullSize + 1));
        vm_sends(host, vm1, full_size(mac(number), 1, {kVlan, kQinQ}, kFullSize + 1));
        vm_sends(host, vm1, full_size(mac(number), 1, kThreeTags));  // the third counts
        vm_sends(host, vm1, full_size(mac(number), 1, {}, kFullSize + 1));
        host.settle();
        CHECK(taken_by(host, to).empty());
        CHECK(drops(host.stats(to).to_vm, DropReason::kMtuExceeded) == 4);
        CHECK(balanced(host.stats(to).to_vm));
    }
}

TEST_CASE("each frame of a burst gets the vNIC's tag; a frame without room for it is dropped alone") {
    RingNic nic;
    SwitchHarness host({}, &nic);
    VnicConfig sender = vm(1);
    sender.vlan = 7;
    const VnicId vm1 = host.add(sender);
    const auto burst = [](bool last_has_room) {
        std::vector<rte_mbuf*> frames;
        for (std::uint32_t i = 0; i < 4; ++i)
            frames.push_back(frame(mac(9), mac(1), i));
        if (!last_has_room) {
            rte_mbuf* last = frames.back();
            std::memmove(last->buf_addr, rte_pktmbuf_mtod(last, const void*), last->data_len);
            last->data_off = 0;
        }
        return frames;
    };
    for (const std::size_t leave : {4U, 3U}) {
        for (rte_mbuf* one : burst(leave == 4))
            host.port(vm1).offered.push_back(one);
        host.settle();
        const Frames frames = left_for_wire(nic);
        REQUIRE(frames.size() == leave);
        for (std::uint32_t i = 0; i < frames.size(); ++i)
            CHECK(frames[i] == tagged(numbered(mac(9), mac(1), 60, i), 7));
    }
    CHECK(drops(host.stats(vm1).from_vm, DropReason::kNoBuffer) == 1);
    CHECK(balanced(host.stats(vm1).from_vm));
}

TEST_CASE(
    "1500 bytes of IP behind one or two tags leave for the wire, in the vNIC's VLAN too, and come from it") {
    RingNic nic;
    std::uint16_t mtu = 0;
    REQUIRE(rte_eth_dev_get_mtu(nic.device().port_id(), &mtu) == 0);
    CHECK(mtu == 1500 + 3 * 4);
    SwitchHarness host({}, &nic);
    const VnicId vm1 = host.add(trunk_vm(1));
    const VnicId vm2 = host.add(trunk_vm(2, 10));
    for (const auto& types : kTags) {
        vm_sends(host, vm1, full_size(kFar, 1, types));
        host.settle();
        CHECK(left_for_wire(nic) == Frames{full_size(kFar, 1, types)});
        vm_sends(host, vm2, full_size(kFar, 2, types));
        host.settle();
        CHECK(left_for_wire(nic) == Frames{tagged(full_size(kFar, 2, types), 10)});
        nic.arrive(to_mbuf(buffer_pool(), tagged(full_size(mac(2), 0x99, types), 10)));
        host.settle();
        CHECK(taken_by(host, vm2) == Frames{full_size(mac(2), 0x99, types)});
    }
    vm_sends(host, vm1, full_size(kFar, 1, {kVlan}, kFullSize + 1));
    vm_sends(host, vm1, full_size(kFar, 1, kThreeTags));
    nic.arrive(to_mbuf(buffer_pool(), tagged(full_size(mac(2), 0x99, kThreeTags), 10)));
    host.settle();
    CHECK(left_for_wire(nic).empty());
    CHECK(drops(host.stats(vm1).from_vm, DropReason::kMtuExceeded) == 2);
    CHECK(drops(host.stats(vm2).to_vm, DropReason::kMtuExceeded) == 1);
}

TEST_CASE("broadcasts of full size behind two tags reach all of the VLAN and the wire") {
    RingNic nic;
    SwitchHarness host({}, &nic);
    const VnicId vm1 = host.add(trunk_vm(1));
    const VnicId vm2 = host.add(trunk_vm(2));
    vm_sends(host, vm1, full_size(kBroadcast, 1, {kVlan, kQinQ}));
    host.settle();
    CHECK(taken_by(host, vm2).size() == 1);
    CHECK(left_for_wire(nic).size() == 1);
}

TEST_CASE("super-frames behind tags become segments of full size, for a VM and for the wire") {
    for (const unsigned tags : {1U, 2U}) {
        RingNic nic;
        SwitchHarness host({}, &nic);
        const VnicId vm1 = host.add(trunk_vm(1));
        const VnicId vm2 = host.add(trunk_vm(2));
        for (const std::uint64_t to : {mac(2), kFar}) {
            rte_mbuf* asked = ask_segments(
                to_mbuf(buffer_pool(), ethernet(to, mac(1), kIpv4, ipv4(kTcp, tcp(pattern(4 * 1460))))),
                1460);
            for (unsigned i = 0; i < tags; ++i) {
                asked->vlan_tci = 20;
                REQUIRE(rte_vlan_insert(&asked) == 0);
            }
            asked->l2_len = tags == 1 ? 18 : 22;
            host.port(vm1).offered.push_back(asked);
            host.settle();
            const Frames frames = to == kFar ? left_for_wire(nic) : taken_by(host, vm2);
            REQUIRE(frames.size() == 4);
            for (FrameBytes one : frames) {
                CHECK(one.size() == kFullSize + 4 * tags);
                one.erase(one.begin() + 12, one.begin() + 12 + 4 * static_cast<std::ptrdiff_t>(tags));
                CHECK(l4_checksum_good(one));
            }
        }
    }
}

TEST_CASE("a priority tag's PCP and DEI are kept in the tag of the vNIC's VLAN") {
    const FrameBytes plain = numbered(kFar, mac(1), 100, 7);
    CHECK((tagged_on_wire(tagged(plain, 0xA000)) == tagged(plain, 0xA000 | 7)));
    CHECK((tagged_on_wire(tagged(plain, 0xF000)) == tagged(plain, 0xF000 | 7)));
    CHECK((tagged_on_wire(tagged(plain, 0x2000, kQinQ)) == tagged(plain, 0x2000 | 7)));
    CHECK((tagged_on_wire(plain) == tagged(plain, 7)));
    SwitchConfig low;
    low.uplink.best_effort_pcp = 1;
    CHECK(outer_tag(tagged_on_wire(tagged(plain, 0xB000), low)) == (0x2000 | 7));
    CHECK(outer_tag(tagged_on_wire(tagged(plain, 0xB000), low, 1'000'000)) ==
          (0xB000 | 7));  // it has a reservation
    CHECK(outer_tag(tagged_on_wire(tagged(numbered(kBroadcast, mac(1), 100, 7), 0xA000))) == (0xA000 | 7));
}

TEST_CASE("the segments of a super-frame keep its priority, split for the wire or for a limit") {
    for (const std::uint64_t limit : {0ULL, 100'000'000ULL}) {
        RingNic nic;
        SwitchHarness host({}, &nic);
        VnicConfig sender = vm(1);
        sender.vlan = 7;
        if (limit != 0)
            sender.limit_bps = limit;
        const VnicId vm1 = host.add(sender);
        rte_mbuf* asked = ask_segments(
            to_mbuf(buffer_pool(), ethernet(kFar, mac(1), kIpv4, ipv4(kTcp, tcp(pattern(4 * 1460))))), 1460);
        asked->vlan_tci = 0xA000;
        REQUIRE(rte_vlan_insert(&asked) == 0);
        asked->l2_len = 18;
        host.port(vm1).offered.push_back(asked);
        host.run(2'000'000);
        const Frames frames = left_for_wire(nic);
        REQUIRE(frames.size() == 4);
        for (const FrameBytes& one : frames)
            CHECK(outer_tag(one) == (0xA000 | 7));
    }
}

TEST_CASE("a priority tag is no part of the frame that a neighbor gets") {
    SwitchHarness host;
    VnicConfig sender = vm(1);
    VnicConfig receiver = vm(2);
    sender.vlan = receiver.vlan = 7;
    const VnicId vm1 = host.add(sender);
    const VnicId vm2 = host.add(receiver);
    const FrameBytes plain = numbered(mac(2), mac(1), 100, 7);
    vm_sends(host, vm1, tagged(plain, 0xA000));
    host.settle();
    CHECK(taken_by(host, vm2) == Frames{plain});
}
