// bill.h - weirctl bill: the controller's bill as a table or as CSV, and the times that select its lines.
// Units: bytes, seconds, money of the cluster file's prices. Threads: any (pure functions).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "ctrl/cli/table.h"

namespace weir::cli {

[[nodiscard]] std::string bill_text(const nlohmann::json& bill, const Terminal& terminal);
/// A line of column names, then one line for each vNIC and guarantee kind.
[[nodiscard]] std::string bill_csv(const nlohmann::json& bill);

/// Unix seconds of "2026-11-21", "2026-11-21T15:00" or "2026-11-21T15:00:30" (UTC, 1970 to 2096), or of a
/// text that is a number of Unix seconds.
[[nodiscard]] std::optional<std::uint64_t> parse_time(std::string_view time);

}  // namespace weir::cli
