// stats.h - counters of workers, vNICs, tunnels and request flows.
// Source: docs/design.md 5.6. Units: frames as the guest hands them over (a TSO super-frame is one); bytes as
// accounted (wire or L2); cycles; ns. Threads: owning worker.
//
// Only the owning worker touches the counters. When the agent asks, the worker copies a snapshot of them
// between two iterations, so that offered = delivered + queued + dropped holds in every reading.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>

#include "common/clock.h"
#include "common/ip_address.h"
#include "common/metrics.h"
#include "vswitch/base/drop_reason.h"

namespace weir {

/// Bytes from a vNIC to one address over the wire for which the controller has allocated a rate.
struct PeerReading {
    std::uint64_t address = 0;  ///< MacAddress::bits
    std::uint64_t bytes = 0;    ///< sent since the allocation began
    std::uint64_t queued = 0;   ///< bytes that wait, if not for a rate of the receiver
    std::uint64_t refused =
        0;  ///< bytes for which the queue had no room, likewise, since the allocation began
};
/// The controller's rate for one vNIC's frames to one address.
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
    /// Frames that a NIC lost before the switch saw them: it does not count their bytes.
    void add_missed(std::uint64_t packets) {
        offered.add(packets, 0);
        drop(DropReason::kNicMissed, packets, 0);
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

/// The invariant of DirectionStats holds, and the reasons add up to the dropped packets.
[[nodiscard]] inline bool balanced(const DirectionStats& stats) {
    const std::uint64_t reasons = std::accumulate(stats.drops.begin(), stats.drops.end(), std::uint64_t{0});
    return stats.offered.packets == stats.delivered.packets + stats.queued.packets + stats.dropped.packets &&
           stats.offered.bytes == stats.delivered.bytes + stats.queued.bytes + stats.dropped.bytes &&
           reasons == stats.dropped.packets;
}

/// The reasons for which a VM's ring is held back.
enum class HoldReason : std::uint8_t { kLimit, kUplink, kBuffers, kEncryption, kReceiver, kRefused, kCount };
inline constexpr auto kHoldReasons = static_cast<std::size_t>(HoldReason::kCount);
inline constexpr std::array<const char*, kHoldReasons> kHoldReasonNames{"limit",      "uplink",   "buffers",
                                                                        "encryption", "receiver", "refused"};

/// An address that a guest may use because a frame to it assigned it.
struct LearnedAddress {
    enum class From : std::uint8_t { kNone, kDhcp, kDhcp6, kRouter };  ///< kNone: the place is free
    From from = From::kNone;
    IpAddress address;
    Nanos until = 0;  ///< kNever: without an end
    bool operator==(const LearnedAddress&) const = default;
};
/// One of a DHCP server, one of a DHCPv6 server, and two of routers' prefixes.
using LearnedAddresses = std::array<LearnedAddress, 4>;

/// Counters of a vNIC, among its state in the poll loop.
struct VnicStats {
    DirectionStats from_vm;
    DirectionStats to_vm;
    Tally admitted;                  ///< of from_vm: passed the vNIC's own limit
    std::uint64_t uplink_bytes = 0;  ///< of from_vm.delivered: sent to the wire
    std::uint64_t bursts = 0;
    std::uint64_t cycles = 0;
    std::array<Nanos, kHoldReasons> held_ns{};
    std::uint64_t flood_copies = 0;
    std::uint64_t ecn_marked = 0;
    std::uint64_t encryption_tokens = 0;  ///< charged for encryption

    /// Of another worker's part of the vNIC. Its ring may be held back at the same time: the longer one
    /// counts.
    void add(const VnicStats& part) {
        from_vm.add(part.from_vm);
        to_vm.add(part.to_vm);
        admitted.add(part.admitted.packets, part.admitted.bytes);
        uplink_bytes += part.uplink_bytes;
        bursts += part.bursts;
        cycles += part.cycles;
        for (std::size_t i = 0; i < kHoldReasons; ++i)
            held_ns[i] = std::max(held_ns[i], part.held_ns[i]);
        flood_copies += part.flood_copies;
        ecn_marked += part.ecn_marked;
        encryption_tokens += part.encryption_tokens;
    }
};

/// The counters, and values of other parts of the switch that are read with them.
struct VnicReading : VnicStats {
    std::uint64_t limiters = 0;          ///< destinations with a limiter (feedback)
    std::uint64_t received_rate = 0;     ///< from the wire in the last period, bytes per second
    std::uint64_t receive_capacity = 0;  ///< part of the downlink
    std::uint64_t advertised_rate = 0;   ///< rate for its senders; 0 = feedback is off
    LearnedAddresses learned{};
    std::uint64_t cluster_bytes = 0;  ///< of uplink_bytes: to addresses that the controller knows
    std::optional<std::int64_t>
        limit_left{};  ///< bytes in its limit's bucket, negative in debt; absent: none
};

struct WorkerStats {
    std::uint64_t iterations = 0;
    std::uint64_t busy_iterations = 0;
    std::uint64_t busy_cycles = 0;
    std::uint64_t idle_cycles = 0;
    std::uint64_t sleeps = 0;  ///< until an event, naps not counted
    std::uint64_t packets = 0;
    std::uint64_t bursts = 0;
};

/// Frames handed to other workers. The losses are no vNIC's drops, because the frame, or the original of the
/// copy, was counted as delivered before.
struct HandoffStats {
    std::uint64_t posted = 0;
    std::uint64_t vnic_gone = 0;              ///< the vNIC was removed before its worker took them
    std::uint64_t copies_ring_full = 0;       ///< flooded copies; the other worker's ring was full
    std::uint64_t copies_without_buffer = 0;  ///< flooded copies that were not made
};

/// Feedback between switches.
struct FeedbackStats {
    std::uint64_t sent = 0;      ///< frames
    std::uint64_t unsent = 0;    ///< no buffer, or no room in the NIC or another worker's ring
    std::uint64_t received = 0;  ///< frames that set or confirmed a rate
    std::uint64_t stale = 0;     ///< older than the last, or replayed
    std::uint64_t malformed = 0;
    std::uint64_t forged = 0;      ///< the tag is not the key's
    std::uint64_t unknown = 0;     ///< for no vNIC of this host
    std::uint64_t table_full = 0;  ///< no room for another limiter
    std::uint64_t limiters = 0;    ///< flows that have one now

    void add(const FeedbackStats& part) {
        sent += part.sent;
        unsent += part.unsent;
        received += part.received;
        stale += part.stale;
        malformed += part.malformed;
        forged += part.forged;
        unknown += part.unknown;
        table_full += part.table_full;
        limiters += part.limiters;
    }
};

/// One tunnel. Bytes as on the wire.
struct TunnelStats {
    DirectionStats in;               ///< from the wire; delivered to vNICs or to the switch itself
    Tally out;                       ///< encrypted
    std::uint64_t tokens = 0;        ///< charged to the senders
    std::uint64_t key_messages = 0;  ///< key messages of the other end

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
/// The reasons for which a request is held back: these buckets, and the appliance's window.
inline constexpr std::size_t kRequestHolds = kPathResources + 1;
inline constexpr std::size_t kWindowHold = kPathResources;
inline constexpr std::array<const char*, kRequestHolds> kRequestHoldNames{"appliance", "uplink", "downlink",
                                                                          "cycles", "window"};

/// A service flow: the requests of one vNIC to one appliance.
struct RequestFlowStats {
    std::array<std::uint64_t, kPathResources> used{};    ///< charged so far: tokens, bytes, bytes, cycles
    std::array<std::uint64_t, kPathResources> queued{};  ///< cost of the requests that wait
    std::array<Nanos, kRequestHolds> blocked_ns{};       ///< time that each held the flow back
    std::array<std::uint64_t, kPathResources> limit{};   ///< per second; UINT64_MAX = none
    std::uint64_t requests = 0;                          ///< seen, with those that wait
    std::uint64_t responses = 0;
    std::uint64_t failed = 0;          ///< responses that report an error
    std::uint64_t plain_bytes = 0;     ///< payload in which no header was recognized
    std::uint64_t repeated_bytes = 0;  ///< payload in place of bytes that passed before
    std::uint64_t held = 0;            ///< segments that wait now
    std::uint64_t held_total = 0;      ///< segments that had to wait, since the start
    std::uint64_t outstanding = 0;     ///< requests at the appliance
    std::uint64_t outstanding_tokens = 0;
    std::uint64_t overdue_tokens = 0;  ///< of these, of requests that hold the window no longer
    std::uint64_t connections = 0;
    Nanos latency_p50 = 0;  ///< from the forwarding of a request to its response
    Nanos latency_p99 = 0;
    Nanos latency_max = 0;
};

struct UplinkStats {
    DirectionStats tx;
    DirectionStats rx;
    std::uint64_t encryption_tokens = 0;  ///< of frames that were encrypted
    std::uint64_t encryption_cycles = 0;  ///< that the calls took

    void add(const UplinkStats& part) {
        tx.add(part.tx);
        rx.add(part.rx);
        encryption_tokens += part.encryption_tokens;
        encryption_cycles += part.encryption_cycles;
    }
};

/// Everything that a worker counts besides its vNICs, at one moment.
struct WorkerSnapshot {
    WorkerStats worker;
    HandoffStats handoff;
    UplinkStats uplink;
    FeedbackStats feedback;
    std::uint64_t uplink_capacity = 0;
    std::uint32_t mac_entries = 0;
};

/// How frames for a vNIC reach its worker's queue.
struct Steering {
    bool hardware = false;
    std::string reason;  ///< why software; for hardware, why the rule sets no mark; else empty
};

}  // namespace weir
