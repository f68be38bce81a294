// fluid_appliance.h - appliance, tenants and their limiters as fluids, exact and without noise.
// Units: tokens, seconds.
// Threads: tests only.
#pragma once

#include <algorithm>
#include <vector>

#include "ctrl/estimate/capacity_search.h"
#include "ctrl/estimate/demand.h"

namespace weir::testing {

struct FluidTenant {
    bool closed = false;  ///< keeps `size` tokens outstanding; otherwise offers `size` tokens/s
    double size = 0;
    double cost = 1;       ///< work per token
    double guarantee = 0;  ///< also its weight
    bool active = false;

    double queued = 0;  // at its limiter
    double inside = 0;  // at the appliance
};

class FluidAppliance {
  public:
    FluidAppliance(double work_per_second, double latency) : work_(work_per_second), latency_(latency) {}

    std::vector<FluidTenant> tenants;

    /// Capacity for the active tenants in proportion to their guarantees, when all want more.
    [[nodiscard]] double capacity() const {
        double cost = 0;
        double weight = 0;
        for (const FluidTenant& t : tenants) {
            cost += t.active ? t.guarantee * t.cost : 0;
            weight += t.active ? t.guarantee : 0;
        }
        return work_ * weight / cost;
    }

    /// One interval of a second under an allocation in proportion to guarantees.
    estimate::Reading run(double allocate) {
        constexpr int kSteps = 100;
        std::vector<estimate::Usage> usage(tenants.size());
        for (int step = 0; step < kSteps; ++step) {
            release(allocate / kSteps);
            serve(1.0 / kSteps, usage);
            for (std::size_t i = 0; i < tenants.size(); ++i) {
                usage[i].queued += tenants[i].queued / kSteps;
                usage[i].outstanding += tenants[i].inside / kSteps;
            }
        }
        return reading(usage);
    }

    [[nodiscard]] double served(std::size_t tenant) const { return served_[tenant]; }

  private:
    void release(double tokens) {
        double weight = 0;
        for (const FluidTenant& t : tenants)
            weight += t.active ? t.guarantee : 0;
        for (FluidTenant& t : tenants) {
            if (!t.active)
                continue;
            t.queued = t.closed ? t.size - t.inside : t.queued + t.size / 100;
            const double out = std::min(t.queued, tokens * t.guarantee / weight);
            t.queued -= out;
            t.inside += out;
        }
    }

    /// Serves in proportion to the tokens inside, as a FIFO of many small requests does.
    void serve(double seconds, std::vector<estimate::Usage>& usage) {
        double work = 0;
        for (const FluidTenant& t : tenants)
            work += t.inside * t.cost;
        // Tokens that the appliance holds for its latency at full rate are in service and do not wait.
        const double waiting = std::max(work - work_ * latency_, work * seconds / (seconds + latency_));
        const double part = work > 0 ? std::min(work_ * seconds, waiting) / work : 0;
        for (std::size_t i = 0; i < tenants.size(); ++i) {
            usage[i].used += tenants[i].inside * part;
            tenants[i].inside -= tenants[i].inside * part;
        }
    }

    estimate::Reading reading(std::vector<estimate::Usage>& usage) {
        estimate::Reading r{.mix = {}};
        served_.assign(tenants.size(), 0);
        for (std::size_t i = 0; i < tenants.size(); ++i) {
            const FluidTenant& t = tenants[i];
            if (!t.active)
                continue;
            usage[i].backlog = t.queued;
            const double demand = *estimate::demand_of(usage[i]);
            r.throughput += served_[i] = usage[i].used;
            r.offered += demand;
            r.outstanding += usage[i].outstanding;
            r.guaranteed += t.guarantee;
            r.violated |=
                demand > 1.01 * usage[i].used && usage[i].used < 0.99 * std::min(t.guarantee, demand);
        }
        r.mix = served_;
        // All want more than their parts.
        wanted_.assign(tenants.size(), 0);
        for (std::size_t i = 0; i < tenants.size(); ++i)
            wanted_[i] = tenants[i].active ? tenants[i].guarantee : 0;
        r.wanted = wanted_;
        return r;
    }

    double work_;
    double latency_;
    std::vector<double> served_;
    std::vector<double> wanted_;
};

}  // namespace weir::testing
