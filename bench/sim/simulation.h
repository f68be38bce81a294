// simulation.h - run of a network scenario: hosts, fabric, sources, and the recorder.
// Threads: one.
#pragma once

#include <deque>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "bench/sim/recorder.h"
#include "bench/sim/scenario.h"
#include "bench/sim/source.h"

namespace weir::sim {

class Simulation {
  public:
    /// @param scenario valid; outlives the simulation
    explicit Simulation(const Scenario& scenario);

    /// Runs until `when`, at most to the end of the scenario.
    void run_until(Nanos when);
    void run() { run_until(scenario_.duration); }

    /// Series and summary. The same scenario and seed give the same bytes.
    [[nodiscard]] nlohmann::json result();
    /// Where all packets are or have gone.
    [[nodiscard]] PacketCounts packets() const;
    [[nodiscard]] const World& world() const { return world_; }
    [[nodiscard]] std::uint64_t events() const { return world_.engine.fired(); }
    [[nodiscard]] const Fabric& fabric() const { return *fabric_; }
    [[nodiscard]] const Recorder& recorder() const { return *recorder_; }

  private:
    void place_tenants();
    [[nodiscard]] std::unique_ptr<Edge> make_edge(Host& host) const;

    const Scenario& scenario_;
    World world_;
    std::deque<Host> hosts_;
    std::vector<Host*> host_list_;
    std::unique_ptr<Fabric> fabric_;
    Site site_;
    std::vector<std::unique_ptr<Source>> sources_;
    std::unique_ptr<Recorder> recorder_;
};

}  // namespace weir::sim
