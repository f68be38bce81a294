// cost_table_reader.h - reader of cost tables in JSON, as in configs/costs and
// configs/schema/cost.schema.json.
// Source: docs/design.md 5.2. Units: in the texts, see common/units.h.
// Threads: any; never used on a poll thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>

#include "common/error.h"
#include "cost_functions/cost_table.h"

namespace weir {

/// Reads one table and adds all faults to `faults`; with any, the result must not be used.
/// @param path of the value in the file, for the faults; "" is the root
[[nodiscard]] CostTable load_cost_table(const nlohmann::json& value, Faults& faults,
                                        const std::string& path = "");

/// Parses a whole text, or file, of JSON with comments. @return the table, or all faults in the order of the
/// text, each with its line
[[nodiscard]] std::variant<CostTable, Faults> parse_cost_table(std::string_view text);
[[nodiscard]] std::variant<CostTable, Faults> read_cost_table(const std::string& file);

}  // namespace weir
