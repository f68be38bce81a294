// admission.h - whether a vNIC that a switch reports may have its guarantee on that host.
// Source: Pulsar 4.5; docs/algorithms.md 10.1, 10.3
// Units: tokens (at links: bytes) per second. Threads: one owner.
//
// The file's own placement was checked at start (ctrl/placement/cluster_plan.h); a vNIC whose host the file
// names counts as placed there. This is the check for vNICs that a switch reports and the file has no host
// for.
//
// vNICs come one by one, and the links between them are not larger for it: a vNIC is refused only where
// the reservations cannot be kept wherever the tenant's other vNICs come. So all vNICs that come to the hosts
// of a plan (weirctl plan) are admitted, in any order.
#pragma once

#include <string>
#include <vector>

#include "ctrl/daemon/cluster.h"
#include "ctrl/placement/cluster_plan.h"
#include "ctrl/placement/ledger.h"

namespace weir {

class Admission {
  public:
    /// @param config outlives this @param use measured use, for over-commitment; outlives this, or null
    explicit Admission(const ClusterConfig& config, const billing::UseTable* use = nullptr);
    Admission(const Admission&) = delete;
    Admission& operator=(const Admission&) = delete;

    /// Why the host cannot keep the vNIC's guarantee: the first link, encryption or slot count that would be
    /// too small, with need and capacity. Empty: it can.
    [[nodiscard]] std::string why_not(const ClusterEnd& vnic, HostIndex host);
    /// Bytes per second that are planned of the host's link.
    void set_uplink(HostIndex host, double bytes);
    void place(const ClusterEnd& vnic, HostIndex host);
    void remove(const ClusterEnd& vnic);

  private:
    [[nodiscard]] placement::Tokens need_at(placement::Constraint constraint) const;
    [[nodiscard]] std::vector<placement::Constraint> concerned(TenantIndex tenant, HostIndex host) const;
    [[nodiscard]] std::vector<billing::Sharer> sharers_behind(placement::Constraint constraint) const;

    const ClusterConfig& config_;
    const billing::UseTable* use_;
    placement::Topology topology_;
    std::vector<placement::Tenant> tenants_;
    placement::Ledger ledger_;
    std::vector<placement::PlacedTenant> placed_;  // by tenant; kAnywhere: the vNIC is on no host
};

}  // namespace weir
