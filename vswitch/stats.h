// stats.h - what a worker counts. Plain numbers: only the owning worker touches them, and it copies a
// consistent snapshot out when the agent asks, so that offered = delivered + queued + dropped holds in every
// reading. Units: frames as the guest hands them over (a TSO super-frame is one); bytes as accounted (wire or
// L2); cycles; ns. Threads: owning worker.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "common/clock.h"
#include "common/metrics.h"
#include "vswitch/drop_reason.h"

namespace weir {

/// Bytes from a vNIC to one address over the wire for which the controller has allocated a rate.
struct PeerReading {
    std::uint64_t address = 0;  ///< MacAddress::bits
    std::uint64_t bytes = 0;    ///< sent since the allocation began
    std::uint64_t queued = 0;   ///< bytes that wait
};
/// The controller's rate for what a vNIC sends to one address.
struct PeerAllocation {
    std::uint64_t address = 0;
    std::optional<std::uint64_t> rate{};  ///< bytes per second; UINT64_MAX: only counted; nullopt: withdrawn
};

struct Tally {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;

    void add(std::uint64_t more_packets, std::uint64_t more_bytes) {
        packets += more_packets;
        bytes += more_bytes;
    }
    void remove(std::uint64_t fewer_packets, std::uint64_t fewer_bytes) {
        packets -= fewer_packets;
        bytes -= fewer_bytes;
    }
};

/// One direction of a port. Invariant between iterations: offered = delivered + queued + dropped. The tallies
/// share a cache line: a burst touches one.
struct alignas(64) DirectionStats {
    Tally offered;
    Tally delivered;
    Tally queued;
    Tally dropped;
    std::array<std::uint64_t, kDropReasons> drops{};  ///< packets by reason; their sum is dropped.packets

    void drop(DropReason reason, std::uint64_t packets, std::uint64_t bytes) {
        drops[static_cast<std::size_t>(reason)] += packets;
        dropped.add(packets, bytes);
    }
    void add(const DirectionStats& part) {
        offered.add(part.offered.packets, part.offered.bytes);
        delivered.add(part.delivered.packets, part.delivered.bytes);
        queued.add(part.queued.packets, part.queued.bytes);
        dropped.add(part.dropped.packets, part.dropped.bytes);
        for (std::size_t i = 0; i < kDropReasons; ++i)
            drops[i] += part.drops[i];
    }
};

/// Why the switch left a VM's ring alone, and for how long.
enum class HoldReason : std::uint8_t { kLimit, kUplink, kBuffers, kEncryption, kCount };

struct VnicStats {
    DirectionStats from_vm;
    DirectionStats to_vm;
    Tally admitted;                  ///< from_vm, past the vNIC's own limit
    std::uint64_t uplink_bytes = 0;  ///< of from_vm.delivered, towards the wire
    std::uint64_t bursts = 0;
    std::uint64_t cycles = 0;
    std::array<Nanos, static_cast<std::size_t>(HoldReason::kCount)> held_ns{};
    std::uint64_t flood_copies = 0;
    std::uint64_t ecn_marked = 0;
    std::uint64_t encryption_tokens = 0;  ///< what the tunnels have cost it
    std::uint64_t limiters = 0;           ///< destinations that have asked it for a rate (feedback)
    std::uint64_t received_rate = 0;      ///< from the wire in the last period, bytes per second
    std::uint64_t receive_capacity = 0;   ///< its part of the downlink
    std::uint64_t advertised_rate = 0;    ///< what its senders are told; 0 = feedback is off
};

struct WorkerStats {
    std::uint64_t iterations = 0;
    std::uint64_t busy_iterations = 0;
    std::uint64_t busy_cycles = 0;
    std::uint64_t idle_cycles = 0;
    std::uint64_t packets = 0;
    std::uint64_t bursts = 0;
};

/// Frames for vNICs of another worker, and what was lost that is among nobody's drops: there the original
/// frame was counted as delivered.
struct HandoffStats {
    std::uint64_t posted = 0;
    std::uint64_t vnic_gone = 0;              ///< the vNIC went while they were on their way to its worker
    std::uint64_t copies_ring_full = 0;       ///< flooded copies: the other worker was behind
    std::uint64_t copies_without_buffer = 0;  ///< flooded copies that could not be made
};

/// Feedback between switches.
struct FeedbackStats {
    std::uint64_t told = 0;    ///< frames sent
    std::uint64_t untold = 0;  ///< for lack of a buffer or of room; the next makes up for it
    std::uint64_t heard = 0;   ///< frames that set or confirmed a rate
    std::uint64_t stale = 0;   ///< older than the last, or replayed
    std::uint64_t malformed = 0;
    std::uint64_t forged = 0;      ///< the tag is not the key's
    std::uint64_t unknown = 0;     ///< for no vNIC of this host
    std::uint64_t table_full = 0;  ///< no room for another limiter
    std::uint64_t limiters = 0;    ///< flows that have one now
};

/// One tunnel: what came out of the wire for it, and what it sent. Bytes as on the wire.
struct TunnelStats {
    DirectionStats in;               ///< delivered: to vNICs and to the switch itself
    Tally out;                       ///< encrypted
    std::uint64_t tokens = 0;        ///< what it cost those who sent
    std::uint64_t key_messages = 0;  ///< messages of the other end

