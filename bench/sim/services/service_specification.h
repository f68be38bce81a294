// service_specification.h - a service scenario's hosts, tenants and capacities from a cluster file: the file
// of a controller, or a revision that `weirctl show` exported. Source: docs/design.md 10 Units: in the field
// names. Threads: any.
//
// vNICs without a host in the file stand where `weirctl plan` puts them.
#pragma once

#include <optional>
#include <string>

#include "bench/sim/services/service_scenario.h"
#include "common/config/config_reader.h"

namespace weir::sim {

/// The cluster file named at `specification`, with a host for each vNIC; nothing without the key, or with
/// faults. @param folder where a relative name starts
[[nodiscard]] std::optional<ClusterConfig> read_specification(ObjectReader& reader, const std::string& folder,
                                                              Faults& faults);
/// Takes hosts, tenants, interval, and the places and capacities of the scenario's services from its
/// specification. A service that the specification does not have is a fault.
void take_specification(ServiceScenario& scenario, Faults& faults);

}  // namespace weir::sim
