// documented.h - rules that have an exception, each with the place in docs that states it.
// Threads: tests only.
//
// A seed that breaks such a rule does not fail. The test of all seeds fails when a rule stands here that no
// seed breaks: then the line goes, and the sentence in docs with it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weir::faults {

struct Documented {
    std::string_view rule;
    std::string_view place;
    std::uint32_t seed = 0;  ///< that breaks it, when none of the first 200 does
};

inline constexpr std::array kDocumented{
    Documented{"limit.silent", "limits.md, controller: silent hosts", 565},
    Documented{"capacity.silent", "limits.md, controller: silent hosts"},
    Documented{"bill.clock", "operations.md, Billing: a clock is wrong", 1072},
    Documented{"bill.stolen", "operations.md, Billing: a host claims a vNIC", 886},
};

}  // namespace weir::faults
