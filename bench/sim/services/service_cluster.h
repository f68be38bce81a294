// service_cluster.h - a scenario as the cluster file that weir-ctrl would have read. Threads: any.
#pragma once

#include <string>

#include "bench/sim/services/service_scenario.h"
#include "ctrl/config/cluster_config.h"

namespace weir::sim {

[[nodiscard]] ClusterConfig cluster_of(const ServiceScenario& scenario);
/// @param vm from 0
[[nodiscard]] std::string vm_name(const ServiceTenant& tenant, std::uint32_t vm);

}  // namespace weir::sim
