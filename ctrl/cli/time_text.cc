// time_text.cc - times as an operator writes them: of a day, of today, or some time ago.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <ctime>

#include "common/clock.h"
#include "common/units.h"
#include "ctrl/cli/commands.h"

namespace weir::cli {
namespace {

constexpr std::uint64_t kMinute = 60;
constexpr std::uint64_t kHour = 60 * kMinute;
constexpr std::uint64_t kDay = 24 * kHour;

/// Whole numbers with these signs between them.
/// @return how many; 0: it is another text
template <std::size_t N>
std::size_t read_numbers(std::string_view text, std::string_view signs, std::array<unsigned, N>& numbers) {
    const char* at = text.data();
    const char* const end = at + text.size();
    for (std::size_t count = 0; count < N; ++count) {
        const auto [next, error] = std::from_chars(at, end, numbers[count]);
        if (error != std::errc())
            return 0;
        if (next == end)
            return count + 1;
        if (count == signs.size() || *next != signs[count])
            return 0;
        at = next + 1;
    }
    return 0;
}

bool is_time_of_day(unsigned hour, unsigned minute, unsigned second) {
    return hour < 24 && minute < 60 && second < 60;
}

/// "10:00" and "10:00:30" of the last 24 hours.
std::optional<std::uint64_t> parse_time_of_day(std::string_view text, std::uint64_t now) {
    std::array<unsigned, 3> parts{};
    const std::size_t count = read_numbers(text, "::", parts);
    if (count < 2 || !is_time_of_day(parts[0], parts[1], parts[2]))
        return std::nullopt;
    const std::uint64_t today = now / kDay * kDay + parts[0] * kHour + parts[1] * kMinute + parts[2];
    return today > now && today >= kDay ? today - kDay : today;
}

std::optional<std::uint64_t> parse_date(std::string_view text) {
    std::array<unsigned, 6> parts{};  // year, month, day, hour, minute, second
    const bool has_blank = text.find(' ') != std::string_view::npos;
    if (text.ends_with('Z') && text.find(':') != std::string_view::npos)
        text.remove_suffix(1);
    const std::size_t count = read_numbers(text, has_blank ? "-- ::" : "--T::", parts);
    const std::chrono::year_month_day day{std::chrono::year(static_cast<int>(parts[0])),
                                          std::chrono::month(parts[1]), std::chrono::day(parts[2])};
    const bool is_whole = count == 3 || count >= 5;
    if (!is_whole || !day.ok() || parts[0] < 1970 || parts[0] > 2096 ||
        !is_time_of_day(parts[3], parts[4], parts[5]))
        return std::nullopt;
    const auto days = std::chrono::sys_days(day).time_since_epoch().count();
    return static_cast<std::uint64_t>(days) * kDay + parts[3] * kHour + parts[4] * kMinute + parts[5];
}

}  // namespace

std::optional<std::uint64_t> parse_ago(std::string_view text) {
    if (text.starts_with('-'))
        text.remove_prefix(1);
    std::string quantity(text);
    if (quantity.ends_with('m'))
        quantity += "in";
    const ParsedQuantity parsed = parse_quantity(Quantity::kDuration, quantity);
    return parsed.ok() ? std::optional(parsed.value) : std::nullopt;
}

std::optional<std::uint64_t> parse_time(std::string_view text, std::uint64_t now) {
    if (const auto ago = parse_ago(text))
        return now - std::min(now, *ago / kNanosPerSec);
    if (const auto time = parse_time_of_day(text, now))
        return time;
    if (std::array<unsigned, 1> seconds{}; read_numbers(text, "", seconds) == 1)
        return seconds[0];
    return parse_date(text);
}

std::optional<std::uint64_t> parse_time(std::string_view text) {
    return parse_time(text, static_cast<std::uint64_t>(std::time(nullptr)));
}

std::string time_fault(const std::string& text) {
    return parse_time(text)
               ? ""
               : "\"" + text +
                     "\" is no time; allowed: 15:00 or 15:00:30 of the last 24 hours, 2026-11-21, "
                     "2026-11-21 15:00:30 (all UTC), -5min (ago), or Unix seconds";
}

}  // namespace weir::cli
