// plan_view.h - a plan (ctrl/cluster_plan_json.cc) as text: who fits, what is promised too often, whose
// guarantee would break. Pure: JSON in, text out. Threads: any.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "ctrl/cli/terminal.h"

namespace weir::cli {

[[nodiscard]] std::string plan_text(const nlohmann::json& plan, const Terminal& terminal);

}  // namespace weir::cli
