// classifier.h - raw frames to destinations: checks, anti-spoofing, one look-up per frame, accounted sizes.
// Source: IEEE 802.1Q 8.6; docs/design.md 4. Units: bytes as accounted. Threads: owning worker.
#pragma once

#include <cstdint>

#include "vswitch/datapath/frame/batch.h"
#include "vswitch/datapath/frame/frame.h"
#include "vswitch/datapath/tunnels/tunnel_path.h"
#include "vswitch/datapath/vnic/vnic_path.h"

namespace weir {

/// Classifies frames of a VM. Refused frames are counted at the vNIC and freed; the rest fill `batch`.
/// @param unknown where frames to an unknown address go
/// @param feedback it is on: guests' forgeries of feedback frames are refused
void classify_from_vm(VnicPath& from, MacTable& macs, Destination unknown, rte_mbuf** frames,
                      std::uint16_t count, bool feedback, Nanos now, Batch& batch);

/// Feedback frames of one burst, untagged; the reader frees them.
struct FeedbackBurst {
    std::array<rte_mbuf*, limits::kBurst> frames;
    std::array<std::uint16_t, limits::kBurst> vlans;
    std::uint16_t count = 0;
};

struct WireContext {
    MacTable& macs;
    const VnicPath* const* directory;  ///< by VnicId, nullptr where there is none
    std::uint32_t overhead_bytes;
    DirectionStats& stats;
    FeedbackBurst* feedback;              ///< takes feedback frames; nullptr: it is off, and no frame is one
    const TunnelPath* tunnels = nullptr;  ///< claims ESP frames for `esp`; nullptr: there are none
    EspBurst* esp = nullptr;
    bool learns = true;  ///< false: unknown addresses are behind the uplink anyway
};

/// Classifies frames of the wire: strips the VLAN tag, uses the NIC's mark where there is one, learns
/// sources. Refused frames are counted and freed. `vlans[i]` is the VLAN of the i-th frame of `batch`.
void classify_from_wire(const WireContext& context, rte_mbuf** frames, std::uint16_t count, Nanos now,
                        Batch& batch, std::uint16_t* vlans);

struct TunnelContext {
    MacTable& macs;
    const VnicPath* const* directory;  ///< by VnicId, nullptr where there is none
    TunnelPath& tunnels;
    bool feedback;  ///< false: it is off, and no frame is one
    bool learns;    ///< as in WireContext
};

/// Where a decrypted frame goes, or why it goes nowhere.
struct TunnelFrame {
    DropReason refused = DropReason::kCount;  ///< kCount: accepted
    bool is_feedback = false;
    Destination to = kNowhere;  ///< a vNIC that encrypts, or kToAll
    std::uint16_t vlan = 0;
};

/// Classifies a frame that came out of `tunnel`: strips the VLAN tag, copies the congestion mark of the outer
/// header (RFC 6040), checks that the source lies behind the tunnel, and learns it.
[[nodiscard]] TunnelFrame classify_from_tunnel(const TunnelContext& context, rte_mbuf* frame, TunnelId tunnel,
                                               Nanos now);

}  // namespace weir
