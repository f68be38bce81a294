// plan.h - weirctl plan and apply: whether the promises of a cluster file can be kept, as text.
// Threads: any (pure functions).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "ctrl/cli/table.h"

namespace weir::cli {

/// Tenants, resources by load, guarantees that would break, and the verdict.
/// @param plan as plan_json() of ctrl/placement/cluster_plan.h makes it
[[nodiscard]] std::string plan_text(const nlohmann::json& plan, const Terminal& terminal);

}  // namespace weir::cli
