// cluster_plan.h - whether a cluster file's promises can be kept: where its tenants go, what becomes
// over-committed, whose guarantee would break, and how often. The controller takes a file, and a vNIC that a
// switch brings, by this; `weirctl plan` and `apply --dry-run` show it. Source: Pulsar 4.5, SoftBW 2.2.
// Units: tokens (at links: bytes) per second. Threads: any (pure).
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ctrl/billing/measured_use.h"
#include "ctrl/config/config.h"
#include "ctrl/placement/audit.h"

namespace weir {

/// What may be promised: links less the headroom, appliances as much as they surely have.
[[nodiscard]] placement::Topology topology_of(const ClusterConfig& config);
/// In the order of the file, then what pools reserve of appliances. A vNIC with a host in the file must be
/// there.
[[nodiscard]] std::vector<placement::Tenant> tenants_of(const ClusterConfig& config);

/// A controller's file, and the hosts on which switches have its vNICs now.
struct RunningCluster {
    ClusterConfig config;
    std::map<std::string, std::string, std::less<>> hosts;  ///< by vNIC
};

/// What is needed of a link, an appliance or a host, and who shares it.
struct SharedNeed {
    placement::ConstraintKind kind = placement::ConstraintKind::kHostLink;
    placement::Tokens need = 0;
    placement::Tokens have = 0;
    std::vector<billing::Sharer> sharers;  ///< the names outlive it
};

/// How often a constraint fails its promises; 0: it has enough.
struct Failure {
    double probability = 0;
    bool measured = false;  ///< by what vNICs used; else by the model, were it used as the file says
};
/// @param use what was measured, or null
[[nodiscard]] Failure failure_of(const ClusterConfig& config, const SharedNeed& shared,
                                 const billing::UseTable* use);
/// Whether the file lets so much be promised. Slots are never over-committed.
[[nodiscard]] bool may_need(const ClusterConfig& config, const SharedNeed& shared, const Failure& failure);

struct ClusterPlan {
    enum class Standing { kNew, kChanged, kUnchanged };
    struct Risk {
        std::uint32_t vnics = 0;  ///< that share what is loaded
        Failure failure;
        bool admissible = true;
    };

    placement::Topology topology;
    std::vector<placement::Tenant> tenants;  ///< those first that run as they are
    std::vector<Standing> standing;          ///< of each
    placement::Plan plan;                    ///< who does not fit is put where it does the least harm
    std::vector<Risk> risks;                 ///< as plan.after.loads
    std::vector<std::string> gone;           ///< tenants that run and are not in the file

    /// Whether the controller takes it.
    [[nodiscard]] bool admitted() const;
};

/// @param running what runs now, or null for an empty cluster @param use what was measured, or null
[[nodiscard]] ClusterPlan plan_cluster(const ClusterConfig& config, const RunningCluster* running = nullptr,
                                       const billing::UseTable* use = nullptr);
/// One for each thing that is promised too often, with its place in the file.
[[nodiscard]] Faults faults_of(const ClusterConfig& config, const ClusterPlan& plan);
/// The same for an empty cluster: what weir-ctrl refuses at start. A ClusterCheck.
[[nodiscard]] Faults placement_faults(const ClusterConfig& config);
/// What `weirctl plan --json` prints (docs/operations.md).
[[nodiscard]] nlohmann::json plan_json(const ClusterConfig& config, const ClusterPlan& plan,
                                       const RunningCluster* running = nullptr);
[[nodiscard]] std::string_view name_of(ClusterPlan::Standing standing);

}  // namespace weir
