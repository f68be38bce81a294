// json_access.h - tolerant reads of JSON replies, and the growth of counters between two replies.
// Threads: any (pure functions).
//
// weirctl may talk to a switch or controller of another version. A member that is missing or of another type
// reads as null, NaN or "-" and prints as "-"; it never ends the command.
#pragma once

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace weir::cli {

using nlohmann::json;

/// The value at a JSON pointer such as "/from_vm/offered/bytes", or null.
[[nodiscard]] inline const json& at(const json& value, std::string_view pointer) {
    static const json kNull;
    const json::json_pointer where{std::string(pointer)};
    return value.contains(where) ? value[where] : kNull;
}

/// A number, or NaN, which every formatter prints as "-".
[[nodiscard]] inline double number_at(const json& value, std::string_view pointer) {
    const json& member = at(value, pointer);
    return member.is_number() ? member.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

/// A string, a number or a boolean as text; any other value, and the empty string, is "-".
[[nodiscard]] inline std::string text_at(const json& value, std::string_view pointer) {
    const json& member = at(value, pointer);
    if (member.is_string())
        return member == "" ? "-" : member.get<std::string>();
    return member.is_primitive() && !member.is_null() ? member.dump() : "-";
}

/// An array or object; an empty array when the value is neither.
[[nodiscard]] inline const json& list_at(const json& value, std::string_view pointer) {
    static const json kEmpty = json::array();
    const json& member = at(value, pointer);
    return member.is_structured() ? member : kEmpty;
}

/// The first entry of `list` whose member at `pointer` equals `wanted`, or an empty object.
[[nodiscard]] inline const json& entry_with(const json& list, const char* pointer, const json& wanted) {
    static const json kNone = json::object();
    for (const json& entry : list)
        if (at(entry, pointer) == wanted)
            return entry;
    return kNone;
}

/// Growth of a counter from `before` to `after`. A counter that fell was reset, and one that was missing
/// (NaN) is new: both count from zero.
[[nodiscard]] inline double growth(double before, double after) {
    return after >= before ? after - before : after;
}
[[nodiscard]] inline double growth(const json& before, const json& after, std::string_view pointer) {
    return growth(number_at(before, pointer), number_at(after, pointer));
}

/// Divides nanoseconds per second into percent of the time.
inline constexpr double kNanosPerPercent = 1e7;

/// JSON has no NaN: a number that is not finite becomes null.
[[nodiscard]] inline json number_or_null(double number) {
    return std::isfinite(number) ? json(number) : json();
}

}  // namespace weir::cli
