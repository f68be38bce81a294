// wire_classifier_test.cc - frames from the wire: tags off, marks believed only when they are right.
#include <rte_mbuf.h>

#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"
#include "vswitch/datapath/frame/frame.h"
#include "vswitch/datapath/loop/classifier.h"

using namespace weir;
using namespace weir::testing;

namespace {

/// vNIC 0 is mac(1) in VLAN 10, vNIC 1 is mac(2) untagged.
struct Wire {
    Wire() : macs((buffer_pool(), WorkerId{0}), 300 * kNanosPerSec, nullptr) {
        VnicConfig first = vm(1);
        first.vlan = 10;
        paths[0] = make(0, first);
        paths[1] = make(1, vm(2));
        for (const auto& path : paths) {
            directory[path->fixed.id] = path.get();
            macs.set_static(mac_key(path->fixed.mac, path->fixed.vlan), path->fixed.id);
        }
    }
    ~Wire() { rte_pktmbuf_free_bulk(batch.frames.data(), batch.count); }

    std::unique_ptr<VnicPath> make(VnicId id, const VnicConfig& config) {
        return std::make_unique<VnicPath>(make_fixed(id, 0, &port, config, {}), make_vnic_profile(config, {}),
                                          20'000, 0);
    }
    /// @return where the frame goes; kNowhere when it was refused
    Destination arrive(rte_mbuf* frame) {
        rte_pktmbuf_free_bulk(batch.frames.data(), batch.count);
        batch = Batch{};
        classify_from_wire({.macs = macs,
                            .directory = directory.data(),
                            .overhead_bytes = kOverhead,
                            .stats = stats,
                            .tap = tap,
                            .feedback = nullptr,
                            .learns = learns},
                           &frame, 1, 0, batch, vlans.data());
        return batch.count == 1 ? batch.to[0] : kNowhere;
    }
    Destination arrive(const FrameBytes& frame) { return arrive(to_mbuf(buffer_pool(), frame)); }

    FakePort port;
    MacTable macs;
    bool learns = true;
    DirectionStats stats;
    CaptureTap tap;
    std::array<std::unique_ptr<VnicPath>, 2> paths;
    std::array<VnicPath*, limits::kVnicsMax> directory{};
    std::array<std::uint16_t, limits::kBurst> vlans{};
    Batch batch;
};

FrameBytes from_peer(std::uint64_t to, std::size_t bytes = 60) {
    return numbered(to, mac(0x99), bytes, 7);
}

rte_mbuf* marked(const FrameBytes& bytes, std::uint32_t mark) {
    rte_mbuf* frame = to_mbuf(buffer_pool(), bytes);
    frame->ol_flags |= RTE_MBUF_F_RX_FDIR | RTE_MBUF_F_RX_FDIR_ID;
    frame->hash.fdir.hi = mark;
    return frame;
}

}  // namespace

TEST_CASE("a tagged frame reaches the vNIC of its VLAN without its tag") {
    Wire wire;
    CHECK(wire.arrive(tagged(from_peer(mac(1)), 10)) == 0);
    CHECK(wire.vlans[0] == 10);
    CHECK((bytes_of(wire.batch.frames[0]) == from_peer(mac(1))));
    CHECK(wire.batch.bytes[0] == 64 + kOverhead);  // the tag was on the wire
    CHECK(wire.stats.offered.bytes == 64 + kOverhead);
}

TEST_CASE("the priority bits of a tag are not its VLAN, and VLAN 0 is untagged") {
    Wire wire;
    CHECK(wire.arrive(tagged(from_peer(mac(1)), 0xE00A)) == 0);
    CHECK(wire.stats.offered.bytes == 64 + kOverhead);
    CHECK(wire.arrive(tagged(from_peer(mac(2)), 0xE000)) == 1);
    CHECK(wire.vlans[0] == 0);
    CHECK(wire.batch.bytes[0] == 60 + kOverhead);  // as the VM gets it, and as it is counted: untagged
    CHECK(wire.stats.offered.bytes == 64 + kOverhead + 60 + kOverhead);
}

TEST_CASE("an address is only known in its own VLAN") {
    Wire wire;
    CHECK(wire.arrive(from_peer(mac(1))) == kToAll);
    CHECK(wire.arrive(tagged(from_peer(mac(1)), 11)) == kToAll);
    CHECK(wire.vlans[0] == 11);
    CHECK(wire.arrive(tagged(from_peer(mac(2)), 10)) == kToAll);
}

TEST_CASE("a service tag is not an access VLAN: the frame is dropped") {
    Wire wire;
    rte_mbuf* frame = to_mbuf(buffer_pool(), tagged(from_peer(mac(1)), 10, kQinQ));
    frame->vlan_tci = 10;  // as some drivers leave it
    CHECK(wire.arrive(frame) == kToAll);
    CHECK(wire.vlans[0] == 0);
}

TEST_CASE("a frame that ends within its tag does not lose what follows it") {
    Wire wire;
    FrameBytes frame = tagged(from_peer(mac(2)), 10);
    frame.resize(16);
    CHECK(wire.arrive(frame) == 1);
    CHECK(wire.batch.frames[0]->pkt_len == 16);
}

TEST_CASE("a mark saves the look-up when MAC and VLAN agree with it") {
    Wire wire;
    wire.macs.remove(mac_key(mac(1), 10));
    CHECK(wire.arrive(marked(tagged(from_peer(mac(1)), 10), 1)) == 0);
}

TEST_CASE("a stale, foreign or senseless mark is not believed") {
    Wire wire;
    CHECK(wire.arrive(marked(tagged(from_peer(mac(1)), 10), 2)) == 0);  // another vNIC's
    CHECK(wire.arrive(marked(tagged(from_peer(mac(1)), 11), 1)) == kToAll);
    CHECK(wire.arrive(marked(from_peer(mac(2)), 0)) == 1);
    CHECK(wire.arrive(marked(from_peer(mac(2)), 500)) == 1);  // no such vNIC
    CHECK(wire.arrive(marked(from_peer(mac(2)), 0xFFFF'FFFF)) == 1);
    wire.directory[1] = nullptr;
    CHECK(wire.arrive(marked(from_peer(mac(2)), 2)) == 1);  // by the table alone
}

TEST_CASE("an address that sends from the wire is on the wire, unless it is a vNIC's") {
    Wire wire;
    CHECK(wire.arrive(tagged(from_peer(mac(1)), 10)) == 0);
    CHECK(wire.macs.find(mac_key(mac(0x99), 10)) == kToUplink);
    CHECK(wire.macs.find(mac_key(mac(0x99), 0)) == kNowhere);
    CHECK(wire.arrive(numbered(kBroadcast, mac(2), 60, 0)) == kToAll);
    CHECK(wire.macs.find(mac_key(mac(2), 0)) == 1);
}

TEST_CASE("a frame for an address on the wire came back: hairpin") {
    Wire wire;
    CHECK(wire.arrive(from_peer(mac(2))) == 1);
    CHECK(wire.arrive(numbered(mac(0x99), mac(0x98), 60, 0)) == kNowhere);
    CHECK(drops(wire.stats, DropReason::kHairpin) == 1);
    CHECK(wire.macs.find(mac_key(mac(0x98), 0)) == kNowhere);
}

TEST_CASE("runts and link-local multicast end here") {
    Wire wire;
    CHECK(wire.arrive(FrameBytes(13)) == kNowhere);
    CHECK(drops(wire.stats, DropReason::kRunt) == 1);
    CHECK(wire.arrive(numbered(0x0000'00C2'8001, mac(0x99), 60, 0)) == kNowhere);
    CHECK(drops(wire.stats, DropReason::kReservedMulticast) == 1);
    CHECK(wire.stats.offered.packets == 2);
    CHECK(wire.stats.offered.bytes == wire.stats.dropped.bytes);
}

TEST_CASE("a frame from the wire asks for no offload, whatever its flags say") {
    Wire wire;
    CHECK(wire.arrive(ask_segments(
              to_mbuf(buffer_pool(), ethernet(mac(2), mac(0x99), kIpv4, ipv4(kTcp, tcp(pattern(1000))))),
              100)) == 1);
    CHECK((wire.batch.frames[0]->ol_flags & kOffloadFlags) == 0);
    CHECK(wire.batch.wire_frames[0] == 1);
}

TEST_CASE("nothing is learned from the wire where unknown addresses are behind it anyway") {
    Wire wire;
    const std::uint32_t known = wire.macs.size();
    wire.learns = false;
    CHECK(wire.arrive(from_peer(mac(2))) == 1);
    CHECK(wire.macs.size() == known);
    wire.learns = true;
    CHECK(wire.arrive(from_peer(mac(2))) == 1);
    CHECK(wire.macs.find(mac_key(mac(0x99), 0)) == kToUplink);
}
