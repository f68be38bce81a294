// vhost_device.h - a connection of the vhost library as a virtio::Device, dealt out to workers, and back.
// Source: DPDK vhost library guide; vhost-user protocol. Units: rings.
// Threads: vhost's control thread, while no worker has the device.
//
// The library negotiates, maps memory and keeps the indices of rings that stand still. While a ring runs its
// indices are the Device's: return_indices() gives them back before the library answers GET_VRING_BASE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "vswitch/ports/foreign_files.h"
#include "vswitch/ports/ring_places.h"
#include "vswitch/ports/virtio/device.h"

namespace weir {

/// Bit n stands for ring n; odd ones are the guest's transmit rings.
struct RingBits {
    std::uint32_t enabled = 0;
    std::uint32_t disabled = 0;  ///< those of transmit rings that run are taken, and their frames dropped
};

/// @param vid of a connection that is ready
/// @param places of the vNIC's packed rings: they go on there, and their workers note how far they are
/// @return the rings that lie in the guest's memory as virtio asks; a ring that does not is left out and is
/// `misplaced`. Where the place of one is not known none is there: a vNIC works in both directions or in
/// none.
[[nodiscard]] std::unique_ptr<virtio::Device> open_device(int vid, std::uint64_t negotiated,
                                                          const RingBits& rings, RingPlaces& places);

/// Deals the rings out to `servers` workers, each of which has a device of its own: pair q is for worker
/// q % servers. The first one has `misplaced`.
[[nodiscard]] std::vector<std::unique_ptr<virtio::Device>> deal(virtio::Device& whole, std::size_t servers);

/// A copy of the file by which the driver kicks the ring; none: it has no such file.
[[nodiscard]] FileHandle copy_of_kicks(int vid, std::uint16_t ring);

/// Gives the library the indices of all rings. No worker has the device any more.
void return_indices(virtio::Device& device);

}  // namespace weir
