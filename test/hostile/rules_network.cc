// rules_network.cc - rules for headers in front of frames, lengths of frames and receive buffers.
// Source: virtio 1.2 5.1.6.2; virtio 1.2 5.1.6.3. Units: bytes.
#include "test/hostile/rules.h"

namespace weir::hostile {
namespace {

constexpr std::uint16_t kTransportAt = kEthernetBytes + kIpv4Bytes;
constexpr std::uint16_t kTcpHeadersBytes = kTransportAt + kTcpBytes;
constexpr std::uint16_t kUdpChecksumAt = 6;
// Of FrameHeader::flags and FrameHeader::segmentation.
constexpr std::uint8_t kNeedsChecksum = 1;
constexpr std::uint8_t kDataValid = 2;
constexpr std::uint8_t kCoalesced = 4;
constexpr std::uint8_t kTcp4 = 1;
constexpr std::uint8_t kUdpFragments = 3;
constexpr std::uint8_t kTcp6 = 4;
constexpr std::uint8_t kUdpSegments = 5;
constexpr std::uint8_t kEcn = 0x80;

constexpr FrameHeader kUdp{
    .flags = kNeedsChecksum, .checksum_start = kTransportAt, .checksum_offset = kUdpChecksumAt};
constexpr FrameHeader kTcp{.flags = kNeedsChecksum,
                           .segmentation = kTcp4,
                           .header_bytes = kTcpHeadersBytes,
                           .segment_bytes = 1448,
                           .checksum_start = kTransportAt,
                           .checksum_offset = kTcpChecksumAt};

/// Sends the frame with a header that `change` breaks.
template <typename Change>
void send(Offense& it, FrameHeader header, Change change) {
    change(header);
    (void)it.guest.transmit(header, it.frame);
}

/// The frame becomes one of TCP with these bytes, from and to the same VMs.
void become_tcp(Offense& it, std::size_t bytes) {
    Mac to{};
    Mac from{};
    std::copy_n(it.frame.begin(), to.size(), to.begin());
    std::copy_n(it.frame.begin() + to.size(), from.size(), from.begin());
    it.frame = ipv4_frame(to, from, bytes, true);
}

template <typename Change>
void send_tcp(Offense& it, Change change) {
    become_tcp(it, 9000);
    send(it, kTcp, change);
}

/// The receive buffer that the switch takes next becomes this one; all of the ring's are free.
void spoil(Offense& it, std::uint32_t bytes, std::uint16_t flags, bool in_memory = true) {
    Guest& guest = it.guest;
    if (guest.packed()) {
        PackedDescriptor& one = guest.packed_rx.descriptor(guest.packed_rx.next());
        one.address = in_memory ? one.address : kNowhere;
        one.bytes = bytes;
        one.flags = static_cast<std::uint16_t>((one.flags & (kAvailable | kUsed)) | flags);
        return;
    }
    Descriptor& one = guest.rx.descriptor(guest.rx.avail_entry(guest.rx.used_index().load()).load());
    one.address = in_memory ? one.address : kNowhere;
    one.bytes = bytes;
    one.flags = flags;
}

constexpr Rule kNetworkRules[] = {
    {"a checksum begins in the frame", "behind it", Layout::kEither, kTransmit, kNone,
     [](Offense& it) { send(it, kUdp, [](FrameHeader& to) { to.checksum_start = 60'000; }); }},
    {"a checksum is written into the frame", "behind it", Layout::kEither, kTransmit, kNone,
     [](Offense& it) { send(it, kUdp, [](FrameHeader& to) { to.checksum_offset = 60'000; }); }},
    {"checksums are negotiated", "one without", Layout::kEither, kTransmit, mask(kChecksum, kHostTso4),
     [](Offense& it) { send(it, kUdp, [](FrameHeader&) {}); }},
    {"a driver does not say that data are valid", "it says so", Layout::kEither, kTransmit, kNone,
     [](Offense& it) { send(it, {}, [](FrameHeader& to) { to.flags = kDataValid; }); }},
    {"a driver does not say that segments were joined", "it says so", Layout::kEither, kTransmit, kNone,
     [](Offense& it) { send(it, {}, [](FrameHeader& to) { to.flags = kCoalesced; }); }},
    {"unused flags are 0", "all are set", Layout::kEither, kTransmit, kNone,
     [](Offense& it) { send(it, {}, [](FrameHeader& to) { to.flags = 0xFF; }); }},
    {"a driver says nothing of merged buffers", "65,535 of them", Layout::kEither, kTransmit, kNone,
     [](Offense& it) { send(it, {}, [](FrameHeader& to) { to.buffers = 0xFFFF; }); }},
    {"segmentation needs a checksum", "none asked for", Layout::kEither, kTransmit, kNone,
     [](Offense& it) { send_tcp(it, [](FrameHeader& to) { to.flags = 0; }); }},
    {"segments have bytes", "none", Layout::kEither, kTransmit, kNone,
     [](Offense& it) { send_tcp(it, [](FrameHeader& to) { to.segment_bytes = 0; }); }},
    {"the header length is that of the headers", "0", Layout::kEither, kTransmit, kNone,
     [](Offense& it) { send_tcp(it, [](FrameHeader& to) { to.header_bytes = 0; }); }},
    {"the header length is that of the headers", "65,535", Layout::kEither, kTransmit, kNone,
     [](Offense& it) { send_tcp(it, [](FrameHeader& to) { to.header_bytes = 0xFFFF; }); }},
    {"segmentation is negotiated", "TCP over IPv4 without", Layout::kEither, kTransmit, mask(kHostTso4),
     [](Offense& it) { send_tcp(it, [](FrameHeader&) {}); }},
    {"segmentation is negotiated", "TCP over IPv6", Layout::kEither, kTransmit, kNone,
     [](Offense& it) { send_tcp(it, [](FrameHeader& to) { to.segmentation = kTcp6; }); }},
    {"segmentation is negotiated", "congestion notification", Layout::kEither, kTransmit, kNone,
     [](Offense& it) { send_tcp(it, [](FrameHeader& to) { to.segmentation = kTcp4 | kEcn; }); }},
    {"segmentation is negotiated", "fragments of UDP", Layout::kEither, kTransmit, kNone,
     [](Offense& it) { send(it, kUdp, [](FrameHeader& to) { to.segmentation = kUdpFragments; }); }},
    {"segmentation is negotiated", "segments of UDP", Layout::kEither, kTransmit, kNone,
     [](Offense& it) {
         send(it, kUdp, [](FrameHeader& to) { to.segmentation = kUdpSegments, to.segment_bytes = 20; });
     }},
    {"segmentation is of a known kind", "0x42", Layout::kEither, kTransmit, kNone,
     [](Offense& it) { send(it, kUdp, [](FrameHeader& to) { to.segmentation = 0x42; }); }},
    {"segmentation of TCP is asked for TCP", "for UDP", Layout::kEither, kTransmit, kNone,
     [](Offense& it) { send(it, kTcp, [](FrameHeader&) {}); }},
    {"segments are worth their headers", "1 byte each", Layout::kEither, kTransmit, kNone,
     [](Offense& it) { send_tcp(it, [](FrameHeader& to) { to.segment_bytes = 1; }); }},
    {"a frame has at most the MTU", "9,000 bytes", Layout::kEither, kTransmit, kNone,
     [](Offense& it) {
         become_tcp(it, 9000);
         (void)it.guest.transmit({}, it.frame);
     }},
    {"a frame has at most 65,550 bytes", "70,000", Layout::kEither, kTransmit, kNone,
     [](Offense& it) {
         it.frame.resize(70'000);
         (void)it.guest.transmit({}, it.frame);
     }},
    {"a frame is behind its header", "a header alone", Layout::kEither, kTransmit, kNone,
     [](Offense& it) {
         it.add({{it.place().address, sizeof(FrameHeader)}});
     }},
    {"a frame is behind its header", "a part of a header", Layout::kEither, kTransmit, kNone,
     [](Offense& it) {
         it.add({{it.place().address, 5}});
     }},
    {"a frame is behind its header", "1 byte of a frame", Layout::kEither, kTransmit, kNone,
     [](Offense& it) {
         it.add({{it.place().address, sizeof(FrameHeader) + 1}});
     }},
    {"a receive buffer is for writing", "one for reading", Layout::kEither, kReceive, kNone,
     [](Offense& it) { spoil(it, 2048, 0); }},
    {"a receive buffer has 1,526 bytes", "none", Layout::kEither, kReceive, kNone,
     [](Offense& it) { spoil(it, 0, kWrite); }},
    {"a receive buffer has 1,526 bytes", "1 byte", Layout::kEither, kReceive, kNone,
     [](Offense& it) { spoil(it, 1, kWrite); }},
    {"a receive buffer has 1,526 bytes", "60 bytes", Layout::kEither, kReceive, kNone,
     [](Offense& it) { spoil(it, 60, kWrite); }},
    {"a mergeable buffer holds a header", "1 byte", Layout::kEither, kReceive, mask(kMergeable),
     [](Offense& it) { spoil(it, 1, kWrite); }},
    {"a mergeable buffer has bytes", "none", Layout::kEither, kReceive, mask(kMergeable),
     [](Offense& it) { spoil(it, 0, kWrite); }},
    {"a receive buffer is in memory", "an address of no region", Layout::kEither, kReceive, kNone,
     [](Offense& it) { spoil(it, 2048, kWrite, false); }},
};

}  // namespace

std::span<const Rule> network_rules() {
    return kNetworkRules;
}

}  // namespace weir::hostile
