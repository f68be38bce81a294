// picture.h - costs over sizes as SVG: what was measured with its interval, what was fitted as a line.
// Source: Pulsar Fig. 4 and 6. Pure. Threads: any.
#pragma once

#include <string>

#include "ctrl/calibrate/fit/table_fit.h"

namespace weir::calibrate {

/// The same fit gives the same bytes.
[[nodiscard]] std::string picture_svg(const std::string& title, const TableFit& fit);

}  // namespace weir::calibrate
