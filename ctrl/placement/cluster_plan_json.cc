// cluster_plan_json.cc - plan of a cluster file as JSON, in bit/s at links and tokens/s at appliances.
#include <nlohmann/json.hpp>
#include <set>

#include "ctrl/placement/cluster_plan.h"

namespace weir {
namespace {

using nlohmann::json;
using placement::ConstraintKind;

bool is_link(ConstraintKind kind) {
    return kind != ConstraintKind::kApplianceTokens && kind != ConstraintKind::kSlots;
}

std::uint64_t amount(ConstraintKind kind, placement::Tokens tokens) {
    return is_link(kind) ? tokens * 8 : tokens;
}

const char* unit_of(ConstraintKind kind) {
    return is_link(kind) ? "bit/s" : kind == ConstraintKind::kSlots ? "vnics" : "tokens/s";
}

json tenant_json(const ClusterPlan& made, std::size_t index) {
    const placement::Tenant& tenant = made.tenants[index];
    const placement::Plan::Entry& entry = made.plan.entries[index];
    json out{
        {"name", tenant.id}, {"fits", entry.fits}, {"vnics", json::array()}, {"appliances", json::array()}};
    for (std::size_t i = 0; i < tenant.vnics.size(); ++i)
        out["vnics"].push_back(
            {{"name", tenant.vnics[i].id},
             {"reservation", tenant.vnics[i].reservation * 8},
             {"host", entry.in ? json(made.topology.hosts[entry.layout.hosts[i]].id) : json()}});
    for (const placement::VirtualAppliance& part : tenant.appliances)
        out["appliances"].push_back({{"name", part.id}, {"reservation", part.reservation}});
    if (entry.fits)
        return out;
    out["why"] = placement::explain(made.topology, tenant, entry.why);
    out["proven"] = entry.why.proven;
    if (!entry.why.nowhere) {
        const ConstraintKind kind = entry.why.constraint.kind;
        out["constraint"] = placement::name_of(kind);
        out["resource"] = placement::id_of(made.topology, entry.why.constraint);
        out["unit"] = unit_of(kind);
        out["need"] = amount(kind, entry.why.need);
        out["have"] = amount(kind, entry.why.have);
    }
    return out;
}

json load_json(const ClusterPlan& made, std::size_t index) {
    const placement::Load& load = made.plan.after.loads[index];
    const ConstraintKind kind = load.constraint.kind;
    json parts = json::object();
    for (const placement::Load::Part& part : load.parts)
        parts[made.tenants[part.tenant].id] = amount(kind, part.need);
    json out{{"constraint", placement::name_of(kind)},
             {"name", placement::id_of(made.topology, load.constraint)},
             {"what", placement::describe(made.topology, load.constraint)},
             {"unit", unit_of(kind)},
             {"need", amount(kind, load.need)},
             {"have", amount(kind, load.have)},
             {"over", load.is_over()},
             {"vnics", made.risks[index].vnics},
             {"admissible", made.risks[index].admissible},
             {"tenants", std::move(parts)}};
    if (load.have != 0)
        out["ratio"] = static_cast<double>(load.need) / static_cast<double>(load.have);
    if (kind != ConstraintKind::kSlots) {
        out["failure_probability"] = made.risks[index].failure.probability;
        out["measured"] = made.risks[index].failure.measured;
    }
    return out;
}

json broken_json(const ClusterPlan& made, const placement::BrokenGuarantee& broken) {
    const ConstraintKind kind = broken.constraint.kind;
    return {{"tenant", made.tenants[broken.tenant].id},
            {"constraint", placement::name_of(kind)},
            {"name", placement::id_of(made.topology, broken.constraint)},
            {"what", placement::describe(made.topology, broken.constraint)},
            {"unit", unit_of(kind)},
            {"guaranteed", amount(kind, broken.guaranteed)},
            {"possible", amount(kind, broken.possible)}};
}

/// Adds what the plan changes: tenants that are new, and over-commitments and broken guarantees that are.
void add_changes(const ClusterPlan& made, const RunningCluster& running, json& out) {
    const ClusterPlan before = plan_cluster(running.config, &running);
    std::set<std::string> over;
    std::set<std::string> broken;
    for (const placement::Load& load : before.plan.after.loads)
        if (load.is_over())
            over.insert(placement::describe(before.topology, load.constraint));
    for (const placement::BrokenGuarantee& each : before.plan.after.broken)
        broken.insert(before.tenants[each.tenant].id);
    for (std::size_t t = 0; t < made.tenants.size(); ++t)
        out["tenants"][t]["standing"] = name_of(made.standing[t]);
    for (json& load : out["resources"])
        load["new"] = load["over"] == true && !over.contains(load["what"].get<std::string>());
    for (json& each : out["broken"])
        each["new"] = !broken.contains(each["tenant"].get<std::string>());
    out["gone"] = made.gone;
}

}  // namespace

json plan_json(const ClusterConfig& config, const ClusterPlan& made, const RunningCluster* running) {
    json out{{"cluster", config.name},
             {"hosts", config.hosts.size()},
             {"admitted", made.admitted()},
             {"overcommit",
              {{"allowed", config.overcommit},
               {"utilisation", config.overcommit_utilisation},
               {"failure_max", config.overcommit_failure_max}}},
             {"tenants", json::array()},
             {"resources", json::array()},
             {"broken", json::array()}};
    for (std::size_t t = 0; t < made.tenants.size(); ++t)
        out["tenants"].push_back(tenant_json(made, t));
    for (std::size_t i = 0; i < made.plan.after.loads.size(); ++i)
        if (made.plan.after.loads[i].have != placement::kUnlimited)
            out["resources"].push_back(load_json(made, i));
    for (const placement::BrokenGuarantee& each : made.plan.after.broken)
        out["broken"].push_back(broken_json(made, each));
    if (running != nullptr)
        add_changes(made, *running, out);
    return out;
}

}  // namespace weir
