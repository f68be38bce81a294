// net_header.h - a guest's offload header as an mbuf's flags, and back.
// Source: virtio 1.2 5.1.6; DPDK mbuf library guide. Units: bytes. Threads: any (pure).
//
// A wish that flags and lengths say exactly becomes these, and datapath/offload.h, a NIC or another guest
// finishes it. Any other checksum is finished at once by its start and its offset, independent of the headers
// before it. A wish that was not negotiated, or that does not fit the frame, becomes flags that
// offload::valid() refuses, so that the frame is dropped as `bad_offload`.
#pragma once

#include <cstdint>

#include "vswitch/ports/virtio/layout.h"

struct rte_mbuf;

namespace weir::virtio {

/// The fields of a NetHeader that a driver may use, by its negotiated features.
struct HeaderRights {
    bool checksum = false;
    bool tso4 = false;
};

namespace net_flag {
inline constexpr std::uint8_t kNeedsChecksum = 1;
}
namespace segmentation {
inline constexpr std::uint8_t kNone = 0;
inline constexpr std::uint8_t kTcp4 = 1;
inline constexpr std::uint8_t kEcn = 0x80;  // added to the others
}  // namespace segmentation

/// Whether the frame is to be sent as it is.
[[nodiscard]] inline bool is_plain(const NetHeader& header) {
    return (header.flags & net_flag::kNeedsChecksum) == 0 && header.segmentation == segmentation::kNone;
}

/// Gives `frame`, which a guest sent behind `header`, its offload flags and lengths. @param header a private
/// copy
void apply(const NetHeader& header, const HeaderRights& rights, rte_mbuf* frame);

/// The header for a guest that receives `frame`, with `buffers` 1. Writes the pseudo header's checksum into
/// the frame where the guest fills in the rest.
[[nodiscard]] NetHeader header_of(rte_mbuf* frame);

}  // namespace weir::virtio