    void add(const TunnelStats& part) {
        in.add(part.in);
        out.add(part.out.packets, part.out.bytes);
        tokens += part.tokens;
        key_messages += part.key_messages;
    }
};

/// The resources on the path of a request: each has a bucket of its own.
enum class PathResource : std::uint8_t { kAppliance, kUplink, kDownlink, kCycles };
inline constexpr std::size_t kPathResources = 4;
/// What can hold a request back: these buckets, and the appliance's window.
inline constexpr std::size_t kRequestHolds = kPathResources + 1;
inline constexpr std::size_t kWindowHold = kPathResources;
inline constexpr std::array<const char*, kRequestHolds> kRequestHoldNames{"appliance", "uplink", "downlink",
                                                                          "cycles", "window"};

/// A flow of requests: one vNIC's, to one appliance.
struct RequestFlowStats {
    std::array<std::uint64_t, kPathResources> used{};    ///< charged so far: tokens, bytes, bytes, cycles
    std::array<std::uint64_t, kPathResources> queued{};  ///< what those that wait will cost
    std::array<Nanos, kRequestHolds> blocked_ns{};       ///< time in which it held the flow back
    std::array<std::uint64_t, kPathResources> limit{};   ///< per second; UINT64_MAX = none
    std::uint64_t requests = 0;                          ///< seen; those that wait too
    std::uint64_t responses = 0;
    std::uint64_t failed = 0;       ///< responses in which the service said no
    std::uint64_t plain_bytes = 0;  ///< payload of which no header was understood
    std::uint64_t held = 0;         ///< segments that wait now
    std::uint64_t held_total = 0;   ///< segments that have had to wait
    std::uint64_t outstanding = 0;  ///< requests at the appliance
    std::uint64_t outstanding_tokens = 0;
    std::uint64_t connections = 0;
    Nanos since = 0;        ///< when counting began
    Nanos latency_p50 = 0;  ///< from a request's passing the switch to its response
    Nanos latency_p99 = 0;
    Nanos latency_max = 0;
};

struct UplinkStats {
    DirectionStats tx;
    DirectionStats rx;
};

/// Everything a worker counts besides its vNICs, at one moment.
struct WorkerSnapshot {
    WorkerStats worker;
    HandoffStats handoff;
    UplinkStats uplink;
    FeedbackStats feedback;
    std::uint64_t uplink_capacity = 0;
    std::uint32_t mac_entries = 0;
};

/// What the NIC said to a vNIC's rule.
struct Steering {
    bool hardware = false;
    std::string reason;  ///< why software; or, for hardware, what the rule could not do
};

}  // namespace weir
