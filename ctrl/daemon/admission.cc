// admission.cc - the need of links, encryption and slots with the vNIC on the host, compared with the need
// without it.
#include "ctrl/daemon/admission.h"

#include <algorithm>

namespace weir {

using placement::Constraint;
using placement::ConstraintKind;
using placement::kAnywhere;
using placement::Tokens;

Admission::Admission(const ClusterConfig& config, const billing::UseTable* use)
    : config_(config),
      use_(use),
      topology_(topology_of(config)),
      tenants_(tenants_of(config)),
      ledger_(topology_, placement::LinkNeed::kHose) {
    placed_.reserve(tenants_.size());
    for (const placement::Tenant& tenant : tenants_)
        placed_.push_back(ledger_.put(tenant, required_layout(tenant)));
}

void Admission::set_uplink(HostIndex host, double bytes) {
    ledger_.set_have({ConstraintKind::kHostLink, host}, static_cast<Tokens>(bytes));
}

void Admission::place(const ClusterEnd& vnic, HostIndex host) {
    ledger_.move(placed_[vnic.tenant], vnic.index, host);
}

void Admission::remove(const ClusterEnd& vnic) {
    place(vnic, tenants_[vnic.tenant].vnics[vnic.index].host);
}

std::vector<billing::Sharer> Admission::sharers_behind(Constraint constraint) const {
    std::vector<billing::Sharer> sharers;
    for (std::size_t t = 0; t < tenants_.size(); ++t)
        for (std::size_t i = 0; i < tenants_[t].vnics.size(); ++i) {
            const std::uint32_t host = placed_[t].layout().hosts[i];
            if (host != kAnywhere &&
                (constraint.kind == ConstraintKind::kRackLink ? topology_.hosts[host].rack == constraint.index
                                                              : host == constraint.index))
                sharers.push_back({tenants_[t].vnics[i].id,
                                   static_cast<double>(constraint.kind == ConstraintKind::kEncryption
                                                           ? tenants_[t].vnics[i].encryption
                                                           : tenants_[t].vnics[i].reservation)});
        }
    return sharers;
}

/// The need that decides: where vNICs of a tenant are still to come, they may come so that it is smaller.
Tokens Admission::need_at(Constraint constraint) const {
    const Tokens need = ledger_.need(constraint);
    return placement::is_link(constraint.kind) && need > ledger_.have(constraint)
               ? ledger_.least_need(constraint, placed_)
               : need;
}

/// Links, encryption and slots of the host, then the tenant's links elsewhere that may become too small.
std::vector<Constraint> Admission::concerned(TenantIndex tenant, HostIndex host) const {
    std::vector<Constraint> all{{ConstraintKind::kHostLink, host},
                                {ConstraintKind::kEncryption, host},
                                {ConstraintKind::kSlots, host}};
    if (const std::uint32_t rack = topology_.hosts[host].rack; rack != kAnywhere)
        all.push_back({ConstraintKind::kRackLink, rack});
    for (const Constraint link : ledger_.exceeded_links(placed_[tenant]))
        if (std::ranges::find(all, link) == all.end())
            all.push_back(link);
    return all;
}

std::string Admission::why_not(const ClusterEnd& vnic, HostIndex host) {
    const std::uint32_t before = placed_[vnic.tenant].layout().hosts[vnic.index];
    if (before == host)
        return "";
    place(vnic, host);
    std::string why;
    for (const Constraint each : concerned(vnic.tenant, host)) {
        SharedNeed shared{each.kind, need_at(each), ledger_.have(each), {}};
        if (shared.need <= shared.have)
            continue;
        place(vnic, before);
        const bool is_larger = shared.need > need_at(each);
        place(vnic, host);
        if (!is_larger)
            continue;
        if (config_.overcommit)  // a walk over all vNICs, which only over-commitment needs
            shared.sharers = sharers_behind(each);
        if (may_need(config_, shared, failure_of(config_, shared, use_)))
            continue;
        why = "its guarantee does not fit: " + placement::describe(topology_, each) + " would need " +
              placement::amount_text(shared.kind, shared.need) + " of " +
              placement::amount_text(shared.kind, shared.have);
        break;
    }
    place(vnic, before);
    return why;
}

}  // namespace weir
