// plan.cc - loads of all constraints, guarantees that they break, and a plan of both.
#include "ctrl/placement/plan.h"

#include <cassert>
#include <map>

#include "common/types.h"

namespace weir::placement {
namespace {

std::vector<BrokenGuarantee> broken_of(const std::vector<Load>& loads) {
    std::map<std::uint32_t, std::pair<double, BrokenGuarantee>> worst;  // by tenant
    for (const Load& load : loads) {
        // Slots are counted and not shared: too many vNICs on a host break no guaranteed rate.
        if (!load.is_over() || load.constraint.kind == ConstraintKind::kSlots)
            continue;
        const double part = static_cast<double>(load.have) / static_cast<double>(load.need);
        for (const Load::Part& p : load.parts) {
            const auto possible = static_cast<Tokens>(Wide{p.need} * load.have / load.need);
            const auto [at, is_new] = worst.try_emplace(p.tenant);
            if (is_new || part < at->second.first)
                at->second = {part, {p.tenant, load.constraint, p.need, possible}};
        }
    }
    std::vector<BrokenGuarantee> broken;
    for (const auto& [tenant, entry] : worst)
        broken.push_back(entry.second);
    return broken;
}

}  // namespace

Audit audit(const Topology& topology, LinkNeed link_need, std::span<const Tenant> tenants,
            std::span<const Layout> layouts) {
    assert(tenants.size() == layouts.size());
    const Ledger empty(topology, link_need);
    std::map<Constraint, Load> by_constraint;
    for (std::uint32_t t = 0; t < tenants.size(); ++t) {
        for (const Need& need : needs_of(topology, link_need, tenants[t], layouts[t])) {
            Load& load = by_constraint[need.constraint];
            load.constraint = need.constraint;
            load.have = empty.have(need.constraint);
            load.need += need.amount;
            load.parts.push_back({t, need.amount});
        }
    }
    Audit result;
    for (auto& [key, load] : by_constraint)
        result.loads.push_back(std::move(load));
    result.broken = broken_of(result.loads);
    return result;
}

Plan make_plan(const Topology& topology, LinkNeed link_need, std::span<const Tenant> tenants,
               std::span<const Layout> current, Misfits misfits) {
    assert(current.size() <= tenants.size());
    Placer placer(topology, link_need);
    Plan plan;
    for (std::size_t t = 0; t < current.size(); ++t) {
        placer.add(tenants[t], current[t]);
        plan.entries.push_back({.layout = current[t], .why = {}});
    }
    for (const Tenant& tenant : tenants.subspan(current.size())) {
        const Outcome outcome = placer.place(tenant);
        Plan::Entry entry{.fits = outcome.layout.has_value(), .layout = {}, .why = outcome.why};
        if (outcome.layout)
            entry.layout = *outcome.layout;
        else if (outcome.why.nowhere || misfits == Misfits::kLeaveOut)
            entry.in = false;
        else
            entry.layout = placer.force(tenant);
        plan.entries.push_back(std::move(entry));
    }
    std::vector<Layout> layouts;
    for (std::uint32_t t = 0; t < tenants.size(); ++t)
        layouts.push_back(plan.entries[t].in ? plan.entries[t].layout : unplaced(tenants[t]));
    plan.after = audit(topology, link_need, tenants, layouts);
    return plan;
}

}  // namespace weir::placement
