// faults.h - checks of a list of faults.
// Threads: tests only.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "common/error.h"

namespace weir::test {

inline bool has_fault(const Faults& faults, std::string_view path, std::string_view fragment) {
    return std::any_of(faults.begin(), faults.end(), [&](const Fault& fault) {
        return fault.path == path && fault.to_line().find(fragment) != std::string::npos;
    });
}

inline std::string lines_of(const Faults& faults) {
    std::string text;
    for (const Fault& fault : faults)
        text += fault.to_line() + '\n';
    return text;
}

}  // namespace weir::test
