// checks.h - the assertion of fuzz targets, and the checks of every list of faults.
// Threads: tests only.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "common/error.h"

namespace weir::fuzz {

/// Ends the process, so that libFuzzer keeps the input.
inline void require(bool holds, const char* what) {
    if (holds)
        return;
    std::fprintf(stderr, "broken: %s\n", what);
    std::abort();
}

inline void check_fault(const Fault& fault) {
    require(!fault.allowed.empty() && !fault.message.empty(), "a fault has the allowed values and a message");
    const nlohmann::json text = fault.to_line();
    require(!text.dump().empty(), "a fault is UTF-8");  // dump() throws when it is not
}

inline void check_faults(const Faults& faults) {
    require(!faults.empty(), "a refusal has faults");
    for (const Fault& fault : faults)
        check_fault(fault);
}

}  // namespace weir::fuzz
