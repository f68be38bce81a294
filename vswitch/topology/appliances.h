// appliances.h - the configuration's appliances as the data path knows them. Threads: at start.
#pragma once

#include <vector>

#include "vswitch/config/appliance_costs.h"
#include "vswitch/config/config.h"
#include "vswitch/datapath/requests/request_path.h"

namespace weir {

/// One for each of config.appliances. @param costs likewise
[[nodiscard]] std::vector<Appliance> make_appliances(const SwitchConfig& config,
                                                     const std::vector<ApplianceCosts>& costs);

}  // namespace weir
