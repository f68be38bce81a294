// removed_vnics.h - vNICs that a new cluster file no longer has, kept until their last periods are billed.
// Source: docs/algorithms.md 6.3
// Units: Unix seconds. Threads: any (pure); note_removed_vnics(): the store's.
//
// A switch sends the periods of the last seconds, or of hours without a controller, after the controller has
// begun with the new file. Without this the vNIC would have no id any more, and the switch would give them
// up.
#pragma once

#include <cstdint>
#include <vector>

#include "ctrl/config/cluster_config.h"
#include "ctrl/store/store.h"

namespace weir {

/// Time for which a vNIC is kept; a switch that is away for longer has lost its oldest periods.
inline constexpr std::int64_t kRemovedKept = 30 * 86'400;

/// Those that were removed so far and by the change from `before` to `now`, without those that are back and
/// without those that were kept long enough. Ordered by name.
[[nodiscard]] std::vector<RemovedVnic> removed_vnics(const std::vector<RemovedVnic>& so_far,
                                                     const ClusterConfig& before, const ClusterConfig& now,
                                                     std::int64_t unix_time);

/// Compares the stored specification with the one that is about to replace it. A stored one that this program
/// cannot read changes nothing. @throws HostError
void note_removed_vnics(Store& store, const ClusterConfig& now, std::int64_t unix_time);

}  // namespace weir
