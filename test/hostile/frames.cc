// frames.cc - attacks: frames and offload headers that an honest ring carries; floods.
// Source: virtio 1.2 5.1.6.2. Units: bytes.
#include "test/hostile/attacks.h"

namespace weir::hostile {
namespace {

constexpr unsigned kBurst = 64;
constexpr std::uint8_t kTcp4 = 1;
constexpr std::uint8_t kNeedsChecksum = 1;
constexpr std::uint16_t kTransportAt = kEthernetBytes + kIpv4Bytes;
/// Of an Ethernet frame whose IPv4 length field is at its largest.
constexpr std::size_t kLargestFrame = kEthernetBytes + 65'535;

/// Fills the ring; a ring that the switch does not empty any more is begun anew.
void flood(Scene& scene, const FrameHeader& header, const Frame& frame) {
    unsigned sent = 0;
    while (sent < kBurst && scene.guest.transmit(header, frame))
        ++sent;
    if (sent < kBurst && !scene.guest.taken(std::chrono::milliseconds(20)))
        scene.guest.stop();
}

/// A flood of frames of up to 64,000 bytes that the switch is asked to split.
void flood_segments(Scene& scene, const Mac& to, std::uint16_t segment_bytes) {
    const FrameHeader header{.flags = kNeedsChecksum,
                             .segmentation = kTcp4,
                             .header_bytes = kTransportAt + kTcpBytes,
                             .segment_bytes = segment_bytes,
                             .checksum_start = kTransportAt,
                             .checksum_offset = kTcpChecksumAt};
    flood(scene, header, ipv4_frame(to, scene.own, scene.random.chance(50) ? 64'000 : 20'000, true));
}

}  // namespace

void offload_headers(Scene& scene) {
    if (!scene.guest.start())
        return;
    Random& random = scene.random;
    for (unsigned i = 0; i < kBurst; ++i) {
        const std::uint32_t sizes[] = {54, 60, 1514, 9000, 65'000};
        Frame frame = ipv4_frame(scene.peer, scene.own, random.pick(sizes), random.chance(80));
        const std::uint16_t numbers[] = {
            0, 1, 14, 34, 54, 1448, 1500, 65'535, static_cast<std::uint16_t>(random.next())};
        const std::uint8_t types[] = {0, 1, 3, 4, 5, 0x80, 0x81, 0x84, 0xFF};
        const FrameHeader header{
            .flags = static_cast<std::uint8_t>(random.chance(70) ? kNeedsChecksum : random.next()),
            .segmentation = random.pick(types),
            .header_bytes = random.pick(numbers),
            .segment_bytes = random.pick(numbers),
            .checksum_start = random.chance(50) ? kTransportAt : random.pick(numbers),
            .checksum_offset = random.chance(50) ? kTcpChecksumAt : random.pick(numbers),
            .buffers = random.pick(numbers)};
        // Header lengths inside of the frame that lie.
        if (random.chance(30))
            frame[kEthernetBytes] = static_cast<std::uint8_t>(random.next());
        if (random.chance(30))
            frame[kTransportAt + 12] = static_cast<std::uint8_t>(random.next());
        if (random.chance(20))
            put16(frame, kEthernetBytes + 2, random.below(65'536));
        if (random.chance(20))
            put16(frame, 12, random.chance(50) ? 0x86DD : 0x8100);
        (void)scene.guest.transmit(header, frame);
    }
    if (!scene.guest.taken(std::chrono::milliseconds(20)))
        scene.guest.stop();
}

void runts(Scene& scene) {
    if (!scene.guest.start())
        return;
    const Frame frame = ipv4_frame(scene.peer, scene.own, 60, false);
    for (unsigned i = 0; i < kBurst; ++i)
        (void)scene.guest.transmit({.flags = static_cast<std::uint8_t>(scene.random.below(2)),
                                    .checksum_start = kTransportAt,
                                    .checksum_offset = 6},
                                   std::span(frame).first(1 + scene.random.below(60)));
    if (!scene.guest.taken())
        scene.guest.stop();
}

void large_frames(Scene& scene) {
    if (!scene.guest.start())
        return;
    const std::size_t sizes[] = {1515, 2049, 9014, 32'000, 65'000, kLargestFrame, kLargestFrame + 3};
    flood(scene, {}, ipv4_frame(scene.peer, scene.own, scene.random.pick(sizes), scene.random.chance(50)));
}

void broadcasts(Scene& scene) {
    if (scene.guest.start())
        flood(scene, {}, ipv4_frame(kBroadcast, scene.own, scene.random.chance(80) ? 60 : 1514, false));
}

void small_frames(Scene& scene) {
    if (scene.guest.start())
        flood(scene, {}, ipv4_frame(scene.peer, scene.own, 60, false));
}

void small_segments(Scene& scene) {
    const std::uint16_t segments[] = {1, 8, 48, 64, 128, 250, 256, 536};
    if (scene.guest.start())
        flood_segments(scene, scene.peer, scene.random.pick(segments));
}

void broadcast_segments(Scene& scene) {
    const std::uint16_t segments[] = {536, 1460};
    if (scene.guest.start())
        flood_segments(scene, kBroadcast, scene.random.pick(segments));
}

}  // namespace weir::hostile
