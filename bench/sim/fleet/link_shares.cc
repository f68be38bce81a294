// link_shares.cc - one water filling: by shares above promises, or by promises alone.
#include "bench/sim/fleet/link_shares.h"

#include <algorithm>

namespace weir::sim {

void LinkShares::divide(double capacity, std::span<const FluidClass> classes, std::span<double> rates) {
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

}  // namespace weir::sim
