// tunnel_test.cc - two switches with a tunnel between them: frames through it, on the wire and refused.
#include <rte_mbuf.h>

#include <algorithm>

#include "test/support/catch.h"
#include "test/vswitch/datapath/tunnels/tunnel_ends.h"
#include "vswitch/esp/key_agreement.h"

using namespace weir;
using namespace weir::testing;

namespace {

/// The frames that the VM was given since the last call.
std::vector<FrameBytes> got(TunnelHost& side, VnicId id) {
    FakePort& port = side.host.port(id);
    std::vector<FrameBytes> frames;
    for (const rte_mbuf* frame : port.received)
        frames.push_back(bytes_of(frame));
    port.drain();
    return frames;
}

FrameBytes packet(unsigned from, unsigned to, std::uint32_t source, std::uint32_t destination,
                  std::size_t payload = 100) {
    FrameBytes frame = ethernet(mac(to), mac(from), kIpv4, ipv4(kUdp, udp(pattern(payload))));
    write32(frame, 26, source);
    write32(frame, 30, destination);
    return frame;
}
FrameBytes there(std::size_t payload = 100) {
    return packet(1, 2, 0x0A000101, 0x0A000201, payload);
}

std::vector<FrameBytes> seen(const std::vector<rte_mbuf*>& frames) {
    std::vector<FrameBytes> bytes;
    for (rte_mbuf* frame : frames) {
        bytes.push_back(bytes_of(frame));
        rte_pktmbuf_free(frame);
    }
    return bytes;
}

/// These frames as they are on the wire. DPDK's names allow one switch at a time.
std::vector<FrameBytes> encrypted(const std::vector<FrameBytes>& frames) {
    TunnelHost a(true);
    a.agree();
    return seen(a.send(frames));
}

std::uint64_t refused(const DirectionStats& stats, DropReason reason) {
    CHECK(balanced(stats));
    return drops(stats, reason);
}

}  // namespace

TEST_CASE("frames of a VM that encrypts go through the tunnel, whole, and no other way") {
    const unsigned before = buffers_in_use();
    std::vector<FrameBytes> sent;
    for (std::size_t payload = 0; payload < 60; ++payload)
        sent.push_back(there(payload * 23));
    std::vector<FrameBytes> wire;
    std::uint64_t bytes = 0;
    {
        TunnelHost a(true);
        a.agree();
        wire = seen(a.send(sent));
        REQUIRE(wire.size() == sent.size());
        for (const FrameBytes& frame : wire) {
            CHECK(frame[23] == 50);
            CHECK(std::search(frame.begin() + 42, frame.end(), sent[0].begin(), sent[0].begin() + 14) ==
                  frame.end());
            bytes += frame.size() + limits::kWireOverheadBytes;
        }
        const VnicStats sender = a.host.snapshot(0);
        CHECK(balanced(sender.from_vm));
        CHECK(sender.from_vm.delivered.bytes == bytes);  // as on the wire, encrypted
        CHECK(sender.uplink_bytes == bytes);
        CHECK(sender.encryption_tokens > 0);
        CHECK(balanced(a.to_wire()));
        CHECK(a.to_wire().delivered.bytes == bytes);
        CHECK(a.tunnel().out.bytes == bytes);
    }
    {
        TunnelHost b(false);
        b.agree();
        b.arrive(wire);
        CHECK(got(b, 0) == sent);
        CHECK(b.tunnel().in.delivered.packets == sent.size());
        CHECK(b.tunnel().in.offered.bytes == bytes);
        CHECK(balanced(b.from_wire()));
        CHECK(balanced(b.host.snapshot(0).to_vm));
    }
    CHECK(buffers_in_use() == before);
}

TEST_CASE("without keys, a tunnel or room nothing leaves, and the drop has a reason") {
    TunnelHost a(true);
    CHECK(a.send({there()}).empty());
    a.agree();
    CHECK(a.send({packet(1, 9, 0x0A000101, 0x0B000001), there(1430),
                  ethernet(mac(2), mac(1), 0x88B5, pattern(50))})
              .empty());
    const DirectionStats sent = a.host.snapshot(0).from_vm;
    CHECK(refused(sent, DropReason::kTunnelDown) == 1);
    CHECK(refused(sent, DropReason::kTunnelNone) == 2);
    CHECK(refused(sent, DropReason::kMtuExceeded) == 1);
    CHECK(sent.dropped.packets == 4);
    CHECK(seen(a.send({there(1402)})).size() == 1);
}

