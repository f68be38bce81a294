// registry.h - what-if problems: the table of their kinds, and the function that solves one.
// Source: docs/design.md 5.4
// Threads: any.
//
// A problem is one JSON object; `weirctl solve` computes its answer with the controller's own pure functions.
// The table is the only list of kinds. A kind NAME is NAME.cc with solve_NAME(), one line of the table, from
// which Meson takes the file, and an example in docs/what_if.md, which a test asks for.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <variant>

#include "common/config/config_reader.h"

namespace weir::what_if {

/// The answer, or every fault of the problem with its JSON path.
using Solved = std::variant<nlohmann::json, Faults>;

/// Never throws on input.
[[nodiscard]] Solved solve(const nlohmann::json& problem);
/// @param text JSON with comments; faults come in its order
[[nodiscard]] Solved solve_text(std::string_view text);

/// Reads the kind's keys from `problem` (all but `kind`) and appends to `faults`. Keys that it does not read
/// become faults. @return the answer, which counts only without faults
using SolveKind = nlohmann::json(ObjectReader& problem, Faults& faults);

// clang-format off
#define WEIR_WHAT_IF_KINDS(ENTRY) \
    ENTRY(allocation, "flows that share resources by one mechanism") \
    ENTRY(capacity, "the capacity search over a series of intervals") \
    ENTRY(demand, "demands from used, queued and outstanding tokens") \
    ENTRY(divvy, "a capacity divided by reservations, limits and shares") \
    ENTRY(overcommit, "how often promises beyond a link's rate fail") \
    ENTRY(placement, "hosts and appliances for tenants, or the constraint that fails") \
    ENTRY(pools, "a capacity divided down a tree of pools") \
    ENTRY(price, "charges of billing periods") \
    ENTRY(rcp, "a series of advertised rates by a rate law") \
    ENTRY(vdc, "tenants' reservations first, then the rest by a mechanism")
// clang-format on

#define WEIR_DECLARE_KIND(name, summary) SolveKind solve_##name;
WEIR_WHAT_IF_KINDS(WEIR_DECLARE_KIND)
#undef WEIR_DECLARE_KIND

struct Kind {
    std::string_view name;
    std::string_view summary;
    SolveKind* solve;
};

#define WEIR_KIND_ENTRY(name, summary) Kind{#name, summary, solve_##name},
inline constexpr std::array kKinds{WEIR_WHAT_IF_KINDS(WEIR_KIND_ENTRY)};
#undef WEIR_KIND_ENTRY

}  // namespace weir::what_if
