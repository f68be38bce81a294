// admission.cc - needs with and without the vNIC, where it would be.
#include "ctrl/admission.h"

#include <algorithm>

namespace weir {

using placement::Constraint;
using placement::ConstraintKind;
using placement::kAnywhere;
using placement::Need;
using placement::Tokens;

Admission::Admission(const ClusterConfig& config)
    : config_(config),
      topology_(topology_of(config)),
      tenants_(tenants_of(config)),
      ledger_(topology_, placement::Guarantee::kHose) {
    for (const placement::Tenant& tenant : tenants_) {
        placement::Layout& layout = layouts_.emplace_back();
        for (const placement::Vnic& vnic : tenant.vnics)
            layout.hosts.push_back(vnic.host);
        for (const placement::VirtualAppliance& part : tenant.appliances)
            layout.appliances.push_back(part.appliance);
        ledger_.add(tenant, layout);
    }
}

void Admission::move(TenantIndex tenant, std::uint32_t vnic, std::uint32_t host) {
    std::uint32_t& at = layouts_[tenant].hosts[vnic];
    if (at == host)
        return;
    ledger_.remove(tenants_[tenant], layouts_[tenant]);
    at = host;
    ledger_.add(tenants_[tenant], layouts_[tenant]);
}

void Admission::put(const ClusterEnd& vnic, HostIndex host) {
    move(vnic.tenant, vnic.index, host);
}

void Admission::take(const ClusterEnd& vnic) {
    move(vnic.tenant, vnic.index, tenants_[vnic.tenant].vnics[vnic.index].host);
}

std::uint32_t Admission::vnics_behind(Constraint constraint) const {
    std::uint32_t count = 0;
    for (const placement::Layout& layout : layouts_)
        for (const std::uint32_t host : layout.hosts)
            count += host != kAnywhere && (constraint.kind == ConstraintKind::kRackLink
                                               ? topology_.hosts[host].rack == constraint.index
                                               : host == constraint.index);
    return count;
}

std::string Admission::why_not(const ClusterEnd& vnic, HostIndex host) {
    const std::uint32_t before = layouts_[vnic.tenant].hosts[vnic.index];
    if (before == host)
        return "";
    std::vector<Tokens> needed;
    std::vector<Constraint> above{{ConstraintKind::kHostLink, host}, {ConstraintKind::kSlots, host}};
    if (const std::uint32_t rack = topology_.hosts[host].rack; rack != kAnywhere)
        above.push_back({ConstraintKind::kRackLink, rack});
    for (const Constraint constraint : above)
        needed.push_back(ledger_.need(constraint));
    move(vnic.tenant, vnic.index, host);
    std::string why;
    for (std::size_t i = 0; i < above.size() && why.empty(); ++i) {
        const ConstraintKind kind = above[i].kind;
        const Tokens need = ledger_.need(above[i]);
        const Tokens have = ledger_.have(above[i]);
        if (need > needed[i] && need > have && !may_need(config_, kind, need, have, vnics_behind(above[i])))
            why = "its guarantee does not fit: " + placement::describe(topology_, above[i]) + " would need " +
                  placement::amount_text(kind, need) + " of " + placement::amount_text(kind, have);
    }
    move(vnic.tenant, vnic.index, before);
    return why;
}

}  // namespace weir
