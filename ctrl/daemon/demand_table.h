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

    /// Applies the records of one DEMAND. Records of flows that do not begin at a vNIC of the host, or that
    /// no tenant may have, are left out. A snapshot also removes the host's flows that it does not name.
    /// @return records that were applied; the others were left out
    std::size_t apply(HostIndex host, std::span<const wire::FlowDemand> records, bool is_snapshot);
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
    void note_change(const wire::FlowDemand* before, const wire::FlowDemand& now);

    const Cluster& cluster_;
    FlowDemands flows_;
    bool has_large_change_ = false;
    std::vector<PathStep> path_;  // working memory
};

}  // namespace weir
