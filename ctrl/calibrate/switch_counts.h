// switch_counts.h - the switch's own counters of the measured flow, to compare with the requests that were
// sent. Source: docs/operations.md. Units: requests, seconds. Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ctrl/calibrate/options.h"

namespace weir::cli {
class Client;
}

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

    /// @throws cli::Failure when the switch does not answer, or has no such flow, or several and none is
    /// chosen
    SwitchCounts(const SwitchTarget& target, const Endpoint& endpoint);
    ~SwitchCounts();

    /// @throws cli::Failure
    [[nodiscard]] Reading read() const;
    /// Requests that the switch counted between two readings.
    /// @throws cli::Failure when they differ from `asked` by more than 0.1% and lost segments do not explain
    /// it
    std::uint64_t check(const Reading& before, const Reading& after, std::uint64_t asked) const;
    /// "vm1 to disk"
    [[nodiscard]] std::string flow() const { return vnic_ + " to " + appliance_; }

    /// Part of the time, 0..1, during which a bucket held the flow back.
    [[nodiscard]] static double held_back(const Reading& before, const Reading& after);

  private:
    std::unique_ptr<cli::Client> client_;
    std::string vnic_;
    std::string appliance_;
};

}  // namespace weir::calibrate
