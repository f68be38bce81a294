// kinds.h - the kinds of problems. A kind is one file NAME.cc with one function, solve_NAME, one line here,
// and one example in docs/solve.md. Threads: any.
#pragma once

#include <nlohmann/json.hpp>

#include "common/config/config_reader.h"

namespace weir::what_if {

/// Reads its keys from `problem` (all but `kind`), adds what is wrong to `faults`, and returns the answer,
/// which counts only when there are no faults. Keys that it does not ask for become faults.
using SolveKind = nlohmann::json(ObjectReader& problem, Faults& faults);

// clang-format off
#define WEIR_SOLVE_KINDS(KIND) \
    KIND(allocation) \
    KIND(capacity) \
    KIND(demand) \
    KIND(divvy) \
    KIND(overcommit) \
    KIND(rcp) \
    KIND(placement) \
    KIND(pools) \
    KIND(price) \
    KIND(vdc)
// clang-format on

#define WEIR_DECLARE_KIND(name) SolveKind solve_##name;
WEIR_SOLVE_KINDS(WEIR_DECLARE_KIND)
#undef WEIR_DECLARE_KIND

}  // namespace weir::what_if
