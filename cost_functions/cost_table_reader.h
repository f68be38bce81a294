// cost_table_reader.h - cost tables as JSON (configs/costs, configs/schema/cost.schema.json).
// Threads: any; never used on a poll thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>

#include "common/error.h"
#include "cost_functions/cost_table.h"

namespace weir {

/// Reads one table. Every fault is added to `faults`; if there are any, the table is not to be used.
/// @param path of the value in the file, for the faults; "" is the root
[[nodiscard]] CostTable load_cost_table(const nlohmann::json& value, Faults& faults,
                                        const std::string& path = "");

/// A whole text (JSON with comments); faults in the order of the text, each with its line.
[[nodiscard]] std::variant<CostTable, Faults> parse_cost_table(std::string_view text);
[[nodiscard]] std::variant<CostTable, Faults> read_cost_table(const std::string& file);

}  // namespace weir
