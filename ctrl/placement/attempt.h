// attempt.h - one tenant while it is being placed: what of it is behind which link, beside those that are
// there. Units: tokens/s. Threads: one owner.
#pragma once

#include <optional>
#include <vector>

#include "ctrl/placement/ledger.h"

namespace weir::placement {

class Attempt {
  public:
    /// @param ledger, tenant outlive the attempt
    Attempt(const Ledger& ledger, const Tenant& tenant);

    void put_vnic(std::uint32_t vnic, std::uint32_t host);
    void take_vnic(std::uint32_t vnic);
    void put_appliance(std::uint32_t virtual_appliance, std::uint32_t appliance);
    void take_appliance(std::uint32_t virtual_appliance);

    // Whether it fits as it is, with `more` behind the link, when nothing else comes to it.
    [[nodiscard]] bool host_fits(std::uint32_t host, const Side& more = {}) const;
    [[nodiscard]] bool rack_fits(std::uint32_t rack, const Side& more = {}) const;
    [[nodiscard]] bool serves(std::uint32_t virtual_appliance, std::uint32_t appliance) const;
    /// Tokens that the appliance has left.
    [[nodiscard]] Tokens tokens_left(std::uint32_t appliance) const;
    [[nodiscard]] std::uint64_t slots_left(std::uint32_t host) const;

    /// What is too much if that vNIC comes to that host and nothing else: the nearest link above it, or its
    /// slots.
    [[nodiscard]] std::optional<Shortfall> miss(std::uint32_t vnic, std::uint32_t host) const;
    /// The same of the virtual appliance there: its tokens, its own link, and the links above with no vNIC
    /// near.
    [[nodiscard]] std::optional<Shortfall> appliance_miss(std::uint32_t virtual_appliance,
                                                          std::uint32_t appliance) const;
    /// With everything put: the first constraint that is broken.
    [[nodiscard]] std::optional<Shortfall> broken() const;

    [[nodiscard]] const Tenant& tenant() const { return *tenant_; }
    [[nodiscard]] const Topology& topology() const { return *topology_; }
    [[nodiscard]] const Ledger& ledger() const { return *ledger_; }
    [[nodiscard]] const Layout& layout() const { return layout_; }
    [[nodiscard]] const Side& whole() const { return whole_; }
    [[nodiscard]] const Side& at_host(std::uint32_t host) const { return hosts_[host]; }
    [[nodiscard]] Tokens bandwidth(std::uint32_t virtual_appliance) const {
        return bandwidth_[virtual_appliance];
    }
    /// vNICs without a host, the largest reservation first.
    [[nodiscard]] std::vector<std::uint32_t> open_vnics() const;

  private:
    void move(std::uint32_t host, std::uint32_t rack, const Side& side, bool in);
    [[nodiscard]] std::optional<Shortfall> check(Constraint c, const Side& inside) const;
    [[nodiscard]] std::uint32_t rack_of(const Appliance& appliance) const;

    const Ledger* ledger_;
    const Topology* topology_;
    const Tenant* tenant_;
    Side whole_;
    std::vector<Tokens> bandwidth_;  // of each virtual appliance
    Layout layout_;
    std::vector<Side> hosts_;
    std::vector<Side> racks_;
    std::vector<Side> links_;                // of appliances
    std::vector<Tokens> tokens_;             // of appliances
    std::vector<std::uint32_t> slots_used_;  // of hosts
};

// Both put the whole tenant or leave the attempt unspecified.

/// Fast: the smallest part of the tree that takes it, filled host by host (Hadrian's heuristic).
/// @return what was in the way
[[nodiscard]] std::optional<Shortfall> place_greedily(Attempt& attempt);

enum class Search { kFound, kNone, kGivenUp };
/// Every placement, until one fits or the budget is used up. With kNone there is none.
[[nodiscard]] Search place_by_search(Attempt& attempt, std::uint64_t budget);

}  // namespace weir::placement
