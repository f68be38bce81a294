// vnic_sample.h - a few counters of vNICs at one moment, copied by their worker for the agent's history.
// Source: docs/design.md 2. Units: bytes as accounted, packets, ns. Threads: filled by the worker between the
// agent's command and its end, else the agent's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/clock.h"
#include "common/types.h"
#include "vswitch/base/stats.h"

namespace weir {

/// Counters since the vNIC was added, but for `queue_delay`.
struct VnicSample {
    VnicId id = kNoVnic;
    VnicGeneration generation = 0;
    std::uint64_t sent_bytes = 0;            ///< delivered of the VM's frames
    std::uint64_t received_bytes = 0;        ///< delivered to the VM
    std::uint64_t dropped = 0;               ///< packets of both directions
    std::array<Nanos, kHoldReasons> held{};  ///< time of held-back rings, with the one that still is
    Nanos queue_delay = 0;                   ///< longest since the last sample, of packets that waited
};

/// Of one command. The agent writes ids, generations and the count, the worker all else.
struct VnicSamples {
    /// Bounds the time that a command takes from the VMs: some microseconds.
    static constexpr std::size_t kMax = 64;

    Nanos at = 0;
    std::size_t count = 0;
    std::array<VnicSample, kMax> vnics{};
};

}  // namespace weir
