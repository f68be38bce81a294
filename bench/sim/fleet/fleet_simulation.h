// fleet_simulation.h - run of a fleet scenario: the controller's placement distributes the VMs, and each
// server runs by itself. The network between servers is no bottleneck. Source: SoftBW 3.1; SoftBW 6.1;
// SoftBW 6.4 Threads: one.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "bench/sim/fleet/fleet_server.h"

namespace weir::sim {

class FleetSimulation {
  public:
    /// @param scenario valid; outlives the simulation
    explicit FleetSimulation(const FleetScenario& scenario);

    void run();
    [[nodiscard]] const FleetTally& tally() const { return tally_; }
    [[nodiscard]] const std::vector<std::vector<FleetVm>>& servers() const { return servers_; }
    /// Of all links, on average.
    [[nodiscard]] double utilization() const;
    [[nodiscard]] std::uint64_t strict_vms() const;
    /// Strict VMs whose guarantee failed in some interval.
    [[nodiscard]] double failed() const;
    /// Of transmissions that ended, or are late: those that took more than T.
    [[nodiscard]] double late() const;
    /// Series and summary. The same scenario and seed give the same bytes.
    [[nodiscard]] nlohmann::json result() const;
    [[nodiscard]] std::uint64_t events() const { return tally_.events; }

  private:
    void place();
    void give_starts();
    [[nodiscard]] nlohmann::json dynamic_json() const;
    [[nodiscard]] nlohmann::json strict_json() const;

    const FleetScenario& scenario_;
    std::vector<std::vector<FleetVm>> servers_;
    FleetTally tally_;
};

}  // namespace weir::sim
