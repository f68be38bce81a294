// measurement.h - measured rates of one kind of request, their median with its interval, and both as JSON.
// Source: docs/algorithms.md 12.1
// Units: bytes, requests per second. Threads: any (values, pure functions)
//
// The interval of a median lies between two of the measured values; no distribution is assumed. The true
// median of five rounds lies between the smallest and the largest value unless all five fell on the same side
// of it. That happens with probability 2 / 2^5, so the confidence is 94%.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "common/error.h"
#include "cost_functions/cost_table.h"
#include "cost_functions/request.h"

namespace weir::calibrate {

/// Intervals have at least this confidence; fewer values than kRepeatsMin cannot.
inline constexpr double kConfidence = 0.9;
inline constexpr std::size_t kRepeatsMin = 5;

struct Estimate {
    double median = 0;
    double low = 0;
    double high = 0;
    double confidence = 0;  ///< probability that the true median lies within low..high

    /// Half of the interval divided by the median; 1 when the median is 0.
    [[nodiscard]] double noise() const { return median > 0 ? (high - low) / 2 / median : 1; }
};

/// @param values at least one. The interval leaves out as many values below as above: as many as keep
/// kConfidence, or none when there are too few values for it.
[[nodiscard]] Estimate estimate(std::vector<double> values);

/// Name of a kind of request: "read 4KiB", "read 8 absent keys", "flush".
[[nodiscard]] std::string request_name(Operation operation, std::uint64_t payload, std::uint32_t keys);
[[nodiscard]] std::string operation_name(Operation operation);

/// All rounds of one kind of request.
struct Measurement {
    Operation operation = Operation::kRead;
    std::uint64_t payload = 0;        ///< bytes of the value or block; 0 for an operation without size
    std::uint32_t keys = 1;           ///< keys of a request; with more than one, none of the keys exists
    std::uint64_t request_bytes = 0;  ///< with headers, as the switch counts them
    std::uint64_t response_bytes = 0;
    std::uint32_t outstanding = 0;     ///< requests without a response, at any time
    std::vector<double> rates{};       ///< responses per second of each round
    std::vector<double> half_rates{};  ///< the same with half as many outstanding; empty: not measured
    double generator = 0;              ///< largest part of a core that the load generator used, 0..1
    double held_back = 0;  ///< largest part of the time that the switch's buckets held the flow back

    std::uint64_t asked = 0;  ///< requests sent in all rounds
    std::uint64_t counted_by_switch =
        0;  ///< the part of `asked` that the switch counted; 0 when it was not read

    /// Which size prices such a request: a read is priced by its response.
    [[nodiscard]] CountedSize counted() const {
        return operation == Operation::kRead ? CountedSize::kResponse : CountedSize::kRequest;
    }
    [[nodiscard]] std::uint64_t size() const {
        return CostTable::counted(counted(), request_bytes, response_bytes);
    }
    [[nodiscard]] std::string name() const { return request_name(operation, payload, keys); }
};

/// All measurements of one appliance.
struct Calibration {
    std::string subject;  ///< "nbd at 10.0.0.3:10809"
    std::string date;     ///< "2026-11-21", UTC
    std::vector<Measurement> measurements;
};

/// The members "what", "when" and "measurements" of the output with --json.
[[nodiscard]] nlohmann::json calibration_json(const Calibration& calibration);

/// Reads the output with --json, with or without its envelope; members that are not measurements are ignored.
/// @param faults is appended to; with any fault the result must not be used
[[nodiscard]] Calibration read_calibration(const nlohmann::json& value, Faults& faults);

}  // namespace weir::calibrate
