// cluster_change.h - the difference between two cluster files: each value that differs, the promises that
// become smaller, and the part of the cluster that the change concerns.
// Source: docs/operations.md
// Units: in the texts. Threads: any (pure).
//
// Members of a list are the same where their names are. Example: A's reservation at the disk goes from 400 to
// 300 tokens, and host h9 comes: two values differ, tenants.A.appliances.disk.reservation and hosts.h9; one
// promise becomes smaller, and A's vNICs are concerned.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ctrl/config/cluster_config.h"

namespace weir {

/// A cluster file as JSON, without the keys of the controller's process. A text with faults is null.
[[nodiscard]] nlohmann::json cluster_part(std::string_view text);

/// A value that differs.
struct ChangedValue {
    std::string path;    ///< names of members of lists, joined by dots
    std::string before;  ///< as JSON; empty: absent
    std::string now;     ///< likewise
    bool operator==(const ChangedValue&) const = default;
};

/// All values that differ, in the order of their paths. @param before, now cluster files as JSON
[[nodiscard]] std::vector<ChangedValue> changed_values(const nlohmann::json& before,
                                                       const nlohmann::json& now);

/// A sentence for each promise of `before` that is smaller in `now`: "tenant A: reservation at disk 400 ->
/// 300 tokens/s".
[[nodiscard]] std::vector<std::string> smaller_promises(const ClusterConfig& before,
                                                        const ClusterConfig& now);

/// vNICs of `before` whose own entry, tenant, host or appliance differs or is gone; all, when a value of the
/// whole cluster differs.
/// @param host_of the host on which a vNIC is now, beside those whose file names the host; empty: on none
[[nodiscard]] std::size_t concerned_vnics(
    const ClusterConfig& before, const ClusterConfig& now,
    const std::function<std::string_view(const std::string& vnic)>& host_of);

/// Faults of a change that a controller cannot make while it runs: the cluster's name, the interval, the
/// billing period, and the keys of its process where the text states them.
/// @param stated the file as JSON
[[nodiscard]] Faults faults_of_live_change(const ClusterConfig& running, const ClusterConfig& now,
                                           const nlohmann::json& stated);

/// The process's own values of one file and the cluster of another.
[[nodiscard]] ClusterConfig with_process_of(const ClusterConfig& process, ClusterConfig cluster);

}  // namespace weir
