// table_fit.h - measured rates in, a cost table out: what a request costs is how many of the base requests
// the appliance could have answered instead. Source: Libra (algorithms 1.11), Pulsar 2.4. Units: tokens.
// Threads: any (pure).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/error.h"
#include "ctrl/calibrate/fit/curve_fit.h"
#include "ctrl/calibrate/fit/estimate.h"
#include "ctrl/calibrate/fit/measured.h"

namespace weir::calibrate {

/// What must hold of measurements and fits.
struct FitRules {
    std::uint32_t base_tokens = 1000;  ///< what the base request costs
    /// The base request, by operation and payload; absent: the cheapest.
    std::optional<std::pair<Operation, std::uint64_t>> base{};
    double error = 0.10;      ///< of a fitted cost at a measured size
    double noise = 0.10;      ///< of a median: half of its interval
    double saturated = 0.85;  ///< half as many outstanding must give this part of the rate
    double generator = 0.90;  ///< more of a core, and it was the load that was measured
    double held_back = 0.02;  ///< more of the time, and it was the switch's limit
};

/// What is said of the service in the table.
struct TableNames {
    std::string name;
    std::string source;  ///< of the measurements: when, where, how; what was found is added
};

struct TableFit {
    struct Point {
        std::size_t measured = 0;  ///< index into what was given
        std::uint64_t size = 0;    ///< as it is priced
        Estimate rate;
        double tokens = 0;  ///< by the rate
        double fitted = 0;  ///< by the table
        [[nodiscard]] double error() const { return fitted / tokens - 1; }
    };
    struct Row {
        Operation operation;
        CountedSize counted;
        CurveFit fit;
        std::vector<Point> points;  ///< by size
        std::uint32_t key_tokens = 0;
    };

    std::vector<Row> rows;  ///< of the operations measured, in the order of Operation
    double capacity = 0;    ///< tokens a second
    std::size_t base = 0;   ///< index of the base request
    double confidence = 0;  ///< of the least sure interval
    nlohmann::json table;   ///< null when there are faults that leave none
    Faults objections;      ///< why it should not be used: noise, no saturation, ...
};

/// @param measured each with a rate at least. What cannot be fitted at all (no such base request) is an
/// objection and leaves `table` null. A table is always one that the switch's reader takes.
[[nodiscard]] TableFit fit_table(const std::vector<Measured>& measured, const FitRules& rules,
                                 const TableNames& names);

/// What speaks against one measurement, apart from its cost.
void object_to(const Measured& measured, const FitRules& rules, Faults& objections);

/// "12.3%"
[[nodiscard]] std::string percent_text(double part);

}  // namespace weir::calibrate
