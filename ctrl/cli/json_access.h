// json_access.h - reads members of the switch's answers without trusting their shape: a missing or mistyped
// member of another version's switch shows as "-", it does not end the command. Threads: any (pure
// functions).
#pragma once

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace weir::cli {

using nlohmann::json;

/// The value at a JSON pointer such as "/from_vm/offered/bytes", or null.
[[nodiscard]] inline const json& at(const json& value, const char* pointer) {
    static const json kNull;
    const json::json_pointer where(pointer);
    return value.contains(where) ? value[where] : kNull;
}

/// A number, or NaN, which every formatter prints as "-".
[[nodiscard]] inline double number_at(const json& value, const char* pointer) {
    const json& member = at(value, pointer);
    return member.is_number() ? member.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

/// A string, a number or a boolean as text; anything else, and the empty string, is "-".
[[nodiscard]] inline std::string text_at(const json& value, const char* pointer) {
    const json& member = at(value, pointer);
    if (member.is_string())
        return member == "" ? "-" : member.get<std::string>();
    return member.is_primitive() && !member.is_null() ? member.dump() : "-";
}

/// An array's or object's members; nothing when it is neither.
[[nodiscard]] inline const json& list_at(const json& value, const char* pointer) {
    static const json kEmpty = json::array();
    const json& member = at(value, pointer);
    return member.is_structured() ? member : kEmpty;
}

}  // namespace weir::cli
