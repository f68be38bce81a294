// link_shares.h - rates of the classes of a link that the fulfillment scheduler serves, with traffic as a
// fluid. Source: SoftBW 3.2; SoftBW 5.2 Units: any one unit of rate. Threads: one owner. Keeps its working
// memory.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "common/water_fill.h"

namespace weir::sim {

struct FluidClass {
    double promised = 0;  ///< guarantee
    double demand = 0;
};

/// The long-run rates of FulfillmentScheduler; test/bench/sim/fleet_test.cc compares them.
class LinkShares {
  public:
    /// While the guarantees that are in demand fit, each class gets its guarantee, and spare capacity is
    /// divided in equal shares among classes that demand more; a guarantee counts towards a share. Otherwise
    /// each class gets the same part of its guarantee, or its demand where that is less.
    /// @param rates as many as classes; their sum is never above the capacity
    void divide(double capacity, std::span<const FluidClass> classes, std::span<double> rates) {
        double wanted = 0;
        for (const FluidClass& each : classes)
            wanted += std::min(each.promised, each.demand);
        claims_.clear();
        for (const FluidClass& each : classes) {
            const double kept = std::min(each.promised, each.demand);
            claims_.push_back(wanted <= capacity ? RealClaim{.reservation = kept, .demand = each.demand}
                                                 : RealClaim{.demand = kept, .shares = each.promised});
        }
        water_fill(capacity, claims_, rates);
    }

  private:
    std::vector<RealClaim> claims_;
};

}  // namespace weir::sim
