// pool_rates.h - what the vNICs of pools may have of their appliances, interval by interval; pools that
// change while all runs. Source: SRP 3.1. Units: tokens/s. Threads: one owner. Keeps its working memory.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ctrl/daemon/cluster.h"
#include "ctrl/daemon/solver.h"
#include "ctrl/estimate/latency_window.h"
#include "ctrl/pools/division.h"
#include "ctrl/pools/pool_layout.h"

namespace weir {

/// What an operator sets; what is not there stays.
struct PoolChange {
    std::string name{};       ///< of a pool, or of a vNIC in one
    std::string appliance{};  ///< empty = the only one where there is something of this name
    std::optional<std::uint64_t> reservation_tokens{};
    std::optional<std::optional<std::uint64_t>> limit_tokens{};
    std::optional<std::uint32_t> shares{};
    bool as_filed = false;  ///< all of it as the cluster file says instead
};

/// What a vNIC wants is seen from what it got: one that used all that it was told may want anything, since
/// what a switch does not let through stays with the guest, where nobody can count it. So demands follow in
/// an interval or two, upwards and downwards; a moving average would keep from siblings what an idle VM
/// leaves.
class PoolRates {
  public:
    /// @param config outlives this
    explicit PoolRates(const ClusterConfig& config);

    [[nodiscard]] bool divides(std::uint32_t appliance) const {
        return appliance < by_appliance_.size() && by_appliance_[appliance] != kNoPool;
    }

    // In this order, in every interval.

    /// Forgets the last interval; vNICs that have no place take no part.
    /// @param whole an interval has passed; else demands only grow
    void begin(const Cluster& cluster, bool whole);
    /// A flow to an appliance that pools divide wants, and got, so much.
    void put(const Cluster& cluster, wire::FlowKey flow, double wanted, double used);
    void divide(std::uint32_t appliance, double capacity);
    /// What a flow had at its appliance, and got from it.
    void put_outstanding(const Cluster& cluster, const wire::FlowDemand& demand);
    /// Of an appliance that is held by latency: what it does so, after another interval when it is a whole
    /// one.
    [[nodiscard]] std::optional<double> capacity_by_latency(std::uint32_t appliance, bool whole);
    /// The same, as it is now.
    [[nodiscard]] std::optional<double> held_by_latency(std::uint32_t appliance) const {
        if (!divides(appliance) || !pools_of(appliance).window)
            return std::nullopt;
        return pools_of(appliance).window->rate();
    }
    [[nodiscard]] double capacity(std::uint32_t appliance) const { return pools_of(appliance).capacity; }
    /// Eq. 6, but that hosts whose requests are longer on their way have more of them there (Little's law);
    /// and each flow's entitlement as what is reserved for it, with its shares of the tree's.
    [[nodiscard]] std::vector<Solver::Window> windows(const Cluster& cluster) const;

    /// What the flow may have; 0 when its vNIC is not known there.
    [[nodiscard]] double entitlement(const Cluster& cluster, wire::FlowKey flow) const;
    /// What it is told: what is reserved for it in any case, should it ask in the middle of an interval; what
    /// others have of that they lose with the next one.
    [[nodiscard]] double rate(const Cluster& cluster, wire::FlowKey flow) const;

    /// From the next interval on. @return what is wrong; then nothing is changed
    [[nodiscard]] Faults set(const PoolChange& change);
    /// What is not as the cluster file says, for the next life of the controller.
    [[nodiscard]] std::vector<PoolSetting> settings() const;
    /// Sets it again. Where the file has another value than when it was set, the file's is the later word.
    /// @return what does not count any more, and why, in words
    [[nodiscard]] std::vector<std::string> restore(std::span<const PoolSetting> settings);
    /// For `weirctl pool show`.
    [[nodiscard]] nlohmann::json describe() const;

  private:
    /// A host's way to an appliance.
    struct Way {
        double outstanding = 0;  // sums of flows
        double answered = 0;
        double longer = 1;  // its latency by that of all; smoothed
    };
    struct Pools {
        std::uint32_t appliance;
        PoolLayout layout;
        std::unordered_map<std::uint32_t, pools::NodeIndex> leaves;  // by the vNIC's id
        std::vector<std::string> hosts;                              // by node
        std::vector<double> wanted;                                  // by node, as the next two
        std::vector<double> used;
        std::vector<double> least;  // of what is wanted
        [[nodiscard]] double longer(HostIndex host) const {
            const auto way = ways.find(host);
            return way == ways.end() ? 1 : way->second.longer;
        }
        double capacity = 0;
        std::optional<estimate::LatencyWindow> window{};
        estimate::LatencyReading reading{};  // sums of flows
        double answered = 0;                 // tokens
        std::map<HostIndex, Way> ways{};
        std::map<pools::NodeIndex, pools::Controls>
            filed{};  // what the file says, where it is not what counts
        pools::Division division;
    };

    /// Of an appliance that pools divide; of the one that a flow goes to.
    [[nodiscard]] const Pools& pools_of(std::uint32_t appliance) const {
        return pools_[by_appliance_[appliance]];
    }
    [[nodiscard]] Pools& pools_of(std::uint32_t appliance) { return pools_[by_appliance_[appliance]]; }
    [[nodiscard]] Pools& pools_of(const Cluster& cluster, wire::FlowKey flow) {
        return pools_of(cluster.find_end(flow.destination)->index);
    }
    /// Where a flow's vNIC stands; nullptr when it is not known there.
    [[nodiscard]] std::pair<const Pools*, pools::NodeIndex> place_of(const Cluster& cluster,
                                                                     wire::FlowKey flow) const;
    void find_leaves(const Cluster& cluster);
    [[nodiscard]] static Faults set(Pools& pools, pools::NodeIndex node, const pools::Controls& controls);
    [[nodiscard]] std::pair<std::size_t, pools::NodeIndex> place_of(const PoolSetting& setting) const;

    const ClusterConfig& config_;
    double interval_;  // s
    std::vector<Pools> pools_;
    std::vector<std::uint32_t> by_appliance_;  // into pools_; kNoPool
    bool found_leaves_ = false;
    pools::Divider divider_;
};

}  // namespace weir
