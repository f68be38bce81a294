// config_files.h - contents of the files that the configuration names: cost tables, programs, keys.
// Threads: at start.
#pragma once

#include <array>
#include <cstdint>
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

/// Prices of requests to one appliance.
struct ApplianceCosts {
    std::shared_ptr<const CostTable> table;
    std::shared_ptr<const CostProgram> program;  ///< null: the table alone
    /// Cycles of the worker for a request, one table for all appliances; null: they are not charged.
    std::shared_ptr<const CostTable> cycles;
};

struct TunnelParts {
    std::array<std::uint8_t, 32> key{};
    std::shared_ptr<const CostTable> cost;
};

struct ConfigFiles {
    std::vector<ApplianceCosts> appliances;       ///< by index as in SwitchConfig
    std::vector<TunnelParts> tunnels;             ///< by index as in SwitchConfig
    std::array<std::uint8_t, 16> feedback_key{};  ///< read while feedback is on
};

/// Reads an operator's program. The configuration itself must not depend on DPDK, which runs programs.
using ReadProgram = std::variant<std::shared_ptr<const CostProgram>, Fault> (*)(const std::string& file);

/// Whether a `cost` names a table that comes with the switch, which has neither dot nor slash.
[[nodiscard]] bool is_shipped_table(std::string_view cost);
/// The folder of these tables.
[[nodiscard]] std::string shipped_tables();

/// One for each of config.appliances, or all faults, such as of `appliances[2].cost`.
/// @param read_program null: the calling program runs no programs, and a named one is a fault
[[nodiscard]] std::variant<std::vector<ApplianceCosts>, Faults> load_appliances(
    const SwitchConfig& config, ReadProgram read_program, const std::string& shipped = shipped_tables());

/// One for each of config.tunnels, or all faults, such as of `tunnels[1].key_file`.
[[nodiscard]] std::variant<std::vector<TunnelParts>, Faults> load_tunnels(
    const SwitchConfig& config, const std::string& shipped = shipped_tables());

/// The contents of all files, or all faults.
[[nodiscard]] std::variant<ConfigFiles, Faults> load_files(const SwitchConfig& config,
                                                           ReadProgram read_program);

}  // namespace weir
