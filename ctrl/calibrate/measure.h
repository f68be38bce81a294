// measure.h - run of a plan: the appliance is saturated with each kind of request, then measured in rounds.
// Source: docs/algorithms.md 12.1
// Units: requests per second, seconds. Threads: one.
//
// A rate counts only when the requests that were sent are those that the switch counted, if a switch is
// named. Of 20,000 requests sent in a round at most 20 may be missing in its counters (0.1 %).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ctrl/calibrate/fit/measurement.h"
#include "ctrl/calibrate/load/service.h"
#include "ctrl/calibrate/options.h"

namespace weir::calibrate {

/// Reads flow.list of a switch, for the flow from one vNIC to the measured appliance.
class SwitchCounts {
  public:
    struct Reading {
        std::uint64_t requests = 0;
        std::uint64_t plain_bytes = 0;  ///< bytes in which the switch recognized no header
        double blocked_seconds = 0;     ///< of the bucket that blocked longest
        double uptime = 0;              ///< seconds
    };

    /// @throws cli::Failure when the switch does not answer, or has not exactly one such flow
    SwitchCounts(const SwitchTarget& target, const Endpoint& endpoint);

    /// @throws cli::Failure
    [[nodiscard]] Reading read() const;
    /// Requests that the switch counted between two readings.
    /// @throws cli::Failure when they differ from `asked` by more than 0.1% without lost segments
    std::uint64_t check(const Reading& before, const Reading& after, std::uint64_t asked) const;
    /// "vm1 to disk"
    [[nodiscard]] std::string flow() const { return vnic_ + " to " + appliance_; }

    /// Part of the time, 0..1, during which a bucket held the flow back.
    [[nodiscard]] static double held_back(const Reading& before, const Reading& after);

  private:
    std::string socket_;
    std::string vnic_;
    std::string appliance_;
};

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
