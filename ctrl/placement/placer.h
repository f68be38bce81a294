// placer.h - admits tenants one by one: where each fits, or what is in its way.
// Source: Pulsar 4.5; Hadrian's greedy heuristic, then a bounded search. Units: tokens/s. Threads: one owner.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "ctrl/placement/ledger.h"

namespace weir::placement {

struct Outcome {
    std::optional<Layout> layout = {};
    Shortfall why = {};  ///< when there is no layout
};

/// How many hosts the search may look at for one tenant: some milliseconds.
inline constexpr std::uint64_t kSearchBudget = 200'000;

class Placer {
  public:
    /// @param topology outlives the placer
    Placer(const Topology& topology, LinkNeed guarantee, std::uint64_t search_budget = kSearchBudget);

    /// Finds a place beside those that are there, and takes it. Never over-commits anything.
    Outcome place(const Tenant& tenant);
    /// A place within nothing's bounds: each part where it does the least harm. Takes it.
    Layout force(const Tenant& tenant);
    /// Who is there already, or leaves. Nothing is checked.
    void add(const Tenant& tenant, const Layout& layout) { ledger_.add(tenant, layout); }
    void remove(const Tenant& tenant, const Layout& layout) { ledger_.remove(tenant, layout); }

    [[nodiscard]] const Ledger& ledger() const { return ledger_; }

  private:
    Ledger ledger_;
    std::uint64_t search_budget_;
};

/// How an amount of what a constraint counts is written.
using AmountText = std::function<std::string(ConstraintKind kind, Tokens amount)>;
/// 10Gbit (of bytes/s), 5ktokens, or 12 slots.
[[nodiscard]] std::string amount_text(ConstraintKind kind, Tokens amount);

/// "vNIC a3 of tenant A (2Gbit): the uplink of host h2 would need 11Gbit of 10Gbit; ... no placement exists"
[[nodiscard]] std::string explain(const Topology& topology, const Tenant& tenant, const Shortfall& why,
                                  const AmountText& text = amount_text);
/// "the uplink of host h2", "the capacity of appliance kvs"
[[nodiscard]] std::string describe(const Topology& topology, Constraint constraint);

}  // namespace weir::placement
