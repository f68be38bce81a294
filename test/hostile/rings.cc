// rings.cc - attacks: indices, entries, sizes and addresses of rings; rings that come and go under traffic.
// Source: virtio 1.2 2.7.6; virtio 1.2 2.7.8; vhost-user protocol. Units: entries.
#include "test/hostile/attacks.h"

namespace weir::hostile {

void avail_index(Scene& scene) {
    if (!scene.guest.restart())
        return;
    SplitRing& ring = scene.guest.tx;
    scene.send_some(8);
    const std::uint32_t jumps[] = {
        1, Guest::kRingSize - 1, Guest::kRingSize, Guest::kRingSize + 1, 32'767, 32'768, 65'535, 65'000};
    for (int i = 0; i < 4; ++i) {
        ring.avail_index().fetch_add(static_cast<std::uint16_t>(scene.random.pick(jumps)));
        pause();
    }
}

void avail_entry(Scene& scene) {
    if (!scene.guest.restart())
        return;
    SplitRing& ring = scene.guest.tx;
    scene.send_some(4);
    for (int i = 0; i < 8; ++i) {
        const auto entry =
            static_cast<std::uint16_t>(Guest::kRingSize + scene.random.below(65'536 - Guest::kRingSize));
        ring.avail_entry(ring.avail_index().load()).store(entry);
        ring.avail_index().fetch_add(1);
    }
    pause();
}

void used_ring(Scene& scene) {
    if (!scene.guest.start())
        return;
    scene.send_some(32);
    for (int i = 0; i < 64; ++i) {
        SplitRing& ring = scene.random.chance(50) ? scene.guest.tx : scene.guest.rx;
        ring.used_element(scene.random.below(Guest::kRingSize)) = {scene.random.below(1U << 31),
                                                                   scene.random.below(1U << 31)};
        ring.used_index().store(static_cast<std::uint16_t>(scene.random.next()));
    }
    pause();
    if (scene.random.chance(50)) {  // the switch reads the index when a ring's addresses are set
        scene.guest.frontend.send(kSetVringAddr, scene.guest.tx.addresses(kTransmit));
        scene.send_some(8);
        pause();
    }
    scene.guest.stop();
}

void ring_disabled(Scene& scene) {
    if (!scene.guest.start())
        return;
    for (int i = 0; i < 8; ++i) {
        scene.send_some(16);
        scene.guest.frontend.send_ring(kSetVringEnable, scene.random.below(2), scene.random.below(2));
        pause(std::chrono::microseconds(scene.random.below(300)));
    }
    for (const std::uint32_t ring : {kReceive, kTransmit})
        scene.guest.frontend.send_ring(kSetVringEnable, ring, 1);
}

void ring_size(Scene& scene) {
    Guest& guest = scene.guest;
    if (!guest.frontend.reconnect() || !guest.negotiate() || !guest.send_memory())
        return;
    const std::uint32_t sizes[] = {0, 1, 2, 3, 255, 257, 32'768, 32'769, 65'535, 65'536, 0x8000'0000, ~0U};
    for (const std::uint32_t ring : {kReceive, kTransmit}) {
        guest.set_up_ring(ring);
        guest.frontend.send_ring(kSetVringNum, ring, scene.random.pick(sizes));
        if (scene.random.chance(50))
            guest.frontend.send(kSetVringAddr, guest.tx.addresses(ring));
    }
    guest.tx.descriptor(0) = {Guest::kTransmitBuffersAt, 200, 0, 0};
    for (int i = 0; i < 8; ++i)
        guest.tx.publish(0);
    pause();
    guest.stop();
}

/// With rings at the very end of memory, a larger size reaches beyond it.
void ring_resized(Scene& scene) {
    Guest& guest = scene.guest;
    if (!guest.restart())
        return;
    const std::uint32_t ring = scene.random.below(2);
    RingAddress address = guest.tx.addresses(ring);
    constexpr std::uint64_t kEnd = GuestMemory::kUserBase + GuestMemory::kBytes;
    address.descriptors = kEnd - 16 * Guest::kRingSize;
    address.avail = address.descriptors - 1024;
    address.used = address.avail - 4096;
    if (scene.random.chance(50))
        std::swap(address.avail, address.descriptors);
    address.descriptors &= ~15ULL;
    guest.frontend.send(kSetVringAddr, address);
    pause();
    const std::uint32_t sizes[] = {2 * Guest::kRingSize, 4096, 32'768};
    guest.frontend.send_ring(kSetVringNum, ring, scene.random.pick(sizes));
    // All that the larger ring's avail index may reach.
    *guest.memory.as<std::uint16_t>(address.avail - GuestMemory::kUserBase + 2) = 30'000;
    pause();
    *guest.memory.as<std::uint16_t>(address.avail - GuestMemory::kUserBase + 2) = 60'000;
    pause();
    guest.stop();
}

void ring_unsized(Scene& scene) {
    Guest& guest = scene.guest;
    if (!guest.start())
        return;
    scene.send_some(16);
    const std::uint32_t ring = scene.random.below(2);
    const std::uint64_t index = ring;
    guest.frontend.send_ring(kGetVringBase, ring, 0);
    const File event = File::event();
    if (scene.random.chance(50))
        guest.frontend.send_ring(kSetVringBase, ring, 0);
    guest.frontend.send(kSetVringAddr, guest.tx.addresses(ring));
    guest.frontend.send(kSetVringCall, index, {event.number()});
    guest.frontend.send(kSetVringKick, index, {event.number()});
    guest.frontend.send_ring(kSetVringEnable, ring, 1);
    guest.tx.descriptor(0) = {Guest::kTransmitBuffersAt, 200, 0, 0};
    for (int i = 0; i < 64; ++i)
        guest.tx.publish(0);
    pause();
    guest.stop();
}

void ring_address(Scene& scene) {
    Guest& guest = scene.guest;
    if (!guest.restart())
        return;
    constexpr std::uint64_t kBase = GuestMemory::kUserBase;
    for (int i = 0; i < 4; ++i) {
        const std::uint32_t ring = scene.random.below(2);
        RingAddress address = guest.tx.addresses(ring);
        std::uint64_t* const fields[] = {&address.descriptors, &address.avail, &address.used, &address.log};
        const std::uint64_t places[] = {0,
                                        kBase,
                                        kBase + GuestMemory::kBytes - scene.random.below(5000),
                                        kBase + GuestMemory::kRegionBytes - scene.random.below(5000),
                                        kBase + scene.random.below(GuestMemory::kBytes),
                                        address.descriptors,
                                        ~0ULL - scene.random.below(5000),
                                        scene.random.next()};
        *scene.random.pick(fields) = scene.random.pick(places);
        if (scene.random.chance(10))
            address.flags = scene.random.below(4);
        guest.frontend.send(kSetVringAddr, address);
        guest.tx.avail_index().fetch_add(4);
        pause();
    }
    guest.stop();
}

void ring_base(Scene& scene) {
    Guest& guest = scene.guest;
    if (!guest.start())
        return;
    for (int i = 0; i < 4; ++i) {
        scene.send_some(32);
        const std::uint32_t ring = scene.random.below(2);
        if (scene.random.chance(50)) {
            guest.frontend.send_ring(kSetVringBase, ring, scene.random.below(65'536));
        } else {
            guest.frontend.send_ring(kGetVringBase, ring, 0);
            guest.set_up_ring(ring);
        }
        pause(std::chrono::microseconds(scene.random.below(300)));
    }
    guest.frontend.drain();
    guest.stop();
}

void ring_full(Scene& scene) {
    if (!scene.guest.start())
        return;
    scene.send_some(Guest::kRingSize / 2);
    if (!scene.guest.taken())
        scene.guest.stop();
}

void tiny_buffers(Scene& scene) {
    if (!scene.guest.restart(Guest::kWanted | (scene.random.chance(50) ? mask(kMergeable) : 0)))
        return;
    SplitRing& ring = scene.guest.rx;
    const std::uint32_t bytes[] = {0, 1, 11, 12, 13};
    for (std::uint16_t i = 0; i < Guest::kRingSize; ++i) {
        ring.descriptor(i) = {Guest::kReceiveBuffersAt + i, scene.random.pick(bytes), kWrite, 0};
        ring.publish(i);
    }

    scene.send_some(Guest::kRingSize / 2);
    (void)scene.guest.taken();
    pause(std::chrono::milliseconds(5));
}

void packed_switch(Scene& scene) {
    Guest& guest = scene.guest;
    if (!guest.restart(Guest::kWanted | (scene.random.chance(50) ? mask(kPackedRing) : 0)))
        return;
    const std::uint32_t ring = scene.random.below(2);
    const std::uint64_t features = guest.features() ^ mask(kPackedRing);
    guest.frontend.send_ring(kGetVringBase, ring, 0);  // ends the device, so that features may be set
    guest.frontend.send(kSetFeatures, features);
    if (scene.random.chance(70))
        guest.set_up_ring(ring);
    for (std::uint16_t i = 0; i < Guest::kRingSize; ++i)  // packed: address, length, id, flags
        guest.tx.descriptor(i) = {
            Guest::kTransmitBuffersAt, scene.random.below(3000),
            static_cast<std::uint16_t>(scene.random.below(65'536)),
            static_cast<std::uint16_t>(scene.random.chance(80) ? 0x80 | scene.random.below(8)
                                                               : scene.random.below(65'536))};
    pause(std::chrono::milliseconds(1));
    guest.stop();
}

}  // namespace weir::hostile
