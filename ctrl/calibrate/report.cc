// report.cc - tables of what was measured and fitted.
#include "ctrl/calibrate/report.h"

#include <array>
#include <cmath>
#include <cstdio>

#include "common/units.h"

namespace weir::calibrate {
namespace {

using cli::Cell;
using cli::Column;
using cli::Style;
using nlohmann::json;

std::string word(Operation operation) {
    return std::string(kOperationNames[static_cast<std::size_t>(operation)]);
}
std::string counted_word(CountedSize counted) {
    return std::string(kCountedSizeNames[static_cast<std::size_t>(counted)]);
}
std::string number(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), std::abs(value) < 100 ? "%.1f" : "%.0f", value);
    return text.data();
}

std::string signed_percent(double part) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%+.1f%%", 100 * part);
    return text.data();
}

void add_row(cli::Table& table, const Measured& one, const TableFit::Point& point) {
    const double bits = point.rate.median * static_cast<double>(one.request_bytes + one.response_bytes) * 8;
    table.add_row(
        {word(one.operation),
         format_size(one.payload),
         format_size(point.size),
         number(point.rate.median),
         "+-" + percent_text(point.rate.noise()),
         human_rate(bits),
         std::to_string(one.outstanding),
         percent_text(one.generator),
         number(point.tokens),
         number(point.fitted),
         {signed_percent(point.error()), std::abs(point.error()) > 0.1 ? Style::kWarn : Style::kPlain}});
}

/// Members as people look for them, not by the alphabet.
nlohmann::ordered_json in_order(const json& value) {
    static constexpr std::array kOrder{"name",   "unit",      "source", "operations", "size",
                                       "key",    "shape",     "read",   "write",      "delete",
                                       "flush",  "otherwise", "base",   "until",      "minimum",
                                       "tokens", "per",       "every",  "points"};
    if (!value.is_object())
        return value;
    nlohmann::ordered_json ordered;
    for (const char* key : kOrder)
        if (value.contains(key))
            ordered[key] = in_order(value[key]);
    for (const auto& [key, member] : value.items())
        if (!ordered.contains(key))
            ordered[key] = in_order(member);
    return ordered;
}

json row_json(const TableFit::Row& row) {
    json points = json::array();
    for (const TableFit::Point& point : row.points)
        points.push_back({{"size", point.size},
                          {"per_second", point.rate.median},
                          {"low", point.rate.low},
                          {"high", point.rate.high},
                          {"confidence", point.rate.confidence},
                          {"tokens", point.tokens},
                          {"fitted", point.fitted}});
    return {{"operation", word(row.operation)}, {"size", counted_word(row.counted)},
            {"shape", row.fit.shape.json()},    {"text", row.fit.shape.text()},
            {"worst_error", row.fit.worst},     {"rms_error", row.fit.rms},
            {"points", std::move(points)}};
}

}  // namespace

std::string report_text(const Samples& samples, const TableFit& fit, const cli::Terminal& terminal) {
    std::string text = samples.what + ", " + samples.when + "\n";
    if (fit.rows.empty())
        return text;
    cli::Table table({{"OPERATION"},
                      {"SIZE", true},
                      {"COUNTED", true, 2},
                      {"REQUESTS/S", true},
                      {"NOISE", true, 1},
                      {"BOTH WAYS", true, 4},
                      {"OUTSTANDING", true, 5},
                      {"GENERATOR", true, 3},
                      {"TOKENS", true},
                      {"FITTED", true},
                      {"ERROR", true}});
    for (const TableFit::Row& row : fit.rows)
        for (const TableFit::Point& point : row.points)
            add_row(table, samples.measured[point.measured], point);
    text += table.render(terminal.columns, terminal.color) + "\n";
    for (const TableFit::Row& row : fit.rows) {
        text += word(row.operation) + " by its " + counted_word(row.counted) + ", " + row.fit.shape.text() +
                "; error " + percent_text(row.fit.worst) + " at most";
        if (row.key_tokens != 0)
            text += "; " + std::to_string(row.key_tokens) + " for each further key";
        text += "\n";
    }
    if (fit.table.is_object())
        text += "a token is " + fit.table["unit"].get<std::string>() + "\n";
    return text + "capacity " + human_token_rate(fit.capacity) +
           "; medians lie within their noise with a confidence of " + percent_text(fit.confidence) + "\n";
}

json report_json(const Samples& samples, const TableFit& fit) {
    json report = samples_json(samples);
    report["fits"] = json::array();
    for (const TableFit::Row& row : fit.rows)
        report["fits"].push_back(row_json(row));
    report["capacity_tokens_per_second"] = fit.capacity;
    report["confidence"] = fit.confidence;
    report["table"] = fit.table;
    return report;
}

std::string table_text(const TableFit& fit) {
    return in_order(fit.table).dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace weir::calibrate
