// new_revision.h - the store's part of a new revision of the specification: ids of its ends, and the vNICs
// that it removes, which are kept until their last periods are billed. Source: docs/algorithms.md 6.3;
// docs/design.md 10 Units: Unix seconds. Threads: the store's.
//
// A vNIC's id belongs to it in its tenant. When a name comes back in another tenant, it gets a new id: the
// periods of the one before are not billed to the new tenant.
//
// A switch sends the periods of the last seconds, or of hours without a controller, after its vNIC was
// removed. Without the list of removed vNICs it would have no id any more, and the switch would give them up.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ctrl/config/cluster_config.h"
#include "ctrl/daemon/cluster.h"
#include "ctrl/store/store.h"

namespace weir {

/// Time for which a removed vNIC is kept; a switch that is away for longer has lost its oldest periods.
inline constexpr std::int64_t kRemovedKept = 30 * 86'400;

/// Plans it; the store is not changed. @param before nullptr: none, or one that cannot be read
/// @param text outlives the result
[[nodiscard]] NewRevision new_revision(Store& store, const ClusterConfig* before, const ClusterConfig& now,
                                       std::string_view text, std::int64_t unix_time);
/// Ids under a revision that is not stored yet. The function reads no state that changes, so that another
/// thread may call it. @param before the cluster of the revision before; outlives the function
[[nodiscard]] Cluster::IdOf ids_under(const EndpointChanges& ends, const Cluster& before);

/// Stores the text of a cluster file as the next revision, when it differs from the last one.
/// @return the number of the last revision. @throws HostError
std::int64_t import_specification(Store& store, const ClusterConfig& now, std::string_view text,
                                  const std::string& author, std::int64_t unix_time);

}  // namespace weir
