// flood.h - copies of broadcast, multicast and unknown frames for everybody in the VLAN, within a bound.
// Source: IEEE 802.1Q 8.8.2. Units: frames. Threads: owning worker.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <span>

#include "vswitch/datapath/mac_table.h"
#include "vswitch/datapath/vnic_path.h"

namespace weir {

/// Whether the vNIC gets a frame that is flooded in `vlan`: everything for a group; unknown addresses only
/// where the switch does not know all addresses behind the port (anti-spoofing pins them).
[[nodiscard]] inline bool takes_flood(const VnicPath& to, std::uint16_t vlan, bool group) {
    return to.fixed.vlan == vlan && (group || !to.fixed.anti_spoofing);
}

/// Calls `deliver(to, copy)` for each vNIC but `source` that `takes(to)` the frame; the copy is nullptr when
/// there was no buffer. @return copies made
template <typename Takes, typename Deliver>
unsigned flood_to(std::span<VnicPath* const> vnics, const VnicPath* source, const rte_mbuf* frame,
                  rte_mempool* pool, Takes&& takes, Deliver&& deliver) {
    unsigned copies = 0;
    for (VnicPath* to : vnics) {
        if (to == source || !takes(*to))
            continue;
        rte_mbuf* copy = rte_pktmbuf_copy(frame, pool, 0, UINT32_MAX);
        deliver(*to, copy);
        copies += copy != nullptr;
    }
    return copies;
}

/// The same for all that the frame is for.
template <typename Deliver>
unsigned flood(std::span<VnicPath* const> vnics, const VnicPath* source, std::uint16_t vlan,
               const rte_mbuf* frame, rte_mempool* pool, bool group, Deliver&& deliver) {
    const auto takes = [=](const VnicPath& to) { return takes_flood(to, vlan, group); };
    return flood_to(vnics, source, frame, pool, takes, deliver);
}

}  // namespace weir
