// attempt.h - tenant that is being placed: its parts behind every link, beside the present tenants.
// Source: Pulsar 4.5; docs/algorithms.md 10.2
// Units: tokens/s. Threads: one owner.
//
// Parts are put and removed one by one, and each link sums the reservations behind it. Of a tenant with four
// vNICs of 1 Gbit/s, two on host h1 need 2 Gbit/s of its uplink, and all four need none.
//
// placer_greedy.cc and placer_search.cc are the two ways to place an attempt.
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
    void remove_vnic(std::uint32_t vnic);
    /// Puts every vNIC that must be on one host. @return open_vnics()
    std::vector<std::uint32_t> put_fixed_vnics();
    void put_appliance(std::uint32_t virtual_appliance, std::uint32_t appliance);
    void remove_appliance(std::uint32_t virtual_appliance);

    /// Whether the tenant's parts behind the link, and `more`, fit if no other part of it comes behind the
    /// link.
    [[nodiscard]] bool host_fits(std::uint32_t host, const Side& more = {}) const;
    [[nodiscard]] bool rack_fits(std::uint32_t rack, const Side& more = {}) const;
    [[nodiscard]] bool serves(std::uint32_t virtual_appliance, std::uint32_t appliance) const;
    /// Tokens/s that the appliance has left beside this tenant.
    [[nodiscard]] Tokens tokens_left(std::uint32_t appliance) const;
    [[nodiscard]] std::uint64_t slots_left(std::uint32_t host) const;
    /// Tokens/s of encryption that the host has left beside all vNICs that are there.
    [[nodiscard]] Tokens encryption_left(std::uint32_t host) const;
    [[nodiscard]] bool encrypts(std::uint32_t vnic, std::uint32_t host) const {
        return tenant_->vnics[vnic].encryption <= encryption_left(host);
    }

    /// The constraint that fails when the vNIC alone comes to the host: its link, the rack's, its
    /// encryption, or its slots.
    [[nodiscard]] std::optional<Shortfall> vnic_shortfall(std::uint32_t vnic, std::uint32_t host) const;
    /// The constraint that fails when the virtual appliance alone comes to the appliance: its tokens, its
    /// link, or a link above it.
    [[nodiscard]] std::optional<Shortfall> appliance_shortfall(std::uint32_t virtual_appliance,
                                                               std::uint32_t appliance) const;
    /// The first constraint that fails with the whole tenant placed.
    [[nodiscard]] std::optional<Shortfall> shortfall() const;

    [[nodiscard]] const Tenant& tenant() const { return *tenant_; }
    [[nodiscard]] const Topology& topology() const { return *topology_; }
    [[nodiscard]] const Ledger& ledger() const { return *ledger_; }
    [[nodiscard]] const Layout& layout() const { return layout_; }
    [[nodiscard]] const Side& whole() const { return whole_; }
    [[nodiscard]] const Side& at_host(std::uint32_t host) const { return hosts_[host]; }
    [[nodiscard]] Tokens bandwidth(std::uint32_t virtual_appliance) const {
        return bandwidth_[virtual_appliance];
    }
    /// vNICs without a host, the largest reservation first; of equal ones the largest of encryption.
    [[nodiscard]] std::vector<std::uint32_t> open_vnics() const;

  private:
    void count_side(std::uint32_t host, std::uint32_t rack, const Side& side, bool in);
    [[nodiscard]] std::optional<Shortfall> check(Constraint c, Tokens mine) const;
    [[nodiscard]] std::optional<Shortfall> check_link(Constraint c, const Side& inside) const;

    const Ledger* ledger_;
    const Topology* topology_;
    const Tenant* tenant_;
    Side whole_;
    std::vector<Tokens> bandwidth_;  // per virtual appliance
    Layout layout_;
    std::vector<Side> hosts_;
    std::vector<Side> racks_;
    std::vector<Side> links_;                // per appliance
    std::vector<Tokens> tokens_;             // per appliance
    std::vector<std::uint32_t> slots_used_;  // per host
    std::vector<Tokens> encryption_;         // per host
};

// Both place the whole tenant, or leave the attempt unspecified.

/// Fills the smallest part of the tree that takes the tenant, host by host. @return why it does not fit
[[nodiscard]] std::optional<Shortfall> place_greedily(Attempt& attempt);

enum class Search { kFound, kNone, kGivenUp };
/// Tries all layouts until one fits or `budget` hosts and appliances were tried. kNone: no layout fits.
[[nodiscard]] Search place_by_search(Attempt& attempt, std::uint64_t budget);

}  // namespace weir::placement
