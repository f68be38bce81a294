// packet_ref.h - a packet as the scheduler sees it: an opaque pointer and what it costs.
// Threads: any (values).
#pragma once

#include <cstdint>

#include "common/clock.h"

namespace weir {

struct PacketRef {
    void* packet;           ///< owned by whoever put it in; the scheduler only carries it
    Nanos enqueued;         ///< when it was taken from the ring: queue delay is measured from here
    std::uint32_t bytes;    ///< accounted bytes of all its wire frames
    std::uint16_t frames;   ///< wire frames: more than one if it will be segmented
    std::uint16_t buffers;  ///< buffers (mbufs) that it holds
};
static_assert(sizeof(PacketRef) == 24);

}  // namespace weir
