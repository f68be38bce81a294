// link_shares.h - who gets what of a link that the fulfillment scheduler serves, were traffic a fluid. These
// are the long-run rates of FulfillmentScheduler, which test/bench/sim/fleet_test.cc compares.
// Source: SoftBW 3.2, 5.2; docs/algorithms.md 13.2.
// Units: any one unit of rate.
// Threads: one owner. Keeps its working memory.
#pragma once

#include <span>
#include <vector>

#include "common/water_fill.h"

namespace weir::sim {

struct FluidClass {
    double promised = 0;
    double demand = 0;
};

class LinkShares {
  public:
    /// While what is promised to those who want it fits, each gets that, and spare goes in equal shares to
    /// whom wants more; a promise counts towards a share. Else each gets the same part of its promise, or
    /// less when it wants less.
    /// @param rates as many as classes; their sum is never above the capacity
    void divide(double capacity, std::span<const FluidClass> classes, std::span<double> rates);

  private:
    std::vector<RealClaim> claims_;
};

}  // namespace weir::sim
