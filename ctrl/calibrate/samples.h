// samples.h - measurements as JSON, so that they can be fitted again. Units: as the keys say. Threads: any.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/error.h"
#include "ctrl/calibrate/fit/measured.h"

namespace weir::calibrate {

/// What was measured, and of what.
struct Samples {
    std::string what;  ///< "nbd at 10.0.0.3:10809"
    std::string when;  ///< a date
    std::vector<Measured> measured;
};

[[nodiscard]] nlohmann::json samples_json(const Samples& samples);

/// Reads what samples_json() gave, also within the envelope of --json. Every fault is added to `faults`; if
/// there are any, the samples are not to be used.
[[nodiscard]] Samples read_samples(const nlohmann::json& value, Faults& faults);

}  // namespace weir::calibrate
