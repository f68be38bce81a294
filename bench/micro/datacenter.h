// datacenter.h - the allocation problem of Pulsar 6.4: 12 VMs on a server, one flow each, 44 % of them to
// appliances, the rest to other VMs; an uplink and a downlink per server and the appliances are the
// resources. Deterministic. Threads: any.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "ctrl/alloc/mechanism.h"

namespace weir::bench {

struct Datacenter {
    alloc::DemandMatrix demand;
    std::vector<double> weights;
    std::vector<double> capacity;
    alloc::ShareTree tenants;

    [[nodiscard]] alloc::Problem problem() const {
        return {
            .demand = demand, .weights = weights, .capacity = capacity, .share_base = {}, .tree = &tenants};
    }
};

struct DatacenterShape {
    std::uint32_t servers = 2000;
    std::uint32_t vms_per_server = 12;
    double load = 1;    ///< demand of all flows on the uplinks over their capacity
    double active = 1;  ///< part of the VMs that want something
    std::uint32_t vms_per_tenant = 48;
};

/// A server in ten has an appliance; a request to it carries as many bytes as the answer, and costs as many
/// tokens.
[[nodiscard]] inline Datacenter make_datacenter(const DatacenterShape& shape) {
    constexpr double kLink = 1.25e9;  // bytes a second
    const std::uint32_t appliances = shape.servers / 10;
    const std::uint32_t vms = shape.servers * shape.vms_per_server;
    std::mt19937_64 random(shape.servers);
    const auto uniform = [&random] { return static_cast<double>(random() >> 11) * 0x1p-53; };
    const auto below = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(uniform() * bound); };

    Datacenter made;
    made.capacity.assign(2 * shape.servers, kLink);  // uplinks, then downlinks
    made.capacity.insert(made.capacity.end(), appliances, 5.3 * kLink);
    made.demand.reserve(vms, std::size_t{3} * vms);
    for (std::uint32_t vm = 0; vm < vms; ++vm) {
        const std::uint32_t server = vm / shape.vms_per_server;
        const double tokens = shape.load * kLink / shape.vms_per_server * 2 * uniform();
        if (uniform() < shape.active) {
            made.demand.put(server, tokens);
            if (uniform() < 0.44) {
                made.demand.put(shape.servers + server, tokens * 2 * uniform());
                made.demand.put(2 * shape.servers + below(appliances), tokens);
            } else {
                made.demand.put(shape.servers + below(shape.servers), tokens);
            }
        }
        made.demand.end_flow();
        made.weights.push_back(1);
        // Tenants are spread over the servers.
        made.tenants.node_of_flow.push_back(below((vms + shape.vms_per_tenant - 1) / shape.vms_per_tenant));
    }
    made.tenants.parent.assign((vms + shape.vms_per_tenant - 1) / shape.vms_per_tenant, alloc::kNone);
    made.tenants.weight.assign(made.tenants.parent.size(), 1.0);
    return made;
}

}  // namespace weir::bench
