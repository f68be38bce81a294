// table_fit.h - cost table from measured rates, and the objections against its use.
// Source: Libra (EuroSys'14); Pulsar 2.4; docs/algorithms.md 12.2
// Units: tokens, bytes. Threads: any (pure)
//
// A request costs as many base requests as the appliance could have answered instead. Example: 10,000 reads
// of 512 bytes per second are the base, 1000 tokens each; of 64 KiB it answers 500 per second. Such a read
// costs 1000 * 10,000 / 500 = 20,000 tokens, and the capacity is 10 million tokens per second for either.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/error.h"
#include "ctrl/calibrate/fit/curve_fit.h"
#include "ctrl/calibrate/fit/measurement.h"

namespace weir::calibrate {

/// Bounds on measurements and fits; a value beyond one is an objection.
struct FitRules {
    std::uint32_t base_tokens = 1000;  ///< price of the base request
    /// Operation and payload of the base request; absent: the fastest request, if possible one with a size.
    std::optional<std::pair<Operation, std::uint64_t>> base{};
    double error = 0.10;      ///< largest relative error of a fitted cost at a measured size
    double noise = 0.10;      ///< largest noise of a median (Estimate::noise)
    double saturated = 0.85;  ///< smallest part of the rate that half as many outstanding requests must give
    double generator = 0.90;  ///< largest part of a core that the load generator may use
    double held_back = 0.02;  ///< largest part of the time that the switch may hold the flow back
};

/// Texts of the table.
struct TableNames {
    std::string name;
    std::string source;  ///< when, where and how it was measured; capacity and error of the fit are appended
};

struct TableFit {
    struct Point {
        std::size_t measurement = 0;  ///< index into the measurements
        std::uint64_t size = 0;       ///< the size that prices the request
        Estimate rate;
        double tokens = 0;  ///< measured cost
        double fitted = 0;  ///< cost by the table
        [[nodiscard]] double error() const { return fitted / tokens - 1; }
    };
    struct Row {
        Operation operation;
        CountedSize counted;
        CurveFit fit;
        std::vector<Point> points;     ///< by growing size
        std::uint32_t key_tokens = 0;  ///< for each key of a get after the first; 0: not measured
    };

    std::vector<Row> rows;  ///< of the measured operations, in the order of Operation
    double capacity = 0;    ///< tokens per second
    std::size_t base = 0;   ///< index of the base request's measurement
    double confidence = 0;  ///< smallest confidence of all intervals
    nlohmann::json table;   ///< as the switch reads it; null when there can be none
    Faults objections;      ///< reasons not to use the table
};

/// @param measurements each with one rate or more
/// @return `table` is null when the base request was not measured or the switch's reader refuses the table;
/// both are among the objections
[[nodiscard]] TableFit fit_table(const std::vector<Measurement>& measurements, const FitRules& rules,
                                 const TableNames& names);

/// "12.3%", or "12%" where the decimal would be 0.
[[nodiscard]] std::string percent_text(double part);

}  // namespace weir::calibrate
