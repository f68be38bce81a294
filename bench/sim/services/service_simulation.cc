// service_simulation.cc - the cluster of a scenario, and the ring of demands and rates.
#include "bench/sim/services/service_simulation.h"

#include <nlohmann/json.hpp>

namespace weir::sim {
namespace {

using nlohmann::json;

constexpr Nanos kSampleEvery = 10'000'000;
constexpr std::uint32_t kSample = 0;
constexpr std::uint32_t kInterval = 1;
constexpr auto kTokens = static_cast<std::size_t>(wire::Part::kAppliance);

std::string vm_name(const std::string& tenant, std::uint32_t vm) {
    return tenant + "." + std::to_string(vm + 1);
}

}  // namespace

ServiceSimulation::ServiceSimulation(const ServiceScenario& scenario)
    : scenario_(scenario),
      config_(make_config()),
      cluster_(config_,
               [this](std::string_view, std::string_view name) {
                   return ids_.emplace(std::string(name), static_cast<std::uint32_t>(ids_.size() + 1))
                       .first->second;
               }),
      solver_(config_),
      sampling_(scenario.seed, UINT64_MAX),
      service_told_(scenario.services.size()) {
    for (const ServiceSpec& service : scenario.services)
        services_.emplace_back(engine_, pool_, service, scenario.delay);
    HostIndex host = 0;
    for (const ServiceTenant& tenant : scenario.tenants)
        for (std::uint32_t vm = 0; vm < tenant.vms; ++vm)
            cluster_.put_vnic(ids_.at(vm_name(tenant.name, vm)), host++, "", 0);
    for (const ServiceLoad& load : scenario.loads)
        for (std::uint32_t vm = 0; vm < scenario.tenants[load.tenant].vms; ++vm)
            flows_.emplace_back(*this, load, vm);
    engine_.at(kSampleEvery, *this, kSample);
    engine_.at(scenario.interval, *this, kInterval);
}

/// Every VM on a host of its own, whose link is never short: here only services are.
ClusterConfig ServiceSimulation::make_config() const {
    ClusterConfig config;
    config.interval = scenario_.interval;
    for (const ServiceSpec& service : scenario_.services) {
        ClusterApplianceConfig& appliance = config.appliances.emplace_back();
        appliance.name = service.name;
        appliance.capacity_min = service.capacity_min;
        appliance.capacity_max = service.capacity_max;
    }
    for (const ServiceTenant& each : scenario_.tenants) {
        TenantConfig& tenant = config.tenants.emplace_back();
        tenant.name = each.name;
        for (std::uint32_t vm = 0; vm < each.vms; ++vm) {
            config.hosts.emplace_back().name = vm_name(each.name, vm);
            tenant.vnics.emplace_back().name = vm_name(each.name, vm);
        }
        for (const ServiceTenant::Part& part : each.parts)
            tenant.appliances.push_back({.name = scenario_.services[part.service].name,
                                         .reservation_tokens = part.reservation,
                                         .limit_tokens = {}});
    }
    return config;
}

ServiceSimulation::Flow::Flow(ServiceSimulation& site, const ServiceLoad& load, std::uint32_t vm)
    : key{site.ids_.at(vm_name(site.scenario_.tenants[load.tenant].name, vm)),
          site.ids_.at(site.scenario_.services[load.service].name)},
      client(site.engine_, site.pool_, site.services_[load.service], load,
             Random(site.scenario_.seed, site.flows_.size())),
      tenant(load.tenant) {
    std::uint64_t reservation = 0;
    for (const ServiceTenant::Part& part : site.scenario_.tenants[load.tenant].parts)
        reservation += part.service == load.service ? part.reservation : 0;
    silent_rate = std::max<std::uint64_t>(1, reservation / site.scenario_.tenants[load.tenant].vms);
    client.set_rate(site.scenario_.isolation ? silent_rate : UINT64_MAX);
}

void ServiceSimulation::fire(std::uint32_t what) {
    if (what == kSample) {
        for (Flow& flow : flows_)
            flow.client.sample();
        // Clocks of agents and buckets are not in step.
        engine_.after(kSampleEvery / 2 + sampling_.below(kSampleEvery), *this, kSample);
        return;
    }
    if (scenario_.isolation)
        control();
    record();
    engine_.after(scenario_.interval, *this, kInterval);
}

void ServiceSimulation::control() {
    for (Flow& flow : flows_) {
        wire::FlowDemand demand = flow.client.take_demand();
        demand.flow = flow.key;
        if (flow.client.seen())
            demands_[flow.key] = demand;
    }
    std::map<wire::FlowKey, std::uint64_t> rates;
    for (const wire::FlowAllocation& rate : solver_.solve(cluster_, demands_, true))
        rates[rate.flow] = rate.rate[kTokens];
    for (Flow& flow : flows_) {
        const auto rate = rates.find(flow.key);
        const bool said = rate != rates.end() && rate->second != wire::kNoStatement;
        flow.client.set_rate(said ? rate->second : flow.silent_rate);
    }
}

void ServiceSimulation::record() {
    const double seconds = static_cast<double>(scenario_.interval) / kNanosPerSec;
    Row row{.at = engine_.now(),
            .served = std::vector<double>(scenario_.tenants.size()),
            .service_served = {},
            .estimate = {},
            .allocate = {}};
    for (Flow& flow : flows_) {
        row.served[flow.tenant] += static_cast<double>(flow.client.served_tokens() - flow.told) / seconds;
        flow.told = flow.client.served_tokens();
    }
    for (std::uint32_t i = 0; i < services_.size(); ++i) {
        row.service_served.push_back(static_cast<double>(services_[i].served_tokens() - service_told_[i]) /
                                     seconds);
        service_told_[i] = services_[i].served_tokens();
        row.estimate.push_back(scenario_.isolation ? solver_.appliances().state(i).estimate : 0);
        row.allocate.push_back(scenario_.isolation ? solver_.appliances().state(i).allocate : 0);
    }
    rows_.push_back(std::move(row));
}

json ServiceSimulation::result() const {
    json answer{{"title", scenario_.title},
                {"isolation", scenario_.isolation},
                {"seed", scenario_.seed},
                {"interval_ns", scenario_.interval},
                {"series", {{"tenants", json::object()}, {"services", json::object()}}}};
    for (std::size_t i = 0; i < scenario_.tenants.size(); ++i)
        for (const Row& row : rows_)
            answer["series"]["tenants"][scenario_.tenants[i].name]["served"].push_back(row.served[i]);
    for (std::size_t i = 0; i < scenario_.services.size(); ++i) {
        json& service = answer["series"]["services"][scenario_.services[i].name];
        for (const Row& row : rows_) {
            service["served"].push_back(row.service_served[i]);
            service["estimate"].push_back(row.estimate[i]);
            service["allocate"].push_back(row.allocate[i]);
        }
    }
    return answer;
}

}  // namespace weir::sim
