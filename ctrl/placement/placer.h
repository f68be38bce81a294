// placer.h - placer of tenants, one by one: a layout that fits, or the constraint that fails.
// Source: Pulsar 4.5; Hadrian (NSDI'13) 4.2; docs/algorithms.md 10.2
// Units: tokens/s. Threads: one owner.
//
// A greedy pass fills the smallest part of the tree that takes the tenant, host by host. Only where it fails,
// a depth-first search tries all layouts within a budget; when it ends within the budget, no layout exists.
//
// Example: five vNICs with a reservation of 3 each, and a host with four slots behind an uplink of 4. With k
// of them behind it the uplink needs 3 * min(k, 5 - k): 3 for one or four, 6 for two or three. So one vNIC
// fits, two do not, four do: the greedy pass puts four there, though it has to pass through numbers that do
// not fit.
#pragma once

#include <optional>

#include "ctrl/placement/ledger.h"

namespace weir::placement {

struct Outcome {
    std::optional<Layout> layout = {};
    Shortfall why = {};  ///< when there is no layout
};

/// Hosts that the search may try for one tenant; takes some milliseconds.
inline constexpr std::uint64_t kSearchBudget = 200'000;

class Placer {
  public:
    /// @param topology outlives the placer
    Placer(const Topology& topology, LinkNeed link_need, std::uint64_t search_budget = kSearchBudget)
        : ledger_(topology, link_need), search_budget_(search_budget) {}

    /// Finds a layout beside the present tenants and adds the tenant. Never over-commits a constraint.
    Outcome place(const Tenant& tenant);
    /// Adds the tenant even beyond capacities, each part where the fullest constraint stays the least full.
    Layout force(const Tenant& tenant);
    /// Adds or removes a tenant with a known layout, unchecked.
    void add(const Tenant& tenant, const Layout& layout) { ledger_.add(tenant, layout); }
    void remove(const Tenant& tenant, const Layout& layout) { ledger_.remove(tenant, layout); }

    [[nodiscard]] const Ledger& ledger() const { return ledger_; }

  private:
    Ledger ledger_;
    std::uint64_t search_budget_;
};

}  // namespace weir::placement
