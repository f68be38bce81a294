// classifier.h - from raw frames to destinations: checks, spoofing, one look-up, accounted sizes.
// Source: IEEE 802.1Q (bridging), design section 4. Units: bytes as accounted.
// Threads: owning worker.
#pragma once

#include <cstdint>

#include "vswitch/datapath/batch.h"
#include "vswitch/datapath/frame.h"
#include "vswitch/datapath/tunnels/tunnel_path.h"
#include "vswitch/datapath/vnic_path.h"

namespace weir {

/// Classifies what a VM sent. Refused frames are counted at the vNIC and freed; the rest fill `batch`.
/// @param unknown where frames to an unknown address go
void classify_from_vm(VnicPath& from, MacTable& macs, Destination unknown, rte_mbuf** frames,
                      std::uint16_t count, Nanos now, Batch& batch);

/// Feedback frames of one burst, untagged; they belong to whoever reads them.
struct FeedbackBurst {
    std::array<rte_mbuf*, limits::kBurst> frames;
    std::array<std::uint16_t, limits::kBurst> vlans;
    std::uint16_t count = 0;
};

/// ESP frames of one burst that are for this host's tunnels, untagged; they belong to whoever reads them.
struct EspBurst {
    std::array<rte_mbuf*, limits::kBurst> frames;
    std::array<std::uint32_t, limits::kBurst> bytes;  ///< as accounted
    std::uint16_t count = 0;
};

/// What the uplink needs to know of the vNICs to classify what came from the wire.
struct WireContext {
    MacTable& macs;
    const VnicPath* const* directory;  ///< by VnicId, nullptr where there is none
    std::uint32_t overhead_bytes;
    DirectionStats& stats;
    FeedbackBurst* feedback;  ///< where such frames go; nullptr: they are dropped
    const TunnelPath* tunnels = nullptr;
    EspBurst* esp = nullptr;  ///< where frames go that `tunnels` claims
};

/// Takes the VLAN tag off. @return the VLAN, 0 when untagged.
std::uint16_t strip_tag(rte_mbuf* frame, FrameHead& head);
/// Of a frame with its headers in the first buffer.
[[nodiscard]] bool claims_feedback(const rte_mbuf* frame, std::uint32_t before = 0);

/// Classifies what came from the wire: strips the VLAN tag, uses the NIC's mark where there is one, learns
/// sources. `vlans[i]` is the VLAN of the i-th frame of `batch`.
void classify_from_wire(const WireContext& context, rte_mbuf** frames, std::uint16_t count, Nanos now,
                        Batch& batch, std::uint16_t* vlans);

}  // namespace weir
