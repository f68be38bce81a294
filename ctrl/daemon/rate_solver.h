// rate_solver.h - the solver of weir-ctrl: demands by Pulsar's eq. 6, smoothed, and appliances' capacities by
// its search; first every tenant's own reservations by its own mechanism, then what is left by the
// provider's, and what nobody wants yet as room to grow. Source: Pulsar 4.1 to 4.3. Threads: one owner. Keeps
// its working memory.
#pragma once

#include <array>
#include <vector>

#include "ctrl/alloc/vdc.h"
#include "ctrl/daemon/appliance_estimates.h"
#include "ctrl/daemon/cluster.h"
#include "ctrl/daemon/pool_rates.h"
#include "ctrl/daemon/solver.h"
#include "ctrl/daemon/vdc_view.h"

namespace weir {

class RateSolver final : public Solver {
  public:
    explicit RateSolver(const ClusterConfig& config);
    [[nodiscard]] std::vector<wire::FlowAllocation> solve(const Cluster& cluster, const DemandTable& demands,
                                                          bool whole) override;

    [[nodiscard]] std::vector<Window> windows(const Cluster& cluster) const override {
        return pools_.windows(cluster);
    }
    void describe(nlohmann::json& status) const override;
    void describe_pools(nlohmann::json& pools) const override;
    [[nodiscard]] Faults set_pool(const PoolChange& change) override { return pools_.set(change); }
    [[nodiscard]] std::vector<PoolSetting> pool_settings() const override { return pools_.settings(); }
    [[nodiscard]] std::vector<std::string> restore_pools(std::span<const PoolSetting> settings) override {
        return pools_.restore(settings);
    }

    [[nodiscard]] const ApplianceEstimates& appliances() const { return appliances_; }

  private:
    /// A flow's smoothed demand, by part.
    struct Smoothed {
        wire::FlowKey flow;
        std::array<double, wire::kParts> tokens;
    };

    void smooth(const Cluster& cluster, const DemandTable& demands, bool whole);
    /// Sees to it that flows that are new can have of an appliance what they are promised.
    void welcome(const Cluster& cluster);
    void set_capacity(const Cluster& cluster);
    void divide_pools(const Cluster& cluster, const DemandTable& demands, bool whole);
    [[nodiscard]] bool is_pooled(const Cluster& cluster, wire::FlowKey flow) const {
        const ClusterEnd& end = *cluster.find_end(flow.destination);
        return end.is_appliance && pools_.divides(end.index);
    }
    void set_problem(const Cluster& cluster, const DemandTable& demands);
    void put_demand(const Cluster& cluster, wire::FlowKey flow, std::array<double, wire::kParts> tokens);
    [[nodiscard]] std::array<double, wire::kParts> room_of(const Cluster& cluster, std::uint32_t flow) const;
    void put_rates(const Cluster& cluster, std::vector<wire::FlowAllocation>& out) const;

    const ClusterConfig& config_;
    double seconds_;  // of an interval
    ApplianceEstimates appliances_;
    std::vector<Smoothed> smoothed_;  // in the order of flows
    std::vector<Smoothed> smoothed_next_;
    std::vector<double> newcomers_;       // by appliance: promised to flows that are new
    std::vector<std::uint8_t> occupied_;  // by appliance: somebody was there before
    std::vector<std::uint32_t> strangers_;
    VdcView view_;
    PoolRates pools_;
    alloc::VdcAllocator allocator_;
    alloc::DemandMatrix demand_;
    alloc::DemandMatrix inside_;
    alloc::VdcAllocation allocation_;
    std::vector<std::uint32_t> tenant_;  // by flow
    std::vector<double> weights_;
    std::vector<double> capacity_;
    std::vector<wire::FlowKey> flows_;
    std::vector<wire::Part> parts_;  // per entry of the matrix
    std::vector<PathStep> path_;
};

}  // namespace weir
