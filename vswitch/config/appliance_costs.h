// appliance_costs.h - the cost tables and programs that the configuration names. Threads: at start.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/error.h"
#include "cost_functions/cost_program.h"
#include "cost_functions/cost_table.h"
#include "vswitch/config/config.h"

namespace weir {

/// What requests to one appliance cost.
struct ApplianceCosts {
    std::shared_ptr<const CostTable> table;
    std::shared_ptr<const CostProgram> program;  ///< null: the table alone
    std::shared_ptr<const CostTable> cycles;     ///< of the worker, for a request; one for all appliances
};

/// Reads an operator's program; it sees DPDK, and the configuration does not.
using ReadProgram = std::variant<std::shared_ptr<const CostProgram>, Fault> (*)(const std::string& file);

/// `cost` of an appliance is the name of a table that comes with the switch: it has neither dot nor slash.
[[nodiscard]] bool is_shipped_table(std::string_view cost);
/// The folder of these: share/weir/costs beside the program's bin, or configs/costs of the source tree that
/// its build folder is in.
[[nodiscard]] std::string shipped_tables();

/// The cost table that the configuration names at `path`; null when there are faults.
[[nodiscard]] std::shared_ptr<const CostTable> read_cost_table(const std::string& cost,
                                                               const std::string& path,
                                                               const std::string& shipped, Faults& faults);

/// One for each of config.appliances, in their order; or every fault, as `appliances[2].cost`.
/// @param read_program nullptr: this program takes no programs, and one that is named is a fault
/// @param shipped      the folder of the tables that come with the switch
[[nodiscard]] std::variant<std::vector<ApplianceCosts>, Faults> load_appliances(
    const SwitchConfig& config, ReadProgram read_program, const std::string& shipped = shipped_tables());

}  // namespace weir
