// picture.cc - two logarithmic axes, a colour for each operation.
#include "ctrl/calibrate/picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "common/units.h"

namespace weir::calibrate {
namespace {

constexpr double kWidth = 640, kHeight = 420, kLeft = 70, kRight = 20, kTop = 40, kBottom = 60;
constexpr std::array<const char*, 7> kColours{"#0969da", "#cf222e", "#1a7f37", "#9a6700",
                                              "#8250df", "#bf3989", "#57606a"};

// From `low` on, a logarithmic scale over `pixels` from `from` on; downwards where pixels are negative.
struct Axis {
    double low, high, from, pixels;
    [[nodiscard]] double at(double value) const {
        return from + pixels * std::log(value / low) / std::log(high / low);
    }
};

template <typename... Values>
std::string printed(const char* format, Values... values) {
    std::array<char, 512> text{};
    std::snprintf(text.data(), text.size(), format, values...);
    return text.data();
}

std::string escaped(const std::string& text) {
    std::string out;
    for (const char letter : text)
        out += letter == '<'   ? "&lt;"
               : letter == '>' ? "&gt;"
               : letter == '&' ? "&amp;"
                               : std::string(1, letter);
    return out;
}

std::string line(double x1, double y1, double x2, double y2, const char* style) {
    return printed("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2, y2, style);
}

std::string label(double x, double y, const std::string& text, const char* anchor) {
    return printed("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor) + escaped(text) +
           "</text>\n";
}

struct Bounds {
    Axis x{1, 2, kLeft, kWidth - kLeft - kRight};
    Axis y{1, 2, kHeight - kBottom, -(kHeight - kTop - kBottom)};
};

Bounds bounds_of(const TableFit& fit) {
    double x_low = 1e18, x_high = 1, y_low = 1e18, y_high = 1;
    for (const TableFit::Row& row : fit.rows)
        for (const TableFit::Point& point : row.points) {
            const auto size = static_cast<double>(std::max<std::uint64_t>(point.size, 1));
            x_low = std::min(x_low, size), x_high = std::max(x_high, size);
            y_low = std::min({y_low, point.tokens, point.fitted});
            y_high = std::max({y_high, point.tokens, point.fitted});
        }
    Bounds bounds;
    bounds.x.low = std::exp2(std::floor(std::log2(x_low)));
    bounds.x.high = std::max(2 * bounds.x.low, std::exp2(std::ceil(std::log2(x_high) + 0.2)));
    bounds.y.low = std::pow(10, std::floor(std::log10(y_low)));
    bounds.y.high = std::max(10 * bounds.y.low, std::pow(10, std::ceil(std::log10(y_high))));
    return bounds;
}

std::string grid(const Bounds& bounds) {
    constexpr const char* kGrid = "stroke=\"#d0d7de\"";
    const auto& [x, y] = bounds;
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
    out +=
        label((kLeft + kWidth - kRight) / 2, kHeight - 14, "size of the request as it is priced", "middle");
    return out + "<text transform=\"translate(16 " + printed("%.0f", (kTop + kHeight - kBottom) / 2) +
           ") rotate(-90)\" text-anchor=\"middle\">tokens</text>\n";
}

// The fitted curve, sampled finely enough for its corners.
std::string curve(const TableFit::Row& row, const Bounds& bounds, const char* colour) {
    constexpr int kSamples = 240;
    const CostCurve costs = row.fit.shape.curve();
    std::string points;
    for (int i = 0; i <= kSamples; ++i) {
        const double size = bounds.x.low * std::pow(bounds.x.high / bounds.x.low, i / double{kSamples});
        const double tokens = costs.at(static_cast<std::uint64_t>(size));
        if (tokens >= bounds.y.low && tokens <= bounds.y.high)
            points += printed("%.1f,%.1f ", bounds.x.at(size), bounds.y.at(tokens));
    }
    return "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"" + std::string(colour) + "\" points=\"" +
           points + "\"/>\n";
}

std::string marks(const TableFit::Row& row, const Bounds& bounds, const char* colour) {
    std::string out;
    const std::string stroke = "stroke=\"" + std::string(colour) + "\"";
    for (const TableFit::Point& point : row.points) {
        const double x = bounds.x.at(static_cast<double>(std::max<std::uint64_t>(point.size, 1)));
        const double least = point.tokens * point.rate.median / point.rate.high;
        const double most = point.tokens * point.rate.median / point.rate.low;
        out += line(x, bounds.y.at(std::clamp(least, bounds.y.low, bounds.y.high)), x,
                    bounds.y.at(std::clamp(most, bounds.y.low, bounds.y.high)), stroke.c_str());
        out += printed("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", x,
                       bounds.y.at(point.tokens), colour);
    }
    return out;
}

}  // namespace

std::string picture_svg(const std::string& title, const TableFit& fit) {
    const Bounds bounds = bounds_of(fit);
    std::string out =
        printed("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\">\n",
                kWidth, kHeight, kWidth);
    out +=
        "<style>text { font: 11px sans-serif; fill: #24292f } .title { font-weight: bold; font-size: 13px "
        "}</style>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
    out += printed("<text class=\"title\" x=\"%.0f\" y=\"22\">", kLeft) + escaped(title) + "</text>\n" +
           grid(bounds);
    for (std::size_t i = 0; i < fit.rows.size(); ++i) {
        const TableFit::Row& row = fit.rows[i];
        const char* colour = kColours[i % kColours.size()];
        out += curve(row, bounds, colour) + marks(row, bounds, colour);
        const double y = kTop + 16 * static_cast<double>(i + 1);
        out += printed("<circle cx=\"%.0f\" cy=\"%.0f\" r=\"4\" fill=\"%s\"/>\n", kLeft + 12, y - 4, colour);
        out += label(kLeft + 22, y,
                     std::string(kOperationNames[static_cast<std::size_t>(row.operation)]) + ", " +
                         row.fit.shape.text(),
                     "start");
    }
    return out + "</svg>\n";
}

}  // namespace weir::calibrate
