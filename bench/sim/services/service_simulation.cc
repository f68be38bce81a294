// service_simulation.cc - ServiceSimulation: the cycle of demands and rates, and the rows of the result.
#include "bench/sim/services/service_simulation.h"

#include <nlohmann/json.hpp>

#include "common/units.h"

namespace weir::sim {
namespace {

using nlohmann::json;

constexpr Nanos kSampleEvery = 10'000'000;
constexpr std::uint32_t kSample = 0;
constexpr std::uint32_t kInterval = 1;
constexpr ServiceClient::Rates kAll{wire::kNoStatement, wire::kNoStatement, wire::kNoStatement};
/// A switch sends early demands this part of an interval after its last message at the soonest
/// (vswitch/agent/controller_session.cc).
constexpr Nanos kEarlyPart = 10;

/// Growth of a counter since the last call, per second. @param counted its value then; is set to `now`
double per_second(std::uint64_t now, std::uint64_t& counted, Nanos interval) {
    const auto grown = static_cast<double>(now - counted);
    counted = now;
    return grown * kNanosPerSec / static_cast<double>(interval);
}

}  // namespace

ServiceSimulation::ServiceSimulation(const ServiceScenario& scenario)
    : scenario_(scenario),
      config_(cluster_of(scenario)),
      network_(scenario, engine_, pool_),
      cluster_(config_,
               [this](std::string_view, std::string_view name) {
                   return ids_.emplace(std::string(name), static_cast<std::uint32_t>(ids_.size() + 1))
                       .first->second;
               }),
      solver_(config_),
      sampling_(scenario.seed, UINT64_MAX),
      service_counted_(scenario.services.size()),
      host_counted_(scenario.hosts.size()) {
    for (const TenantConfig& tenant : config_.tenants)
        for (const TenantVnicConfig& vnic : tenant.vnics)
            cluster_.place_vnic(ids_.at(vnic.name), cluster_.find_host(vnic.host), "", 0);
    for (const ServiceLoad& load : scenario.loads)
        for (std::uint32_t vm = 0; vm < scenario.tenants[load.tenant].vms; ++vm)
            if (vm != load.to_vm)
                flows_.emplace_back(*this, load, vm);
    engine_.at(kSampleEvery, *this, kSample);
    engine_.at(scenario.interval, *this, kInterval);
}

/// The reservations, divided among the tenant's VMs.
ServiceClient::Rates ServiceSimulation::silent_rates(const ServiceLoad& load, std::uint32_t vm) const {
    ServiceClient::Rates rates = kAll;
    const ServiceTenant& tenant = scenario_.tenants[load.tenant];
    if (!scenario_.controlled())
        return rates;
    if (load.service == kNone) {
        const std::uint64_t reservation = config_.tenants[load.tenant].vnics[vm].reservation_bps;
        rates[wire::kThere] = std::max<std::uint64_t>(1, reservation / kBitsPerByte / tenant.vms);
        return rates;
    }
    std::uint64_t reservation = 0;
    for (const ServiceTenant::Part& part : tenant.parts)
        reservation += part.service == load.service ? part.reservation : 0;
    if (scenario_.isolation == ServiceIsolation::kWeir)
        rates[wire::kTokens] = std::max<std::uint64_t>(1, reservation / tenant.vms);
    return rates;
}

ServiceClient ServiceSimulation::make_client(const ServiceLoad& load, std::uint32_t vm) {
    const CostTable* costs = load.service == kNone ? nullptr : scenario_.services[load.service].costs.get();
    const std::uint32_t first = connections_;
    connections_ += load.connections;
    return {engine_,
            pool_,
            load,
            costs,
            network_.add_route(load, vm),
            first,
            Random(scenario_.seed, flows_.size())};
}

ServiceSimulation::Flow::Flow(ServiceSimulation& site, const ServiceLoad& load, std::uint32_t vm)
    : key{site.ids_.at(vm_name(site.scenario_.tenants[load.tenant], vm)),
          site.ids_.at(load.service == kNone ? vm_name(site.scenario_.tenants[load.tenant], load.to_vm)
                                             : site.scenario_.services[load.service].name)},
      client(site.make_client(load, vm)),
      tenant(load.tenant),
      silent(site.silent_rates(load, vm)) {
    client.set_rates(silent);
}

void ServiceSimulation::fire(std::uint32_t what) {
    if (what == kSample) {
        for (Flow& flow : flows_)
            flow.client.sample();
        if (scenario_.controlled())
            control_early();
        // Clocks of agents and buckets are not in step.
        engine_.after(kSampleEvery / 2 + sampling_.below(kSampleEvery), *this, kSample);
        return;
    }
    if (scenario_.controlled())
        control();
    record();
    engine_.after(scenario_.interval, *this, kInterval);
}

/// Two loads of a VM on one way are one flow, and one of them at a time is on.
void ServiceSimulation::put_demand(const Flow& flow, const wire::FlowDemand& demand) {
    wire::FlowDemand& sum = demands_[flow.key];
    if (demand.used[wire::kThere] >= sum.used[wire::kThere])
        sum = demand;
    sum.flow = flow.key;
}

void ServiceSimulation::control() {
    demands_.clear();
    for (Flow& flow : flows_) {
        const wire::FlowDemand demand = flow.client.take_demand();
        if (flow.client.seen())
            put_demand(flow, demand);
    }
    allocate(true);
}

void ServiceSimulation::control_early() {
    const Nanos passed = engine_.now() % scenario_.interval;
    if (engine_.now() < allocated_at_ + scenario_.interval / kEarlyPart || passed == 0)
        return;
    bool is_new = false;
    for (const Flow& flow : flows_) {
        if (!flow.client.seen() || demands_.contains(flow.key))
            continue;
        put_demand(flow,
                   flow.client.demand(static_cast<double>(passed) / static_cast<double>(scenario_.interval)));
        is_new = true;
    }
    if (is_new)
        allocate(false);
}

void ServiceSimulation::allocate(bool whole) {
    allocated_at_ = engine_.now();
    std::map<wire::FlowKey, ServiceClient::Rates> rates;
    for (const wire::FlowAllocation& rate : solver_.solve(cluster_, demands_, whole))
        rates[rate.flow] = rate.rate;
    for (Flow& flow : flows_) {
        const auto allocated = rates.find(flow.key);
        ServiceClient::Rates next = allocated == rates.end() ? kAll : allocated->second;
        if (scenario_.isolation == ServiceIsolation::kNetwork)
            next[wire::kTokens] = wire::kNoStatement;
        for (std::size_t i = 0; i < next.size(); ++i)
            next[i] = next[i] == wire::kNoStatement ? flow.silent[i] : next[i];
        flow.client.set_rates(next);
    }
}

void ServiceSimulation::record() {
    Row row{.at = engine_.now(),
            .served = std::vector<double>(scenario_.tenants.size()),
            .service_served = {},
            .host_in = {},
            .estimate = {},
            .allocate = {}};
    for (Flow& flow : flows_)
        row.served[flow.tenant] += per_second(flow.client.served_tokens(), flow.counted, scenario_.interval);
    for (std::uint32_t i = 0; i < host_counted_.size(); ++i)
        row.host_in.push_back(per_second(network_.bytes_in(i), host_counted_[i], scenario_.interval));
    for (std::uint32_t i = 0; i < service_counted_.size(); ++i) {
        row.service_served.push_back(
            per_second(network_.service(i).served_tokens(), service_counted_[i], scenario_.interval));
        row.estimate.push_back(scenario_.controlled() ? solver_.capacities().state(i).estimate : 0);
        row.allocate.push_back(scenario_.controlled() ? solver_.capacities().state(i).allocate : 0);
    }
    rows_.push_back(std::move(row));
}

json ServiceSimulation::result() const {
    json answer{
        {"title", scenario_.title},
        {"isolation", name_of(scenario_.isolation)},
        {"seed", scenario_.seed},
        {"interval_ns", scenario_.interval},
        {"events", engine_.fired()},
        {"series", {{"tenants", json::object()}, {"services", json::object()}, {"hosts", json::object()}}}};
    for (std::size_t i = 0; i < scenario_.tenants.size(); ++i)
        for (const Row& row : rows_)
            answer["series"]["tenants"][scenario_.tenants[i].name]["served"].push_back(row.served[i]);
    for (std::size_t i = 0; i < scenario_.hosts.size(); ++i)
        for (const Row& row : rows_)
            answer["series"]["hosts"][scenario_.hosts[i].name]["in"].push_back(row.host_in[i]);
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
