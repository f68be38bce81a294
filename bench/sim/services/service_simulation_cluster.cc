// service_simulation_cluster.cc - specification that weir-ctrl would have of a service scenario: hosts,
// appliances and tenants by their names.
#include <algorithm>
#include <utility>

#include "bench/sim/services/service_simulation.h"

namespace weir::sim {
namespace {

/// Bits or tokens a second of a resource that is never short.
constexpr std::uint64_t kPlenty = 1'000'000'000'000;

ClusterApplianceConfig appliance_of(const ServiceScenario& scenario, const ServiceSpec& service) {
    const bool searched = scenario.isolation == ServiceIsolation::kWeir;
    ClusterApplianceConfig appliance;
    appliance.name = service.name;
    if (service.host != kNone)
        appliance.host = scenario.hosts[service.host].name;
    appliance.capacity_min = searched ? service.capacity_min : kPlenty;
    appliance.capacity_max = searched ? service.capacity_max : kPlenty;
    return appliance;
}

/// The specification, with appliances in the order of the scenario's services, then those without load.
ClusterConfig specified(const ServiceScenario& scenario) {
    ClusterConfig config = *scenario.specification;
    const std::vector<ClusterApplianceConfig> all = std::exchange(config.appliances, {});
    for (const ServiceSpec& service : scenario.services) {
        config.appliances.push_back(*std::ranges::find(all, service.name, &ClusterApplianceConfig::name));
        const ClusterApplianceConfig bounds = appliance_of(scenario, service);
        config.appliances.back().capacity_min = bounds.capacity_min;
        config.appliances.back().capacity_max = bounds.capacity_max;
    }
    for (const ClusterApplianceConfig& each : all)
        if (std::ranges::find(scenario.services, each.name, &ServiceSpec::name) == scenario.services.end())
            config.appliances.push_back(each);
    return config;
}

}  // namespace

std::string vm_name(const ServiceTenant& tenant, std::uint32_t vm) {
    if (!tenant.vnics.empty())
        return tenant.vnics[vm];
    return tenant.name + "." + std::to_string(vm + 1);
}

ClusterConfig cluster_of(const ServiceScenario& scenario) {
    if (scenario.specification)
        return specified(scenario);
    ClusterConfig config;
    config.interval = scenario.interval;
    for (const ServiceHost& host : scenario.hosts) {
        config.hosts.emplace_back().name = host.name;
        config.hosts.back().uplink_bps = host.link_bps;
    }
    for (const ServiceSpec& service : scenario.services)
        config.appliances.push_back(appliance_of(scenario, service));
    for (const ServiceTenant& each : scenario.tenants) {
        TenantConfig& tenant = config.tenants.emplace_back();
        tenant.name = each.name;
        for (std::uint32_t vm = 0; vm < each.vms; ++vm) {
            TenantVnicConfig& vnic = tenant.vnics.emplace_back();
            vnic.name = vm_name(each, vm);
            vnic.reservation_bps = each.reservation_bps;
            if (each.hosts.empty()) {
                config.hosts.emplace_back().name = vnic.name;
                config.hosts.back().uplink_bps = kPlenty;
            }
            vnic.host = each.hosts.empty() ? vnic.name : scenario.hosts[each.hosts[vm]].name;
        }
        for (const ServiceTenant::Part& part : each.parts)
            tenant.appliances.push_back({.name = scenario.services[part.service].name,
                                         .reservation_tokens = part.reservation,
                                         .limit_tokens = {}});
    }
    return config;
}

}  // namespace weir::sim
