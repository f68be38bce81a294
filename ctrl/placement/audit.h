// audit.h - what a set of placed tenants over-commits, and whose guarantee would break: for `weirctl plan`
// and `apply --dry-run`. Source: Pulsar 4.5. Units: tokens/s. Threads: any (pure).
#pragma once

#include <span>
#include <vector>

#include "ctrl/placement/placer.h"

namespace weir::placement {

/// What the tenants need of one link, appliance or host.
struct Load {
    struct Part {
        std::uint32_t tenant = 0;
        Tokens need = 0;
    };

    Constraint constraint;
    Tokens need = 0;
    Tokens have = 0;
    std::vector<Part> parts;  ///< in the order of the tenants; nobody with zero
    bool is_new = false;      ///< was not over-committed by the tenants that were there before

    [[nodiscard]] bool over() const { return need > have; }
};

/// A guarantee that fails when all want theirs at once.
struct BrokenGuarantee {
    std::uint32_t tenant = 0;
    Constraint constraint;  ///< the one that leaves it the smallest part
    Tokens guaranteed = 0;
    Tokens possible = 0;  ///< its part when everybody gets the same part of theirs
};

struct Audit {
    std::vector<Load> loads;  ///< of all that anybody needs, in the order of Ledger::constraints()
    std::vector<BrokenGuarantee> broken;

    [[nodiscard]] bool over() const;
};

/// @param layouts as many as tenants
[[nodiscard]] Audit audit(const Topology& topology, LinkNeed guarantee, std::span<const Tenant> tenants,
                          std::span<const Layout> layouts);

struct Plan {
    struct Entry {
        bool fits = true;
        Layout layout = {};  ///< of one that does not fit and is forced: where it does the least harm
        Shortfall why = {};
        bool in = true;  ///< false: left out of `after`; always, when what it asks for does not exist
    };

    std::vector<Entry> entries;  ///< one per tenant, those that are there first
    Audit after;                 ///< of those that are in

    [[nodiscard]] bool fits() const;
};

enum class Misfits { kLeaveOut, kForce };

/// Adds tenants to those that are there.
/// @param tenants those that are there first
/// @param current where those are; as many as there are, at most as many as tenants
[[nodiscard]] Plan make_plan(const Topology& topology, LinkNeed guarantee, std::span<const Tenant> tenants,
                             std::span<const Layout> current, Misfits misfits);

}  // namespace weir::placement