TEST_CASE("clear text for a VM that encrypts is refused, one by one, flooded, and as feedback") {
    TunnelHost b(false);
    b.agree();
    b.arrive(std::vector<FrameBytes>{packet(1, 2, 0x0A000101, 0x0A000201)});
    CHECK(refused(b.from_wire(), DropReason::kClearText) == 1);
    b.arrive(std::vector<FrameBytes>{ethernet(kBroadcast, mac(1), kArp, arp_request())});
    CHECK(got(b, 0).empty());
    CHECK(got(b, 1).size() == 1);
    b.arrive(std::vector<FrameBytes>{packet(1, 4, 0x0A000101, 0x0A000201)});
    CHECK(got(b, 1).size() == 1);
}

TEST_CASE("what comes through the tunnel must be for a VM that encrypts, and from behind the tunnel") {
    FrameBytes arp = ethernet(kBroadcast, mac(1), kArp, arp_request());
    write32(arp, 28, 0x0A000101);
    write32(arp, 38, 0x0A000201);
    const auto wire = encrypted({packet(1, 4, 0x0A000101, 0x0A000201), packet(1, 9, 0x0A000101, 0x0A000201),
                                 packet(1, 2, 0x0A000901, 0x0A000201), arp});
    TunnelHost b(false);
    b.agree();
    b.arrive(std::vector(wire.begin(), wire.end() - 1));
    const DirectionStats in = b.tunnel().in;
    CHECK(refused(in, DropReason::kEncryptedUnexpected) == 1);
    CHECK(refused(in, DropReason::kNoSuchMac) == 1);
    CHECK(refused(in, DropReason::kTunnelSource) == 1);
    CHECK(got(b, 0).empty());
    CHECK(got(b, 1).empty());
    b.arrive(std::vector<FrameBytes>{wire.back()});
    CHECK(got(b, 0) == std::vector<FrameBytes>{arp});
    CHECK(got(b, 1).empty());
}

TEST_CASE("tampered, replayed, truncated and foreign ESP is dropped under its name; the rest passes") {
    const std::vector<FrameBytes> wire = encrypted({there(), there(), there(), there()});
    REQUIRE(wire.size() == 4);
    TunnelHost b(false);
    b.agree();
    FrameBytes tampered = wire[1];
    tampered[80] ^= 1;
    FrameBytes spi = wire[2];
    write32(spi, 34, kSpiLeft | 9 << kSpiTagShift);
    FrameBytes sender = wire[2];
    write32(sender, 34, kSpiLeft | kTag << kSpiTagShift | 5);
    FrameBytes foreign = wire[2];
    write32(foreign, 34, 0x77777);
    FrameBytes cut(wire[2].begin(), wire[2].begin() + 60);
    for (const FrameBytes& frame : {wire[0], wire[0], tampered, spi, sender, foreign, cut, wire[3]})
        b.arrive(std::vector<FrameBytes>{frame});
    CHECK(got(b, 0).size() == 2);
    const DirectionStats in = b.tunnel().in;
    CHECK(refused(in, DropReason::kEspReplayed) == 1);
    CHECK(refused(in, DropReason::kEspBadTag) == 1);
    CHECK(refused(in, DropReason::kEspMalformed) == 1);
    CHECK(refused(b.from_wire(), DropReason::kEspUnknownSpi) == 3);
}

TEST_CASE("messages go to the agent, as many as there is room for") {
    TunnelHost b(false);
    FrameBytes sent = tunnel_end(true).header;
    sent.resize(sent.size() + KeyAgreement::kMessageBytes);
    write32(sent, 34, kSpiLeft | kSpiMessage);
    for (int i = 0; i < 70; ++i)
        b.arrive(std::vector<FrameBytes>{sent});
    unsigned key_messages = 0;
    for (KeyMessage message{}; b.host.worker().key_messages().pop(message); ++key_messages)
        rte_pktmbuf_free(message.frame);
    CHECK(key_messages == 64);
    CHECK(b.tunnel().key_messages == 64);
    CHECK(refused(b.from_wire(), DropReason::kQueueFull) == 6);
}

