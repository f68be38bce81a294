// max_min_solver.h - a simple solver for tests of the controller: equal parts of each resource by itself.
// Threads: tests only.
#pragma once

#include <algorithm>
#include <vector>

#include "ctrl/daemon/cluster.h"
#include "ctrl/daemon/interval_solver.h"

namespace weir::test {

/// The default of the cluster file.
inline constexpr Nanos kInterval = kNanosPerSec;

class MaxMinSolver final : public Solver {
  public:
    std::vector<wire::FlowAllocation> solve(const Cluster& cluster, const FlowDemands& demands,
                                            bool /*whole*/) override {
        std::vector<std::vector<double>> wanted(cluster.resources().size());
        std::vector<PathStep> path;
        for (const auto& [flow, demand] : demands) {
            cluster.path_of(flow, path);
            for (const PathStep& step : path)
                wanted[step.resource].push_back(wants(demand, step.part));
        }
        std::vector<double> most(wanted.size());
        for (std::size_t i = 0; i < wanted.size(); ++i)
            most[i] = level(wanted[i], cluster.resources()[i].capacity);
        std::vector<wire::FlowAllocation> out;
        for (const auto& [flow, demand] : demands) {
            wire::FlowAllocation rates{.flow = flow};
            cluster.path_of(flow, path);
            for (const PathStep& step : path) {
                auto& rate = rates.rate[static_cast<std::size_t>(step.part)];
                rate = std::min(rate, static_cast<std::uint64_t>(
                                          std::min(wants(demand, step.part), most[step.resource])));
            }
            out.push_back(rates);
        }
        return out;
    }

    /// The result of windows().
    std::vector<Window> window_records;
    [[nodiscard]] std::vector<Window> windows(const Cluster& /*cluster*/) const override {
        return window_records;
    }

  private:
    static double wants(const wire::FlowDemand& demand, wire::Part part) {
        const auto i = static_cast<std::size_t>(part);
        return double{demand.used[i]} + double{demand.backlog[i]};
    }
    static double level(std::vector<double> wanted, double capacity) {
        std::sort(wanted.begin(), wanted.end());
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            const double part = capacity / static_cast<double>(wanted.size() - i);
            if (wanted[i] > part)
                return part;
            capacity -= wanted[i];
        }
        return 1e18;
    }
};

}  // namespace weir::test
