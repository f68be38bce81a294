// demand.h - what a flow could use of a resource in the next interval, from what it did in this one.
// Source: Pulsar 4.2 (eq. 6, and the moving average over it). Units: tokens of one interval. Threads: any
// (pure).
#pragma once

#include <optional>

namespace weir::estimate {

/// A flow at one resource, over one interval.
struct Usage {
    double used = 0;
    double backlog = 0;      ///< still queued at the end
    double queued = 0;       ///< queued, on average
    double outstanding = 0;  ///< sent and not answered, on average
};

/// No resource does more in an interval; whole tokens are exact up to here.
inline constexpr double kTokensMax = 0x1p53;

/// Finite, not negative and not beyond kTokensMax; anything else is a fault of who measured it.
[[nodiscard]] bool is_plausible(double tokens);
[[nodiscard]] bool is_plausible(const Usage& usage);

/// used + max(backlog, queued * used / outstanding): of open and closed loops the larger, so that nobody is
/// held to less than it could use. With nothing outstanding (the paper divides by it) the backlog alone
/// counts.
/// @param ceiling what the flow can physically use: a queue that is long beside few outstanding inflates the
/// estimate
/// @return nothing when the usage is not plausible
[[nodiscard]] std::optional<double> demand_of(const Usage& usage, double ceiling = kTokensMax);

/// How much of the way from the old estimate to the new demand one interval goes. A flow that was held back
/// cannot show its demand, so it is believed at once; a demand that falls may be a pause.
struct Smoothing {
    double up_held_back = 1.0;
    double up = 0.5;
    double down = 0.2;
};

/// Less than this is nothing: an estimate that falls ends there.
inline constexpr double kTokensLeast = 1.0;

/// The moving average, one interval further.
/// @param previous nothing for a flow that was not known before: its demand is taken as it is
/// @return previous when the usage is not plausible
[[nodiscard]] std::optional<double> smoothed_demand(std::optional<double> previous, const Usage& usage,
                                                    double ceiling = kTokensMax,
                                                    const Smoothing& smoothing = {});

}  // namespace weir::estimate
