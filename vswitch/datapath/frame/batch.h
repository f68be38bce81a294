// batch.h - one burst of classified frames, as parallel arrays on the worker's stack.
// Units: bytes as accounted. Threads: owning worker.
#pragma once

#include <array>
#include <cstdint>

#include "vswitch/base/limits.h"
#include "vswitch/datapath/frame/destination.h"

struct rte_mbuf;

namespace weir {

struct Batch {
    std::array<rte_mbuf*, limits::kBurst> frames;
    std::array<std::uint32_t, limits::kBurst> bytes;        ///< accounted, of all its wire frames together
    std::array<std::uint16_t, limits::kBurst> wire_frames;  ///< > 1 for a TSO super-frame
    std::array<Destination, limits::kBurst> to;
    std::uint16_t count = 0;
    std::uint32_t bytes_total = 0;
    std::uint32_t wire_frames_total = 0;
    std::uint32_t longest = 0;        ///< single frame without FCS, for the MTU check; super-frames excluded
    std::uint64_t offload_flags = 0;  ///< OR of what senders asked for
    bool same_destination = true;
};

/// A run of frames inside a batch that go to one destination.
struct Run {
    rte_mbuf** frames;
    const std::uint32_t* bytes;
    const std::uint16_t* wire_frames;
    std::uint16_t count;
    std::uint32_t bytes_total;
    std::uint32_t wire_frames_total;
    std::uint32_t longest;
    std::uint64_t offload_flags;
};

}  // namespace weir
