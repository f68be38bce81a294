// ring_fault.h - a driver's faults for which its ring is stopped.
// Source: virtio 1.2 2.7; virtio 1.2 2.8. Threads: any (values).
#pragma once

#include <cstdint>

namespace weir::virtio {

/// A ring with one of these is stopped until the driver sets it up again: where its next descriptors are can
/// no longer be known. A chain that is wrong in itself is returned to the driver instead, and counted.
enum class RingFault : std::uint8_t {
    kNone,
    kIndex,    ///< the avail index is further ahead than the ring has entries
    kHead,     ///< an avail entry that is no descriptor of the ring
    kChain,    ///< a chain of a packed ring that goes on behind its end, or behind 256 descriptors
    kPlace,    ///< not in the guest's memory as a whole, not aligned, or of a wrong size
    kShort,    ///< receive buffers that hold no frame of 1,514 bytes
    kReceive,  ///< a receive buffer that is empty, not in the guest's memory, or not for the device to write
    kUnknown,  ///< a packed ring that was used before; how far is not known
};

[[nodiscard]] constexpr const char* phrase(RingFault fault) {
    switch (fault) {
        case RingFault::kNone:
            break;
        case RingFault::kIndex:
            return "its avail index is further ahead than the ring has entries";
        case RingFault::kHead:
            return "an avail entry is no descriptor of the ring";
        case RingFault::kChain:
            return "a chain of descriptors has no end, or more than 256";
        case RingFault::kPlace:
            return "it is not in the guest's memory, not aligned, or of a wrong size";
        case RingFault::kShort:
            return "its receive buffers are too short for a frame of 1,514 bytes";
        case RingFault::kReceive:
            return "a receive buffer is empty, outside of the guest's memory, endless or not writable";
        case RingFault::kUnknown:
            return "it is packed and was used before, and its place is not known; reload the guest's driver";
    }
    return "";
}

}  // namespace weir::virtio
