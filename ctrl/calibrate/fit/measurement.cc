// measurement.cc - order statistics by the binomial distribution; members of a measurement, one by one.
#include "ctrl/calibrate/fit/measurement.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "common/config/config_reader.h"
#include "common/config/config_text.h"
#include "common/units.h"
#include "cost_functions/cost_curve.h"

namespace weir::calibrate {
namespace {

using nlohmann::json;

constexpr Range kBytes{0, kCurveSizeMax};
constexpr Range kCount{1, 1U << 20};
constexpr std::size_t kMeasurementsMax = 1024;
constexpr std::size_t kRatesMax = 10'000;

constexpr auto kOperationWords = [] {
    std::array<Word<Operation>, kOperations> words{};
    for (std::size_t i = 0; i < kOperations; ++i)
        words[i] = {kOperationNames[i], static_cast<Operation>(i)};
    return words;
}();

/// Probability that the true median of `n` values lies between the values number `outside` and
/// n - 1 - `outside` of the sorted ones. It does not when of n tosses of a coin at most `outside` are heads,
/// or at most `outside` are tails.
double confidence_of(std::size_t n, std::size_t outside) {
    double term = std::exp2(-static_cast<double>(n));
    double tail = term;
    for (std::size_t i = 1; i <= outside; ++i) {
        term *= static_cast<double>(n - i + 1) / static_cast<double>(i);
        tail += term;
    }
    return 1 - 2 * tail;
}

json measurement_json(const Measurement& one) {
    return {{"operation", operation_name(one.operation)},
            {"payload_bytes", one.payload},
            {"keys", one.keys},
            {"request_bytes", one.request_bytes},
            {"response_bytes", one.response_bytes},
            {"outstanding", one.outstanding},
            {"per_second", one.rates},
            {"per_second_half", one.half_rates},
            {"asked", one.asked},
            {"counted_by_switch", one.counted_by_switch},
            {"generator", one.generator},
            {"held_back", one.held_back}};
}

std::vector<double> read_rates(ObjectReader& reader, std::string_view key, bool needed) {
    const json* list = reader.take(key);
    std::vector<double> rates;
    bool valid = list != nullptr ? list->is_array() && list->size() <= kRatesMax : !needed;
    if (list != nullptr && valid)
        for (const json& rate : *list) {
            valid = valid && rate.is_number() && rate.get<double>() > 0 && std::isfinite(rate.get<double>());
            rates.push_back(valid ? rate.get<double>() : 1);
        }
    if (!valid || (needed && rates.empty()))
        reader.fault(key, "a list of numbers above 0", "these are no rates");
    return rates;
}

double read_part(ObjectReader& reader, std::string_view key) {
    const json* value = reader.take(key);
    if (value == nullptr)
        return 0;
    if (!value->is_number() || value->get<double>() < 0)
        reader.fault(key, "a number from 0 on", "this is no part of anything");
    return value->is_number() ? value->get<double>() : 0;
}

Measurement read_measurement(const json& value, const std::string& path, Faults& faults) {
    Measurement one;
    ObjectReader reader(value, path, faults);
    if (!value.is_object())
        return one;
    for (const std::string_view key : {"operation", "response_bytes", "request_bytes"})
        if (!reader.has(key))
            reader.fault(key, "the value that --json prints", "this is needed");
    reader.read_word<Operation>("operation", one.operation, kOperationWords);
    reader.read_integer("payload_bytes", one.payload, kBytes);
    reader.read_integer("keys", one.keys, kCount);
    reader.read_integer("request_bytes", one.request_bytes, kBytes);
    reader.read_integer("response_bytes", one.response_bytes, kBytes);
    reader.read_integer("outstanding", one.outstanding, {0, kCount.max});
    reader.read_integer("asked", one.asked, {0, UINT64_MAX});
    reader.read_integer("counted_by_switch", one.counted_by_switch, {0, UINT64_MAX});
    one.rates = read_rates(reader, "per_second", true);
    one.half_rates = read_rates(reader, "per_second_half", false);
    one.generator = read_part(reader, "generator");
    one.held_back = read_part(reader, "held_back");
    reader.finish();
    return one;
}

}  // namespace

Estimate estimate(std::vector<double> values) {
    assert(!values.empty());
    std::sort(values.begin(), values.end());
    const std::size_t n = values.size();
    std::size_t outside = 0;
    while (2 * (outside + 2) < n && confidence_of(n, outside + 1) >= kConfidence)
        ++outside;
    return {.median = (values[(n - 1) / 2] + values[n / 2]) / 2,
            .low = values[outside],
            .high = values[n - 1 - outside],
            .confidence = std::max(0.0, confidence_of(n, outside))};
}

std::string operation_name(Operation operation) {
    return std::string(kOperationNames[static_cast<std::size_t>(operation)]);
}

std::string request_name(Operation operation, std::uint64_t payload, std::uint32_t keys) {
    if (keys > 1)
        return operation_name(operation) + " " + std::to_string(keys) + " absent keys";
    return payload == 0 ? operation_name(operation) : operation_name(operation) + " " + format_size(payload);
}

json calibration_json(const Calibration& calibration) {
    json list = json::array();
    for (const Measurement& one : calibration.measurements)
        list.push_back(measurement_json(one));
    return {{"what", calibration.subject}, {"when", calibration.date}, {"measurements", std::move(list)}};
}

Calibration read_calibration(const json& value, Faults& faults) {
    Calibration calibration;
    const bool enveloped = value.is_object() && value.contains("data");
    const json& data = enveloped ? value["data"] : value;
    ObjectReader reader(data, enveloped ? "data" : "", faults);
    if (!data.is_object())
        return calibration;
    reader.read_text("what", calibration.subject);
    reader.read_text("when", calibration.date);
    const json* list = reader.take("measurements");
    if (list == nullptr || !list->is_array() || list->empty() || list->size() > kMeasurementsMax) {
        reader.fault("measurements",
                     "1 to " + std::to_string(kMeasurementsMax) + " measurements, as --json prints them",
                     "nothing to fit");
        return calibration;
    }
    std::map<Operation, std::size_t> sizes;
    for (std::size_t i = 0; i < list->size(); ++i) {
        const std::string at = reader.path_of("measurements") + "[" + std::to_string(i) + "]";
        calibration.measurements.push_back(read_measurement((*list)[i], at, faults));
        if (++sizes[calibration.measurements.back().operation] == kCurvePointsMax + 1)
            faults.push_back({at, show_value((*list)[i]["operation"]),
                              std::to_string(kCurvePointsMax) + " at most",
                              "too many sizes of one operation"});
    }
    return calibration;
}

}  // namespace weir::calibrate
