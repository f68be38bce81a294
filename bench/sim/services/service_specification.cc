// service_specification.cc - a cluster file, planned, and its lists as those of a service scenario.
#include "bench/sim/services/service_specification.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "bench/sim/services/service_fields.h"
#include "ctrl/placement/cluster_plan.h"

namespace weir::sim {
namespace {

/// Gives each vNIC its host of the plan, which is admitted.
void place_vnics(ClusterConfig& config) {
    const ClusterPlan made = plan_cluster(config);
    std::map<std::string_view, std::string_view> hosts;  // by vNIC
    for (std::size_t t = 0; t < made.tenants.size(); ++t)
        for (std::size_t v = 0; v < made.tenants[t].vnics.size(); ++v)
            hosts.emplace(made.tenants[t].vnics[v].id,
                          made.topology.hosts[made.plan.entries[t].layout.hosts[v]].id);
    for (TenantConfig& tenant : config.tenants)
        for (TenantVnicConfig& vnic : tenant.vnics)
            vnic.host = hosts.at(vnic.name);
}

void take_tenant(const TenantConfig& from, ServiceScenario& scenario) {
    ServiceTenant& tenant = scenario.tenants.emplace_back();
    tenant.name = from.name;
    tenant.vms = static_cast<std::uint32_t>(from.vnics.size());
    for (const TenantVnicConfig& vnic : from.vnics) {
        tenant.vnics.push_back(vnic.name);
        tenant.hosts.push_back(*find(scenario.hosts, vnic.host));
    }
    for (const TenantApplianceConfig& part : from.appliances)
        if (const auto service = find(scenario.services, part.name))
            tenant.parts.push_back({*service, part.reservation_tokens});
}

}  // namespace

std::optional<ClusterConfig> read_specification(ObjectReader& reader, const std::string& folder,
                                                Faults& faults) {
    std::string file;
    if (!reader.read_text("specification", file))
        return std::nullopt;
    for (const char* key : {"hosts", "tenants", "interval"})
        if (reader.take(key) != nullptr)
            reader.fault(key, "nothing beside \"specification\"", "the cluster file has it");
    auto loaded = load_cluster((std::filesystem::path(folder) / file).string(), placement_faults);
    if (const Faults* found = std::get_if<Faults>(&loaded)) {
        for (const Fault& fault : *found)
            faults.push_back({fault.path.empty() ? "specification" : "specification: " + fault.path,
                              fault.found, fault.allowed, fault.message});
        return std::nullopt;
    }
    auto config = std::get<ClusterConfig>(std::move(loaded));
    if (config.hosts.empty()) {
        reader.fault("specification", "a cluster file with hosts", "its vNICs would be on none");
        return std::nullopt;
    }
    place_vnics(config);
    return config;
}

void take_specification(ServiceScenario& scenario, Faults& faults) {
    const ClusterConfig& config = *scenario.specification;
    scenario.interval = config.interval;
    for (const HostConfig& host : config.hosts)
        scenario.hosts.push_back({.name = host.name, .link_bps = host.uplink_bps});
    for (std::size_t i = 0; i < scenario.services.size(); ++i) {
        ServiceSpec& service = scenario.services[i];
        const auto found = std::ranges::find(config.appliances, service.name, &ClusterApplianceConfig::name);
        if (found == config.appliances.end()) {
            faults.push_back({"services[" + std::to_string(i) + "].name", '"' + service.name + '"',
                              "an appliance of the specification", "there is none of this name"});
            continue;
        }
        if (!found->host.empty())
            service.host = *find(scenario.hosts, found->host);
        service.capacity_min = found->capacity_min;
        service.capacity_max = found->capacity_max;
    }
    for (const TenantConfig& tenant : config.tenants)
        take_tenant(tenant, scenario);
}

}  // namespace weir::sim
