// measure.h - runs the plan: saturates the appliance with each kind of request, then measures round after
// round. Source: docs/algorithms.md 12.1. Units: requests per second. Threads: one.
#pragma once

#include <vector>

#include "ctrl/calibrate/fit/measurement.h"
#include "ctrl/calibrate/load/service.h"
#include "ctrl/calibrate/options.h"

namespace weir::calibrate {

class SwitchCounts;

/// Shows its progress on standard error when that is a terminal.
/// @param noise rounds are added while the noise of a median exceeds it, up to three times plan.rounds
/// @param counts of the switch that carries the load, or null
/// @throws cli::Failure
[[nodiscard]] std::vector<Measurement> measure(Service& service, const Plan& plan, double noise,
                                               const SwitchCounts* counts);

/// The kinds of request of a plan, without their places.
/// @throws cli::Failure when the service cannot send one, or may not because it destroys data
[[nodiscard]] std::vector<Step> steps_of(const Service& service, const Plan& plan);

}  // namespace weir::calibrate
