// table_fit.cc - checks of measurements, rates to tokens, a row per operation, and the table as JSON.
#include "ctrl/calibrate/fit/table_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>

#include "common/units.h"
#include "cost_functions/cost_table_reader.h"

namespace weir::calibrate {
namespace {

using nlohmann::json;

constexpr std::size_t kTextMax = 400;  // bytes of a text in a table

/// Objections to one measurement, apart from its cost.
void check_measurement(const Measurement& measured, const FitRules& rules, Faults& objections) {
    const auto object = [&](std::string found, std::string allowed, std::string message) {
        objections.push_back({measured.name(), std::move(found), std::move(allowed), std::move(message)});
    };
    if (measured.rates.size() < kRepeatsMin)
        object(std::to_string(measured.rates.size()) + " rounds", std::to_string(kRepeatsMin) + " or more",
               "too few for an interval of the median; raise --rounds");
    const Estimate rate = estimate(measured.rates);
    if (rate.noise() > rules.noise)
        object(
            "noise of " + percent_text(rate.noise()), percent_text(rules.noise) + " or less",
            "the rounds differ too much; keep other load off the appliance and the path, or measure longer "
            "or more often (--time, --rounds)");
    if (!measured.half_rates.empty()) {
        const double part = estimate(measured.half_rates).median / rate.median;
        if (part < rules.saturated)
            object(percent_text(part) + " of the rate with half of the " +
                       std::to_string(measured.outstanding) + " requests outstanding",
                   percent_text(rules.saturated) + " or more",
                   "the appliance was not saturated; raise --outstanding or --connections");
    }
    if (measured.generator > rules.generator)
        object(
            percent_text(measured.generator) + " of a core", percent_text(rules.generator) + " or less",
            "the load generator was the bottleneck, not the appliance; run it where it has a faster core to "
            "itself, or leave this size out");
    if (measured.held_back > rules.held_back)
        object(
            "held back " + percent_text(measured.held_back) + " of the time",
            percent_text(rules.held_back) + " or less",
            "the vNIC's own limit was measured, not the appliance; raise its limits at the appliance while "
            "measuring (weirctl vnic set)");
}

/// Index of the base request: the one of the rules, or else the fastest one, if possible with a size.
std::optional<std::size_t> base_of(const std::vector<Measurement>& measurements, const FitRules& rules) {
    std::optional<std::size_t> base;
    std::pair<bool, double> best;
    for (std::size_t i = 0; i < measurements.size(); ++i) {
        const Measurement& one = measurements[i];
        const bool allowed =
            one.keys == 1 && (!rules.base || *rules.base == std::pair(one.operation, one.payload));
        const std::pair<bool, double> worth{one.payload > 0, estimate(one.rates).median};
        if (allowed && worth > best) {
            base = i;
            best = worth;
        }
    }
    return base;
}

/// Rows with measured costs, not fitted yet. Of two requests of the same size the dearer one counts.
std::vector<TableFit::Row> rows_of(const std::vector<Measurement>& measurements, double capacity) {
    std::map<Operation, std::map<std::uint64_t, TableFit::Point>> points;
    for (std::size_t i = 0; i < measurements.size(); ++i) {
        if (measurements[i].keys > 1)
            continue;
        const Estimate rate = estimate(measurements[i].rates);
        TableFit::Point point{i, measurements[i].size(), rate, std::max(1.0, capacity / rate.median), 0};
        TableFit::Point& kept = points[measurements[i].operation][point.size];
        if (point.tokens > kept.tokens)
            kept = point;
    }
    std::vector<TableFit::Row> rows;
    for (const auto& [operation, by_size] : points) {
        TableFit::Row row{operation, CountedSize::kRequest, {}, {}, 0};
        for (const auto& [size, point] : by_size)
            row.points.push_back(point);
        row.counted = measurements[row.points.front().measurement].counted();
        rows.push_back(std::move(row));
    }
    return rows;
}

void fit_row(TableFit::Row& row, double tolerance) {
    std::vector<CostPoint> points;
    for (const TableFit::Point& point : row.points)
        points.push_back({point.size, point.tokens});
    row.fit = fit_curve(points, tolerance);
    const CostCurve curve = row.fit.shape.curve();
    for (TableFit::Point& point : row.points)
        point.fitted = curve.at(point.size);
}

/// Prices each further key of a get by a get of several absent keys: its cost above the smallest read,
/// divided by the number of further keys.
void price_keys(TableFit& fit, const std::vector<Measurement>& measurements) {
    for (const Measurement& one : measurements)
        for (TableFit::Row& row : fit.rows)
            if (one.keys > 1 && row.operation == one.operation) {
                const double all = fit.capacity / estimate(one.rates).median;
                const double each = (all - row.points.front().tokens) / (one.keys - 1);
                row.key_tokens = static_cast<std::uint32_t>(std::clamp(std::round(each), 1.0, 1e9));
            }
}

void check_row(const TableFit::Row& row, double tolerance, Faults& objections) {
    std::vector<CostPoint> points;
    for (const TableFit::Point& point : row.points)
        points.push_back({point.size, point.tokens});
    const std::string allowed = percent_text(tolerance) + " or less (--error)";
    if (const std::optional<CostFall> fall = largest_fall(points, tolerance))
        objections.push_back(
            {operation_name(row.operation) + " " + format_size(fall->to),
             percent_text(fall->part) + " cheaper than " + format_size(fall->from), allowed,
             "larger requests cost less, so something besides the size changed, such as a cache that "
             "began to hold the data; measure again, or leave sizes out (--sizes)"});
    else if (row.fit.worst > tolerance)
        objections.push_back(
            {operation_name(row.operation), "an error of " + percent_text(row.fit.worst), allowed,
             "no shape of a cost table is closer to the measured costs; allow a larger --error"});
    if (row.points.back().tokens > kCurveTokensMax)
        objections.push_back(
            {operation_name(row.operation) + " " + format_size(row.points.back().size),
             human_count(row.points.back().tokens) + " tokens", std::to_string(kCurveTokensMax) + " or less",
             "beyond the range of a cost table; lower the price of the base request (--base-tokens)"});
}

json row_json(const TableFit::Row& row, CountedSize counted) {
    json members = row.fit.shape.json();
    members["size"] = kCountedSizeNames[static_cast<std::size_t>(counted)];
    if (row.key_tokens != 0)
        members["key"] = row.key_tokens;
    return members;
}

/// The operation that prices those that were not measured: the dearest, if possible one with several sizes.
const TableFit::Row& dearest(const std::vector<TableFit::Row>& rows) {
    return *std::ranges::max_element(rows, {}, [](const TableFit::Row& row) {
        return std::pair(row.points.size() > 1, row.points.back().tokens);
    });
}

json table_json(const TableFit& fit, const std::vector<Measurement>& measurements, const FitRules& rules,
                const TableNames& names) {
    const Measurement& base = measurements[fit.base];
    const TableFit::Row& other = dearest(fit.rows);
    double worst = 0;
    json operations{{"otherwise", row_json(other, CountedSize::kLarger)}};
    for (const TableFit::Row& row : fit.rows) {
        operations[operation_name(row.operation)] = row_json(row, row.counted);
        worst = std::max(worst, row.fit.worst);
    }
    std::string found = " Capacity " + human_token_rate(fit.capacity) + ", fitted within " +
                        percent_text(worst) + "; operations not measured cost as " +
                        operation_name(other.operation) + ".";
    if (!fit.objections.empty())
        found += " Written in spite of " + std::to_string(fit.objections.size()) + " objections.";
    return {{"name", names.name.substr(0, kTextMax)},
            {"unit", "1/" + std::to_string(rules.base_tokens) + " of a " + base.name() + " (" +
                         format_size(base.size()) + " as counted)"},
            {"source", names.source.substr(0, kTextMax - found.size()) + found},
            {"operations", std::move(operations)}};
}

/// Reads the table as the switch does. A table that the switch refuses is withdrawn.
void check_table(TableFit& fit) {
    Faults faults;
    (void)load_cost_table(fit.table, faults);
    fit.objections.insert(fit.objections.end(), faults.begin(), faults.end());
    if (!faults.empty())
        fit.table = nullptr;
}

}  // namespace

std::string percent_text(double part) {
    std::array<char, 32> text{};
    const bool whole = std::abs(100 * part - std::round(100 * part)) < 0.05;
    std::snprintf(text.data(), text.size(), whole ? "%.0f%%" : "%.1f%%", 100 * part);
    return text.data();
}

TableFit fit_table(const std::vector<Measurement>& measurements, const FitRules& rules,
                   const TableNames& names) {
    TableFit fit;
    for (const Measurement& one : measurements)
        check_measurement(one, rules, fit.objections);
    const std::optional<std::size_t> base = base_of(measurements, rules);
    if (!base) {
        const std::string wanted =
            rules.base ? operation_name(rules.base->first) + " " + format_size(rules.base->second)
                       : "a request with one key";
        fit.objections.push_back(
            {"base", wanted, "a request that was measured",
             "the base request was not measured; measure it too, or choose another (--base)"});
        return fit;
    }
    fit.base = *base;
    fit.capacity = rules.base_tokens * estimate(measurements[*base].rates).median;
    fit.confidence = 1;
    fit.rows = rows_of(measurements, fit.capacity);
    for (TableFit::Row& row : fit.rows) {
        fit_row(row, rules.error);
        check_row(row, rules.error, fit.objections);
        for (const TableFit::Point& point : row.points)
            fit.confidence = std::min(fit.confidence, point.rate.confidence);
    }
    price_keys(fit, measurements);
    fit.table = table_json(fit, measurements, rules, names);
    check_table(fit);
    return fit;
}

}  // namespace weir::calibrate
