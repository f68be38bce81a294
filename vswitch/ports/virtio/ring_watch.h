// ring_watch.h - a word of a ring that the driver changes when it makes a buffer available.
// Source: virtio 1.2 2.7; virtio 1.2 2.8. Units: entries. Threads: the ring's owning worker.
//
// To poll a ring that has been empty for long costs its vNIC's state, its port, device and ring: six cache
// lines. The word alone is one, and many are looked at in one sweep.
//
// Example: the avail index of a split ring is 7, as many as were taken. The driver writes 8: changed().
#pragma once

#include <cstdint>

namespace weir::virtio {

struct RingWatch {
    const std::uint16_t* word;  ///< in the guest's memory
    std::uint16_t mask;         ///< bits that count
    std::uint16_t seen;         ///< while the ring is empty

    [[nodiscard]] bool changed() const { return (__atomic_load_n(word, __ATOMIC_RELAXED) & mask) != seen; }
};

/// Asks the driver to kick for the next buffer, then looks: one of the two sees the other's step.
/// @tparam R SplitRing or PackedRing @return false: there is a buffer
template <class R>
[[nodiscard]] bool ask_for_kick(R& ring) {
    ring.wish_kicks(true);
    return ring.watch().has_value();
}

}  // namespace weir::virtio
