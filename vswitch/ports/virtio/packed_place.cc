// packed_place.cc - the place by the descriptors, the note and the front-end, in this order.
#include "vswitch/ports/virtio/packed_place.h"

#include <algorithm>

namespace weir::virtio {
namespace {

using namespace descriptor_flag;

constexpr std::uint16_t kIndexMask = 0x7FFF;
constexpr std::uint16_t kFirst = 0x8000;  // of a driver that begins

bool wraps(std::uint16_t position) {
    return (position & ~kIndexMask) != 0;
}

std::uint16_t state_at(std::span<const PackedDescriptor> ring, std::uint16_t position) {
    return load<__ATOMIC_ACQUIRE>(&ring[position & kIndexMask].flags) & (kAvailable | kUsed);
}

/// Whether the descriptor is one that the driver has made available in the round of `position`.
bool is_available(std::span<const PackedDescriptor> ring, std::uint16_t position) {
    return state_at(ring, position) == (wraps(position) ? kAvailable : kUsed);
}

/// Whether no chain can begin at `position`. A descriptor that was used in this round has both bits as the
/// wrap counter. One of the next round has the used bit alike, and so has the rest of a chain of the last
/// round; at the place at which all drivers begin it is taken for the former.
bool is_behind(std::span<const PackedDescriptor> ring, std::uint16_t position) {
    const std::uint16_t state = state_at(ring, position);
    const bool used_bit = (state & kUsed) != 0;
    const bool both = state == 0 || state == (kAvailable | kUsed);
    return used_bit == wraps(position) && (both || position == kFirst);
}

/// Drivers begin with zeros, and the used bit comes with the first chain that is used.
bool is_unused(std::span<const PackedDescriptor> ring) {
    return std::ranges::none_of(
        ring, [](const PackedDescriptor& one) { return (load<__ATOMIC_RELAXED>(&one.flags) & kUsed) != 0; });
}

/// As the worker would have marked them, the first one last.
void mark(std::span<PackedDescriptor> ring, std::span<const PackedPlace::Used> chains) {
    for (auto one = chains.rbegin(); one != chains.rend(); ++one) {
        PackedDescriptor& slot = ring[one->at & kIndexMask];
        slot.id = one->id;
        slot.bytes = one->bytes;
        __atomic_store_n(&slot.flags, used_flags(wraps(one->at), one->bytes), __ATOMIC_RELEASE);
    }
}

/// The chains that the note has; none: it is no note of a ring of this size.
std::optional<std::span<const PackedPlace::Used>> chains_of(const PackedPlace& noted, std::size_t size) {
    const std::uint32_t word = noted.word.load(std::memory_order_acquire);
    const auto inside = [size](std::uint32_t position) { return (position & kIndexMask) < size; };
    const std::size_t count = word & 0xFFFF;
    if (count > noted.used.size() || !inside(word >> 16))
        return std::nullopt;
    const auto chains = std::span(noted.used).first(count);
    if (!std::ranges::all_of(chains, [&](const auto& one) { return inside(one.at) && inside(one.behind); }))
        return std::nullopt;
    return chains;
}

}  // namespace

std::optional<std::uint16_t> resume(std::span<PackedDescriptor> ring, bool served, std::uint16_t base,
                                    const PackedPlace* noted) {
    if (!served && (noted != nullptr || is_unused(ring)))
        return base;
    if (const auto chains = noted != nullptr ? chains_of(*noted, ring.size()) : std::nullopt) {
        const auto first = static_cast<std::uint16_t>(noted->word.load(std::memory_order_relaxed) >> 16);
        const std::uint16_t behind = chains->empty() ? first : chains->back().behind;
        if (noted->state == PackedPlace::kRunning) {
            if (!chains->empty() && is_available(ring, first))
                mark(ring, *chains);
            return behind;
        }
        if (noted->state == PackedPlace::kStopped && behind == base)
            return base;
    }
    return is_behind(ring, base) ? std::nullopt : std::optional(base);
}

}  // namespace weir::virtio