TEST_CASE("super-frames are cut and checksums filled in before they are encrypted") {
    FrameBytes big = ethernet(mac(2), mac(1), kIpv4, ipv4(kTcp, tcp(pattern(5000))));
    write32(big, 26, 0x0A000101);
    write32(big, 30, 0x0A000201);
    std::vector<FrameBytes> wire;
    {
        TunnelHost a(true);
        a.agree();
        a.host.port(0).offered.push_back(ask_segments(to_mbuf(buffer_pool(), big, 1500), 1300));
        wire = seen(a.send({}));
        CHECK(balanced(a.host.snapshot(0).from_vm));
    }
    TunnelHost b(false);
    b.agree();
    b.arrive(wire);
    const auto pieces = got(b, 0);
    CHECK(pieces.size() == 4);
    for (const FrameBytes& frame : pieces)
        CHECK((ip_checksum_good(frame) && l4_checksum_good(frame)));
}

TEST_CASE(
    "a VM's limit is charged what the wire carries, and waiting frames keep their order and their tunnel") {
    SwitchConfig slow;
    slow.uplink.rate_bps = 100'000'000;
    slow.uplink.headroom = 0;
    std::vector<FrameBytes> sent;
    std::vector<FrameBytes> wire;
    std::uint64_t bytes = 0;
    {
        TunnelHost a(true, 1, slow);
        a.agree();
        for (std::uint32_t i = 0; i < 60; ++i) {
            sent.push_back(there(1200));
            write32(sent.back(), 60, i);
            a.host.port(0).offered.push_back(to_mbuf(buffer_pool(), sent.back()));
        }
        const Nanos began = a.host.now;
        while (wire.size() < sent.size() && a.host.now < began + kNanosPerSec) {
            a.host.run(100'000);
            for (const FrameBytes& frame : seen(a.nic.take())) {
                bytes += frame.size() + limits::kWireOverheadBytes;
                wire.push_back(frame);
            }
        }
        const Nanos needed = bytes * 8 * 10;  // at 100 Mbit/s
        CHECK(a.host.now - began < needed + 2'000'000);
        CHECK(a.host.now - began + 4'000'000 > needed);
        CHECK(balanced(a.host.snapshot(0).from_vm));
    }
    TunnelHost b(false);
    b.agree();
    b.arrive(wire);
    CHECK(got(b, 0) == sent);
    CHECK(b.tunnel().in.dropped.packets == 0);
}

TEST_CASE("a limit on encryption holds the ring back, and is kept") {
    TunnelHost a(true);
    a.agree();
    VnicConfig limited = vm(1);
    limited.encrypt = true;
    limited.encrypt_limit = 1'000'000;  // a token a byte here
    a.host.change(0, limited);
    for (int round = 0; round < 100; ++round) {
        while (a.host.port(0).offered.size() < 64)
            a.host.port(0).offered.push_back(to_mbuf(buffer_pool(), there(1000)));
        a.host.run(10'000'000, 100'000);
        (void)a.nic.drain();
    }
    const VnicStats stats = a.host.snapshot(0);
    CHECK(stats.encryption_tokens > 950'000);
    CHECK(stats.encryption_tokens < 1'060'000);
    CHECK(stats.held_ns[static_cast<std::size_t>(HoldReason::kEncryption)] > 800'000'000);
    CHECK(stats.from_vm.dropped.packets == 0);
}

TEST_CASE("with several workers each end decrypts what its SAs are for, wherever the NIC has put it") {
    const std::vector<FrameBytes> wire = encrypted(std::vector<FrameBytes>(40, there()));
    TunnelHost b(false, 2);
    b.agree();
    b.arrive(std::vector(wire.begin(), wire.begin() + 20), 0);
    b.arrive(std::vector(wire.begin() + 20, wire.end()), 1);
    CHECK(got(b, 0) == std::vector<FrameBytes>(40, there()));
    CHECK(b.tunnel().in.delivered.packets == 40);
    CHECK(balanced(b.from_wire()));
}

TEST_CASE("a mark of the network on the outer header reaches a packet that can carry it, and no other") {
    FrameBytes capable = there();
    capable[15] = 2;
    write16(capable, 24, 0);
    write16(capable, 24, checksum(FrameBytes(capable.begin() + 14, capable.begin() + 34)));
    std::vector<FrameBytes> wire = encrypted({capable, there()});
    for (FrameBytes& frame : wire) {
        frame[15] |= 3;  // its checksum does not matter here
        CHECK(frame.size() > 100);
    }
    TunnelHost b(false);
    b.agree();
    b.arrive(wire);
    const auto frames = got(b, 0);
    REQUIRE(frames.size() == 2);
    CHECK((frames[0][15] & 3) == 3);
    CHECK(ip_checksum_good(frames[0]));
    CHECK((frames[1][15] & 3) == 0);
}
