// packed_place.h - where a packed ring goes on after the process or the connection that served it has ended.
// Source: virtio 1.2 2.8; docs/algorithms.md 3.18. Units: positions: bit 15 is the wrap counter.
// Threads: notes by one writer, the worker that polls the ring; all else by vhost's control thread.
//
// A split ring has its used index in the guest's memory. A packed ring has none, and a front-end that was not
// asked for it sends the place at which the ring was started. So the switch notes each place itself, and the
// chains that it uses, because the driver sees those of a burst at once: the first one is marked last.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "vswitch/base/limits.h"
#include "vswitch/ports/virtio/guest_memory.h"
#include "vswitch/ports/virtio/layout.h"

namespace weir::virtio {

/// A ring that is the same one as long as its guest lives: another guest has another file of memory.
struct RingIdentity {
    std::uint64_t file = 0;    ///< inode of the memory that the descriptors are in
    std::uint64_t device = 0;  ///< of that inode
    std::uint64_t at = 0;      ///< address of the descriptors in the guest
    std::uint64_t size = 0;    ///< entries

    bool operator==(const RingIdentity&) const = default;
};

/// One ring's place, in memory that outlives the process (ports/ring_places.h). Zero: nothing is noted.
struct alignas(64) PackedPlace {
    enum State : std::uint32_t { kNone, kRunning, kStopped };
    /// A chain that is used.
    struct Used {
        std::uint16_t at;      ///< position of its first descriptor
        std::uint16_t behind;  ///< position behind it
        std::uint16_t id;
        std::uint32_t bytes;  ///< that the device wrote
    };
    /// Chains of a burst that a ring shows at the latest at the next frame.
    static constexpr std::size_t kShownFrom = limits::kBurst;
    /// A frame begins below kShownFrom and has at most so many chains.
    static constexpr std::size_t kUsedMost = kShownFrom + Pieces::kMost;

    RingIdentity ring;
    std::uint32_t state;  ///< kStopped: the front-end has got the place
    /// Position of the first chain that the driver does not see used, and number of noted chains from there.
    std::atomic<std::uint32_t> word;
    std::array<Used, kUsedMost> used;

    /// So many chains of `used`, from that at `first` on, are going to be marked.
    void commit(std::uint16_t first, std::size_t count) {
        word.store(std::uint32_t{first} << 16 | static_cast<std::uint32_t>(count), std::memory_order_release);
        std::atomic_signal_fence(std::memory_order_seq_cst);  // before the marks, also for a kill in between
    }
    /// The driver sees all used.
    void settle(std::uint16_t position) {
        word.store(std::uint32_t{position} << 16, std::memory_order_release);
    }
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

/// Flags of a descriptor by which the driver sees a chain used.
[[nodiscard]] constexpr std::uint16_t used_flags(bool wrap, std::uint32_t bytes) {
    using namespace descriptor_flag;
    return static_cast<std::uint16_t>((wrap ? kAvailable | kUsed : 0) | (bytes != 0 ? kWrite : 0));
}

/// The switch writes it into the device's event area, at the position of the next kick, which counts only
/// with a wish that the switch never has. A driver that begins zeroes the area.
inline constexpr std::uint16_t kServed = 0x5752;

/// The position at which a ring goes on. Marks the chains of a burst that its worker did not finish.
/// @param ring its descriptors, in the guest's memory
/// @param served the event area has kServed: the driver has not begun anew since
/// @param base position that the front-end gave, within the ring
/// @param noted of this very ring; null: nothing is known
/// @return none: the ring was used, and how far is not known
[[nodiscard]] std::optional<std::uint16_t> resume(std::span<PackedDescriptor> ring, bool served,
                                                  std::uint16_t base, const PackedPlace* noted);

}  // namespace weir::virtio
