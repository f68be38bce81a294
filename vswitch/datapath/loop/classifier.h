// classifier.h - raw frames to destinations: checks, anti-spoofing, one look-up per frame, accounted sizes.
// Source: IEEE 802.1Q 8.6; docs/design.md 4. Units: bytes as accounted. Threads: owning worker.
//
// The functions for bursts take at most limits::kBurst frames, and count all of them as offered. Refused ones
// they count and free; the others are the caller's, in outputs that were empty before, and the caller counts
// those of the batch as delivered, queued or dropped.
//
// Example:
//     Batch batch;  // a new one for each burst
//     classify_from_vm(from, macs, unknown, tap, frames, count, feedback, now, batch);
//     for (std::uint16_t first = 0; first < batch.count;) {
//         const Run run = run_at(batch, first);
//         ...  // Floods, Uplink::send() or Delivery::deliver(), by batch.to[first]: consumes run's frames
//         first = static_cast<std::uint16_t>(first + run.count);
//     }
#pragma once

#include <cstdint>

#include "vswitch/datapath/capture/capture_tap.h"
#include "vswitch/datapath/frame/batch.h"
#include "vswitch/datapath/frame/frame.h"
#include "vswitch/datapath/tunnels/tunnel_path.h"
#include "vswitch/datapath/vnic/vnic_path.h"

namespace weir {

/// Classifies frames of a VM, which are counted at its vNIC. A priority tag is taken off (frame_word.h), and
/// without anti-spoofing the source is learned. Frames to the vNIC itself are refused.
/// @param unknown where frames to an unknown address go: VnicDirectory::unknown()
/// @param feedback it is on: guests' forgeries of feedback frames are refused
void classify_from_vm(VnicPath& from, MacTable& macs, Destination unknown, CaptureTap& tap, rte_mbuf** frames,
                      std::uint16_t count, bool feedback, Nanos now, Batch& batch);

/// Feedback frames of one burst, untagged, counted as delivered; RateFeedback::on_feedback() frees them.
struct FeedbackBurst {
    std::array<rte_mbuf*, limits::kBurst> frames;
    std::array<std::uint16_t, limits::kBurst> vlans;
    std::uint16_t count = 0;
};

struct WireContext {
    MacTable& macs;
    const VnicPath* const* directory;  ///< by VnicId, nullptr where there is none
    std::uint32_t overhead_bytes;      ///< accounted per frame on top of its length
    DirectionStats& stats;
    CaptureTap& tap;
    FeedbackBurst* feedback;              ///< takes feedback frames; nullptr: it is off, and no frame is one
    const TunnelPath* tunnels = nullptr;  ///< claims ESP frames for `esp`; nullptr: there are none
    EspBurst* esp = nullptr;              ///< for TunnelPath::receive(), which counts them; with `tunnels`
    bool learns = true;                   ///< false: unknown addresses are behind the uplink anyway
};

/// Classifies frames of the wire: strips the VLAN tag, uses the NIC's mark where there is one, learns
/// sources, clears offload flags. A frame is refused, or goes to `feedback`, `esp` or `batch`, there for a
/// vNIC of any worker or kToAll. Bytes include the VLAN tag.
/// @param vlans limits::kBurst places, for the VLAN of each frame of `batch`; 0: none
void classify_from_wire(const WireContext& context, rte_mbuf** frames, std::uint16_t count, Nanos now,
                        Batch& batch, std::uint16_t* vlans);

struct TunnelContext {
    MacTable& macs;
    const VnicPath* const* directory;  ///< by VnicId, nullptr where there is none
    TunnelPath& tunnels;
    bool feedback;  ///< false: it is off, and no frame is one
    bool learns;    ///< as in WireContext
};

/// Where a decrypted frame goes, or why it goes nowhere. The caller reads `refused`, then `is_feedback`, then
/// `to`.
struct TunnelFrame {
    DropReason refused = DropReason::kCount;  ///< kCount: accepted
    bool is_feedback = false;
    Destination to = kNowhere;  ///< a vNIC that encrypts, or kToAll
    std::uint16_t vlan = 0;
};

/// Classifies a frame of a ClearBurst, which came out of `tunnel`: strips the VLAN tag, copies the congestion
/// mark of the outer header (RFC 6040), checks that the source lies behind the tunnel, and learns it. It
/// neither frees nor counts: the frame stays the caller's also when it is refused. Once per frame.
[[nodiscard]] TunnelFrame classify_from_tunnel(const TunnelContext& context, rte_mbuf* frame, TunnelId tunnel,
                                               Nanos now);

}  // namespace weir
