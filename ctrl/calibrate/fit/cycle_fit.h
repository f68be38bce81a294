// cycle_fit.h - cost table of a switch's cycles, from two readings of its counters.
// Source: docs/algorithms.md 12.3. Units: TSC cycles of a worker's core; accounted bytes. Threads: any
// (pure).
//
// The switch counts the cycles of iterations that moved frames. Example: between two readings its workers
// spent 1.16 G cycles on 1,000,000 frames of 1,514 bytes on average. A request then costs 1,160 cycles, and
// 1,160 more for each further 1,514 bytes of it and its response that are begun.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>

#include "common/error.h"

namespace weir::calibrate {

struct CycleReading {
    std::uint64_t cycles = 0;  ///< of iterations with frames, of all workers
    std::uint64_t frames = 0;  ///< taken from VMs' rings and from the wire
    std::uint64_t bytes = 0;   ///< of the frames taken
};

/// @param status, vnics the switch's answers to `status` and `vnic.list`
[[nodiscard]] CycleReading read_cycles(const nlohmann::json& status, const nlohmann::json& vnics);
/// The table, or the fault of `--time`: fewer than 100,000 frames say little.
/// @param date of the measurement, for the table's source
[[nodiscard]] std::variant<nlohmann::json, Fault> fit_cycles(const CycleReading& before,
                                                             const CycleReading& after,
                                                             const std::string& date);

}  // namespace weir::calibrate
