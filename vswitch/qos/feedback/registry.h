// registry.h - table of the rate laws.
// Source: docs/design.md 3; docs/algorithms.md 4.2. Threads: any.
//
// This is the only list of rate laws. A law NAME is NAME_law.cc with make_NAME(), and one line of the table
// below, from which Meson takes the name of the file. The switch's `feedback.law`, weirctl's what-if problem
// `rcp` and their error messages take their words from the table; tests compare schemas and
// configs/default.jsonc with it.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace weir {

// clang-format off
#define WEIR_RATE_LAWS(ENTRY) \
    ENTRY(log, "rate * load^-gain; needs no clamp, stable with delayed feedback") \
    ENTRY(linear, "rate * (1 - gain * (load - 1)), and a receiver that does not know its senders: EyeQ's")
// clang-format on

struct RateLawEntry {
    std::string_view name;
    std::string_view summary;
};

#define WEIR_RATE_LAW_ENTRY(name, summary) RateLawEntry{#name, summary},
/// The first is the default.
inline constexpr std::array kRateLaws{WEIR_RATE_LAWS(WEIR_RATE_LAW_ENTRY)};
#undef WEIR_RATE_LAW_ENTRY

/// The table's entry of this name; null when there is none.
[[nodiscard]] constexpr const RateLawEntry* find_rate_law(std::string_view name) {
    const auto* const found = std::ranges::find(kRateLaws, name, &RateLawEntry::name);
    return found == kRateLaws.end() ? nullptr : found;
}

}  // namespace weir
