// solver.h - where demands become rates: what the epoch loop asks of estimation and allocation.
// Source: Pulsar 4.1 to 4.3. Units: tokens of one interval in, tokens per second out. Threads: one owner.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/wire/records.h"
#include "ctrl/store/pool_setting.h"

namespace weir {

class Cluster;
struct PoolChange;

/// What all switches said, flow by flow.
using DemandTable = std::map<wire::FlowKey, wire::FlowDemand>;

class Solver {
  public:
    virtual ~Solver() = default;
    /// Once an interval (`whole`), and between intervals when a demand has changed much: then what was
    /// measured says nothing about capacities yet. @return rates ordered by flow, one for each that has a
    /// place in the cluster
    [[nodiscard]] virtual std::vector<wire::FlowAllocation> solve(const Cluster& cluster,
                                                                  const DemandTable& demands, bool whole) = 0;
    /// After solve(): what hosts may have outstanding at appliances, and what of it is reserved for flows, as
    /// records.h says; each with the host that is to hear it. Ordered by host, then by flow.
    struct Window {
        std::uint32_t host;
        wire::FlowAllocation record;
    };
    [[nodiscard]] virtual std::vector<Window> windows(const Cluster& /*cluster*/) const { return {}; }
    /// Adds to the controller's `status` what it believes.
    virtual void describe(nlohmann::json& /*status*/) const {}
    /// Adds its pools as they are now to a list.
    virtual void describe_pools(nlohmann::json& /*pools*/) const {}
    /// Changes a pool from the next interval on. @return what is wrong; then nothing is changed
    [[nodiscard]] virtual Faults set_pool(const PoolChange& /*change*/) {
        return {{"name", "a pool", "nothing", "there are no pools"}};
    }
    /// What was changed so and is not as the cluster file says; and the same again, in another life.
    /// @return of restore_pools: what does not count any more, in words
    [[nodiscard]] virtual std::vector<PoolSetting> pool_settings() const { return {}; }
    [[nodiscard]] virtual std::vector<std::string> restore_pools(std::span<const PoolSetting> /*settings*/) {
        return {};
    }
};

}  // namespace weir
