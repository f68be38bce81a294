// ledger.cc - needs of a layout, and their sums over tenants.
#include "ctrl/placement/ledger.h"

#include <algorithm>
#include <cassert>

namespace weir::placement {
namespace {

/// The sides behind the links of one kind. A tenant uses few of many links, so this is a sorted list.
class Sides {
  public:
    void add(std::uint32_t index, const Side& side) {
        if (index == kAnywhere)
            return;
        const auto at = std::lower_bound(sides_.begin(), sides_.end(), index,
                                         [](const auto& entry, std::uint32_t i) { return entry.first < i; });
        if (at != sides_.end() && at->first == index)
            at->second += side;
        else
            sides_.insert(at, {index, side});
    }
    [[nodiscard]] const auto& all() const { return sides_; }

  private:
    std::vector<std::pair<std::uint32_t, Side>> sides_;
};

}  // namespace

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

std::vector<Need> needs_of(const Topology& topology, LinkNeed link_need, const Tenant& tenant,
                           const Layout& layout) {
    assert(layout.hosts.size() == tenant.vnics.size() &&
           layout.appliances.size() == tenant.appliances.size());
    const Side whole = whole_of(tenant);
    std::vector<Need> needs;
    Sides hosts;
    Sides racks;
    Sides links;
    Sides tokens;
    Sides slots;
    for (std::size_t i = 0; i < layout.hosts.size(); ++i) {
        if (layout.hosts[i] == kAnywhere)
            continue;
        const Side side{.vnics = tenant.vnics[i].reservation};
        hosts.add(layout.hosts[i], side);
        racks.add(topology.hosts[layout.hosts[i]].rack, side);
        slots.add(layout.hosts[i], {.vnics = 1});
    }
    for (std::size_t i = 0; i < layout.appliances.size(); ++i) {
        if (layout.appliances[i] == kAnywhere)
            continue;
        const Appliance& appliance = topology.appliances[layout.appliances[i]];
        const Side side{.appliances = bandwidth_of(tenant, tenant.appliances[i])};
        hosts.add(appliance.host, side);
        racks.add(appliance.host != kAnywhere ? topology.hosts[appliance.host].rack : appliance.rack, side);
        links.add(layout.appliances[i], side);
        tokens.add(layout.appliances[i], {.appliances = tenant.appliances[i].reservation});
    }
    const auto note = [&](ConstraintKind kind, const Sides& sides, bool is_link) {
        for (const auto& [index, side] : sides.all()) {
            const Tokens amount = is_link ? need_of(link_need, side, whole) : side.sum();
            if (amount != 0)
                needs.push_back({{kind, index}, amount});
        }
    };
    note(ConstraintKind::kHostLink, hosts, true);
    note(ConstraintKind::kRackLink, racks, true);
    note(ConstraintKind::kApplianceLink, links, true);
    note(ConstraintKind::kApplianceTokens, tokens, false);
    note(ConstraintKind::kSlots, slots, false);
    return needs;
}

Ledger::Ledger(const Topology& topology, LinkNeed link_need) : topology_(&topology), link_need_(link_need) {
    const auto begin = [&](ConstraintKind kind) { first_[static_cast<std::size_t>(kind)] = lines_.size(); };
    begin(ConstraintKind::kHostLink);
    for (const Host& host : topology.hosts)
        lines_.push_back({.have = host.uplink});
    begin(ConstraintKind::kRackLink);
    for (const Rack& rack : topology.racks)
        lines_.push_back({.have = rack.uplink});
    begin(ConstraintKind::kApplianceLink);
    for (const Appliance& appliance : topology.appliances)
        lines_.push_back({.have = appliance.link});
    begin(ConstraintKind::kApplianceTokens);
    for (const Appliance& appliance : topology.appliances)
        lines_.push_back({.have = appliance.capacity});
    begin(ConstraintKind::kSlots);
    for (const Host& host : topology.hosts)
        lines_.push_back({.have = host.slots});
}

std::vector<Constraint> Ledger::constraints() const {
    std::vector<Constraint> all;
    all.reserve(lines_.size());
    const auto list = [&](ConstraintKind kind, std::size_t count) {
        for (std::uint32_t i = 0; i < count; ++i)
            all.push_back({kind, i});
    };
    list(ConstraintKind::kHostLink, topology_->hosts.size());
    list(ConstraintKind::kRackLink, topology_->racks.size());
    list(ConstraintKind::kApplianceLink, topology_->appliances.size());
    list(ConstraintKind::kApplianceTokens, topology_->appliances.size());
    list(ConstraintKind::kSlots, topology_->hosts.size());
    return all;
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
