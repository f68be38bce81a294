// device.h - one guest's network device: its memory and its rings, and bursts between them and mbufs.
// Source: virtio 1.2 5.1.6; docs/algorithms.md 3.11. Units: frames; bytes.
// Threads: built and read back by vhost's control thread while no worker has it; bursts by the owning worker.
//
// Safe by construction: a copy goes to or from a Piece, which GuestMemory has cut to the guest's memory; each
// number that the guest wrote is copied before it is looked at; used entries are written at indices of our
// own.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "vswitch/base/limits.h"
#include "vswitch/ports/virtio/guest_memory.h"
#include "vswitch/ports/virtio/net_header.h"
#include "vswitch/ports/virtio/packed_ring.h"
#include "vswitch/ports/virtio/split_ring.h"

struct rte_mbuf;
struct rte_mempool;

namespace weir::virtio {

using Ring = std::variant<SplitRing, PackedRing>;

/// The driver's negotiated features, as far as bursts depend on them.
struct Terms {
    int vid = -1;  ///< of the vhost library, for the log of dirty pages
    HeaderRights rights;
    std::uint32_t header_bytes = kNetHeaderBytes;
    bool mergeable = false;
    bool logs = false;             ///< a migration is under way: written pages are logged
    bool copies_payloads = false;  ///< none is left in the guest
};

struct Lane {
    Ring ring;
    std::uint16_t number = 0;  ///< of vhost-user
    int call = -1;             ///< eventfd of the driver; -1: it polls
    bool named = false;        ///< its fault was counted
    bool kicks = false;        ///< a kick of the driver ends its worker's sleep
    bool disabled = false;     ///< a transmit ring whose frames are taken and dropped

    /// Frames to the guest.
    [[nodiscard]] bool receives() const { return number % 2 == 0; }
};

/// Frames that a burst moved, and its effects besides.
struct BurstResult {
    std::uint16_t frames = 0;
    std::uint16_t too_long = 0;  ///< frames that the buffers of the driver cannot hold
    std::uint16_t refused = 0;   ///< chains of the driver that break a rule, returned without a frame
    /// Descriptors that a burst to the guest looked at, beyond those of plain buffers for its frames.
    std::uint32_t excess = 0;
    std::uint16_t straight = 0;          ///< frames that were copied out of their sender's memory
    bool owes = false;                   ///< payloads are left, and the driver does not see its chains used
    bool notify = false;                 ///< the driver wants an interrupt
    RingFault fault = RingFault::kNone;  ///< why the ring is stopped
};

/// Frames that the guest sent, copied into buffers of `pool`.
/// @param frames room for `most` (<= limits::kBurst), which belong to the caller
/// The payloads of long ones are left in the guest (left_payload.h), but during a migration, which logs the
/// used index with the chains. `owes`: show_used() follows when they were sent or fetched.
[[nodiscard]] BurstResult take(Lane& lane, const Terms& terms, const GuestMemory& memory, rte_mempool* pool,
                               rte_mbuf** frames, std::uint16_t most);
/// Shows the driver the chains of a burst that owes them.
[[nodiscard]] BurstResult show_used(Lane& lane);

/// Destination of the frame that take() would give first, 48 bits, first wire byte lowest; none: no frame.
[[nodiscard]] std::optional<std::uint64_t> peek_destination(Lane& lane, const Terms& terms,
                                                            const GuestMemory& memory);

/// Copies frames to the guest. All still belong to the caller: first the `frames` that were copied, then
/// those that there is no room for, in order, and the `too_long` at the end.
[[nodiscard]] BurstResult put(Lane& lane, const Terms& terms, const GuestMemory& memory,
                              std::span<rte_mbuf*> frames);

struct Device {
    /// Lanes of one direction.
    struct Lanes {
        std::array<Lane, limits::kQueuesMax> lanes;
        std::uint16_t count = 0;
        std::uint16_t next = 0;  ///< of round robin: the lane of the next burst

        [[nodiscard]] std::span<Lane> all() { return {lanes.data(), count}; }
    };

    Terms terms;
    GuestMemory memory;
    Lanes from_vm;
    Lanes to_vm;
    /// An enabled ring that could not be placed.
    struct Misplaced {
        std::uint16_t number;
        RingFault why;
    };
    std::optional<Misplaced> misplaced;
};

}  // namespace weir::virtio
