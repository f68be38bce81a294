// service_network.h - hosts of a service scenario: links, encryption in the switch, appliances behind them,
// and the route of each flow. Threads: one.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "bench/sim/services/service_link.h"
#include "bench/sim/services/service_queue.h"

namespace weir::sim {

class ServiceNetwork {
  public:
    /// @param scenario, engine, pool outlive the network
    ServiceNetwork(const ServiceScenario& scenario, Engine& engine, RequestPool& pool);

    /// From the VM there, and back from an appliance. It lives as long as the network.
    [[nodiscard]] const Route& add_route(const ServiceLoad& load, std::uint32_t vm);
    [[nodiscard]] const ServiceQueue& service(std::uint32_t number) const { return services_[number]; }
    /// Bytes that came to the host, and left it.
    [[nodiscard]] std::uint64_t bytes_in(std::uint32_t host) const { return in_[host].sent_bytes(); }
    [[nodiscard]] std::uint64_t bytes_out(std::uint32_t host) const { return out_[host].sent_bytes(); }

  private:
    void add_encryption(const ServiceHost& host, Engine& engine, RequestPool& pool);
    void way(std::uint32_t from, std::uint32_t to, Route& route);

    const ServiceScenario& scenario_;
    WireDelay delay_;
    std::deque<ServiceQueue> services_;
    std::deque<ServiceSpec> encryption_specs_;
    std::deque<ServiceQueue> encryption_;
    std::vector<ServiceQueue*> encryption_of_;  // by host; null: takes no time
    std::deque<ServiceLink> out_;               // by host
    std::deque<ServiceLink> in_;
    std::deque<Route> routes_;
};

/// Connections of all loads together; each VM's come after those of the VM before.
[[nodiscard]] std::uint32_t connections_of(const ServiceScenario& scenario);

}  // namespace weir::sim
