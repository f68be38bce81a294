// claims.cc - attacks: rings that claim more entries than they have, of every size and in both layouts.
// Source: virtio 1.2 2.7.6; virtio 1.2 2.7.7; virtio 1.2 2.8. Units: entries; bytes.
// Threads: in a race two write fields that the switch reads.
//
// All descriptors are valid, so that the switch has frames to take and places to write for each entry that
// the ring claims. The rings lie at the begin or end of a region, and their buffers in another one.
#include <cstring>

#include "test/hostile/attacks.h"
#include "test/hostile/race.h"

namespace weir::hostile {
namespace {

constexpr int kClaims = 4;

std::uint64_t any_features(Random& random) {
    std::uint64_t features = Guest::kWanted;
    for (const Feature feature : {kMergeable, kEventIndex, kInOrder})
        if (random.chance(50))
            features |= mask(feature);
    return features;
}

Guest::Shape split_shape(Random& random, std::uint32_t attacked) {
    const std::uint16_t sizes[] = {1, 2, 4, 8, 16, 32, 256};
    const Place places[] = {Place::kAtBegin, Place::kAtEnd};
    return {.receive_size = random.pick(sizes),
            .transmit_size = random.pick(sizes),
            .features = any_features(random),
            .place = random.pick(places),
            .outermost = attacked};
}

Guest::Shape packed_shape(Random& random, std::uint32_t attacked) {
    const std::uint16_t sizes[] = {1, 2, 3, 4, 5, 8, 16, 31, 32, 33, 100, 256};
    Guest::Shape shape = split_shape(random, attacked);
    shape.receive_size = random.pick(sizes);
    shape.transmit_size = random.pick(sizes);
    shape.features |= mask(kPackedRing);
    return shape;
}

/// An amount to add to the avail index of a ring of `size` entries.
std::uint16_t claim(Random& random, std::uint16_t size) {
    const std::uint32_t claims[] = {
        size + 1U, 2U * size,     64, 30'000, 65'535, 0x1'0000U - size, random.below(65'536), 32'768,
        size,      0xFFFFU - size};
    return static_cast<std::uint16_t>(random.pick(claims));
}

/// One buffer for each entry: an honest frame, or a place of 0 bytes to 2 KiB for a frame.
std::vector<Buffer> buffers(Scene& scene, std::uint32_t ring) {
    std::vector<Buffer> all(scene.guest.ring(ring).size());
    const std::uint32_t places[] = {0, 1, 12, 13, 16, 64, Guest::kReceiveBufferBytes};
    const std::uint32_t bytes = scene.random.pick(places);
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (ring == kReceive) {
            all[i] = {Guest::kReceiveBuffersAt + i * Guest::kReceiveBufferBytes, bytes, kWrite};
            continue;
        }
        const Frame frame = ipv4_frame(scene.peer, scene.own, 60 + scene.random.below(1400), false);
        const std::uint64_t address = Guest::kTransmitBuffersAt + i * Guest::kTransmitBufferBytes;
        std::memset(scene.guest.memory.at(address), 0, sizeof(FrameHeader));
        std::copy(frame.begin(), frame.end(), scene.guest.memory.at(address) + sizeof(FrameHeader));
        all[i] = {address, static_cast<std::uint32_t>(sizeof(FrameHeader) + frame.size())};
    }
    return all;
}

/// Fills the descriptors and the entries that name them; the index stays as it is. A part of the chains goes
/// on from descriptor to descriptor, without an end where they fill the ring.
void fill(Scene& scene, SplitRing& ring, std::uint32_t number) {
    const std::vector<Buffer> all = buffers(scene, number);
    const std::uint32_t chained = scene.random.chance(30) ? scene.random.below(101) : 0;
    for (std::uint16_t i = 0; i < ring.size(); ++i) {
        const auto flags =
            static_cast<std::uint16_t>(all[i].flags | (scene.random.chance(chained) ? kNext : 0U));
        ring.descriptor(i) = {all[i].address, all[i].bytes, flags,
                              static_cast<std::uint16_t>((i + 1) % ring.size())};
        ring.avail_entry(i).store(i);
    }
}

/// As above; the descriptors' marks say nothing yet.
void fill(Scene& scene, PackedRing& ring, std::uint32_t number) {
    const std::vector<Buffer> all = buffers(scene, number);
    const bool odd_ids = scene.random.chance(30);
    for (std::uint16_t i = 0; i < ring.size(); ++i)
        ring.descriptor(i) = {all[i].address, all[i].bytes,
                              odd_ids ? static_cast<std::uint16_t>(scene.random.next()) : i,
                              ring.descriptor(i).flags};
}

/// Marks all descriptors, last to first or first to last, as available in the one round or the other.
void mark_all(PackedRing& ring, std::uint16_t flags, bool backwards) {
    for (std::uint16_t i = 0; i < ring.size(); ++i)
        ring.flags(backwards ? ring.size() - 1U - i : i).store(flags, std::memory_order_release);
}

