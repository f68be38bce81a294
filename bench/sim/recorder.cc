// recorder.cc - Recorder: one event per sample.
#include "bench/sim/recorder.h"

#include <nlohmann/json.hpp>

namespace weir::sim {

using nlohmann::json;

json PacketCounts::to_json() const {
    return {{"sent", sent},
            {"delivered", delivered},
            {"feedback", feedback},
            {"feedback_received", feedback_received},
            {"dropped_in_hosts", dropped_in_hosts},
            {"dropped_at_edge", dropped_at_edge},
            {"dropped_in_core", dropped_in_core},
            {"in_flight", in_flight}};
}

Recorder::Recorder(const Scenario& scenario, const Site& site, Fabric& fabric)
    : scenario_(scenario), site_(site), fabric_(fabric), tenants_(scenario.tenants.size()) {
    for (const std::uint32_t host : scenario.watch)
        watched_.push_back({host, std::vector<Rates>(scenario.tenants.size()), {}});
    site.world.engine.at(scenario.sample, *this);
}

void Recorder::add_rate(Rates& rates, std::uint64_t bytes) const {
    rates.rate.push_back(per_second(8 * (bytes - rates.bytes), scenario_.sample));
    rates.bytes = bytes;
}

void Recorder::fire(std::uint32_t) {
    const Nanos now = site_.world.now();
    times_.push_back(now);
    for (std::size_t t = 0; t < tenants_.size(); ++t) {
        std::uint64_t bytes = 0;
        for (const std::uint32_t host : scenario_.tenants[t].hosts)
            bytes += site_.received_bytes(static_cast<std::uint32_t>(t), host);
        add_rate(tenants_[t], bytes);
    }
    for (Watched& watched : watched_) {
        watched.queue.push_back(fabric_.edge_port(watched.host).take_peak());
        for (std::size_t t = 0; t < tenants_.size(); ++t) {
            const auto tenant = static_cast<std::uint32_t>(t);
            if (site_.endpoint(tenant, watched.host) == Site::kNowhere)
                continue;
            add_rate(watched.tenants[t], site_.received_bytes(tenant, watched.host));
            const EndpointReading reading = site_.reading(tenant, watched.host);
            watched.tenants[t].advertised.push_back(8 * reading.advertised);
            watched.tenants[t].capacity.push_back(8 * reading.capacity);
        }
    }
    if (now >= scenario_.warmup)
        sample_queues();
    site_.world.engine.after(scenario_.sample, *this);
}

void Recorder::sample_queues() {
    for (const auto& port : fabric_.edge_ports())
        edge_.add(port->queue_bytes());
    for (const auto& port : fabric_.core_ports())
        core_.add(port->queue_bytes());
}

json Recorder::series() const {
    json tenants = json::object();
    for (std::size_t t = 0; t < tenants_.size(); ++t)
        tenants[scenario_.tenants[t].name] = {{"received_bps", tenants_[t].rate}};
    json hosts = json::object();
    for (const Watched& watched : watched_) {
        json received = json::object();
        for (std::size_t t = 0; t < tenants_.size(); ++t)
            if (!watched.tenants[t].rate.empty())
                received[scenario_.tenants[t].name] = {{"received_bps", watched.tenants[t].rate},
                                                       {"advertised_bps", watched.tenants[t].advertised},
                                                       {"capacity_bps", watched.tenants[t].capacity}};
        hosts[std::to_string(watched.host)] = {{"queue_peak_bytes", watched.queue}, {"tenants", received}};
    }
    return {{"time_ns", times_}, {"tenants", tenants}, {"hosts", hosts}};
}

json Recorder::queues() {
    return {{"edge_bytes", edge_.to_json()}, {"core_bytes", core_.to_json()}};
}

}  // namespace weir::sim
