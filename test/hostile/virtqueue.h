// virtqueue.h - a ring as a driver that behaves uses it, split or packed, and where its parts lie.
// Source: virtio 1.2 2.6 to 2.8. Units: bytes; entries. Threads: one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "test/hostile/guest_memory.h"

namespace weir::hostile {

/// Guest memory that a chain of descriptors points to.
struct Buffer {
    std::uint64_t address;
    std::uint32_t bytes;
    std::uint16_t flags = 0;  ///< kWrite for a device that writes; kNext is added where one follows
};

/// A chain that the device has given back.
struct Used {
    std::uint16_t id;
    std::uint32_t bytes;  ///< that the device wrote
};

/// A split ring's descriptors, avail and used ring; a packed one's descriptors, driver and device event area.
struct RingParts {
    Extent descriptors;
    Extent driver;
    Extent device;
};

enum class Place {
    kSpaced,   ///< a part in each page from an address on
    kAtBegin,  ///< from an address on, the descriptors first
    kAtEnd,  ///< before an address, last that to which the device writes most: used ring, packed descriptors
};

/// @param size entries, 1 to 32,768
[[nodiscard]] RingParts place_ring(bool packed, Place place, std::uint64_t address, std::uint16_t size);

class Virtqueue {
  public:
    virtual ~Virtqueue() = default;

    /// Gives a chain of 1 to size() buffers to the device. Its descriptors are the next ones of the ring.
    /// @return false: fewer descriptors are free
    virtual bool add(std::span<const Buffer> chain) = 0;
    /// The next chain that the device has given back.
    virtual std::optional<Used> reap() = 0;
    /// Whether the device has given back all that it was given.
    [[nodiscard]] virtual bool all_used() = 0;
    /// Asks the device not to interrupt, as a driver that polls.
    virtual void mute() = 0;
    virtual void unmute() = 0;
    /// Empties the ring, as it is before the device sees it.
    virtual void clear() = 0;
    /// As SET_VRING_BASE has it, before the first chain.
    [[nodiscard]] virtual std::uint32_t base() const = 0;

    [[nodiscard]] std::uint16_t size() const { return size_; }
    [[nodiscard]] const RingParts& parts() const { return parts_; }
    /// Descriptor of the next chain's begin; the following ones are taken in the ring's order.
    [[nodiscard]] std::uint16_t next() const { return next_; }
    [[nodiscard]] std::uint16_t free() const { return free_; }
    /// As SET_VRING_ADDR has them.
    [[nodiscard]] RingAddress addresses(std::uint32_t ring) const {
        constexpr std::uint64_t kBase = GuestMemory::kUserBase;
        return {ring,
                0,
                kBase + parts_.descriptors.address,
                kBase + parts_.device.address,
                kBase + parts_.driver.address,
                0};
    }

  protected:
    Virtqueue(GuestMemory& memory, const RingParts& parts, std::uint16_t size)
        : memory_(&memory), parts_(parts), size_(size), free_(size), lengths_(size) {}
    Virtqueue(const Virtqueue&) = default;
    Virtqueue& operator=(const Virtqueue&) = default;

    /// All parts are zero, all descriptors free.
    void clear_parts();

    GuestMemory* memory_;
    RingParts parts_;
    std::uint16_t size_;
    std::uint16_t next_ = 0;
    std::uint16_t free_;
    std::vector<std::uint16_t> lengths_;  // of the chains that the device has
};

}  // namespace weir::hostile
