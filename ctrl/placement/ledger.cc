// ledger.cc - needs of a layout, and their sums over tenants.
#include "ctrl/placement/ledger.h"

#include <algorithm>
#include <cassert>

namespace weir::placement {

Tokens bandwidth_of(const Tenant& tenant, const VirtualAppliance& appliance) {
    Tokens vnics = 0;
    for (const Vnic& vnic : tenant.vnics)
        vnics += vnic.reservation;
    return std::min(vnics, appliance.bandwidth);
}

Side whole_of(const Tenant& tenant) {
    Side whole;
    for (const Vnic& vnic : tenant.vnics)
        whole.vnics += vnic.reservation;
    for (const VirtualAppliance& appliance : tenant.appliances)
        whole.appliances += std::min(whole.vnics, appliance.bandwidth);
    return whole;
}

std::uint32_t rack_of(const Topology& topology, const Appliance& appliance) {
    return appliance.host != kAnywhere ? topology.hosts[appliance.host].rack : appliance.rack;
}

std::vector<Need> needs_of(const Topology& topology, LinkNeed link_need, const Tenant& tenant,
                           const Layout& layout) {
    assert(layout.hosts.size() == tenant.vnics.size() &&
           layout.appliances.size() == tenant.appliances.size());
    const Side whole = whole_of(tenant);
    struct Part {
        Constraint constraint;
        Side side;
    };
    std::vector<Part> parts;
    parts.reserve(3 * layout.hosts.size() + 4 * layout.appliances.size());
    const auto add = [&parts](ConstraintKind kind, std::uint32_t index, const Side& side) {
        if (index != kAnywhere)
            parts.push_back({{kind, index}, side});
    };
    for (std::size_t i = 0; i < layout.hosts.size(); ++i) {
        if (layout.hosts[i] == kAnywhere)
            continue;
        const Side side{.vnics = tenant.vnics[i].reservation};
        add(ConstraintKind::kHostLink, layout.hosts[i], side);
        add(ConstraintKind::kRackLink, topology.hosts[layout.hosts[i]].rack, side);
        add(ConstraintKind::kSlots, layout.hosts[i], {.vnics = 1});
    }
    for (std::size_t i = 0; i < layout.appliances.size(); ++i) {
        if (layout.appliances[i] == kAnywhere)
            continue;
        const Appliance& appliance = topology.appliances[layout.appliances[i]];
        const Side side{.appliances = bandwidth_of(tenant, tenant.appliances[i])};
        add(ConstraintKind::kHostLink, appliance.host, side);
        add(ConstraintKind::kRackLink, rack_of(topology, appliance), side);
        add(ConstraintKind::kApplianceLink, layout.appliances[i], side);
        add(ConstraintKind::kApplianceTokens, layout.appliances[i],
            {.appliances = tenant.appliances[i].reservation});
    }
    std::ranges::sort(parts, {}, &Part::constraint);
    std::vector<Need> needs;
    for (auto at = parts.begin(); at != parts.end();) {
        const Constraint c = at->constraint;
        Side inside;
        for (; at != parts.end() && at->constraint == c; ++at)
            inside += at->side;
        const Tokens amount = is_link(c.kind) ? need_of(link_need, inside, whole) : inside.sum();
        if (amount != 0)
            needs.push_back({c, amount});
    }
    return needs;
}

Ledger::Ledger(const Topology& topology, LinkNeed link_need) : topology_(&topology), link_need_(link_need) {
    const auto add = [this](ConstraintKind kind, const auto& list, auto capacity) {
        first_[static_cast<std::size_t>(kind)] = lines_.size();
        for (const auto& each : list)
            lines_.push_back({.have = each.*capacity});
    };
    add(ConstraintKind::kHostLink, topology.hosts, &Host::uplink);
    add(ConstraintKind::kRackLink, topology.racks, &Rack::uplink);
    add(ConstraintKind::kApplianceLink, topology.appliances, &Appliance::link);
    add(ConstraintKind::kApplianceTokens, topology.appliances, &Appliance::capacity);
    add(ConstraintKind::kSlots, topology.hosts, &Host::slots);
}

void Ledger::add(const Tenant& tenant, const Layout& layout) {
    for (const Need& need : needs_of(*topology_, link_need_, tenant, layout))
        lines_[line_of(need.constraint)].need += need.amount;
}

void Ledger::remove(const Tenant& tenant, const Layout& layout) {
    for (const Need& need : needs_of(*topology_, link_need_, tenant, layout))
        lines_[line_of(need.constraint)].need -= need.amount;
}

}  // namespace weir::placement
