// sample.h - what two readings of the switch's counters have in common: growth, and numbers that may be
// missing. Threads: any (pure functions).
#pragma once

#include <cmath>

#include "ctrl/cli/json_access.h"

namespace weir::cli {

/// The first entry of a list whose member equals `wanted`, or an empty object.
[[nodiscard]] inline const json& named(const json& list, const char* key, const json& wanted) {
    static const json kNone = json::object();
    for (const json& entry : list)
        if (at(entry, key) == wanted)
            return entry;
    return kNone;
}

/// A counter that went back was reset; one that was not there (NaN) began at zero.
[[nodiscard]] inline double growth(double then, double now) {
    return now >= then ? now - then : now;
}
[[nodiscard]] inline double growth(const json& before, const json& after, const char* pointer) {
    return growth(number_at(before, pointer), number_at(after, pointer));
}

[[nodiscard]] inline json number_or_null(double number) {
    return std::isfinite(number) ? json(number) : json();
}

}  // namespace weir::cli
