// demand_table.h - the demands that all switches have sent, flow by flow.
// Source: Pulsar 4.2; docs/protocol.md
// Units: tokens (at links: bytes) of one interval. Threads: one owner.
//
// A DEMAND has the flows that changed, a snapshot has all flows of its host. A flow with a demand of 100
// keeps it while messages do not name it, and is removed by a snapshot that does not.
#pragma once

#include <span>
#include <vector>

#include "ctrl/daemon/cluster.h"
#include "ctrl/daemon/flow_demands.h"

namespace weir {

class DemandTable {
  public:
    /// @param cluster outlives this
    explicit DemandTable(const Cluster& cluster) : cluster_(cluster), flows_(cluster.vnics()) {}

    /// Pairs of vNICs that a host may state: twice as many as a switch asks for (docs/limits.md), so that new
    /// ones find room before others end. Of a tenant of 20,000 vNICs a host with 50 of them could state a
    /// million, and a solve takes 2 us for each.
    static constexpr std::size_t kPairsMax = 8'192;

    struct Outcome {
        std::size_t applied = 0;
        std::size_t foreign = 0;  ///< of vNICs that are not the host's, or flows that no tenant may have
        std::size_t surplus = 0;  ///< new pairs beyond kPairsMax
    };
    /// Applies the records of one DEMAND, in the order of their flows; the last one of a flow counts. A
    /// snapshot also removes the host's flows that it does not name. @return how many counted, and did not
    Outcome apply(HostIndex host, std::span<const wire::FlowDemand> records, bool is_snapshot);
    /// Replaces the demands of all vNICs of the host by these, which are of its flows.
    void replace_host(HostIndex host, std::span<const wire::FlowDemand> records);
    /// Removes the demands of a vNIC that left its host; of all vNICs of a host.
    void remove_vnic(std::uint32_t vnic);
    void remove_host(HostIndex host);
    /// Takes over the demands of a table of another configuration, as far as this one allows the flows. The
    /// vNICs have their places already.
    void take_over(const DemandTable& before);

    [[nodiscard]] const FlowDemands& flows() const { return flows_; }
    /// Whether a flow's demand changed by more than `resolve_change` of a resource of its path since the last
    /// clear_change(): with 25 % and a link of 10 Gbit/s, by 2.5 Gbit/s. Then waiting for the interval's end
    /// would hold back a new flow for too long.
    [[nodiscard]] bool has_large_change() const { return has_large_change_; }
    void clear_change() { has_large_change_ = false; }

  private:
    [[nodiscard]] std::size_t pairs_of(HostIndex host) const;
    void note_change(const wire::FlowDemand* before, const wire::FlowDemand& now);

    const Cluster& cluster_;
    FlowDemands flows_;
    bool has_large_change_ = false;
    std::vector<PathStep> path_;             // working memory
    std::vector<wire::FlowDemand> ordered_;  // likewise
};

}  // namespace weir
