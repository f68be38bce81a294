// races.cc - attacks: memory that the switch reads changes between its check and its use.
// Source: virtio 1.2 2.7.5. Threads: a second thread rewrites while the first one publishes.
#include "test/hostile/attacks.h"
#include "test/hostile/race.h"

namespace weir::hostile {
namespace {

void flip(Descriptor& descriptor, std::uint64_t address, std::uint32_t bytes, std::uint16_t flags,
          std::uint16_t next) {
    std::atomic_ref(descriptor.address).store(address, std::memory_order_relaxed);
    std::atomic_ref(descriptor.bytes).store(bytes, std::memory_order_relaxed);
    std::atomic_ref(descriptor.flags).store(flags, std::memory_order_relaxed);
    std::atomic_ref(descriptor.next).store(next, std::memory_order_relaxed);
}

constexpr std::uint64_t kGood = Guest::kTransmitBuffersAt;

void flip_any(Random& random, Descriptor& descriptor) {
    const std::uint64_t addresses[] = {kGood, kGood, GuestMemory::kBytes, GuestMemory::kBytes - 4, ~0ULL, 0};
    const std::uint32_t lengths[] = {0, 12, 100, 100, 4000, 4U << 20, ~0U};
    const std::uint16_t flags[] = {0, 0, kNext, kIndirect};
    flip(descriptor, random.pick(addresses), random.pick(lengths), random.pick(flags),
         static_cast<std::uint16_t>(random.below(Guest::kRingSize + 2)));
}

}  // namespace

void rewritten(Scene& scene) {
    if (!scene.guest.restart())
        return;
    SplitRing& ring = scene.guest.tx;
    Random random(scene.random.next());
    race([&] { flip_any(random, ring.descriptor(random.below(16))); },
         [&] { ring.publish(static_cast<std::uint16_t>(scene.random.below(16))); });
}

void table_rewritten(Scene& scene) {
    if (!scene.guest.restart())
        return;
    SplitRing& ring = scene.guest.tx;
    auto* table = scene.guest.memory.as<Descriptor>(Guest::kTablesAt);
    Random random(scene.random.next());
    for (std::uint16_t i = 0; i < 16; ++i)
        ring.descriptor(i) = {Guest::kTablesAt, 16 * 16, kIndirect, 0};
    race([&] { flip_any(random, table[random.below(16)]); },
         [&] { ring.publish(static_cast<std::uint16_t>(scene.random.below(16))); });
}

void header_rewritten(Scene& scene) {
    if (!scene.guest.restart())
        return;
    const Frame frame = ipv4_frame(scene.peer, scene.own, 9000, true);
    Random random(scene.random.next());
    race(
        [&] {
            auto* word = scene.guest.memory.as<std::uint16_t>(
                kGood + std::uint64_t{random.below(Guest::kRingSize)} * Guest::kTransmitBufferBytes +
                2 * std::uint64_t{random.below(40)});
            std::atomic_ref(*word).store(static_cast<std::uint16_t>(random.next()),
                                         std::memory_order_relaxed);
        },
        [&] { (void)scene.guest.transmit({.flags = 1, .segmentation = 1, .segment_bytes = 500}, frame); });
}

void receive_headers(Scene& scene) {
    if (!scene.guest.start())
        return;
    scene.guest.offer_buffers();
    Random random(scene.random.next());
    race(
        [&] {
            const auto word = static_cast<std::uint16_t>(random.next());
            for (std::uint64_t slot = 0; slot < Guest::kRingSize; ++slot)
                std::atomic_ref(*scene.guest.memory.as<std::uint16_t>(Guest::kReceiveBuffersAt +
                                                                      slot * Guest::kReceiveBufferBytes))
                    .store(word, std::memory_order_relaxed);
        },
        [&] { (void)scene.guest.receive([](std::span<const std::uint8_t>) {}); });
}

}  // namespace weir::hostile
