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

namespace {

/// A part of a tenant behind a constraint.
struct Part {
    Constraint constraint;
    Side side;
};

/// Calls add(Constraint, Side) for each constraint above a vNIC on the host; none at kAnywhere.
template <class Add>
void for_each_above(const Topology& topology, const Vnic& vnic, std::uint32_t host, Add add) {
    if (host == kAnywhere)
        return;
    const Side side{.vnics = vnic.reservation};
    add({ConstraintKind::kHostLink, host}, side);
    if (const std::uint32_t rack = topology.hosts[host].rack; rack != kAnywhere)
        add({ConstraintKind::kRackLink, rack}, side);
    if (vnic.encryption != 0)
        add({ConstraintKind::kEncryption, host}, {.vnics = vnic.encryption});
    add({ConstraintKind::kSlots, host}, {.vnics = 1});
}

Tokens amount_of(LinkNeed link_need, ConstraintKind kind, const Side& inside, const Side& whole) {
    return is_link(kind) ? need_of(link_need, inside, whole) : inside.sum();
}

std::vector<Part> parts_of(const Topology& topology, const Tenant& tenant, const Layout& layout) {
    assert(layout.hosts.size() == tenant.vnics.size() &&
           layout.appliances.size() == tenant.appliances.size());
    std::vector<Part> parts;
    parts.reserve(4 * layout.hosts.size() + 4 * layout.appliances.size());
    for (std::size_t i = 0; i < layout.hosts.size(); ++i)
        for_each_above(topology, tenant.vnics[i], layout.hosts[i], [&parts](Constraint c, const Side& side) {
            parts.push_back({c, side});
        });
    const auto add = [&parts](ConstraintKind kind, std::uint32_t index, const Side& side) {
        if (index != kAnywhere)
            parts.push_back({{kind, index}, side});
    };
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
    return parts;
}

}  // namespace

std::vector<Need> needs_of(const Topology& topology, LinkNeed link_need, const Tenant& tenant,
                           const Layout& layout) {
    const Side whole = whole_of(tenant);
    std::vector<Part> parts = parts_of(topology, tenant, layout);
    std::ranges::sort(parts, {}, &Part::constraint);
    std::vector<Need> needs;
    for (auto at = parts.begin(); at != parts.end();) {
        const Constraint c = at->constraint;
        Side inside;
        for (; at != parts.end() && at->constraint == c; ++at)
            inside += at->side;
        if (const Tokens amount = amount_of(link_need, c.kind, inside, whole); amount != 0)
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
    add(ConstraintKind::kEncryption, topology.hosts, &Host::encryption);
    add(ConstraintKind::kSlots, topology.hosts, &Host::slots);
}

void Ledger::add(const Tenant& tenant, const Layout& layout) {
    for (const Need& need : needs_of(*topology_, link_need_, tenant, layout)) {
        lines_[line_of(need.constraint)].need += need.amount;
        note_exceeded(line_of(need.constraint));
    }
}

void Ledger::remove(const Tenant& tenant, const Layout& layout) {
    for (const Need& need : needs_of(*topology_, link_need_, tenant, layout)) {
        lines_[line_of(need.constraint)].need -= need.amount;
        note_exceeded(line_of(need.constraint));
    }
}

void Ledger::note_exceeded(std::size_t line) {
    if (line < first_[static_cast<std::size_t>(ConstraintKind::kApplianceLink)] &&
        lines_[line].need > lines_[line].have)
        exceeded_.insert(line);
    else if (!exceeded_.empty())
        exceeded_.erase(line);
}

PlacedTenant Ledger::put(const Tenant& tenant, Layout layout) {
    PlacedTenant placed(tenant, std::move(layout));
    placed.number_ = tenants_++;
    for (std::size_t i = 0; i < tenant.vnics.size(); ++i)
        if (placed.layout_.hosts[i] == kAnywhere)
            placed.open_.vnics += tenant.vnics[i].reservation;
    for (const Part& part : parts_of(*topology_, tenant, placed.layout_))
        count(placed, part.constraint, part.side, true);
    return placed;
}

void Ledger::move(PlacedTenant& placed, std::uint32_t vnic, std::uint32_t host) {
    std::uint32_t& at = placed.layout_.hosts[vnic];
    if (at == host)
        return;
    count_vnic(placed, vnic, at, false);
    count_vnic(placed, vnic, host, true);
    const Tokens reservation = placed.tenant_->vnics[vnic].reservation;
    if (at == kAnywhere)
        placed.open_.vnics -= reservation;
    if (host == kAnywhere)
        placed.open_.vnics += reservation;
    at = host;
}

void Ledger::count_vnic(PlacedTenant& placed, std::uint32_t vnic, std::uint32_t host, bool in) {
    for_each_above(*topology_, placed.tenant_->vnics[vnic], host,
                   [&](Constraint c, const Side& side) { count(placed, c, side, in); });
}

/// Replaces the tenant's part of the line's need.
void Ledger::count(PlacedTenant& placed, Constraint c, const Side& side, bool in) {
    const std::size_t number = line_of(c);
    Line& line = lines_[number];
    const auto [part, is_new] = placed.inside_.try_emplace(number);
    Side& inside = part->second;
    if (is_new && is_link(c.kind))
        line.tenants.push_back(placed.number_);
    line.need -= amount_of(link_need_, c.kind, inside, placed.whole_);
    in ? inside += side : inside -= side;
    line.need += amount_of(link_need_, c.kind, inside, placed.whole_);
    if (inside.sum() == 0) {
        placed.inside_.erase(number);
        std::erase(line.tenants, placed.number_);
    }
    note_exceeded(number);
}

Tokens Ledger::least_need(Constraint c, std::span<const PlacedTenant> placed) const {
    const std::size_t number = line_of(c);
    const Line& line = lines_[number];
    Tokens need = line.need;
    for (const std::uint32_t each : line.tenants) {
        const PlacedTenant& tenant = placed[each];
        const Side& inside = tenant.inside_.at(number);
        const Tokens outside_come = need_of(link_need_, inside, tenant.whole_);
        const Tokens now = need_of(link_need_, inside, tenant.whole_ - tenant.open_);
        const Tokens inside_come = need_of(link_need_, inside + tenant.open_, tenant.whole_);
        need -= outside_come - std::min(outside_come, std::max(now, inside_come));
    }
    return need;
}

std::vector<Constraint> Ledger::exceeded_links(const PlacedTenant& placed) const {
    std::vector<Constraint> links;
    const auto add = [&](std::size_t line) {
        const std::size_t racks = first_[static_cast<std::size_t>(ConstraintKind::kRackLink)];
        links.push_back(
            line < racks ? Constraint{ConstraintKind::kHostLink, static_cast<std::uint32_t>(line)}
                         : Constraint{ConstraintKind::kRackLink, static_cast<std::uint32_t>(line - racks)});
    };
    if (exceeded_.size() < placed.inside_.size()) {
        for (const std::size_t line : exceeded_)
            if (placed.inside_.contains(line))
                add(line);
    } else if (!exceeded_.empty()) {
        for (const auto& [line, side] : placed.inside_)
            if (exceeded_.contains(line))
                add(line);
        std::ranges::sort(links);
    }
    return links;
}

}  // namespace weir::placement
