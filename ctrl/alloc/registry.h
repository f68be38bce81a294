// registry.h - table of the allocation mechanisms.
// Source: docs/design.md 3; docs/algorithms.md 8
// Threads: any; make() allocates.
//
// This is the only list of mechanisms. A mechanism NAME is NAME.cc with make_NAME(), its test
// test/ctrl/alloc/NAME_test.cc, and one line of the table below, from which Meson takes the names of both
// files. The cluster file, `weirctl solve` and their error messages take their words from the table; tests
// compare the JSON schema, configs/cluster.jsonc and docs/what_if.md with it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "ctrl/alloc/mechanism.h"

namespace weir::alloc {

/// Where the cluster file may name the mechanism.
enum class Scope : std::uint8_t {
    kLocalAndGlobal,  ///< also as a tenant's `local` mechanism
    kGlobal,          ///< only as the provider's: flows inside a tenant have no tree and pay no prices
};

// clang-format off
#define WEIR_MECHANISMS(ENTRY) \
    ENTRY(drf, kLocalAndGlobal, "dominant resource fairness with weights, exact") \
    ENTRY(hdrf, kGlobal, "hierarchical dominant resource fairness: among tenants, then among the flows of each") \
    ENTRY(first_fit, kLocalAndGlobal, "one pass in the order of weights, each flow up to what is left; fast, not fair") \
    ENTRY(max_min, kLocalAndGlobal, "weighted max-min fairness of each resource by itself") \
    ENTRY(revenue, kGlobal, "largest income, a weight being the price of the flow's dominant resource")
// clang-format on

#define WEIR_DECLARE_MECHANISM(name, scope, summary) std::unique_ptr<Mechanism> make_##name();
WEIR_MECHANISMS(WEIR_DECLARE_MECHANISM)
#undef WEIR_DECLARE_MECHANISM

struct MechanismEntry {
    std::string_view name;
    std::string_view summary;
    Scope scope;
    std::unique_ptr<Mechanism> (*make)();
};

#define WEIR_MECHANISM_ENTRY(name, scope, summary) MechanismEntry{#name, summary, Scope::scope, make_##name},
inline constexpr std::array kMechanisms{WEIR_MECHANISMS(WEIR_MECHANISM_ENTRY)};
#undef WEIR_MECHANISM_ENTRY

/// The table's entry of this name, which lives as long as the program; null when there is none.
[[nodiscard]] constexpr const MechanismEntry* find_mechanism(std::string_view name) {
    for (const MechanismEntry& entry : kMechanisms)
        if (entry.name == name)
            return &entry;
    return nullptr;
}

}  // namespace weir::alloc
