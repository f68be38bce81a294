// family.h - one kind of measured value: its name, type, unit and meaning, as a monitoring system reads them.
// Source: OpenMetrics 1.0. Units: base units: bytes, seconds. Threads: any (values).
#pragma once

#include <cstdint>
#include <string_view>

namespace weir::metrics {

enum class Type : std::uint8_t {
    kCounter,  ///< only grows; its samples end in _total
    kGauge,
    kSummary,  ///< quantiles: a sample for each, with the label `quantile`
    kInfo,     ///< labels with the constant value 1; its sample ends in _info
};

struct Family {
    std::string_view name;  ///< without _total and _info; ends in _UNIT where there is a unit
    Type type = Type::kGauge;
    std::string_view unit;  ///< empty: a number of things
    std::string_view help;  ///< one line
};

}  // namespace weir::metrics
