// capacity_settings.cc - the paper's search, and the phases by name.
#include "ctrl/estimate/capacity_settings.h"

namespace weir::estimate {

const char* name_of(Phase phase) {
    switch (phase) {
        case Phase::kIncrease:
            return "increase";
        case Phase::kRevert:
            return "revert";
        case Phase::kWait:
            return "wait";
        case Phase::kHold:
            return "hold";
        case Phase::kStable:
            break;
    }
    return "stable";
}

CapacitySettings plain_search(double min, double max) {
    CapacitySettings settings{.min = min, .max = max};
    settings.jump = false;
    settings.latency_factor = 0;
    settings.drain = 0;
    settings.check_intervals = 0;
    settings.wait_max = 0;
    return settings;
}

}  // namespace weir::estimate
