// appliance_estimates.h - what each appliance of the cluster can do, interval by interval, from the demands
// that all switches sent. Source: Pulsar 4.3; the search itself is ctrl/estimate. Units: tokens/s. Threads:
// one owner.
#pragma once

#include <vector>

#include "ctrl/daemon/cluster.h"
#include "ctrl/daemon/solver.h"
#include "ctrl/estimate/capacity_search.h"

namespace weir {

class ApplianceEstimates {
  public:
    /// Appliances whose bounds are one number are not searched. @param config outlives this
    explicit ApplianceEstimates(const ClusterConfig& config);

    /// Takes in an interval of `seconds`.
    void update(const Cluster& cluster, const DemandTable& demands, double seconds);
    /// What flows have been told: a new one is told with the next interval, and until then tests no estimate.
    void told(const Cluster& cluster, const std::vector<wire::FlowAllocation>& rates);

    /// What to give out of an appliance in the next interval.
    [[nodiscard]] double rate(std::uint32_t appliance) const { return searches_[appliance].state().allocate; }
    /// By what flows that queue at the appliance, and nowhere else, could use more of it: a closed loop whose
    /// requests all wait there has nothing waiting at its enforcer, and eq. 6 takes it for content.
    [[nodiscard]] double slowdown(std::uint32_t appliance) const { return slowdown_[appliance]; }
    [[nodiscard]] const estimate::CapacitySearch::State& state(std::uint32_t appliance) const {
        return searches_[appliance].state();
    }

  private:
    struct TenantSum {
        double used = 0;
        double demand = 0;
        bool held_back = false;  // some of it waited at its enforcers
    };
    struct ApplianceSum {
        std::vector<TenantSum> tenants;
        double outstanding = 0;
    };

    void judge(std::uint32_t appliance, double seconds, double idle);
    /// Of an appliance that pools divide: what flows were told and did not ask for, tokens/s. What a VM
    /// leaves that falls idle is its siblings' from the next interval on, and until then nobody's.
    [[nodiscard]] double left_by_idle(std::uint32_t appliance, const DemandTable& demands,
                                      double seconds) const;

    const ClusterConfig& config_;
    std::vector<estimate::CapacitySearch> searches_;  // by appliance
    std::vector<std::vector<TenantIndex>> users_;     // by appliance: tenants that have a part of it
    std::vector<std::vector<double>> promised_;       // by appliance and user, tokens/s
    std::vector<double> told_;                        // tokens/s, by appliance
    std::vector<std::uint8_t> pooled_;                // by appliance
    std::vector<std::vector<std::pair<wire::FlowKey, double>>> told_flows_;  // by appliance that is pooled
    std::vector<double> slowdown_;                                           // by appliance
    std::vector<ApplianceSum> sums_;
    std::vector<double> mix_;
    std::vector<double> demands_;
    std::vector<double> wanted_;
};

}  // namespace weir
