// pool_simulation.h - run of a pool scenario.
// Threads: one.
#pragma once

#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "bench/sim/pools/pool_control.h"
#include "bench/sim/services/service_queue.h"

namespace weir::sim {

class PoolSimulation final : public Handler {
  public:
    /// The figures of one row, per VM in the scenario's order.
    struct Row {
        Nanos at = 0;                     ///< its end
        std::vector<double> served;       ///< tokens/s
        std::vector<double> host_window;  ///< at its end
        std::vector<double> host_served;  ///< tokens/s
        double window = 0;                ///< at its end, of all
        double latency_us = 0;            ///< at the array; 0 = nothing was answered
    };

    /// @param scenario valid; outlives the simulation
    explicit PoolSimulation(const PoolScenario& scenario);

    void run();
    [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
    /// Mean of a VM's tokens/s in rows that end in (from, to].
    [[nodiscard]] double served(std::size_t vm, Nanos from, Nanos to) const;
    /// Series and summary. The same scenario and seed give the same bytes.
    [[nodiscard]] nlohmann::json result() const;
    [[nodiscard]] std::uint64_t events() const { return engine_.fired(); }

    /// A row or an interval ends, the warm-up ends, or the operator does something.
    void fire(std::uint32_t what) override;

  private:
    void record();
    [[nodiscard]] Nanos row_length() const {
        return scenario_.record == 0 ? scenario_.interval : scenario_.record;
    }
    [[nodiscard]] nlohmann::json series() const;

    const PoolScenario& scenario_;
    Engine engine_;
    RequestPool pool_;
    WireDelay wire_;
    ServiceQueue array_;
    Route route_;
    std::deque<PoolHost> hosts_;
    std::deque<PoolVm> vms_;
    PoolController controller_;
    std::vector<Row> rows_;
    std::vector<PoolTally> summary_;
};

}  // namespace weir::sim
