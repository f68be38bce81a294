// registry.h - table of the kinds of what-if problems.
// Source: docs/design.md 5.4
// Threads: any.
//
// This is the only list of kinds. A kind NAME is NAME.cc with solve_NAME() and one line of the table below,
// from which Meson takes the name of the file. A test asks docs/what_if.md for an example of every kind.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "common/config/config_reader.h"

namespace weir::what_if {

/// Reads the kind's keys from `problem` (all but `kind`) and appends what is wrong with them to `faults`.
/// Keys that are not read become faults. @return the answer; it counts only when there are no faults
using SolveKind = nlohmann::json(ObjectReader& problem, Faults& faults);

// clang-format off
#define WEIR_WHAT_IF_KINDS(ENTRY) \
    ENTRY(allocation, "flows that share resources by one mechanism") \
    ENTRY(capacity, "the capacity search on a series of intervals") \
    ENTRY(demand, "demand of flows from what was used, queued and outstanding") \
    ENTRY(divvy, "one capacity divided by reservations, limits and shares") \
    ENTRY(overcommit, "how often promises beyond a link's rate fail") \
    ENTRY(placement, "hosts and appliances for tenants, or the constraint that fails") \
    ENTRY(pools, "a tree of pools divided among its nodes and hosts") \
    ENTRY(price, "what billing periods cost") \
    ENTRY(rcp, "a series of advertised rates by a rate law") \
    ENTRY(vdc, "tenants that first use their reservations, then share the rest")
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
