// report.cc - rows of the report, members of the JSON, and the parts of the picture.
#include "ctrl/calibrate/report.h"

#include <algorithm>
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

std::string counted_name(CountedSize counted) {
    return std::string(kCountedSizeNames[static_cast<std::size_t>(counted)]);
}

template <typename... Values>
std::string printed(const char* format, Values... values) {
    std::array<char, 512> text{};
    std::snprintf(text.data(), text.size(), format, values...);
    return text.data();
}

std::string number_text(double value) {
    return printed(std::abs(value) < 100 ? "%.1f" : "%.0f", value);
}

void add_row(cli::Table& table, const Measurement& one, const TableFit::Point& point) {
    const double bits = point.rate.median * static_cast<double>(one.request_bytes + one.response_bytes) * 8;
    table.add_row({operation_name(one.operation),
                   format_size(one.payload),
                   format_size(point.size),
                   number_text(point.rate.median),
                   "+-" + percent_text(point.rate.noise()),
                   human_rate(bits),
                   std::to_string(one.outstanding),
                   percent_text(one.generator),
                   number_text(point.tokens),
                   number_text(point.fitted),
                   {printed("%+.1f%%", 100 * point.error()),
                    std::abs(point.error()) > 0.1 ? Style::kWarn : Style::kPlain}});
}

/// Members in the order of kOrder; nlohmann::json sorts them by name.
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
    return {{"operation", operation_name(row.operation)},
            {"size", counted_name(row.counted)},
            {"shape", row.fit.shape.json()},
            {"text", row.fit.shape.text()},
            {"worst_error", row.fit.worst},
            {"rms_error", row.fit.rms},
            {"points", std::move(points)}};
}

// The picture.

constexpr double kWidth = 640, kHeight = 420, kLeft = 70, kRight = 20, kTop = 40, kBottom = 60;
constexpr std::array<const char*, 7> kColors{"#0969da", "#cf222e", "#1a7f37", "#9a6700",
                                             "#8250df", "#bf3989", "#57606a"};

/// Logarithmic: `low` is at pixel `from`, `high` is `pixels` further (upwards when negative).
struct Axis {
    double low, high, from, pixels;
    [[nodiscard]] double at(double value) const {
        return from + pixels * std::log(value / low) / std::log(high / low);
    }
};

std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text)
        out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
    return out;
}

