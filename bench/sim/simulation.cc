// simulation.cc - Simulation: builds the parts in the order of dependence, and the result as JSON.
#include "bench/sim/simulation.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/sim/rate_limit_edge.h"
#include "bench/sim/weir_edge.h"

namespace weir::sim {

using nlohmann::json;

Simulation::Simulation(const Scenario& scenario)
    : scenario_(scenario),
      site_{.world = world_,
            .hosts = host_list_,
            .endpoints = {},
            .seed = scenario.seed,
            .measure_from = scenario.warmup,
            .end = scenario.duration} {
    const Host::Setup setup{.rate = scenario.network.rate_bps / 8,
                            .delay = scenario.network.delay,
                            .ring = scenario.hosts.ring,
                            .stack_delay = scenario.hosts.stack_delay};
    std::vector<Node*> nodes;
    for (std::uint32_t i = 0; i < scenario.network.hosts; ++i) {
        host_list_.push_back(&hosts_.emplace_back(world_, setup));
        nodes.push_back(host_list_.back());
    }
    fabric_ = std::make_unique<Fabric>(world_.engine, world_.pool, scenario.network, scenario.seed, nodes);
    for (std::uint32_t i = 0; i < scenario.network.hosts; ++i)
        hosts_[i].connect(fabric_->leaf_of(i));
    place_tenants();
    for (Host& host : hosts_)
        host.set_edge(make_edge(host));
    for (std::size_t i = 0; i < scenario.sources.size(); ++i)
        sources_.push_back(make_source(site_, scenario.sources[i], i));
    recorder_ = std::make_unique<Recorder>(scenario, site_, *fabric_);
}

void Simulation::place_tenants() {
    for (std::uint32_t t = 0; t < scenario_.tenants.size(); ++t) {
        const TenantSpec& tenant = scenario_.tenants[t];
        auto& places = site_.endpoints.emplace_back(scenario_.network.hosts, Site::kNowhere);
        for (const std::uint32_t host : tenant.hosts) {
            const auto endpoint = static_cast<EndpointId>(world_.endpoints.size());
            const VnicId vnic = hosts_[host].add_vnic(
                {.endpoint = endpoint,
                 .reservation_bps = tenant.reservation_bps,
                 .limit_bps = tenant.limit_bps,
                 .shares = tenant.shares,
                 .best_effort = scenario_.network.best_effort_class && tenant.reservation_bps == 0 &&
                                scenario_.isolation != Isolation::kOff});
            world_.endpoints.push_back({host, vnic, t});
            places[host] = endpoint;
        }
    }
}

std::unique_ptr<Edge> Simulation::make_edge(Host& host) const {
    if (scenario_.isolation == Isolation::kOff)
        return std::make_unique<PlainEdge>(host, scenario_.hosts.nic_descriptors);
    if (scenario_.isolation == Isolation::kRateLimits)
        return std::make_unique<RateLimitEdge>(site_.world, host, scenario_.rate_limits,
                                               scenario_.network.rate_bps, scenario_.hosts.nic_descriptors);
    return std::make_unique<WeirEdge>(site_.world, host, scenario_.hosts, scenario_.network.rate_bps,
                                      scenario_.isolation, world_.endpoints.size());
}

void Simulation::run_until(Nanos when) {
    world_.engine.run_until(std::min(when, scenario_.duration));
}

PacketCounts Simulation::packets() const {
    PacketCounts counts{.sent = world_.created,
                        .feedback = world_.feedback_created,
                        .delivered = world_.delivered,
                        .feedback_received = world_.feedback_received};
    for (const Host& host : hosts_) {
        counts.dropped_in_hosts += host.edge().dropped();
        counts.in_flight += host.packets();
    }
    for (const auto& port : fabric_->edge_ports()) {
        counts.dropped_at_edge += port->stats().dropped;
        counts.in_flight += port->packets();
    }
    for (const auto& port : fabric_->core_ports()) {
        counts.dropped_in_core += port->stats().dropped;
        counts.in_flight += port->packets();
    }
    return counts;
}

json Simulation::result() {
    json sources = json::object();
    for (std::size_t i = 0; i < sources_.size(); ++i)
        sources[scenario_.sources[i].name] = sources_[i]->summary();
    return {{"schema", 1},
            {"title", scenario_.title},
            {"isolation", isolation_name(scenario_.isolation)},
            {"seed", scenario_.seed},
            {"duration_ns", scenario_.duration},
            {"warmup_ns", scenario_.warmup},
            {"sample_ns", scenario_.sample},
            {"events", world_.engine.fired()},
            {"series", recorder_->series()},
            {"summary",
             {{"sources", sources}, {"queues", recorder_->queues()}, {"packets", packets().to_json()}}}};
}

}  // namespace weir::sim
