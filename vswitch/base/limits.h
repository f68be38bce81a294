// limits.h - compile-time bounds of the switch, with unit and reason.
// Source: docs/design.md 4; EyeQ 4.2. Threads: any (constants).
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::limits {

/// vNICs per switch. A worker with more than a few hundred spends its time polling empty rings.
inline constexpr std::size_t kVnicsMax = 1024;
/// Workers per switch: one NIC queue pair each.
inline constexpr std::size_t kWorkersMax = 16;
/// Buffers (mbufs of 2 KiB) of the largest frame that a guest may send: 64 KiB and its headers.
inline constexpr std::uint32_t kFrameBuffersMax = 33;
/// Price, in cycles, of a descriptor that a receiver has too many; measured: 10 to 12 in the cache.
inline constexpr std::uint64_t kDescriptorCycles = 12;
/// Buffers that a vNIC may hold even if fewer are configured: the largest frame (33), and the segments that
/// it may be split into (834).
inline constexpr std::uint32_t kVnicBuffersMin = 867;
/// Buffers that a vNIC may hold unless configured: a burst of the largest frames (1,056), and one of them
/// split into the most segments (834).
inline constexpr std::uint32_t kVnicBuffers = 1920;
/// Buffers per worker that no quota counts: a super-frame split for its receiver, copies on their way, floods
/// of the wire that wait.
inline constexpr std::uint32_t kInFlightBuffers = 2048;
/// Buffers in a worker's cache of the pool: at most twice its nominal 512.
inline constexpr std::uint32_t kCachedBuffers = 2 * 512;
/// Frames on their way to one worker from the others: 32 bursts, well below a millisecond of work.
inline constexpr std::uint32_t kInboxFrames = 1024;
/// Buffers that these frames may hold: two bursts of the largest frames more.
inline constexpr std::uint32_t kInboxBuffers = kInboxFrames + 2 * 32 * kFrameBuffersMax;
/// Buffers of a burst with super-frames that was taken out of an inbox and is forwarded in pieces.
inline constexpr std::uint32_t kInboxPieceBuffers = 32 * kFrameBuffersMax;
/// Queue pairs per vNIC (vCPUs of the largest guests that are common today).
inline constexpr std::size_t kQueuesMax = 16;
/// Tenants whose traffic to each other is counted; all others share the last place.
inline constexpr std::size_t kTenantsMax = 256;
/// Packets per burst: the most that one rte_vhost call moves (MAX_PKT_BURST).
inline constexpr std::size_t kBurst = 32;
/// Timers of vNICs, destinations and requests that fire in one iteration: bounds the burst after a stall.
inline constexpr unsigned kWakesPerIteration = 256;
/// Housekeeping runs once in this many iterations.
inline constexpr unsigned kHousekeepingIterations = 256;
/// Bytes that may wait for one destination before the ring is held back.
inline constexpr std::uint32_t kQueueBytesMax = 128 * 1024;
/// Frames that may wait for the uplink per vNIC: 128 KiB of minimum-size frames (1490), and a burst of 32
/// super-frames split into segments of 1500 bytes (1440) on top, so that no frame of a burst is lost.
inline constexpr std::uint32_t kQueuePackets = 4096;
/// Bytes that a limit pays for at once: 32 frames of 1500 bytes, or one super-frame. 32 super-frames (2 MiB)
/// in one payment would be 1.6 % of a second at 1 Gbit/s; they pay one by one.
inline constexpr std::uint32_t kRunBytesMax = 72 * 1024;
/// Bytes per second below which a limit gets no super-frames (1 Gbit/s): a burst of 64 KiB would be more than
/// half a millisecond of it (EyeQ 4.2).
inline constexpr std::uint64_t kSuperFrameRateMin = 125'000'000;
/// Frames of one vNIC that may wait for receivers of its worker, even if other vNICs use all common places: a
/// burst.
inline constexpr std::uint32_t kReceivePacketsOwn = 32;
/// Frames that all vNICs of a worker may have waiting besides. A place takes 32 bytes.
inline constexpr std::uint32_t kReceivePackets = 32'768;
/// Buffers of frames that wait for one receiver and that no sender's quota counts: so many of the wire, and
/// as many of other workers, even if other receivers use all common ones. One frame of the largest size.
inline constexpr std::uint32_t kReceiveBuffersOwn = kFrameBuffersMax;
/// Buffers of such frames for all receivers of a worker besides.
inline constexpr std::uint32_t kReceiveBuffers = 4096;
/// Lines of a worker for full rings of vNICs with several: frames for further rings that are full wait in the
/// one line of their vNIC, as if it had one ring.
inline constexpr std::uint32_t kRingLinesMax = 128;
/// Destinations with a limiter of their own per worker. EyeQ finds a few hundred active on a machine at most
/// and measures up to 10,000. With their queues they take 1.8 MiB.
inline constexpr std::uint32_t kDestinationLimitsMax = 16'384;
/// Frames that may wait in all of their queues: 64 destinations at their bound.
inline constexpr std::uint32_t kDestinationPacketsMax = 16'384;
/// Shared services that a switch knows.
inline constexpr std::size_t kAppliancesMax = 64;
/// Appliances of one vNIC.
inline constexpr std::size_t kAppliancesPerVnic = 8;
/// Flows of requests per worker: a vNIC and an appliance each.
inline constexpr std::uint32_t kRequestFlowsMax = 1024;
/// Of requests to appliances, per worker: TCP connections, requests that await their responses, and buffers
/// of 512 bytes for headers in pieces and for bytes beyond a hole; together about 12 MiB.
inline constexpr std::uint32_t kConnectionsMax = 1 << 16;
inline constexpr std::uint32_t kPendingsMax = 1 << 16;
inline constexpr std::uint32_t kStreamBuffersMax = 1 << 12;
/// Of these, each vNIC's own, which no other vNIC can take.
inline constexpr std::uint32_t kConnectionsOwn = 16;
inline constexpr std::uint32_t kPendingsOwn = 16;
inline constexpr std::uint32_t kStreamBuffersOwn = 1;
/// Connections with held requests, and requests that are held, per worker; one of each for every flow.
inline constexpr std::uint32_t kHeldConnectionsMax = 1 << 11;
inline constexpr std::uint32_t kHeldPacketsMax = 1 << 13;
/// Connections per worker whose clients were sent a window of 0; one for every flow.
inline constexpr std::uint32_t kClosedWindowsMax = 1 << 12;
/// ESP tunnels of a switch.
inline constexpr std::size_t kTunnelsMax = 64;
/// Networks behind all tunnels together: bounds one look-up.
inline constexpr std::size_t kTunnelNetworksMax = 256;
/// Addresses and prefixes that a vNIC's guest may use: bounds the look-up of a source.
inline constexpr std::size_t kVnicAddressesMax = 16;
inline constexpr std::uint32_t kEthernetHeaderBytes = 14;
inline constexpr std::uint32_t kVlanTagBytes = 4;
/// VLAN tags of a guest's own that no MTU counts (802.1ad has two).
inline constexpr std::uint32_t kFreeTags = 2;
/// Wire overhead per frame: FCS 4 + preamble 8 + inter-frame gap 12.
inline constexpr std::uint32_t kWireOverheadBytes = 24;
/// Cycles of a worker that one promised packet pays for: five times the cost of a frame of 64 bytes. A power
/// of two.
inline constexpr std::uint64_t kPromisedPacketCycles = 1024;
/// MAC entries per worker, learned and static: a power of two.
inline constexpr std::uint32_t kMacEntriesMax = 65'536;
/// Learned MAC entries. The last sixteenth is for the addresses of vNICs, which always find room, and keeps
/// the hash table's buckets from overflowing.
inline constexpr std::uint32_t kMacLearnedMax = kMacEntriesMax / 16 * 15;
/// Learned MAC entries from the wire, and from one vNIC: a guest that invents addresses fills its own part.
inline constexpr std::uint32_t kMacLearnedWire = kMacEntriesMax / 2;
inline constexpr std::uint32_t kMacLearnedVnic = 4096;

}  // namespace weir::limits
