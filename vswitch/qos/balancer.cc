// balancer.cc - choose_move().
#include "vswitch/qos/balancer.h"

#include <algorithm>

namespace weir {

/// With a vNIC that needs x the two workers are at `most - x` and `least + x`.
std::optional<BalancingMove> choose_move(std::span<const double> workers, std::span<const VnicLoad> vnics) {
    if (workers.size() < 2)
        return std::nullopt;
    const auto [least, most] = std::ranges::minmax_element(workers);
    if (*most < kBusyWorker)
        return std::nullopt;
    const auto from = static_cast<WorkerId>(most - workers.begin());
    const auto to = static_cast<WorkerId>(least - workers.begin());
    std::optional<BalancingMove> best;
    double best_relief = kReliefMin;
    for (const VnicLoad& load : vnics) {
        if (load.owner != from)
            continue;
        const double relief = std::min(load.busy, *most - *least - load.busy);
        if (relief < best_relief || (best && relief == best_relief))
            continue;
        best_relief = relief;
        best = {load.vnic, to};
    }
    return best;
}

}  // namespace weir
