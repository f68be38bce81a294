// bill_view.h - the bill of the controller as a table or as CSV, and the times that it is asked for.
// Threads: any.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "ctrl/cli/terminal.h"

namespace weir::cli {

[[nodiscard]] std::string bill_text(const nlohmann::json& bill, const Terminal& terminal);
/// A line of names, then one line for each vNIC and kind of guarantee.
[[nodiscard]] std::string bill_csv(const nlohmann::json& bill);

/// Unix seconds of "2026-11-21", "2026-11-21T15:00" or "2026-11-21T15:00:30" (UTC), or of a number of them.
[[nodiscard]] std::optional<std::uint64_t> seconds_of(std::string_view time);

}  // namespace weir::cli
