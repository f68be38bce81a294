// run.h - one seed from its plan to the verdict of all checkers.
// Threads: tests only.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "test/ctrl/faults/world.h"

namespace weir::faults {

/// How often a rule was broken, and how at first.
struct Broken {
    std::uint64_t times = 0;
    std::uint32_t interval = 0;
    std::string text;
};

struct Verdict {
    std::map<std::string, Broken> broken;  ///< by rule
    std::string plan;                      ///< the course of events, for a failure's report

    /// One line for each broken rule that documented.h does not list; empty: there is none.
    [[nodiscard]] std::string faults() const;
};

/// Intervals of a run, if no other number is given.
inline constexpr std::uint32_t kIntervals = 200;

[[nodiscard]] Verdict run_seed(std::uint32_t seed, std::uint32_t intervals = kIntervals,
                               Tampering tampering = {});
[[nodiscard]] bool is_documented(const std::string& rule);

}  // namespace weir::faults
