// samples.cc - field by field, both ways.
#include "ctrl/calibrate/samples.h"

#include <array>
#include <cmath>
#include <map>

#include "common/config/config_reader.h"
#include "common/config/config_text.h"
#include "cost_functions/cost_curve.h"

namespace weir::calibrate {
namespace {

using nlohmann::json;

constexpr Range kBytes{0, kCurveSizeMax};
constexpr Range kCount{1, 1U << 20};
constexpr std::size_t kMeasuredMax = 1024;
constexpr std::size_t kRatesMax = 10'000;

constexpr auto kOperationWords = [] {
    std::array<Word<Operation>, kOperations> words{};
    for (std::size_t i = 0; i < kOperations; ++i)
        words[i] = {kOperationNames[i], static_cast<Operation>(i)};
    return words;
}();

json one_json(const Measured& one) {
    return {{"operation", kOperationNames[static_cast<std::size_t>(one.operation)]},
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

Measured read_one(const json& value, const std::string& path, Faults& faults) {
    Measured one;
    ObjectReader reader(value, path, faults);
    if (!value.is_object())
        return one;
    for (const std::string_view key : {"operation", "response_bytes", "request_bytes"})
        if (!reader.has(key))
            reader.fault(key, "what --json prints", "this is needed");
    reader.read_word("operation", one.operation, std::span<const Word<Operation>>(kOperationWords));
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

json samples_json(const Samples& samples) {
    json list = json::array();
    for (const Measured& one : samples.measured)
        list.push_back(one_json(one));
    return {{"what", samples.what}, {"when", samples.when}, {"measurements", std::move(list)}};
}

Samples read_samples(const json& value, Faults& faults) {
    Samples samples;
    const bool wrapped = value.is_object() && value.contains("data");
    const json& data = wrapped ? value["data"] : value;
    const std::string path = wrapped ? "data" : "";
    ObjectReader reader(data, path, faults);
    if (!data.is_object())
        return samples;
    reader.read_text("what", samples.what);
    reader.read_text("when", samples.when);
    const json* list = reader.take("measurements");
    if (list == nullptr || !list->is_array() || list->empty() || list->size() > kMeasuredMax) {
        reader.fault("measurements",
                     "1 to " + std::to_string(kMeasuredMax) + " measurements, as --json prints them",
                     "nothing to fit");
        return samples;
    }
    std::map<Operation, std::size_t> sizes;
    for (std::size_t i = 0; i < list->size(); ++i) {
        const std::string at = reader.path_of("measurements") + "[" + std::to_string(i) + "]";
        samples.measured.push_back(read_one((*list)[i], at, faults));
        if (++sizes[samples.measured.back().operation] == kCurvePointsMax + 1)
            faults.push_back({at, show_value((*list)[i]["operation"]),
                              std::to_string(kCurvePointsMax) + " at most",
                              "too many sizes of one operation"});
    }
    // What else --json prints is made of these.
    return samples;
}

}  // namespace weir::calibrate
