// recent_places.cc - look-up of a place, renewal of its time, and replacement of the oldest of its set.
#include "cost_functions/recent_places.h"

#include <algorithm>
#include <bit>

namespace weir {

RecentPlaces::RecentPlaces(const RepeatRule& rule)
    : sets_(std::bit_ceil(std::max<std::size_t>(rule.capacity, kWays)) / kWays),
      mask_(sets_.size() - 1),
      window_(rule.window),
      block_bits_(rule.block_bits) {}

bool RecentPlaces::touch(std::uint64_t place, std::uint32_t span, Nanos now) noexcept {
    place >>= block_bits_;
    // Exponent of the smallest power of two that is at least the span: 0..32.
    const std::uint64_t reach = span <= 1 ? 0 : static_cast<std::uint64_t>(std::bit_width(span - 1));
    const std::uint64_t seen = ((now + 1) << kReachBits) | reach;
    Entry* oldest = nullptr;
    for (Entry& entry : set_of(place).entries) {
        if (entry.place == place && entry.seen != 0) {
            const Nanos age = now - ((entry.seen >> kReachBits) - 1);
            const bool fresh = age <= window_;
            const std::uint64_t reached = entry.seen & kReachMask;
            // A smaller piece does not make the rest of the larger one recent.
            if (!fresh || reach >= reached)
                entry.seen = seen;
            return fresh && reach <= reached;
        }
        if (oldest == nullptr || entry.seen < oldest->seen)
            oldest = &entry;
    }
    *oldest = {place, seen};
    return false;
}

void RecentPlaces::forget(std::uint64_t place) noexcept {
    place >>= block_bits_;
    for (Entry& entry : set_of(place).entries)
        if (entry.place == place)
            entry = {};
}

}  // namespace weir
