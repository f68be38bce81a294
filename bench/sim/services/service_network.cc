// service_network.cc - ServiceNetwork: stations, and routes through them.
#include "bench/sim/services/service_network.h"

namespace weir::sim {
namespace {

constexpr std::uint32_t kLarge = 1 << 20;

/// Each tenant's reservation at the service, tokens/s; empty unless the service itself schedules by them.
std::vector<double> weights_at(const ServiceScenario& scenario, std::uint32_t service) {
    std::vector<double> weights;
    if (scenario.isolation != ServiceIsolation::kAppliances)
        return weights;
    for (const ServiceTenant& tenant : scenario.tenants) {
        weights.push_back(0);
        for (const ServiceTenant::Part& part : tenant.parts)
            weights.back() += part.service == service ? static_cast<double>(part.reservation) : 0;
    }
    return weights;
}

std::vector<double> encryption_weights(const ServiceScenario& scenario) {
    std::vector<double> weights;
    if (scenario.isolation == ServiceIsolation::kAppliances || scenario.isolation == ServiceIsolation::kWeir)
        for (const ServiceTenant& tenant : scenario.tenants)
            weights.push_back(static_cast<double>(tenant.encryption));
    return weights;
}

}  // namespace

std::uint32_t connections_of(const ServiceScenario& scenario) {
    std::uint32_t all = 0;
    for (const ServiceLoad& load : scenario.loads)
        all += load.connections * scenario.tenants[load.tenant].vms;
    return all;
}

ServiceNetwork::ServiceNetwork(const ServiceScenario& scenario, Engine& engine, RequestPool& pool)
    : scenario_(scenario), delay_(engine, pool, 2 * scenario.delay) {
    for (std::uint32_t i = 0; i < scenario.services.size(); ++i)
        services_.emplace_back(engine, pool, scenario.services[i], weights_at(scenario, i));
    const std::uint32_t connections = connections_of(scenario);
    for (const ServiceHost& host : scenario.hosts) {
        const auto rate = static_cast<double>(host.link_bps);
        out_.emplace_back(engine, pool, rate, connections);
        in_.emplace_back(engine, pool, rate, connections);
        add_encryption(host, engine, pool);
    }
}

/// One server, in bytes a second.
void ServiceNetwork::add_encryption(const ServiceHost& host, Engine& engine, RequestPool& pool) {
    encryption_of_.push_back(nullptr);
    if (host.encryption == 0)
        return;
    ServiceSpec& spec = encryption_specs_.emplace_back();
    spec.name = host.name + " encryption";
    spec.answers = false;
    spec.read.points = {{0, 0}, {kLarge, 1e9 * kLarge / static_cast<double>(host.encryption)}};
    spec.write = spec.read;
    encryption_.emplace_back(engine, pool, spec, encryption_weights(scenario_));
    encryption_of_.back() = &encryption_.back();
}

void ServiceNetwork::way(std::uint32_t from, std::uint32_t to, Route& route) {
    if (from == to)
        return;
    if (from != kNone)
        route.push_back(&out_[from]);
    if (to != kNone)
        route.push_back(&in_[to]);
}

const Route& ServiceNetwork::add_route(const ServiceLoad& load, std::uint32_t vm) {
    const std::vector<std::uint32_t>& hosts = scenario_.tenants[load.tenant].hosts;
    const std::uint32_t own = hosts.empty() ? kNone : hosts[vm];
    Route& route = routes_.emplace_back();
    if (load.encrypted && own != kNone && encryption_of_[own] != nullptr)
        route.push_back(encryption_of_[own]);
    if (load.service == kNone) {
        way(own, hosts.empty() ? kNone : hosts[load.to_vm], route);
        route.push_back(&delay_);
        return route;
    }
    const std::uint32_t other = scenario_.services[load.service].host;
    way(own, other, route);
    route.push_back(&delay_);
    route.push_back(&services_[load.service]);
    way(other, own, route);
    return route;
}

}  // namespace weir::sim
