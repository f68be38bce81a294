// demand.cc - equation 6 and its moving average.
#include "ctrl/estimate/demand.h"

#include <algorithm>

namespace weir::estimate {

bool is_plausible(double tokens) {
    return tokens >= 0 && tokens <= kTokensMax;  // false for NaN
}

bool is_plausible(const Usage& usage) {
    return is_plausible(usage.used) && is_plausible(usage.backlog) && is_plausible(usage.queued) &&
           is_plausible(usage.outstanding);
}

std::optional<double> demand_of(const Usage& usage, double ceiling) {
    if (!is_plausible(usage))
        return std::nullopt;
    const double held_back = usage.outstanding > 0 ? usage.queued * (usage.used / usage.outstanding) : 0;
    return std::min(usage.used + std::max(usage.backlog, held_back), ceiling);
}

std::optional<double> smoothed_demand(std::optional<double> previous, const Usage& usage, double ceiling,
                                      const Smoothing& smoothing) {
    const std::optional<double> demand = demand_of(usage, ceiling);
    if (!demand || !previous)
        return demand ? demand : previous;
    const bool held_back = usage.backlog > 0 || usage.queued > 0;
    const double part = *demand < *previous ? smoothing.down
                        : held_back         ? smoothing.up_held_back
                                            : smoothing.up;
    const double next = *previous + part * (*demand - *previous);
    return next < kTokensLeast && *demand < kTokensLeast ? *demand : next;
}

}  // namespace weir::estimate