std::uint16_t packed_flags(Random& random, std::uint32_t number) {
    const std::uint16_t marks[] = {kAvailable, kUsed};
    return static_cast<std::uint16_t>(random.pick(marks) | (number == kReceive ? kWrite : 0U) |
                                      (random.chance(15) ? kNext : 0U));
}

void claim_split(Scene& scene, std::uint32_t number) {
    if (!scene.guest.restart(split_shape(scene.random, number)))
        return;
    SplitRing& ring = number == kReceive ? scene.guest.rx : scene.guest.tx;
    if (number == kTransmit)
        scene.send_some(scene.random.below(4));
    fill(scene, ring, number);
    for (int i = 0; i < kClaims; ++i) {
        ring.avail_index().fetch_add(claim(scene.random, ring.size()), std::memory_order_release);
        pause();
    }
}

void claim_packed(Scene& scene, std::uint32_t number) {
    if (!scene.guest.restart(packed_shape(scene.random, number)))
        return;
    PackedRing& ring = number == kReceive ? scene.guest.packed_rx : scene.guest.packed_tx;
    if (number == kTransmit)
        scene.send_some(scene.random.below(4));
    fill(scene, ring, number);
    for (int i = 0; i < 2 * kClaims; ++i) {
        mark_all(ring, packed_flags(scene.random, number), scene.random.chance(50));
        pause(std::chrono::microseconds(scene.random.below(300)));
    }
}

}  // namespace

void claims_transmit(Scene& scene) {
    claim_split(scene, kTransmit);
}

void claims_receive(Scene& scene) {
    claim_split(scene, kReceive);
}

void packed_transmit(Scene& scene) {
    claim_packed(scene, kTransmit);
}

void packed_receive(Scene& scene) {
    claim_packed(scene, kReceive);
}

/// The index is honest at one moment and not at the next.
void claims_raced(Scene& scene) {
    const std::uint32_t number = scene.random.below(2);
    if (!scene.guest.restart(split_shape(scene.random, number)))
        return;
    SplitRing& ring = number == kReceive ? scene.guest.rx : scene.guest.tx;
    fill(scene, ring, number);
    Random random(scene.random.next());
    race(
        [&] {
            const std::uint16_t used = ring.used_index().load();
            const std::uint16_t lie = claim(random, ring.size());
            for (const std::uint16_t ahead : {std::uint16_t{1}, lie, ring.size(), lie})
                ring.avail_index().store(static_cast<std::uint16_t>(used + ahead));
        },
        [&] {
            Descriptor& one = ring.descriptor(scene.random.below(ring.size()));
            std::atomic_ref(one.bytes).store(scene.random.below(100));
        });
}

void packed_raced(Scene& scene) {
    const std::uint32_t number = scene.random.below(2);
    if (!scene.guest.restart(packed_shape(scene.random, number)))
        return;
    PackedRing& ring = number == kReceive ? scene.guest.packed_rx : scene.guest.packed_tx;
    fill(scene, ring, number);
    Random random(scene.random.next());
    race([&] { mark_all(ring, packed_flags(random, number), random.chance(50)); },
         [&] {
             PackedDescriptor& one = ring.descriptor(scene.random.below(ring.size()));
             std::atomic_ref(one.id).store(static_cast<std::uint16_t>(scene.random.next()));
             std::atomic_ref(one.bytes).store(scene.random.below(100));
         });
}

void event_index(Scene& scene) {
    const bool packed = scene.random.chance(50);
    Guest::Shape shape =
        packed ? packed_shape(scene.random, kTransmit) : split_shape(scene.random, kTransmit);
    shape.features |= mask(kEventIndex);
    if (!scene.guest.restart(shape))
        return;
    Guest& guest = scene.guest;
    guest.offer_buffers();
    for (int i = 0; i < 2 * kClaims; ++i) {
        const std::uint16_t places[] = {
            0, shape.transmit_size, 0x7FFF, 0x8000, 0xFFFF, static_cast<std::uint16_t>(scene.random.next())};
        if (packed) {
            const auto flags = static_cast<std::uint16_t>(scene.random.chance(70) ? PackedRing::kEventsAt
                                                                                  : scene.random.next());
            guest.packed_tx.ask_events(scene.random.pick(places), flags);
            guest.packed_rx.ask_events(scene.random.pick(places), flags);
        } else {
            guest.tx.unmute();
            guest.rx.unmute();
            guest.tx.used_event().store(scene.random.pick(places));
            guest.rx.used_event().store(scene.random.pick(places));
        }
        scene.send_some(1 + scene.random.below(8));
        pause(std::chrono::microseconds(scene.random.below(300)));
    }
}

}  // namespace weir::hostile
