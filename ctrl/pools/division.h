// division.h - division of an appliance's capacity among the nodes of a pool tree, once an interval.
// Source: SRP 3.1, 3.2; docs/algorithms.md 9
// Units: tokens/s. Threads: one owner, which keeps its working memory.
//
// Demand is summed from the leaves to the root; reservations, limits, shares and the capacity are divided
// from the root to the leaves by water filling (common/water_fill.h). Where the children of a node want less
// than the node has, each gets its demand first, and the rest goes by shares up to their limits; the paper
// divides all by shares there, which may leave a child short while its idle sibling has more than it wants. A
// node without a leaf that is present takes no part, so the part of a host that vanished goes to the others.
//
// Example: capacity 900; pool A with shares 2 has vm1, which wants 500, and vm2, which wants 100; pool B with
// shares 1 has vm3, which wants 900. A gets 600 and B 300. Within A, vm2 gets the 100 that it wants, vm1 500.
#pragma once

#include <span>
#include <vector>

#include "common/water_fill.h"
#include "ctrl/pools/pool_tree.h"

namespace weir::pools {

/// Demand of a leaf that is not present: it takes no part.
inline constexpr double kAbsent = -1;

/// Demand rate of requests that wait or are outstanding on average (eq. 1 and 2), at an appliance that
/// answers within the congestion threshold. A longer measured latency is the appliance's and no demand.
[[nodiscard]] inline double demand_rate(double outstanding, double threshold_seconds) {
    return outstanding / threshold_seconds;
}

/// Per node.
struct Division {
    std::vector<double> demand;       ///< within the node's own reservation and limit; or kAbsent
    std::vector<double> reservation;  ///< the node's part of the root's, as are the next two
    std::vector<double> limit;
    std::vector<double> shares;
    std::vector<double> entitlement;  ///< the node's part of the capacity
    double unassigned = 0;            ///< of the capacity, because of limits
};

class Divider {
  public:
    /// @param demands per node; only leaves' are read
    /// @param capacity finite
    void divide(const PoolTree& tree, std::span<const double> demands, double capacity, Division& out);

  private:
    void sum_demands(const PoolTree& tree, std::span<const double> demands,
                     std::vector<double>& demand) const;
    /// Divides one amount, of which the root's part is set, from the root to the leaves.
    void divide_down(const PoolTree& tree, const std::vector<double>& demand, std::vector<double>& part);
    void divide_shares_down(const PoolTree& tree, const std::vector<double>& demand,
                            std::vector<double>& part) const;

    PoolTree::Order order_;
    std::vector<RealClaim> claims_;
    std::vector<double> parts_;
};

/// Window of each host (eq. 6): the part of the window that its VMs' entitlements have of the capacity.
/// @param host_of per node the host of a leaf; UINT32_MAX = none
[[nodiscard]] std::vector<double> host_windows(const Division& division, const PoolTree& tree,
                                               std::span<const std::uint32_t> host_of, std::uint32_t hosts,
                                               double window, double capacity);

}  // namespace weir::pools
