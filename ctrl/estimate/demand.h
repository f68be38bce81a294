// demand.h - demand of a flow at one resource in the next interval, from its use in this one.
// Source: Pulsar 4.2; docs/algorithms.md 7.1
// Units: tokens of one interval. Threads: any (pure).
//
// An open loop shows its demand as a backlog. A closed loop keeps few requests and shows it in time: a flow
// that used `used` tokens with `outstanding` of them at the appliance would use queued * used / outstanding
// more if its queued requests were let through. The larger of the two counts.
//
// Example: used 100, outstanding 10, queued 5, backlog 20: the demand is 100 + max(20, 50) = 150.
#pragma once

#include <optional>

namespace weir::estimate {

/// A flow at one resource, over one interval.
struct Usage {
    double used = 0;
    double backlog = 0;      ///< still queued at the end
    double queued = 0;       ///< mean over the interval
    double outstanding = 0;  ///< sent and not answered, mean over the interval
};

/// The most tokens of an interval; whole numbers are exact up to here.
inline constexpr double kTokensMax = 0x1p53;

/// Finite, not negative and at most kTokensMax. Other values are errors of measurement.
[[nodiscard]] bool is_plausible(double tokens);
[[nodiscard]] bool is_plausible(const Usage& usage);

/// used + max(backlog, queued * used / outstanding). With nothing outstanding the backlog alone counts; the
/// paper divides by zero there.
/// @param ceiling the flow's physical limit; a long queue beside few outstanding inflates the quotient
/// @return nothing when the usage is not plausible
[[nodiscard]] std::optional<double> demand_of(const Usage& usage, double ceiling = kTokensMax);

/// Part of the way from the old estimate to the new demand that one interval goes. A flow that was held back
/// could not show its demand, so a rise is believed at once; a fall may be a pause.
struct Smoothing {
    double up_held_back = 1.0;
    double up = 0.5;
    double down = 0.2;
};

/// A falling estimate below this many tokens becomes the demand itself.
inline constexpr double kTokensLeast = 1.0;

/// The moving average after one more interval.
/// @param previous nothing for a new flow, whose demand is taken as it is
/// @return previous when the usage is not plausible
[[nodiscard]] std::optional<double> smoothed_demand(std::optional<double> previous, const Usage& usage,
                                                    double ceiling = kTokensMax,
                                                    const Smoothing& smoothing = {});

}  // namespace weir::estimate
