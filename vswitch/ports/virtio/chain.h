// chain.h - where a ring is, and a chain of its descriptors: the same for both layouts.
// Source: virtio 1.2 2.7; virtio 1.2 2.8. Units: entries; bytes. Threads: any (values).
#pragma once

#include <cstdint>

#include "vswitch/ports/virtio/layout.h"

namespace weir::virtio {

struct PackedPlace;

/// Where a ring is in this process, and how far it was read and written before.
struct RingPlace {
    void* descriptors = nullptr;
    void* driver_area = nullptr;  ///< the avail ring; of a packed ring the driver's event suppression
    void* device_area = nullptr;  ///< the used ring; of a packed ring the device's event suppression
    std::uint16_t size = 0;
    std::uint16_t avail = 0;  ///< of a packed ring bit 15 is the wrap counter
    std::uint16_t used = 0;   ///< likewise
    bool event_index = false;
    bool indirect = false;
    std::uint64_t guest_address = 0;  ///< of a packed ring's descriptors, for the log of dirty pages
    PackedPlace* noted = nullptr;     ///< where the worker notes the place of a packed ring; null: nowhere
};

/// A chain that the driver has made available. Private copies.
struct Chain {
    std::uint16_t id;           ///< the driver's number for it
    std::uint16_t descriptors;  ///< of the ring, that it takes
    std::uint16_t flags;        ///< of the first descriptor
    std::uint32_t bytes;        ///< of the first descriptor
    std::uint64_t address;      ///< likewise

    /// It is this one buffer.
    [[nodiscard]] bool simple(std::uint16_t direction) const {
        using namespace descriptor_flag;
        return (flags & (kNext | kIndirect | kWrite)) == direction;
    }
};

}  // namespace weir::virtio
