// division.h - what the VMs of a pool tree may have in the next interval: demand is added up from the leaves,
// reservations, limits, shares and the appliance's capacity are divided from the root.
// Source: SRP 3.1, 3.2 (Algorithm 1, steps 1 and 2; eq. 1 to 3), with the corrections of water_fill.
// Units: tokens/s. Threads: one owner. Keeps its working memory.
//
// Beyond the paper: a node without anybody who is there takes no part, so that what hosts that vanished had
// goes to the others. And where children want less than their parent has, each gets what it wants before the
// rest is divided by shares up to their limits: the paper divides everything by shares there, which may leave
// a child without what its idle sibling was given.
#pragma once

#include <span>
#include <vector>

#include "common/water_fill.h"
#include "ctrl/pools/pool_tree.h"

namespace weir::pools {

/// The demand of a leaf that is not there: it takes no part.
inline constexpr double kAbsent = -1;

/// Eq. 1 and 2: what so many requests, waiting or outstanding on average, are in requests per second of an
/// appliance that answers within the congestion threshold. What is measured beyond it is the appliance's
/// doing and not more demand.
[[nodiscard]] inline double demand_rate(double outstanding, double threshold_seconds) {
    return outstanding / threshold_seconds;
}

/// Per node.
struct Division {
    std::vector<double> demand;       ///< within the static reservation and limit; kAbsent
    std::vector<double> reservation;  ///< of what the root's is, so much is for this node now
    std::vector<double> limit;
    std::vector<double> shares;
    std::vector<double> entitlement;  ///< of the capacity
    double unassigned = 0;            ///< of the capacity: what limits leave to nobody
};

class Divider {
  public:
    /// @param demands  per node; those of leaves count
    /// @param capacity finite
    void divide(const PoolTree& tree, std::span<const double> demands, double capacity, Division& out);

  private:
    void add_up(const PoolTree& tree, std::span<const double> demands, std::vector<double>& demand) const;
    /// From the root, whose part is set, to the leaves.
    void pour(const PoolTree& tree, const std::vector<double>& demand, std::vector<double>& part);
    void pour_shares(const PoolTree& tree, const std::vector<double>& demand,
                     std::vector<double>& part) const;

    PoolTree::Order order_;
    std::vector<RealClaim> claims_;
    std::vector<double> parts_;
};

/// Eq. 6: what may be outstanding from each host of what may be in all, by what its VMs are entitled to.
/// @param host_of per node, that of a leaf; UINT32_MAX = none
[[nodiscard]] std::vector<double> host_windows(const Division& division, const PoolTree& tree,
                                               std::span<const std::uint32_t> host_of, std::uint32_t hosts,
                                               double window, double capacity);

}  // namespace weir::pools
