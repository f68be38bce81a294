// estimates.h - the demand of every flow and the capacity of every appliance, estimated once an interval.
// Source: Pulsar 4.2, 4.3; docs/algorithms.md 7.1, 7.2
// Units: demands in tokens (at links: bytes) of one interval, capacities in tokens per second.
// Threads: one owner.
//
// Estimation has two halves. The switch measures (vswitch/agent/demand_sampler.h): it samples each flow every
// 10 ms and reports per interval the tokens used, the backlog at the end, mean queue, mean tokens outstanding
// and mean latency. It leaves out tokens of requests that were not answered, and extends a part of an
// interval to a whole one, because only the switch has the samples. The controller estimates (here): eq. 6
// and the moving average of each flow, and the capacity search over the sums of all flows, because only the
// controller sees all hosts. The formulas are pure functions in ctrl/estimate, which the simulator and
// `weirctl solve` use too.
//
// A limit that the controller does not know (a switch's own) must not look like an appliance that is slow.
// Example: two tenants are allocated 3,250 tokens/s each, and one switch holds its tenant to 500. That flow
// counts with 500 everywhere: it wants 500, 3,750 of 6,500 were in force, and the next interval has 6,000 for
// the other tenant.
#pragma once

#include <array>
#include <vector>

#include "common/water_fill.h"
#include "ctrl/daemon/cluster.h"
#include "ctrl/daemon/demand_table.h"
#include "ctrl/daemon/renumbering.h"
#include "ctrl/estimate/capacity_search.h"
#include "ctrl/estimate/demand.h"

namespace weir {

/// A value for each part of a flow: the way there, the appliance, the way back.
using PartTokens = std::array<double, wire::kParts>;

/// A switch's report on one part of a flow, in the form that ctrl/estimate takes. Tokens that wait for a
/// limit of the switch's own are no demand: the flow could not use them.
[[nodiscard]] estimate::Usage usage_of(const wire::FlowDemand& flow, std::size_t part);

/// Demands, smoothed from interval to interval.
class DemandEstimates {
  public:
    struct Flow {
        wire::FlowKey flow;
        PartTokens demand;
        bool is_own_limited = false;  ///< a limit of the switch's own holds it at this demand
        bool is_first = false;        ///< of traffic between vNICs that had just begun: no base of an average
    };

    /// @param config outlives this
    explicit DemandEstimates(const ClusterConfig& config) : config_(config) {}

    /// At the end of an interval every average moves. Between intervals a demand only grows: a lower value
    /// from a part of the interval may rise again before its end.
    void update(const Cluster& cluster, const FlowDemands& demands, bool interval_ended);
    /// Takes over the averages of another configuration.
    void take_over(const DemandEstimates& before) { flows_ = before.flows_; }
    /// Of the last update, ordered by flow.
    [[nodiscard]] const std::vector<Flow>& flows() const { return flows_; }
    /// Tokens of the interval; of a flow that is not known: 0.
    [[nodiscard]] double demand(wire::FlowKey flow, std::size_t part) const;
    /// Tokens of the interval to keep back of an appliance for flows that were new in the last update. The
    /// first requests of a flow may cost the appliance more than the cost table states, so half of the flows'
    /// floors is kept back, at most a quarter of the capacity: of 3,000 tokens, 500 for new flows with floors
    /// of 1,000 together.
    [[nodiscard]] double new_flow_reserve(std::uint32_t appliance, double capacity) const;

  private:
    void raise_new_flows(const Cluster& cluster);

    const ClusterConfig& config_;
    std::vector<Flow> flows_;
    std::vector<Flow> previous_;
    std::vector<std::size_t> new_flows_;     // indices into flows_
    std::vector<double> new_flow_floors_;    // by appliance: sum over its new flows
    std::vector<std::uint8_t> is_occupied_;  // by appliance: it had flows before
};

/// Capacities, one search for each appliance whose two bounds differ.
class CapacityEstimates {
  public:
    /// @param config outlives this
    explicit CapacityEstimates(const ClusterConfig& config);

    /// Takes in the demands of one interval of `seconds`.
    void update(const Cluster& cluster, const FlowDemands& demands, double seconds);
    /// The rates in force from now on. A new flow gets its rate at the end of the interval in which it began,
    /// and is ignored by the estimate until then.
    void set_allocated(const Cluster& cluster, const std::vector<wire::FlowAllocation>& rates);

    /// Takes over the searches of another configuration. An appliance with other bounds is searched anew.
    void take_over(const CapacityEstimates& before, const Renumbering& places);

    /// Capacity of an appliance to allocate in the next interval.
    [[nodiscard]] double rate(std::uint32_t appliance) const { return searches_[appliance].state().allocate; }
    /// Factor by which flows that queue only at the appliance could use more of it. The requests of a closed
    /// loop all wait at a slow appliance and none in the switch, so eq. 6 would take the loop for satisfied.
    [[nodiscard]] double slowdown(std::uint32_t appliance) const { return slowdown_[appliance]; }
    [[nodiscard]] const estimate::CapacitySearch::State& state(std::uint32_t appliance) const {
        return searches_[appliance].state();
    }

  private:
    struct TenantSum {
        double used = 0;
        double demand = 0;
        bool is_held_back = false;  // some of the demand waited in a switch for the appliance
    };
    struct ApplianceSum {
        std::vector<TenantSum> tenants;
        double outstanding = 0;
        /// Tokens per second that flows were allocated and could use. A flow that is idle, or waits for
        /// another limit, leaves tokens that no other flow can use before the next interval: a throughput
        /// without them does not mean a lower capacity.
        double in_force = 0;
        std::size_t next = 0;  // of the appliance's allocated flows
    };
    struct User {
        TenantIndex tenant;
        double reservation;  // tokens/s
    };
    struct AllocatedFlow {
        wire::FlowKey flow;
        double rate;
    };

    void add(const wire::FlowDemand& demand, TenantIndex tenant, std::uint32_t appliance, double seconds);
    [[nodiscard]] double allocated(std::uint32_t appliance, wire::FlowKey flow);
    void search(std::uint32_t appliance, double seconds);

    const ClusterConfig& config_;
    // By appliance.
    std::vector<estimate::CapacitySearch> searches_;
    std::vector<std::vector<User>> users_;                     // tenants that have a part of it
    std::vector<std::vector<AllocatedFlow>> allocated_flows_;  // ordered by flow
    std::vector<double> slowdown_;
    std::vector<ApplianceSum> sums_;
    // Working memory, by user of one appliance.
    std::vector<double> mix_;
    std::vector<RealClaim> claims_;
    std::vector<double> wanted_;
};

}  // namespace weir
