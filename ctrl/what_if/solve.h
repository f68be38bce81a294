// solve.h - the controller's pure functions on one JSON object, offline: the planner's what-if tool, and the
// way tests reach the algorithms. docs/what_if.md documents every kind. Threads: any.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <variant>

#include "common/error.h"

namespace weir::what_if {

/// The answer, or every fault of the problem with its JSON path.
using Solved = std::variant<nlohmann::json, Faults>;

/// Never throws on input.
[[nodiscard]] Solved solve(const nlohmann::json& problem);
/// The same of a text: JSON with comments.
[[nodiscard]] Solved solve_text(std::string_view text);

}  // namespace weir::what_if
