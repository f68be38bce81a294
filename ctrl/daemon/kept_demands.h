// kept_demands.h - the demands that the controller assumes of a host whose switch is silent: its guarantees.
// Source: docs/protocol.md; docs/algorithms.md 8. Units: tokens (at links: bytes) of one interval.
// Threads: one owner.
//
// A silent switch forwards by its guarantees. So each flow that it last reported counts as one that wants its
// guarantee, and so does a flow that it did not report and has something reserved: it may begin unseen. The
// allocations of other flows then leave these guarantees free. Example: of 1,000 tokens/s vNIC a1 has
// reserved 300 and used 900 when its switch went silent; from then on it counts with 300, and another vNIC
// has 700.
#pragma once

#include <vector>

#include "ctrl/daemon/cluster.h"
#include "ctrl/daemon/demand_table.h"

namespace weir {

/// In `marks` of a demand that is kept, and in no message: it is no measurement of the appliance.
inline constexpr std::uint32_t kKeptMark = 1U << 31U;

/// Pairs of vNICs that were idle when their switch went silent and count all the same, in the whole cluster.
/// The flows of a solve must stay bounded when a switch of the network fails and hundreds of hosts are
/// silent.
inline constexpr std::size_t kIdlePairsMax = 4'096;

/// @param last        demands of all flows; those of the host are the last that it reported
/// @param idle_pairs  how many idle pairs may still count; lowered by those that do
/// @return demands of the host's flows, ordered by flow
[[nodiscard]] std::vector<wire::FlowDemand> kept_demands(const Cluster& cluster, HostIndex host,
                                                         const FlowDemands& last, std::size_t& idle_pairs);

}  // namespace weir
