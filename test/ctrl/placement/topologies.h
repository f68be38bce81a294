// topologies.h - small datacenters for placement tests, in plain numbers. Threads: tests only.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "ctrl/placement/plan.h"

namespace weir::testing {

/// Racks of equal hosts; no racks: hosts straight at the core.
inline placement::Topology tree(std::uint32_t racks, std::uint32_t hosts_each, placement::Tokens host_uplink,
                                placement::Tokens rack_uplink, std::uint32_t slots) {
    placement::Topology topology;
    for (std::uint32_t r = 0; r < std::max(racks, 1U); ++r) {
        if (racks != 0)
            topology.racks.push_back({.id = "r" + std::to_string(r), .uplink = rack_uplink});
        for (std::uint32_t h = 0; h < hosts_each; ++h)
            topology.hosts.push_back({.id = "h" + std::to_string(topology.hosts.size()),
                                      .uplink = host_uplink,
                                      .rack = racks != 0 ? r : placement::kAnywhere,
                                      .slots = slots});
    }
    return topology;
}

inline placement::Tenant tenant(const std::string& id, const std::vector<placement::Tokens>& reservations) {
    placement::Tenant made{.id = id, .vnics = {}, .appliances = {}};
    for (const placement::Tokens reservation : reservations)
        made.vnics.push_back({.id = id + std::to_string(made.vnics.size()), .reservation = reservation});
    return made;
}

/// Whether any constraint is over-committed.
inline bool is_over(const placement::Audit& audit) {
    return std::ranges::any_of(audit.loads, &placement::Load::is_over);
}

}  // namespace weir::testing
