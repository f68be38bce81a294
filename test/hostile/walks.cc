// walks.cc - attacks: rings of 1,024 to 32,768 entries whose chains have many descriptors and few bytes.
// Source: virtio 1.2 2.7.5; virtio 1.2 2.8. Units: entries; bytes. Threads: one.
//
// A frame costs the switch the descriptors of its chain, empty ones too. All chains of a step are alike:
// their descriptors are empty, tiny, or the same or overlapping bytes again and again; the last one may be an
// honest frame, or place for one. They lie in the ring, or in one indirect table to which each entry points.
#include <algorithm>
#include <cstring>

#include "test/hostile/attacks.h"

namespace weir::hostile {
namespace {

constexpr int kRefills = 8;
constexpr std::uint64_t kTableAt = 0x30'0000;  // to the end of the first region
constexpr std::uint32_t kTableMost = (GuestMemory::kRegionBytes - kTableAt) / sizeof(Descriptor);
constexpr std::uint64_t kBufferAt = Guest::kTransmitBuffersAt;
constexpr std::uint32_t kBufferBytes = Guest::kReceiveBufferBytes;

/// The chains of one step.
struct Walk {
    std::uint32_t entries;  ///< of the ring
    std::uint32_t chain;    ///< descriptors of a chain
    bool table;             ///< they lie in an indirect table, else in the ring
    std::uint32_t bytes;    ///< of each descriptor but the last
    std::uint32_t shift;    ///< bytes from a descriptor's buffer to that of the next one
    Buffer last;
};

Walk walk(Scene& scene, std::uint32_t number, std::uint32_t entries) {
    const std::uint32_t chains[] = {2, 64, 255, 256, 257, entries - 1, entries};
    const std::uint32_t bytes[] = {0, 0, 0, 1, 64};
    const std::uint32_t shifts[] = {0, 1, 64};
    Walk made{entries,
              scene.random.pick(chains),
              scene.random.chance(30),
              scene.random.pick(bytes),
              scene.random.pick(shifts),
              {kBufferAt, kBufferBytes}};
    if (made.table && scene.random.chance(30))
        made.chain = kTableMost;
    if (number == kTransmit) {
        const Frame frame = ipv4_frame(scene.peer, scene.own, 60, false);
        std::memset(scene.guest.memory.at(kBufferAt), 0, sizeof(FrameHeader));
        std::copy(frame.begin(), frame.end(), scene.guest.memory.at(kBufferAt) + sizeof(FrameHeader));
        made.last.bytes = static_cast<std::uint32_t>(sizeof(FrameHeader) + frame.size());
    } else {
        made.last.flags = kWrite;
    }
    if (scene.random.chance(20))
        made.last.bytes = made.bytes;
    return made;
}

/// Descriptor `place` of a chain.
Buffer buffer(const Walk& walk, std::uint32_t place) {
    if (place + 1 == walk.chain)
        return walk.last;
    return {kBufferAt + walk.shift * (place % kBufferBytes), walk.bytes,
            static_cast<std::uint16_t>(walk.last.flags | kNext)};
}

/// The table that all entries of the ring point to.
Buffer table(Scene& scene, const Walk& walk) {
    auto* const entries = scene.guest.memory.as<Descriptor>(kTableAt);
    for (std::uint32_t i = 0; i < walk.chain; ++i) {
        const Buffer one = buffer(walk, i);
        entries[i] = {one.address, one.bytes, one.flags, static_cast<std::uint16_t>(i + 1)};
    }
    return {kTableAt, static_cast<std::uint32_t>(walk.chain * sizeof(Descriptor)), kIndirect};
}

void fill(Scene& scene, const Walk& walk, SplitRing& ring) {
    const Buffer whole = walk.table ? table(scene, walk) : Buffer{};
    for (std::uint32_t i = 0; i < walk.entries; ++i) {
        const Buffer one = walk.table ? whole : buffer(walk, i % walk.chain);
        ring.descriptor(i) = {one.address, one.bytes, one.flags, static_cast<std::uint16_t>(i + 1)};
        ring.avail_entry(i).store(0);  // the same chain again and again: nothing forbids it
    }
}

void fill(Scene& scene, const Walk& walk, PackedRing& ring) {
    const Buffer whole = walk.table ? table(scene, walk) : Buffer{};
    for (std::uint32_t i = 0; i < walk.entries; ++i) {
        const Buffer one = walk.table ? whole : buffer(walk, i % walk.chain);
        ring.descriptor(i) = {one.address, one.bytes, static_cast<std::uint16_t>(i),
                              ring.descriptor(i).flags};
    }
}

/// Marks all descriptors available, last to first, in the one round or the other.
void mark_all(const Walk& walk, PackedRing& ring, std::uint16_t round) {
    for (std::uint32_t i = walk.entries; i-- > 0;) {
        const std::uint16_t flags = walk.table ? kIndirect : buffer(walk, i % walk.chain).flags;
        ring.flags(i).store(static_cast<std::uint16_t>(flags | round), std::memory_order_release);
    }
}

Guest::Shape shape(Random& random, std::uint32_t number, std::uint16_t entries) {
    const Place places[] = {Place::kAtBegin, Place::kAtEnd};
    Guest::Shape made{.features = Guest::kWanted, .place = random.pick(places), .outermost = number};
    (number == kReceive ? made.receive_size : made.transmit_size) = entries;
    for (const Feature feature : {kMergeable, kInOrder, kPackedRing})
        if (random.chance(50))
            made.features |= mask(feature);
    return made;
}

void attack(Scene& scene, std::uint32_t number) {
    const std::uint16_t sizes[] = {1024, 4096, 32'768};
    const std::uint16_t entries = scene.random.pick(sizes);
    if (!scene.guest.restart(shape(scene.random, number, entries)))
        return;
    const Walk made = walk(scene, number, entries);
    if (!scene.guest.packed()) {
        SplitRing& ring = number == kReceive ? scene.guest.rx : scene.guest.tx;
        fill(scene, made, ring);
        for (int i = 0; i < kRefills; ++i) {
            ring.avail_index().store(static_cast<std::uint16_t>(ring.used_index().load() + entries),
                                     std::memory_order_release);
            pause();
        }
        return;
    }
    PackedRing& ring = number == kReceive ? scene.guest.packed_rx : scene.guest.packed_tx;
    fill(scene, made, ring);
    for (int i = 0; i < kRefills; ++i) {
        mark_all(made, ring, i % 2 == 0 ? kAvailable : kUsed);
        pause();
    }
}

}  // namespace

void walk_transmit(Scene& scene) {
    attack(scene, kTransmit);
}

void walk_receive(Scene& scene) {
    attack(scene, kReceive);
}

}  // namespace weir::hostile
