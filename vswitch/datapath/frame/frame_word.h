// frame_word.h - the switch's own fields in a frame's mbuf: source, destination, origin, tunnel.
// Threads: the frame's holder (values).
//
// Two fields are used, of which DPDK reads neither on transmit: `port` has the vNIC that sent the frame, and
// the 32 bits of `hash.usr` have one thing at a time:
// - in a queue or inbox: where the frame goes and where it came from (FrameWord);
// - in the uplink's queues, of a vNIC that encrypts: its tunnel;
// - from decryption to classification: whether the network marked the outer packet with CE.
// A priority tag that was taken off is in `vlan_tci`, and kPriorityFlag says so.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>

#include "common/types.h"
#include "vswitch/base/limits.h"

namespace weir {

/// The guest's frame had a priority tag, whose PCP and DEI are in `vlan_tci` since.
inline constexpr std::uint64_t kPriorityFlag = RTE_MBUF_F_RX_VLAN_STRIPPED;

/// Where a frame that changes workers came from.
enum class FrameOrigin : std::uint8_t { kVm, kWire, kFeedback, kTunnel };

/// Destination, origin and the destination's generation: 16, 2 and 14 bits. The vNIC may have gone when the
/// frame's turn comes, and its index may be another tenant's: the generations then differ. They would be the
/// same again after 16,384 vNICs of one index during one frame's wait. Example: vNIC 5, the third of this
/// index, from the wire: 2 << 18 | 1 << 16 | 5 = 0x9'0005.
struct FrameWord {
    std::uint16_t destination = 0;
    FrameOrigin origin = FrameOrigin::kVm;
    VnicGeneration generation = 0;  ///< of the vNIC; 0 when the destination is none

    static constexpr unsigned kOriginShift = 16;
    static constexpr unsigned kGenerationShift = 18;
    static constexpr std::uint32_t kOriginMask = 3;
    static_assert(kGenerationShift + kVnicGenerationBits == 32);

    [[nodiscard]] static FrameWord of(const rte_mbuf* frame) {
        const std::uint32_t bits = frame->hash.usr;
        return {static_cast<std::uint16_t>(bits),
                static_cast<FrameOrigin>(bits >> kOriginShift & kOriginMask),
                static_cast<VnicGeneration>(bits >> kGenerationShift)};
    }
    void write_to(rte_mbuf* frame) const {
        frame->hash.usr = destination | static_cast<std::uint32_t>(origin) << kOriginShift |
                          std::uint32_t{generation} << kGenerationShift;
    }
};

/// vNIC that the frame came from, kept while it waits.
inline void set_source(rte_mbuf* frame, std::uint16_t vnic) {
    frame->port = vnic;
}
[[nodiscard]] inline std::uint16_t source_of(const rte_mbuf* frame) {
    return frame->port;
}

/// The tunnel of a frame of an encrypting vNIC, kept while the frame is queued for the uplink.
inline void set_tunnel(rte_mbuf* frame, std::uint8_t tunnel) {
    frame->hash.usr = tunnel;
}
[[nodiscard]] inline std::uint8_t tunnel_of(const rte_mbuf* frame) {
    return static_cast<std::uint8_t>(frame->hash.usr);
}

/// EspEngine::decrypt() found the outer header marked with CE.
[[nodiscard]] inline bool was_congested(const rte_mbuf* frame) {
    return frame->hash.usr != 0;
}

/// Copies these fields from a super-frame to a piece of it.
inline void carry_on(rte_mbuf* piece, const rte_mbuf* whole) {
    piece->port = whole->port;
    piece->hash.usr = whole->hash.usr;
    piece->vlan_tci = whole->vlan_tci;
}

}  // namespace weir
