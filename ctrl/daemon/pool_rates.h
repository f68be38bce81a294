// pool_rates.h - rates of vNICs at the appliances that pools divide.
// Source: SRP 3.1; docs/algorithms.md 7.4, 9
// Units: tokens per second. Threads: one owner. Keeps its working memory.
//
// Demand is derived from use. Requests that a switch holds back stay in the guest, where they cannot be
// counted, so a vNIC that used its whole entitlement is taken to want the whole capacity. An idle vNIC is
// taken to want a twentieth of an equal share, enough to show that it has requests again. Example: of 3,000
// tokens/s, a busy VM beside an idle one gets 2,925, the idle one 75. Demands are not smoothed: an average
// would withhold the unused tokens of an idle VM from its siblings.
//
// An appliance with a `latency` has a window of tokens that may be outstanding there. The window is moved
// until requests take that long, and divided among hosts by the entitlements of their VMs.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ctrl/daemon/cluster.h"
#include "ctrl/estimate/latency_window.h"
#include "ctrl/pools/division.h"
#include "ctrl/pools/pool_layout.h"

namespace weir {

struct PoolSetting;

/// An operator's change of a node's settings; absent values stay.
struct PoolChange {
    std::string name{};       ///< of a pool, or of a vNIC in one
    std::string appliance{};  ///< empty = the only one that has a pool or vNIC of this name
    std::optional<std::uint64_t> reservation_tokens{};
    std::optional<std::optional<std::uint64_t>> limit_tokens{};
    std::optional<std::uint32_t> shares{};
    bool is_reset = false;  ///< back to the values of the cluster file; the others are not read
};

class PoolRates {
  public:
    /// A record of an ALLOCATION that is no flow's rate, and the host that receives it.
    struct Window {
        HostIndex host;
        wire::FlowAllocation record;
    };

    /// @param config outlives this
    explicit PoolRates(const ClusterConfig& config);

    [[nodiscard]] bool divides(std::uint32_t appliance) const { return by_appliance_[appliance] != kNoPool; }

    // The steps of one solve, in this order; all but begin() only for appliances that pools divide.

    /// Clears the demands; vNICs without a host take no part. @param interval_ended false: demands only grow
    void begin(const Cluster& cluster, bool interval_ended);
    /// @param wanted, used by the flow, tokens/s
    void add_demand(const Cluster& cluster, wire::FlowKey flow, double wanted, double used);
    void add_outstanding(const Cluster& cluster, const wire::FlowDemand& demand);
    /// Moves the appliance's window when an interval ended. @return capacity at its `latency`, if it has one
    [[nodiscard]] std::optional<double> update_latency(std::uint32_t appliance, bool interval_ended);
    void divide(std::uint32_t appliance, double capacity);

    /// The last result of update_latency().
    [[nodiscard]] std::optional<double> held_by_latency(std::uint32_t appliance) const;
    /// Capacity that was divided last.
    [[nodiscard]] double capacity(std::uint32_t appliance) const { return pools_of(appliance).capacity; }
    /// The entitlement of the flow's vNIC; 0 when no pool of the appliance has it.
    [[nodiscard]] double entitlement(const Cluster& cluster, wire::FlowKey flow) const;
    /// The rate to allocate: the entitlement, and at least the flow's floor, in case it asks for more before
    /// the next interval.
    [[nodiscard]] double rate(const Cluster& cluster, wire::FlowKey flow) const;
    /// The parts of windows for each host (eq. 6), and as reservations in them the entitlements of its vNICs,
    /// with their shares of the tree. A host whose requests take longer on their way has more tokens
    /// outstanding at the same rate (Little's law), and gets a larger part. Ordered by host and flow.
    [[nodiscard]] std::vector<Window> windows(const Cluster& cluster) const;
    /// The data of the command `pool.show`: a list with an object for each appliance.
    [[nodiscard]] nlohmann::json describe() const;

    // Settings of operators, in force from the next interval on.

    /// @return the faults; with any, nothing is changed
    [[nodiscard]] Faults set(const PoolChange& change);
    /// All values that differ from the cluster file's.
    [[nodiscard]] std::vector<PoolSetting> settings() const;
    /// Applies stored settings. A setting is dropped when the cluster file has changed the same value since.
    /// @return a sentence for each setting that was dropped
    [[nodiscard]] std::vector<std::string> restore(std::span<const PoolSetting> settings);
    /// Takes over settings, and windows of appliances whose bounds are the same. @return as restore()
    [[nodiscard]] std::vector<std::string> take_over(const PoolRates& before);

  private:
    /// One host's requests at an appliance, within an interval.
    struct HostReading {
        double outstanding = 0;  // sums over flows, tokens
        double answered = 0;
        double latency_factor = 1;  // its latency by the mean of all hosts; smoothed
    };
    /// One appliance.
    struct Pools {
        std::uint32_t appliance;
        PoolLayout layout;
        std::unordered_map<std::uint32_t, pools::NodeIndex> leaves{};  // by the vNIC's id
        // By node.
        std::vector<std::string> hosts{};
        std::vector<double> wanted{};
        std::vector<double> used{};
        std::vector<double> wanted_min{};
        double capacity = 0;
        std::optional<estimate::LatencyWindow> window{};
        std::map<HostIndex, HostReading> readings{};
        // Of the cluster file, where another value is set.
        std::map<pools::NodeIndex, pools::Controls> configured{};
        pools::Division division{};
    };
    /// A node of the pools of an appliance.
    struct Place {
        Pools* pools = nullptr;
        pools::NodeIndex node = pools::kRoot;
        auto operator<=>(const Place&) const = default;
    };

    [[nodiscard]] const Pools& pools_of(std::uint32_t appliance) const {
        return pools_[by_appliance_[appliance]];
    }
    [[nodiscard]] Pools& pools_of(std::uint32_t appliance) { return pools_[by_appliance_[appliance]]; }
    /// The node of the flow's vNIC at the flow's appliance; kRoot: it has none.
    [[nodiscard]] pools::NodeIndex leaf_of(const Cluster& cluster, wire::FlowKey flow) const;
    static void find_leaves(const Cluster& cluster, Pools& pools);
    [[nodiscard]] static Faults set(Place place, const pools::Controls& controls);
    [[nodiscard]] Place place_of(const PoolSetting& setting);

    const ClusterConfig& config_;
    double seconds_;  // of an interval
    std::vector<Pools> pools_;
    std::vector<std::uint32_t> by_appliance_;  // index into pools_; kNoPool
    pools::Divider divider_;
};

}  // namespace weir
