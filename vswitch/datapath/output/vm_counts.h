// vm_counts.h - frames towards a VM, as its vNIC counts them.
// Units: bytes as accounted. Threads: owning worker.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>

#include "vswitch/datapath/capture/capture_tap.h"
#include "vswitch/datapath/vnic/vnic_path.h"

namespace weir {

[[nodiscard]] inline std::uint64_t accounted_bytes(const VnicPath& to, rte_mbuf* const* frames,
                                                   std::uint16_t count) {
    std::uint64_t bytes = 0;
    for (std::uint16_t i = 0; i < count; ++i)
        bytes += frames[i]->pkt_len + to.fixed.overhead_bytes;
    return bytes;
}

/// Frees frames that were offered to the VM.
inline void drop_to_vm(CaptureTap& tap, VnicPath& to, rte_mbuf** frames, std::uint16_t count,
                       DropReason reason) {
    for (std::uint16_t i = 0; i < count; ++i)
        tap.drop(to.stats.to_vm, CapturePoint::to_vm(to.fixed.id), frames[i],
                 frames[i]->pkt_len + to.fixed.overhead_bytes, reason);
}

/// Drops those of the frames that a port has left which are too long for the VM's buffers: more time would
/// not help. @return the others, which come first
[[nodiscard]] inline std::uint16_t drop_too_long(CaptureTap& tap, VnicPath& to, rte_mbuf** left,
                                                 std::uint16_t count) {
    const std::uint16_t too_long = to.fixed.port->take_too_long();
    const auto others = static_cast<std::uint16_t>(count - too_long);
    drop_to_vm(tap, to, left + others, too_long, DropReason::kVmBufferShort);
    return others;
}

}  // namespace weir
