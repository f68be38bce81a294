// cluster_plan.cc - topology and tenants of a cluster file, their plan, its faults, and the plan as JSON.
#include "ctrl/placement/cluster_plan.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "common/units.h"
#include "ctrl/pools/pool_layout.h"

namespace weir {

using nlohmann::json;
using placement::Constraint;
using placement::ConstraintKind;
using placement::kAnywhere;
using placement::Tokens;

namespace {

template <typename List>
std::map<std::string, std::uint32_t, std::less<>> numbers_of(const List& list) {
    std::map<std::string, std::uint32_t, std::less<>> out;
    for (std::uint32_t i = 0; i < list.size(); ++i)
        out.emplace(list[i].name, i);
    return out;
}

template <typename Numbers>
std::uint32_t number_in(const Numbers& numbers, const std::string& name) {
    const auto found = numbers.find(name);
    return found == numbers.end() ? kAnywhere : found->second;
}

constexpr bool is_of_host(ConstraintKind kind) {
    return kind == ConstraintKind::kHostLink || kind == ConstraintKind::kEncryption ||
           kind == ConstraintKind::kSlots;
}

/// The vNICs that may send through a loaded constraint: the model counts VMs, not tenants.
std::vector<billing::Sharer> sharers_of(const ClusterPlan& made, const placement::Load& load) {
    const auto& [kind, index] = load.constraint;
    std::vector<billing::Sharer> sharers;
    for (const placement::Load::Part& part : load.parts) {
        const std::vector<placement::Vnic>& vnics = made.tenants[part.tenant].vnics;
        const std::vector<std::uint32_t>& hosts = made.plan.entries[part.tenant].layout.hosts;
        const auto is_near = [&, kind = kind, index = index](std::size_t i) {
            return is_of_host(kind)                    ? hosts[i] == index
                   : kind == ConstraintKind::kRackLink ? made.topology.hosts[hosts[i]].rack == index
                                                       : true;
        };
        const std::size_t before = sharers.size();
        for (const bool all : {false, true})  // with only an appliance behind it, all the tenant's vNICs send
            for (std::size_t i = 0; i < vnics.size() && (!all || sharers.size() == before); ++i)
                if (all || (i < hosts.size() && is_near(i)))
                    sharers.push_back({vnics[i].id, static_cast<double>(kind == ConstraintKind::kEncryption
                                                                            ? vnics[i].encryption
                                                                            : vnics[i].reservation)});
    }
    return sharers;
}

template <typename List>
auto* find_named(const List& list, const std::string& name) {
    const auto found = std::ranges::find(list, name, &List::value_type::name);
    return found == list.end() ? nullptr : &*found;
}

ClusterPlan::Standing standing_of(const ClusterConfig& config, const RunningCluster& running,
                                  const std::vector<placement::Tenant>& before,
                                  const placement::Tenant& tenant) {
    const auto was = std::ranges::find(before, tenant.id, &placement::Tenant::id);
    if (was == before.end())
        return ClusterPlan::Standing::kNew;
    const TenantConfig* now = find_named(config.tenants, tenant.id);
    const TenantConfig* then = find_named(running.config.tenants, tenant.id);
    const bool same = now != nullptr && then != nullptr
                          ? *now == *then
                          : was->appliances[0].id == tenant.appliances[0].id &&
                                was->appliances[0].reservation == tenant.appliances[0].reservation;
    return same ? ClusterPlan::Standing::kUnchanged : ClusterPlan::Standing::kChanged;
}

/// Keeps a vNIC without a host in the file on the host whose switch has it.
void pin(const ClusterPlan& made, const RunningCluster& running, placement::Tenant& tenant) {
    for (placement::Vnic& vnic : tenant.vnics) {
        const auto at = running.hosts.find(vnic.id);
        if (vnic.host != kAnywhere || at == running.hosts.end())
            continue;
        const auto host = std::ranges::find(made.topology.hosts, at->second, &placement::Host::id);
        if (host != made.topology.hosts.end())
            vnic.host = static_cast<std::uint32_t>(host - made.topology.hosts.begin());
    }
}

void add_tenants(const ClusterConfig& config, const RunningCluster* running, ClusterPlan& made,
                 std::vector<placement::Layout>& current) {
    std::vector<placement::Tenant> before;
    if (running != nullptr)
        before = tenants_of(running->config);
    std::vector<std::pair<placement::Tenant, ClusterPlan::Standing>> all;
    for (placement::Tenant& tenant : tenants_of(config)) {
        const auto standing =
            running == nullptr ? ClusterPlan::Standing::kNew : standing_of(config, *running, before, tenant);
        if (running != nullptr)
            pin(made, *running, tenant);
        all.emplace_back(std::move(tenant), standing);
    }
    const auto stays = [](const auto& each) {
        const auto& [tenant, standing] = each;
        return standing == ClusterPlan::Standing::kUnchanged &&
               std::ranges::find(tenant.vnics, kAnywhere, &placement::Vnic::host) == tenant.vnics.end();
    };
    std::ranges::stable_partition(all, stays);
    for (auto& each : all) {
        if (stays(each))
            current.push_back(placement::required_layout(each.first));
        made.tenants.push_back(std::move(each.first));
        made.standing.push_back(each.second);
    }
    for (const placement::Tenant& tenant : before)
        if (std::ranges::find(made.tenants, tenant.id, &placement::Tenant::id) == made.tenants.end())
            made.gone.push_back(tenant.id);
}

/// A drained host has slots for the vNICs that must be there, and for no others.
void drain_hosts(const ClusterConfig& config, ClusterPlan& made) {
    for (std::uint32_t host = 0; host < config.hosts.size(); ++host) {
        if (!config.hosts[host].drain)
            continue;
        std::size_t fixed = 0;
        for (const placement::Tenant& tenant : made.tenants)
            fixed += static_cast<std::size_t>(std::ranges::count(tenant.vnics, host, &placement::Vnic::host));
        placement::Host& drained = made.topology.hosts[host];
        drained.drained = true;
        drained.slots = static_cast<std::uint32_t>(std::min<std::size_t>(drained.slots, fixed));
    }
}

std::string path_of(Constraint constraint) {
    struct Field {
        const char* list;
        const char* name;
    };
    static constexpr Field kFields[] = {
        // by ConstraintKind
        {"topology.hosts", "uplink"},   {"topology.racks", "uplink"},     {"appliances", "link"},
        {"appliances", "capacity_min"}, {"topology.hosts", "encryption"}, {"topology.hosts", "vms_max"},
    };
    static_assert(std::size(kFields) == static_cast<std::size_t>(ConstraintKind::kSlots) + 1);
    const Field& field = kFields[static_cast<std::size_t>(constraint.kind)];
    return std::string(field.list) + '[' + std::to_string(constraint.index) + "]." + field.name;
}

std::uint64_t amount(ConstraintKind kind, placement::Tokens tokens) {
    return is_link(kind) ? tokens * 8 : tokens;
}

const char* unit_of(ConstraintKind kind) {
    return is_link(kind) ? "bit/s" : kind == ConstraintKind::kSlots ? "vnics" : "tokens/s";
}

json constraint_json(const ClusterPlan& made, Constraint constraint) {
    return {{"constraint", placement::name_of(constraint.kind)},
            {"name", placement::id_of(made.topology, constraint)},
            {"what", placement::describe(made.topology, constraint)},
            {"unit", unit_of(constraint.kind)}};
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
    json out = constraint_json(made, load.constraint);
    out.update({{"need", amount(kind, load.need)},
                {"have", amount(kind, load.have)},
                {"over", load.is_over()},
                {"vnics", made.risks[index].vnics},
                {"admissible", made.risks[index].admissible},
                {"tenants", std::move(parts)}});
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
    json out = constraint_json(made, broken.constraint);
    out.update({{"tenant", made.tenants[broken.tenant].id},
                {"guaranteed", amount(kind, broken.guaranteed)},
                {"possible", amount(kind, broken.possible)}});
    return out;
}

/// Adds the changes by the plan: new, changed and gone tenants, new over-commitments, new broken guarantees.
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

Tokens planned_encryption(const ClusterConfig& config, const HostConfig& host) {
    return host.encryption_tokens == 0
               ? placement::kUnlimited
               : static_cast<Tokens>(static_cast<double>(host.encryption_tokens) * (1 - config.headroom));
}

}  // namespace

placement::Topology topology_of(const ClusterConfig& config) {
    const auto usable = [&](std::uint64_t bps) {
        return static_cast<Tokens>(static_cast<double>(bps) * (1 - config.headroom)) / kBitsPerByte;
    };
    const auto racks = numbers_of(config.racks);
    const auto hosts = numbers_of(config.hosts);
    placement::Topology out;
    for (const RackConfig& rack : config.racks)
        out.racks.push_back({.id = rack.name, .uplink = usable(rack.uplink_bps)});
    for (const HostConfig& host : config.hosts)
        out.hosts.push_back({.id = host.name,
                             .uplink = usable(host.uplink_bps),
                             .rack = number_in(racks, host.rack),
                             .slots = host.vms_max == 0 ? UINT32_MAX : host.vms_max,
                             .encryption = planned_encryption(config, host)});
    for (const ClusterApplianceConfig& appliance : config.appliances)
        out.appliances.push_back(
            {.id = appliance.name,
             .type = appliance.name,
             .capacity = appliance.capacity_min,
             .host = number_in(hosts, appliance.host),
             .link = appliance.link_bps == 0 ? placement::kUnlimited : usable(appliance.link_bps)});
    return out;
}

std::vector<placement::Tenant> tenants_of(const ClusterConfig& config) {
    const auto hosts = numbers_of(config.hosts);
    const auto appliances = numbers_of(config.appliances);
    std::vector<placement::Tenant> out;
    for (const TenantConfig& tenant : config.tenants) {
        placement::Tenant& made = out.emplace_back();
        made.id = tenant.name;
        for (const TenantVnicConfig& vnic : tenant.vnics)
            made.vnics.push_back({.id = vnic.name,
                                  .reservation = vnic.reservation_bps / kBitsPerByte,
                                  .host = number_in(hosts, vnic.host),
                                  .encryption = vnic.worker.encrypt_reservation.value_or(0)});
        for (const TenantApplianceConfig& part : tenant.appliances) {
            // Without a reservation of tokens there is no guaranteed bandwidth either.
            const Tokens bandwidth =
                part.bandwidth_bps ? *part.bandwidth_bps / kBitsPerByte : placement::kUnlimited;
            made.appliances.push_back({.id = part.name,
                                       .type = part.name,
                                       .reservation = part.reservation_tokens,
                                       .bandwidth = part.reservation_tokens == 0 ? 0 : bandwidth,
                                       .appliance = number_in(appliances, part.name)});
        }
    }
    const std::vector<std::uint64_t> reserved = pool_reservations(config.pools);
    for (std::size_t i = 0; i < config.pools.size(); ++i) {
        const PoolConfig& pool = config.pools[i];
        if (!pool.parent.empty())
            continue;
        placement::Tenant& made = out.emplace_back();
        made.id = "pool " + pool.name;  // no tenant's name has a space
        made.appliances.push_back({.id = pool.appliance,
                                   .type = pool.appliance,
                                   .reservation = reserved[i],
                                   .bandwidth = 0,
                                   .appliance = number_in(appliances, pool.appliance)});
    }
    return out;
}

Failure failure_of(const ClusterConfig& config, const SharedNeed& shared, const billing::UseTable* use) {
    if (shared.need <= shared.have)
        return {};
    if (shared.have == 0)
        return {.probability = 1};
    const auto need = static_cast<double>(shared.need);
    const auto have = static_cast<double>(shared.have);
    // Bills, and so the measured use, count bytes of vNICs and no tokens of appliances.
    const bool is_link = shared.kind == ConstraintKind::kHostLink || shared.kind == ConstraintKind::kRackLink;
    if (use != nullptr && is_link)
        if (const std::optional<double> measured = use->failure(need, have, shared.sharers))
            return {.probability = *measured, .measured = true};
    const auto vnics =
        static_cast<std::uint32_t>(std::clamp<std::size_t>(shared.sharers.size(), 1, billing::kVmsMax));
    return {.probability = billing::failure_probability(vnics, config.overcommit_utilization, need / have)};
}

bool may_need(const ClusterConfig& config, const SharedNeed& shared, const Failure& failure) {
    if (shared.need <= shared.have)
        return true;
    return config.overcommit && shared.kind != ConstraintKind::kSlots &&
           failure.probability <= config.overcommit_failure_max;
}

bool ClusterPlan::admitted() const {
    return std::ranges::all_of(plan.entries, &placement::Plan::Entry::in) &&
           std::ranges::all_of(risks, &Risk::admissible);
}

ClusterPlan plan_cluster(const ClusterConfig& config, const RunningCluster* running,
                         const billing::UseTable* use) {
    ClusterPlan made;
    made.topology = topology_of(config);
    if (config.hosts.empty())  // a file of tenants alone: only appliances can be short
        made.topology.hosts.push_back({.id = "-", .uplink = placement::kUnlimited});
    std::vector<placement::Layout> current;
    add_tenants(config, running, made, current);
    drain_hosts(config, made);
    made.plan = placement::make_plan(made.topology, placement::LinkNeed::kHose, made.tenants, current,
                                     placement::Misfits::kForce);
    for (const placement::Load& load : made.plan.after.loads) {
        ClusterPlan::Risk risk;
        const SharedNeed shared{load.constraint.kind, load.need, load.have, sharers_of(made, load)};
        risk.vnics = static_cast<std::uint32_t>(shared.sharers.size());
        if (shared.kind != ConstraintKind::kSlots)
            risk.failure = failure_of(config, shared, use);
        risk.admissible = may_need(config, shared, risk.failure);
        made.risks.push_back(risk);
    }
    return made;
}

Faults faults_of(const ClusterConfig& config, const ClusterPlan& made) {
    Faults faults;
    for (std::size_t i = 0; i < made.risks.size(); ++i) {
        const placement::Load& load = made.plan.after.loads[i];
        const ConstraintKind kind = load.constraint.kind;
        const bool drained =
            kind == ConstraintKind::kSlots && made.topology.hosts[load.constraint.index].drained;
        if (made.risks[i].admissible || (load.have == 0 && !drained))  // the file lacks the host or appliance
            continue;
        std::string allowed = "at most " + placement::amount_text(kind, load.have);
        if (kind != ConstraintKind::kSlots)
            allowed +=
                config.overcommit ? ", or a larger \"overcommit_failure_max\"" : ", or \"overcommit\": true";
        const std::string what = kind == ConstraintKind::kSlots ? "vNICs: " : "guarantees of ";
        const std::string path = drained
                                     ? "topology.hosts[" + std::to_string(load.constraint.index) + "].drain"
                                     : path_of(load.constraint);
        faults.push_back({path, what + placement::amount_text(kind, load.need), std::move(allowed),
                          placement::describe(made.topology, load.constraint) +
                              " cannot keep these promises; weirctl plan FILE lists the tenants"});
    }
    return faults;
}

Faults placement_faults(const ClusterConfig& config) {
    return faults_of(config, plan_cluster(config));
}

std::string_view name_of(ClusterPlan::Standing standing) {
    static constexpr std::string_view kNames[] = {"new", "changed", "unchanged"};
    static_assert(std::size(kNames) == static_cast<std::size_t>(ClusterPlan::Standing::kUnchanged) + 1);
    return kNames[static_cast<std::size_t>(standing)];
}

json plan_json(const ClusterConfig& config, const ClusterPlan& made, const RunningCluster* running) {
    json out{{"cluster", config.name},
             {"hosts", config.hosts.size()},
             {"admitted", made.admitted()},
             {"overcommit",
              {{"allowed", config.overcommit},
               {"utilization", config.overcommit_utilization},
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
