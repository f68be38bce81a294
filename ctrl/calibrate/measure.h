// measure.h - a plan carried out: how many outstanding requests saturate the appliance, then round after
// round of all steps, so that what changes with time changes all alike. Threads: one.
#pragma once

#include <vector>

#include "ctrl/calibrate/fit/measured.h"
#include "ctrl/calibrate/load/service.h"
#include "ctrl/calibrate/plan.h"
#include "ctrl/calibrate/progress.h"

namespace weir::calibrate {

class SwitchView;

/// @param witness may be null
/// @throws cli::Failure
[[nodiscard]] std::vector<Measured> measure(Service& service, const Plan& plan, double noise,
                                            const SwitchView* witness, Progress& progress);

/// The steps of a plan, without their places. @throws cli::Failure what the service cannot do, or may not
[[nodiscard]] std::vector<Step> steps_of(const Service& service, const Plan& plan);

}  // namespace weir::calibrate
