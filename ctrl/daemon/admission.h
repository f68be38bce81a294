// admission.h - whether a vNIC that a switch brings may have its guarantee there: the running half of
// ctrl/cluster_plan. A vNIC whose host the file names was admitted with the file.
// Source: Pulsar 4.5. Units: tokens (at links: bytes) per second. Threads: one owner.
#pragma once

#include <string>
#include <vector>

#include "ctrl/daemon/cluster.h"
#include "ctrl/placement/cluster_plan.h"
#include "ctrl/placement/ledger.h"

namespace weir {

class Admission {
  public:
    /// @param config outlives it @param use what was measured, at each moment; outlives it too, or null
    explicit Admission(const ClusterConfig& config, const billing::UseTable* use = nullptr);
    Admission(const Admission&) = delete;
    Admission& operator=(const Admission&) = delete;

    /// What its guarantee would need too much of on that host; empty = it may come.
    [[nodiscard]] std::string why_not(const ClusterEnd& vnic, HostIndex host);
    void put(const ClusterEnd& vnic, HostIndex host);
    void take(const ClusterEnd& vnic);

  private:
    void move(TenantIndex tenant, std::uint32_t vnic, std::uint32_t host);
    [[nodiscard]] std::vector<billing::Sharer> sharers_behind(placement::Constraint constraint) const;

    const ClusterConfig& config_;
    const billing::UseTable* use_;
    placement::Topology topology_;
    std::vector<placement::Tenant> tenants_;
    std::vector<placement::Layout> layouts_;  // kAnywhere = with no switch
    placement::Ledger ledger_;
};

}  // namespace weir
