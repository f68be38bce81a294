// cluster_plan.h - plan of a cluster file: layouts, over-commitments, and guarantees that would break.
// Source: Pulsar 4.5; SoftBW 2.2; docs/algorithms.md 10.3
// Units: tokens/s (at links: bytes/s). Threads: any (pure).
//
// The controller admits a file, and a vNIC that a switch reports, by these rules; `weirctl plan` and
// `apply --dry-run` print the plan.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ctrl/billing/overcommit.h"
#include "ctrl/config/cluster_config.h"
#include "ctrl/placement/plan.h"

namespace weir {

/// The capacities that may be promised: links without the headroom, appliances with their least capacity.
[[nodiscard]] placement::Topology topology_of(const ClusterConfig& config);
/// The tenants of the file in its order, then one for the reservation of each topmost pool. A vNIC with a
/// host in the file must be there.
[[nodiscard]] std::vector<placement::Tenant> tenants_of(const ClusterConfig& config);

/// The controller's file, and the hosts whose switches have its vNICs now.
struct RunningCluster {
    ClusterConfig config;
    std::map<std::string, std::string, std::less<>> hosts;  ///< by vNIC
};

/// Joint need of a link, an appliance or a host, and the vNICs that share it.
struct SharedNeed {
    placement::ConstraintKind kind = placement::ConstraintKind::kHostLink;
    placement::Tokens need = 0;
    placement::Tokens have = 0;
    std::vector<billing::Sharer> sharers;  ///< their names outlive this
};

/// How often a constraint fails its promises.
struct Failure {
    double probability = 0;  ///< 0: the constraint is not over-committed
    bool measured = false;   ///< from measured use; otherwise from the model with the file's utilization
};
/// @param use measured use, or null
[[nodiscard]] Failure failure_of(const ClusterConfig& config, const SharedNeed& shared,
                                 const billing::UseTable* use);
/// Whether the file allows this need. Slots are never over-committed.
[[nodiscard]] bool may_need(const ClusterConfig& config, const SharedNeed& shared, const Failure& failure);

struct ClusterPlan {
    enum class Standing { kNew, kChanged, kUnchanged };
    struct Risk {
        std::uint32_t vnics = 0;  ///< that share the constraint
        Failure failure;
        bool admissible = true;
    };

    placement::Topology topology;
    std::vector<placement::Tenant> tenants;  ///< those that run unchanged first
    std::vector<Standing> standing;          ///< per tenant
    placement::Plan plan;                    ///< tenants that do not fit are forced
    std::vector<Risk> risks;                 ///< per load of plan.after
    std::vector<std::string> gone;           ///< running tenants that are not in the file

    /// Whether the controller admits the file.
    [[nodiscard]] bool admitted() const;
};

/// @param running null: the cluster is empty @param use measured use, or null
[[nodiscard]] ClusterPlan plan_cluster(const ClusterConfig& config, const RunningCluster* running = nullptr,
                                       const billing::UseTable* use = nullptr);
/// A fault for each constraint that is over-committed beyond the file's bounds, with its JSON path.
[[nodiscard]] Faults faults_of(const ClusterConfig& config, const ClusterPlan& plan);
/// The faults in an empty cluster, for which weir-ctrl refuses to start. A ClusterCheck.
[[nodiscard]] Faults placement_faults(const ClusterConfig& config);
/// The output of `weirctl plan --json` (docs/operations.md).
[[nodiscard]] nlohmann::json plan_json(const ClusterConfig& config, const ClusterPlan& plan,
                                       const RunningCluster* running = nullptr);
[[nodiscard]] std::string_view name_of(ClusterPlan::Standing standing);

}  // namespace weir
