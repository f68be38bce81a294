// exposition.cc - heads and samples of both formats, and the choice between them.
#include "common/metrics/exposition.h"

#include <charconv>
#include <cmath>

namespace weir::metrics {
namespace {

struct TypeWords {
    std::string_view suffix;        ///< of a sample
    std::string_view open_metrics;  ///< type in the head
    std::string_view text;
};

constexpr std::array kTypeWords{TypeWords{"_total", "counter", "counter"}, TypeWords{"", "gauge", "gauge"},
                                TypeWords{"", "summary", "summary"}, TypeWords{"_info", "info", "gauge"}};

/// Page of a switch with 1,000 vNICs: it grows once or twice.
constexpr std::size_t kTextReserved = 4U << 20;

template <typename Number>
void append_number(std::string& text, Number value) {
    std::array<char, 32> digits;
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    text.append(digits.data(), end);
}

}  // namespace

Format format_for(std::string_view accept) {
    const bool takes_it = accept.find("application/openmetrics-text") != std::string_view::npos;
    return takes_it ? Format::kOpenMetrics : Format::kText;
}

std::string_view content_type(Format format) {
    return format == Format::kOpenMetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                          : "text/plain; version=0.0.4; charset=utf-8";
}

void Exposition::head(std::string_view keyword, std::string_view text) {
    text_ += keyword;
    text_ += name_;
    text_ += ' ';
    text_ += text;
    text_ += '\n';
}

void Exposition::begin(const Family& family) {
    if (text_.empty())
        text_.reserve(kTextReserved);
    const TypeWords& words = kTypeWords[static_cast<std::size_t>(family.type)];
    sample_ = std::string(family.name) + std::string(words.suffix);
    const bool is_open = format_ == Format::kOpenMetrics;
    name_ = is_open ? std::string(family.name) : sample_;
    head("# TYPE ", is_open ? words.open_metrics : words.text);
    if (is_open && !family.unit.empty())
        head("# UNIT ", family.unit);
    head("# HELP ", family.help);
}

/// @return false: the page is full
bool Exposition::open(std::string_view labels, std::string_view more) {
    if (series_ >= series_max_) {
        ++dropped_;
        return false;
    }
    ++series_;
    text_ += sample_;
    if (!labels.empty() || !more.empty()) {
        text_ += '{';
        text_ += labels;
        if (!labels.empty() && !more.empty())
            text_ += ',';
        text_ += more;
        text_ += '}';
    }
    text_ += ' ';
    return true;
}

void Exposition::add(std::string_view labels, std::string_view more, std::uint64_t value) {
    if (!open(labels, more))
        return;
    append_number(text_, value);
    text_ += '\n';
}

void Exposition::add_real(std::string_view labels, std::string_view more, double value) {
    if (!open(labels, more))
        return;
    if (std::isnan(value))
        text_ += "NaN";
    else if (std::isinf(value))
        text_ += value < 0 ? "-Inf" : "+Inf";
    else
        append_number(text_, value);
    text_ += '\n';
}

std::string Exposition::finish() {
    series_max_ = SIZE_MAX;  // these two are always there
    begin(kPageFamilies[0]);
    add("", series_ + kPageFamilies.size());
    begin(kPageFamilies[1]);
    add("", dropped_);
    if (format_ == Format::kOpenMetrics)
        text_ += "# EOF\n";
    return std::move(text_);
}

}  // namespace weir::metrics
