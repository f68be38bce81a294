// plan.h - placement of tenants beside present ones, with an audit of the constraints that they over-commit.
// Source: Pulsar 4.5; docs/algorithms.md 10.3
// Units: tokens/s. Threads: any (pure).
//
// The audit sums the needs of all tenants per constraint. Where the sum exceeds the capacity, each tenant
// there could have the same part of its need when all need theirs at once: its guarantee is broken.
//
// Example: an uplink of 10 with needs of 8 and 4 is over-committed 1.2 times; tenants could have 6.7 and 3.3.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "ctrl/placement/placer.h"

namespace weir::placement {

/// Needs of the tenants of one link, appliance or host.
struct Load {
    struct Part {
        std::uint32_t tenant = 0;
        Tokens need = 0;
    };

    Constraint constraint;
    Tokens need = 0;
    Tokens have = 0;
    std::vector<Part> parts;  ///< of tenants with a need above zero, in their order

    [[nodiscard]] bool is_over() const { return need > have; }
};

/// A guarantee that fails when all tenants need theirs at once.
struct BrokenGuarantee {
    std::uint32_t tenant = 0;
    Constraint constraint;  ///< of several, the one that leaves the smallest part
    Tokens guaranteed = 0;
    Tokens possible = 0;  ///< when all tenants get the same part of their needs
};

struct Audit {
    std::vector<Load> loads;  ///< of constraints with a need, in the order of constraints
    std::vector<BrokenGuarantee> broken;
};

/// @param layouts as many as tenants
[[nodiscard]] Audit audit(const Topology& topology, LinkNeed link_need, std::span<const Tenant> tenants,
                          std::span<const Layout> layouts);

struct Plan {
    struct Entry {
        bool fits = true;
        Layout layout = {};  ///< of a tenant that does not fit: by Placer::force()
        Shortfall why = {};
        bool in = true;  ///< false: left out of `after`, always when a host or type does not exist
    };

    std::vector<Entry> entries;  ///< one per tenant
    Audit after;                 ///< of the tenants that are in

    [[nodiscard]] bool fits() const { return std::ranges::all_of(entries, &Entry::fits); }
};

enum class Misfits { kLeaveOut, kForce };

/// Adds tenants to the present ones.
/// @param tenants the present ones first
/// @param current layouts of the present ones
[[nodiscard]] Plan make_plan(const Topology& topology, LinkNeed link_need, std::span<const Tenant> tenants,
                             std::span<const Layout> current, Misfits misfits);

}  // namespace weir::placement
