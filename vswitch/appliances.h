// appliances.h - the configuration's appliances as the data path knows them. Threads: at start.
#pragma once

#include <vector>

#include "vswitch/appliance_costs.h"
#include "vswitch/config.h"
#include "vswitch/datapath/request_path.h"

namespace weir {

/// One for each of config.appliances. @param costs likewise
[[nodiscard]] std::vector<Appliance> make_appliances(const SwitchConfig& config,
                                                     const std::vector<ApplianceCosts>& costs);

}  // namespace weir
