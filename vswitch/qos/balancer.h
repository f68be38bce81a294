// balancer.h - which vNIC goes to which worker, so that the busiest worker has cycles again.
// Source: docs/algorithms.md 3.16. Units: parts of a core's time, 0 to 1. Threads: any (values).
//
// Example: worker 0 is busy for 0.95 of its time, 0.40 of it for vNIC 5 and 0.30 for vNIC 6; worker 1 for
// 0.10. With vNIC 5 there they are at 0.55 and 0.50, with vNIC 6 at 0.65 and 0.40: vNIC 5 moves.
#pragma once

#include <optional>
#include <span>

#include "common/types.h"

namespace weir {

struct VnicLoad {
    VnicId vnic = kNoVnic;
    WorkerId owner = 0;
    double busy = 0;  ///< part of its worker's time
};

struct BalancingMove {
    VnicId vnic = kNoVnic;
    WorkerId to = 0;
    bool operator==(const BalancingMove&) const = default;
};

/// A worker is short of cycles from this part of its time on.
inline constexpr double kBusyWorker = 0.8;
/// The busiest of the two workers is relieved of this part at least: a move for less is no use.
inline constexpr double kReliefMin = 0.1;

/// @param workers their busy parts, by WorkerId
/// @param vnics those that may move
/// @return the move that relieves the busiest worker most; none: it is not short of cycles, or nothing helps
[[nodiscard]] std::optional<BalancingMove> choose_move(std::span<const double> workers,
                                                       std::span<const VnicLoad> vnics);

}  // namespace weir
