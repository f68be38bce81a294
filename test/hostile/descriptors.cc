// descriptors.cc - attacks: chains of descriptors that a guest may write into its transmit ring.
// Source: virtio 1.2 2.7.5. Units: bytes.
#include "test/hostile/attacks.h"

namespace weir::hostile {
namespace {

constexpr std::uint32_t kFrameBytes = 100;

/// A guest with fresh rings, as the last step may have left a chain at which the switch stands still.
bool begin(Scene& scene) {
    return scene.guest.restart();
}

/// Publishes the chain, and honest frames behind it.
void publish(Scene& scene, std::uint16_t head) {
    SplitRing& ring = scene.guest.tx;
    ring.publish(head);
    const auto behind = static_cast<std::uint16_t>((head + Guest::kRingSize / 2) % Guest::kRingSize);
    ring.descriptor(behind) = {Guest::kTransmitBuffersAt, kFrameBytes, 0, 0};
    ring.publish(behind);
    (void)scene.guest.taken();
}

std::uint64_t random_address(Random& random) {
    const std::uint64_t near[] = {0,
                                  GuestMemory::kRegionBytes,
                                  GuestMemory::kBytes,
                                  GuestMemory::kUserBase,
                                  1ULL << 32,
                                  1ULL << 47,
                                  1ULL << 63,
                                  ~0ULL,
                                  random.next(),
                                  Guest::kTransmitBuffersAt};
    return random.pick(near) + random.below(8192) - 4096;
}

std::uint32_t random_length(Random& random) {
    const std::uint32_t near[] = {0, 12, 60, 1500, 65'535, 4U << 20, 1U << 31, 0xFFFF'F000, 65'536};
    return random.pick(near) + random.below(32) - 16;
}

}  // namespace

void loop(Scene& scene) {
    if (!begin(scene))
        return;
    SplitRing& ring = scene.guest.tx;
    const auto length = static_cast<std::uint16_t>(1 + scene.random.below(16));
    const auto back = static_cast<std::uint16_t>(scene.random.below(length));
    for (std::uint16_t i = 0; i < length; ++i)
        ring.descriptor(i) = {Guest::kTransmitBuffersAt, scene.random.chance(50) ? kFrameBytes : 0, kNext,
                              static_cast<std::uint16_t>(i + 1 < length ? i + 1 : back)};
    publish(scene, 0);
}

void long_chain(Scene& scene) {
    if (!begin(scene))
        return;
    SplitRing& ring = scene.guest.tx;
    const std::uint16_t ends[] = {Guest::kRingSize - 1, Guest::kRingSize - 2, Guest::kRingSize, 17};
    const std::uint16_t end = scene.random.pick(ends);
    const std::uint32_t bytes = 1 + scene.random.below(300);
    for (std::uint16_t i = 0; i < Guest::kRingSize; ++i)
        ring.descriptor(i) = {Guest::kTransmitBuffersAt + i * 512U, bytes,
                              i == end ? std::uint16_t{0} : kNext, static_cast<std::uint16_t>(i + 1)};
    publish(scene, 0);
}

/// Each descriptor may describe all of a region: 256 times 4 MiB are 1 GiB.
void huge_chain(Scene& scene) {
    if (!begin(scene))
        return;
    SplitRing& ring = scene.guest.tx;
    const std::uint16_t lengths[] = {1, 2, 16, 128, 255};
    const std::uint16_t length = scene.random.pick(lengths);
    const std::uint32_t sizes[] = {16'384, 65'536, 1U << 20, 4U << 20};
    const std::uint32_t bytes = scene.random.pick(sizes);
    for (std::uint16_t i = 0; i < length; ++i)
        ring.descriptor(i) = {i % 2 == 0 ? 0 : GuestMemory::kRegionBytes, bytes,
                              i + 1 == length ? std::uint16_t{0} : kNext, static_cast<std::uint16_t>(i + 1)};
    for (int copies = 0; copies < 32; ++copies)
        ring.publish(0);
    (void)scene.guest.taken(std::chrono::milliseconds(20));
}

void outside(Scene& scene) {
    if (!begin(scene))
        return;
    scene.guest.tx.descriptor(0) = {random_address(scene.random), random_length(scene.random), 0, 0};
    publish(scene, 0);
}

void crossing(Scene& scene) {
    if (!begin(scene))
        return;
    const std::uint64_t ends[] = {GuestMemory::kRegionBytes, GuestMemory::kBytes};
    const std::uint32_t before = scene.random.below(3000);
    scene.guest.tx.descriptor(0) = {scene.random.pick(ends) - before, before + scene.random.below(3000), 0,
                                    0};
    publish(scene, 0);
}

void empty(Scene& scene) {
    if (!begin(scene))
        return;
    const auto length = static_cast<std::uint16_t>(1 + scene.random.below(8));
    for (std::uint16_t i = 0; i < length; ++i)
        scene.guest.tx.descriptor(i) = {Guest::kTransmitBuffersAt, scene.random.below(15),
                                        i + 1 == length ? std::uint16_t{0} : kNext,
                                        static_cast<std::uint16_t>(i + 1)};
    publish(scene, 0);
}

void indirect(Scene& scene) {
    if (!begin(scene))
        return;
    constexpr std::uint64_t kTableAt = Guest::kTablesAt;
    auto* table = scene.guest.memory.as<Descriptor>(kTableAt);
    constexpr std::uint32_t kEntriesMax = 4096;
    const std::uint32_t counts[] = {0, 1, 2, 128, Guest::kRingSize, Guest::kRingSize + 1, kEntriesMax};
    const std::uint32_t entries = scene.random.pick(counts);
    const bool nested = scene.random.chance(20);
    const bool ends = scene.random.chance(70);
    for (std::uint32_t i = 0; i < entries; ++i) {
        const bool last = ends && i + 1 == entries;
        table[i] = {Guest::kTransmitBuffersAt, 1 + scene.random.below(200),
                    static_cast<std::uint16_t>((last ? 0U : kNext) | (nested ? kIndirect : 0U)),
                    static_cast<std::uint16_t>(i + 1)};
        if (nested)
            table[i].address = kTableAt;
    }
    const std::uint64_t places[] = {kTableAt,
                                    kTableAt,
                                    kTableAt,
                                    GuestMemory::kBytes - 8,
                                    GuestMemory::kRegionBytes - 24,
                                    random_address(scene.random)};
    const std::uint32_t odd = scene.random.chance(20) ? scene.random.below(16) : 0;
    const std::uint16_t flags[] = {kIndirect, kIndirect, kIndirect | kNext, kIndirect | kWrite};
    const std::uint64_t place = scene.random.pick(places);
    scene.guest.tx.descriptor(0) = {place, entries * 16 + odd, scene.random.pick(flags), 0};
    publish(scene, 0);
}

void random_descriptors(Scene& scene) {
    if (!begin(scene))
        return;
    SplitRing& ring = scene.guest.tx;
    for (std::uint16_t i = 0; i < Guest::kRingSize; ++i)
        ring.descriptor(i) = {
            scene.random.chance(80) ? scene.random.below(GuestMemory::kBytes) : random_address(scene.random),
            scene.random.chance(80) ? scene.random.below(4000) : random_length(scene.random),
            static_cast<std::uint16_t>(scene.random.below(8)),
            static_cast<std::uint16_t>(scene.random.below(Guest::kRingSize + 8))};
    for (std::uint16_t i = 0; i < 32; ++i)
        ring.publish(static_cast<std::uint16_t>(scene.random.below(Guest::kRingSize)));
    (void)scene.guest.taken();
}

}  // namespace weir::hostile
