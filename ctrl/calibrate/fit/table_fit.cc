// table_fit.cc - rates to tokens, a row for each operation, and the table read back by the switch's reader.
#include "ctrl/calibrate/fit/table_fit.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "common/units.h"
#include "cost_functions/cost_table_reader.h"

namespace weir::calibrate {
namespace {

using nlohmann::json;

constexpr std::size_t kTextMax = 400;  // of a table's texts

std::string word(Operation operation) {
    return std::string(kOperationNames[static_cast<std::size_t>(operation)]);
}

/// Index of the request that costs the base tokens: the one asked for, or the fastest, if possible of those
/// that have sizes.
std::optional<std::size_t> base_of(const std::vector<Measured>& measured, const FitRules& rules) {
    std::optional<std::size_t> base;
    std::pair<bool, double> best;
    for (std::size_t i = 0; i < measured.size(); ++i) {
        const Measured& one = measured[i];
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

/// The rows with what was measured, not fitted yet. Of two requests of one size the dearer counts.
std::vector<TableFit::Row> rows_of(const std::vector<Measured>& measured, double capacity) {
    std::map<Operation, std::map<std::uint64_t, TableFit::Point>> points;
    for (std::size_t i = 0; i < measured.size(); ++i) {
        if (measured[i].keys > 1)
            continue;
        const Estimate rate = estimate(measured[i].rates);
        TableFit::Point point{i, measured[i].size(), rate, std::max(1.0, capacity / rate.median), 0};
        TableFit::Point& kept = points[measured[i].operation][point.size];
        if (point.tokens > kept.tokens)
            kept = point;
    }
    std::vector<TableFit::Row> rows;
    for (const auto& [operation, by_size] : points) {
        TableFit::Row row{operation, CountedSize::kRequest, {}, {}, 0};
        for (const auto& [size, point] : by_size)
            row.points.push_back(point);
        row.counted = measured[row.points.front().measured].counted();
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

/// A further key of a get: what many absent ones cost more than the smallest read, for each.
void price_keys(TableFit& fit, const std::vector<Measured>& measured) {
    for (const Measured& one : measured)
        for (TableFit::Row& row : fit.rows)
            if (one.keys > 1 && row.operation == one.operation) {
                const double all = fit.capacity / estimate(one.rates).median;
                const double each = (all - row.points.front().tokens) / (one.keys - 1);
                row.key_tokens = static_cast<std::uint32_t>(std::clamp(std::round(each), 1.0, 1e9));
            }
}

void object_to_row(const TableFit::Row& row, double tolerance, Faults& objections) {
    std::vector<CostPoint> points;
    for (const TableFit::Point& point : row.points)
        points.push_back({point.size, point.tokens});
    const std::string allowed = percent_text(tolerance) + " or less (--error)";
    if (const std::optional<Falling> fall = falling(points, tolerance))
        objections.push_back(
            {word(row.operation) + " " + format_size(fall->to),
             percent_text(fall->part) + " cheaper than " + format_size(fall->from), allowed,
             "more bytes cost less: something else than the size has changed, such as a cache "
             "that began to hold them"});
    else if (row.fit.worst > tolerance)
        objections.push_back({word(row.operation), "an error of " + percent_text(row.fit.worst), allowed,
                              "no shape of a cost table is so near to what was measured"});
    if (row.points.back().tokens > kCurveTokensMax)
        objections.push_back({word(row.operation) + " " + format_size(row.points.back().size),
                              human_count(row.points.back().tokens) + " tokens",
                              std::to_string(kCurveTokensMax) + " or less",
                              "too dear for a cost table; let the base cost less (--base-tokens)"});
}

json row_json(const TableFit::Row& row, CountedSize counted) {
    json members = row.fit.shape.json();
    members["size"] = kCountedSizeNames[static_cast<std::size_t>(counted)];
    if (row.key_tokens != 0)
        members["key"] = row.key_tokens;
    return members;
}

/// Operations that were not measured cost as much as the dearest that was, if possible one of several sizes.
const TableFit::Row& dearest(const std::vector<TableFit::Row>& rows) {
    return *std::ranges::max_element(rows, {}, [](const TableFit::Row& row) {
        return std::pair(row.points.size() > 1, row.points.back().tokens);
    });
}

json table_json(const TableFit& fit, const std::vector<Measured>& measured, const FitRules& rules,
                const TableNames& names) {
    const Measured& base = measured[fit.base];
    const TableFit::Row& other = dearest(fit.rows);
    double worst = 0;
    json operations{{"otherwise", row_json(other, CountedSize::kLarger)}};
    for (const TableFit::Row& row : fit.rows) {
        operations[word(row.operation)] = row_json(row, row.counted);
        worst = std::max(worst, row.fit.worst);
    }
    std::string found = " Capacity " + human_token_rate(fit.capacity) + ", fitted within " +
                        percent_text(worst) + "; operations not measured cost as " + word(other.operation) +
                        ".";
    if (!fit.objections.empty())
        found += " Written in spite of " + std::to_string(fit.objections.size()) + " objections.";
    return {{"name", names.name.substr(0, kTextMax)},
            {"unit", "1/" + std::to_string(rules.base_tokens) + " of a " + base.name() + " (" +
                         format_size(base.size()) + " as counted)"},
            {"source", names.source.substr(0, kTextMax - found.size()) + found},
            {"operations", std::move(operations)}};
}

/// The switch's own reader has the last word.
void check_table(TableFit& fit) {
    Faults faults;
    (void)load_cost_table(fit.table, faults);
    fit.objections.insert(fit.objections.end(), faults.begin(), faults.end());
    if (!faults.empty())
        fit.table = nullptr;
}

}  // namespace

TableFit fit_table(const std::vector<Measured>& measured, const FitRules& rules, const TableNames& names) {
    TableFit fit;
    for (const Measured& one : measured)
        object_to(one, rules, fit.objections);
    const std::optional<std::size_t> base = base_of(measured, rules);
    if (!base) {
        const std::string wanted = rules.base
                                       ? word(rules.base->first) + " " + format_size(rules.base->second)
                                       : "a request with one key";
        fit.objections.push_back({"base", wanted, "a request that was measured", "its cost is not known"});
        return fit;
    }
    fit.base = *base;
    fit.capacity = rules.base_tokens * estimate(measured[*base].rates).median;
    fit.confidence = 1;
    fit.rows = rows_of(measured, fit.capacity);
    for (TableFit::Row& row : fit.rows) {
        fit_row(row, rules.error);
        object_to_row(row, rules.error, fit.objections);
        for (const TableFit::Point& point : row.points)
            fit.confidence = std::min(fit.confidence, point.rate.confidence);
    }
    price_keys(fit, measured);
    fit.table = table_json(fit, measured, rules, names);
    check_table(fit);
    return fit;
}

}  // namespace weir::calibrate
