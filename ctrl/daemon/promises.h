// promises.h - the specification's promises to vNICs as their switches get them, and where a switch's file
// states other values.
// Source: docs/protocol.md; docs/operations.md. Units: in the field names. Threads: one owner.
#pragma once

#include <string>
#include <vector>

#include "common/config/vnic_promise.h"
#include "ctrl/config/cluster_config.h"
#include "ctrl/daemon/cluster.h"
#include "ctrl/daemon/sessions.h"

namespace weir {

[[nodiscard]] VnicPromise promise_of(const TenantVnicConfig& vnic);
/// Whether the session's switch gets promises.
[[nodiscard]] bool takes_promises(const Session& session);
/// Adds their promises to the vNICs of the session's host, at most wire::kPromisesMax; to none if its switch
/// does not know them.
void add_promises(const Cluster& cluster, const Session& session, wire::Tables& tables);
/// A sentence for each of at most 20 vNICs of the session's host whose switch's file states other values, and
/// the number of further ones. Of a switch that does not know promises, that its file's values hold.
[[nodiscard]] std::vector<std::string> promise_warnings(const Cluster& cluster, const Session& session);

}  // namespace weir
