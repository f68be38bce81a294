// why_at.cc - weirctl why --at: rates, bursts, delay, drops and held-back time of a vNIC in a second that is
// past.
#include <algorithm>
#include <cmath>

#include "common/units.h"
#include "common/utc_text.h"
#include "ctrl/cli/commands.h"
#include "ctrl/cli/json_access.h"

namespace weir::cli {
namespace {

constexpr double kNanos = 1e9;

/// A second of the history begins with the last sample before it, which is a little earlier.
constexpr double kSampleGap = 0.02;

std::string utc_of(double time) {
    return time >= 0 ? utc_text(static_cast<std::int64_t>(time + kSampleGap)) : "-";
}

/// The second in which most of a record lies; of a longer one its begin.
double second_of(const json& record) {
    constexpr double kLong = 1.5;
    const double span = number_at(record, "/span_ns") / kNanos;
    return number_at(record, "/from") + (span < kLong ? span / 2 : 0);
}

/// "10:00:05", with milliseconds of shorter times.
std::string time_of_day_text(double time, bool with_milliseconds) {
    constexpr std::size_t kDate = 11;  // "2026-11-27 "
    constexpr std::size_t kTime = 8;
    if (!(time >= 0))
        return "-";
    // Whole seconds are cut, as second_of() is in their middle.
    const auto milliseconds =
        with_milliseconds ? std::llround(time * 1e3) : static_cast<long long>(time * 1e3);
    const std::string text = utc_text(milliseconds / 1'000).substr(kDate, kTime);
    const std::string part = std::to_string(1'000 + milliseconds % 1'000).substr(1);
    return with_milliseconds ? text + '.' + part : text;
}

std::string bytes_text(double bytes) {
    return std::isfinite(bytes) ? human_count(bytes) + (bytes < 1'000 ? " B" : "B") : "-";
}

/// "own limit", as weirctl why names it.
std::string past_bucket_text(const json& value, const char* pointer) {
    const std::string name = text_at(value, pointer);
    return name == "limit" ? "own limit" : name;
}

/// One sign for each tenth of the time.
std::string bar_text(double percent) {
    constexpr double kPerSign = 10;
    const auto signs = static_cast<std::size_t>(std::ceil(std::clamp(percent, 0.0, 100.0) / kPerSign));
    return std::string(std::isfinite(percent) ? signs : 0, '#');
}

std::string records_text(const json& records, double marked, bool with_milliseconds,
                         const Terminal& terminal) {
    Table table({{"TIME"},
                 {"SENT", true},
                 {"BURST", true},
                 {"RECEIVED", true, 1},
                 {"BURST", true, 2},
                 {"DELAY", true},
                 {"DROPPED", true},
                 {"HELD BACK", true},
                 {"BUCKET"},
                 {"", false, 3}});
    for (const json& record : records) {
        const double from = number_at(record, "/from");
        const double held = number_at(record, "/held_back_percent");
        table.add_row({{time_of_day_text(with_milliseconds ? from : second_of(record), with_milliseconds),
                        from == marked ? Style::kTitle : Style::kPlain},
                       human_rate(number_at(record, "/sent_bps")),
                       bytes_text(number_at(record, "/sent_burst_bytes")),
                       human_rate(number_at(record, "/received_bps")),
                       bytes_text(number_at(record, "/received_burst_bytes")),
                       human_duration(number_at(record, "/queue_delay_ns")),
                       whole_text(number_at(record, "/dropped")),
                       {percent_text(held), held > 0 ? Style::kWarn : Style::kPlain},
                       past_bucket_text(record, "/held_back_by"),
                       bar_text(held)});
    }
    return table.render(terminal.columns, terminal.color);
}

/// Sums of the samples per 50 ms.
json summed(const json& samples) {
    constexpr double kRow = 0.05;
    json rows = json::array();
    for (const json& sample : samples) {
        if (rows.empty() || number_at(sample, "/from") >= number_at(rows.back(), "/from") + kRow - 1e-6) {
            rows.push_back(sample);
            continue;
        }
        json& row = rows.back();
        for (const char* sum :
             {"span_ns", "samples", "sent_bytes", "received_bytes", "dropped", "held_back_ns"})
            row[sum] = number_at(row, '/' + std::string(sum)) + number_at(sample, '/' + std::string(sum));
        for (const char* largest : {"sent_burst_bytes", "received_burst_bytes", "queue_delay_ns"})
            row[largest] = std::max(number_at(row, '/' + std::string(largest)),
                                    number_at(sample, '/' + std::string(largest)));
        if (!at(row, "/held_back_by").is_string())
            row["held_back_by"] = at(sample, "/held_back_by");
    }
    for (json& row : rows) {
        const double span = number_at(row, "/span_ns");
        row["sent_bps"] = number_at(row, "/sent_bytes") * kBitsPerByte / span * kNanos;
        row["received_bps"] = number_at(row, "/received_bytes") * kBitsPerByte / span * kNanos;
        row["held_back_percent"] = std::min(100 * number_at(row, "/held_back_ns") / span, 100.0);
    }
    return rows;
}

std::string past_verdict_text(const json& answer, const Terminal& terminal) {
    const json& by = at(answer, "/held_back_by");
    if (!by.is_object())
        return styled("no bucket held it back", Style::kGood, terminal.color) + '\n';
    const bool is_older = at(by, "/before_history") == true;
    return "held back by " + styled(past_bucket_text(by, "/bucket"), Style::kWarn, terminal.color) + ' ' +
           percent_text(number_at(by, "/percent")) + " of this time, since " + (is_older ? "before " : "") +
           utc_of(number_at(by, "/since")) + (is_older ? ", when its history begins" : "") + '\n';
}

}  // namespace

std::string why_at_text(const json& answer, const Terminal& terminal) {
    const json& second = at(answer, "/second");
    std::string text = text_at(answer, "/vnic") + ": " + utc_of(second_of(second)) + ", for " +
                       human_duration(number_at(second, "/span_ns")) + ", sampled every " +
                       human_duration(number_at(answer, "/resolution_ns")) + '\n';
    if (at(answer, "/removed").is_number())
        text += "it was removed at " + utc_of(number_at(answer, "/removed")) + '\n';
    text += past_verdict_text(answer, terminal) + "it sent " + human_rate(number_at(second, "/sent_bps")) +
            " with bursts of " + bytes_text(number_at(second, "/sent_burst_bytes")) + " in 1 ms, received " +
            human_rate(number_at(second, "/received_bps")) + " with bursts of " +
            bytes_text(number_at(second, "/received_burst_bytes")) + "; its packets waited " +
            human_duration(number_at(second, "/queue_delay_ns")) + " at most, " +
            whole_text(number_at(second, "/dropped")) + " were dropped\n\n" +
            records_text(list_at(answer, "/seconds"), number_at(second, "/from"), false, terminal);
    const json& samples = list_at(answer, "/samples");
    if (!samples.empty())
        text += "\nthis second in steps of 50 ms; --json has each sample\n\n" +
                records_text(summed(samples), -1, true, terminal);
    return text;
}

}  // namespace weir::cli