std::string line(double x1, double y1, double x2, double y2, const char* style) {
    return printed("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2, y2, style);
}

std::string label(double x, double y, const std::string& text, const char* anchor) {
    return printed("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor) + escaped(text) +
           "</text>\n";
}

struct Axes {
    Axis x{1, 2, kLeft, kWidth - kLeft - kRight};
    Axis y{1, 2, kHeight - kBottom, -(kHeight - kTop - kBottom)};
};

Axes axes_of(const TableFit& fit) {
    double x_low = 1e18, x_high = 1, y_low = 1e18, y_high = 1;
    for (const TableFit::Row& row : fit.rows)
        for (const TableFit::Point& point : row.points) {
            const auto size = static_cast<double>(std::max<std::uint64_t>(point.size, 1));
            x_low = std::min(x_low, size), x_high = std::max(x_high, size);
            y_low = std::min({y_low, point.tokens, point.fitted});
            y_high = std::max({y_high, point.tokens, point.fitted});
        }
    Axes axes;
    axes.x.low = std::exp2(std::floor(std::log2(x_low)));
    axes.x.high = std::max(2 * axes.x.low, std::exp2(std::ceil(std::log2(x_high) + 0.2)));
    axes.y.low = std::pow(10, std::floor(std::log10(y_low)));
    axes.y.high = std::max(10 * axes.y.low, std::pow(10, std::ceil(std::log10(y_high))));
    return axes;
}

std::string grid(const Axes& axes) {
    constexpr const char* kGrid = "stroke=\"#d0d7de\"";
    const auto& [x, y] = axes;
    std::string out;
    const double doublings = std::log2(x.high / x.low);
    const double stride = std::exp2(std::ceil(doublings / 10));
    for (double size = x.low; size <= x.high * 1.001; size *= stride) {
        out += line(x.at(size), kTop, x.at(size), kHeight - kBottom, kGrid);
        out += label(x.at(size), kHeight - kBottom + 18, format_size(static_cast<std::uint64_t>(size)),
                     "middle");
    }
    for (double tokens = y.low; tokens <= y.high * 1.001; tokens *= 10) {
        out += line(kLeft, y.at(tokens), kWidth - kRight, y.at(tokens), kGrid);
        out += label(kLeft - 8, y.at(tokens) + 4, printed("%.0f", tokens), "end");
    }
    out += label((kLeft + kWidth - kRight) / 2, kHeight - 14, "size that prices the request", "middle");
    return out + "<text transform=\"translate(16 " + printed("%.0f", (kTop + kHeight - kBottom) / 2) +
           ") rotate(-90)\" text-anchor=\"middle\">tokens</text>\n";
}

/// The fitted curve, sampled at 241 sizes so that its corners are seen.
std::string curve(const TableFit::Row& row, const Axes& axes, const char* color) {
    constexpr int kSamples = 240;
    const CostCurve costs = row.fit.shape.curve();
    std::string points;
    for (int i = 0; i <= kSamples; ++i) {
        const double size = axes.x.low * std::pow(axes.x.high / axes.x.low, i / double{kSamples});
        const double tokens = costs.at(static_cast<std::uint64_t>(size));
        if (tokens >= axes.y.low && tokens <= axes.y.high)
            points += printed("%.1f,%.1f ", axes.x.at(size), axes.y.at(tokens));
    }
    return "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"" + std::string(color) + "\" points=\"" +
           points + "\"/>\n";
}

std::string marks(const TableFit::Row& row, const Axes& axes, const char* color) {
    std::string out;
    const std::string stroke = "stroke=\"" + std::string(color) + "\"";
    for (const TableFit::Point& point : row.points) {
        const double x = axes.x.at(static_cast<double>(std::max<std::uint64_t>(point.size, 1)));
        const double least = point.tokens * point.rate.median / point.rate.high;
        const double most = point.tokens * point.rate.median / point.rate.low;
        out += line(x, axes.y.at(std::clamp(least, axes.y.low, axes.y.high)), x,
                    axes.y.at(std::clamp(most, axes.y.low, axes.y.high)), stroke.c_str());
        out += printed("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", x, axes.y.at(point.tokens),
                       color);
    }
    return out;
}

}  // namespace

std::string report_text(const Calibration& calibration, const TableFit& fit, const cli::Terminal& terminal) {
    std::string text = calibration.subject + ", " + calibration.date + "\n";
    if (fit.rows.empty())
        return text;
    cli::Table table({{"OPERATION"},
                      {"SIZE", true},
                      {"COUNTED", true, 2},
                      {"REQUESTS/S", true},
                      {"NOISE", true, 1},
                      {"TRAFFIC", true, 4},
                      {"OUTSTANDING", true, 5},
                      {"GENERATOR CPU", true, 3},
                      {"TOKENS", true},
                      {"FITTED", true},
                      {"ERROR", true}});
    for (const TableFit::Row& row : fit.rows)
        for (const TableFit::Point& point : row.points)
            add_row(table, calibration.measurements[point.measurement], point);
    text += table.render(terminal.columns, terminal.color) + "\n";
    for (const TableFit::Row& row : fit.rows) {
        text += operation_name(row.operation) + " is priced by its " + counted_name(row.counted) + " size, " +
                row.fit.shape.text() + "; largest error " + percent_text(row.fit.worst);
        if (row.key_tokens != 0)
            text += "; " + std::to_string(row.key_tokens) + " tokens for each further key";
        text += "\n";
    }
    if (fit.table.is_object())
        text += "a token is " + fit.table["unit"].get<std::string>() + "\n";
    return text + "capacity " + human_token_rate(fit.capacity) +
           "; each true median lies within its noise with a confidence of " + percent_text(fit.confidence) +
           " or more\n";
}

json report_json(const Calibration& calibration, const TableFit& fit) {
    json report = calibration_json(calibration);
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

std::string picture_svg(const std::string& title, const TableFit& fit) {
    const Axes axes = axes_of(fit);
    std::string out =
        printed("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\">\n",
                kWidth, kHeight, kWidth);
    out +=
        "<style>text { font: 11px sans-serif; fill: #24292f } .title { font-weight: bold; font-size: 13px "
        "}</style>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
    out += printed("<text class=\"title\" x=\"%.0f\" y=\"22\">", kLeft) + escaped(title) + "</text>\n" +
           grid(axes);
    for (std::size_t i = 0; i < fit.rows.size(); ++i) {
        const TableFit::Row& row = fit.rows[i];
        const char* color = kColors[i % kColors.size()];
        out += curve(row, axes, color) + marks(row, axes, color);
        const double y = kTop + 16 * static_cast<double>(i + 1);
        out += printed("<circle cx=\"%.0f\" cy=\"%.0f\" r=\"4\" fill=\"%s\"/>\n", kLeft + 12, y - 4, color);
        out += label(kLeft + 22, y, operation_name(row.operation) + ", " + row.fit.shape.text(), "start");
    }
    return out + "</svg>\n";
}

}  // namespace weir::calibrate
