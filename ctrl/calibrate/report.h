// report.h - results of a calibration: text for people, JSON for programs, the table's file, and a picture.
// Source: Pulsar 3
// Units: named in titles and keys. Threads: any (pure functions)
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "ctrl/calibrate/fit/table_fit.h"
#include "ctrl/cli/table.h"

namespace weir::calibrate {

/// A row per measurement, the fitted shapes, the unit and the capacity.
[[nodiscard]] std::string report_text(const Calibration& calibration, const TableFit& fit,
                                      const cli::Terminal& terminal);
/// The members of calibration_json(), and "fits", "capacity_tokens_per_second", "confidence" and "table".
[[nodiscard]] nlohmann::json report_json(const Calibration& calibration, const TableFit& fit);
/// The table as the switch reads it, with its members in the order in which people look for them.
[[nodiscard]] std::string table_text(const TableFit& fit);
/// SVG of costs over sizes on logarithmic axes: measured costs with their intervals as points, fits as lines.
/// The same fit gives the same bytes. @param fit with one row or more
[[nodiscard]] std::string picture_svg(const std::string& title, const TableFit& fit);

}  // namespace weir::calibrate
