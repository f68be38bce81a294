// report.h - a fitted table as text for people and as JSON for programs. Pure. Threads: any.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "ctrl/calibrate/fit/table_fit.h"
#include "ctrl/calibrate/samples.h"
#include "ctrl/cli/table.h"

namespace weir::calibrate {

[[nodiscard]] std::string report_text(const Samples& samples, const TableFit& fit,
                                      const cli::Terminal& terminal);
/// The samples, and under "fits", "capacity_tokens_per_second" and "table" what was made of them.
[[nodiscard]] nlohmann::json report_json(const Samples& samples, const TableFit& fit);
/// The table as a file.
[[nodiscard]] std::string table_text(const TableFit& fit);

}  // namespace weir::calibrate
