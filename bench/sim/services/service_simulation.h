// service_simulation.h - run of a service scenario, with weir-ctrl's own solver every interval.
// Threads: one.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/sim/services/service_client.h"
#include "bench/sim/services/service_network.h"
#include "ctrl/config/cluster_config.h"
#include "ctrl/daemon/cluster.h"
#include "ctrl/daemon/interval_solver.h"

namespace weir::sim {

/// The specification that weir-ctrl would have of the scenario.
[[nodiscard]] ClusterConfig cluster_of(const ServiceScenario& scenario);
/// @param vm from 0
[[nodiscard]] std::string vm_name(const ServiceTenant& tenant, std::uint32_t vm);

class ServiceSimulation final : public Handler {
  public:
    /// The rates of one interval, tokens/s.
    struct Row {
        Nanos at = 0;                        ///< its end
        std::vector<double> served;          ///< by tenant
        std::vector<double> service_served;  ///< by service
        std::vector<double> host_in;         ///< by host: bytes/s that came over its link
        std::vector<double> estimate;        ///< by service: the search's estimate at its end
        std::vector<double> allocate;        ///< by service: allocated for the next interval
    };

    /// @param scenario valid; outlives the simulation
    explicit ServiceSimulation(const ServiceScenario& scenario);

    void run() { engine_.run_until(scenario_.duration); }
    [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
    /// Series and summary. The same scenario and seed give the same bytes.
    [[nodiscard]] nlohmann::json result() const;
    [[nodiscard]] std::uint64_t events() const { return engine_.fired(); }

    /// A sample is due, or an interval ends.
    void fire(std::uint32_t what) override;

  private:
    struct Flow {
        Flow(ServiceSimulation& site, const ServiceLoad& load, std::uint32_t vm);

        wire::FlowKey key;
        ServiceClient client;
        std::uint32_t tenant;
        ServiceClient::Rates silent;  ///< without an allocation of the controller
        std::uint64_t counted = 0;    ///< tokens served until the end of the last interval
    };

    [[nodiscard]] ServiceClient::Rates silent_rates(const ServiceLoad& load, std::uint32_t vm) const;
    [[nodiscard]] ServiceClient make_client(const ServiceLoad& load, std::uint32_t vm);
    /// An interval has ended.
    void control();
    /// Sends the demands of new flows in the middle of an interval, as switches do.
    void control_early();
    void put_demand(const Flow& flow, const wire::FlowDemand& demand);
    void allocate(bool whole);
    void record();

    const ServiceScenario& scenario_;
    ClusterConfig config_;
    Engine engine_;
    RequestPool pool_;
    ServiceNetwork network_;
    std::uint32_t connections_ = 0;  // of the flows so far
    std::map<std::string, std::uint32_t, std::less<>> ids_;
    Cluster cluster_;
    IntervalSolver solver_;
    Random sampling_;
    std::deque<Flow> flows_;
    FlowDemands demands_;
    Nanos allocated_at_ = 0;
    std::vector<std::uint64_t> service_counted_;
    std::vector<std::uint64_t> host_counted_;
    std::vector<Row> rows_;
};

}  // namespace weir::sim
