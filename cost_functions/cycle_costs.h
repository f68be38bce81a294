// cycle_costs.h - cost table of a worker's cycles, and the machine on which it was measured.
// Source: docs/algorithms.md 12.3. Units: TSC cycles of a worker's core. Threads: at start.
//
// A frame that costs 300 cycles on one CPU costs 700 on another, so such a table is worth nothing elsewhere.
// The file names the host and its CPU, and a switch on any other machine refuses it:
//   {"host": "h1", "cpu": "Intel(R) Xeon(R) Gold 6230", "costs": {a cost table}}
// `weir-calibrate switch` measures and writes it.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>

#include "common/error.h"
#include "cost_functions/cost_table.h"

namespace weir {

/// Why cycles of appliances' requests are not charged.
inline constexpr const char* kNoCycleCosts =
    "no cycle_costs: the cycles of a request on this host's workers were not measured; weir-calibrate switch "
    "measures them";

struct Machine {
    std::string host;  ///< network name
    std::string cpu;   ///< its model's name
    bool operator==(const Machine&) const = default;
};
/// @param sysroot prefix of /proc: "" except in tests
[[nodiscard]] Machine this_machine(const std::string& sysroot = "");

/// Reads the file. Of another machine, it is a fault of the key `cycle_costs`, as all others are.
[[nodiscard]] std::variant<std::shared_ptr<const CostTable>, Faults> load_cycle_costs(const std::string& file,
                                                                                      const Machine& here);
/// The file's text. @param costs the JSON of a cost table
[[nodiscard]] std::string cycle_costs_text(const Machine& measured_on, const nlohmann::json& costs);

}  // namespace weir
