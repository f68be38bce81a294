// source.h - load of the guests: each source of a scenario is one object, with a stream or connections for
// every pair of its endpoints. Units: ns; bytes. Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "bench/sim/host.h"
#include "bench/sim/scenario.h"
#include "bench/sim/world.h"

namespace weir::sim {

/// The simulation's parts and times that sources use; outlives them.
struct Site {
    static constexpr EndpointId kNowhere = UINT32_MAX;

    World& world;
    const std::vector<Host*>& hosts;
    std::vector<std::vector<EndpointId>> endpoints;  ///< by tenant and host; kNowhere = it has none there
    std::uint64_t seed = 0;
    Nanos measure_from = 0;  ///< of rates, latencies and completion times; counters count from 0 on
    Nanos end = 0;           ///< of the simulation

    [[nodiscard]] EndpointId endpoint(std::uint32_t tenant, std::uint32_t host) const {
        return endpoints[tenant][host];
    }
    /// Bytes on the wire that a tenant's vNIC on a host has received; it has one there.
    [[nodiscard]] std::uint64_t received_bytes(std::uint32_t tenant, std::uint32_t host) const {
        return hosts[host]->received_bytes(world.endpoints[endpoint(tenant, host)].vnic);
    }
    /// Reading of that vNIC's meter.
    [[nodiscard]] EndpointReading reading(std::uint32_t tenant, std::uint32_t host) const {
        return hosts[host]->edge().reading(world.endpoints[endpoint(tenant, host)].vnic);
    }
};

[[nodiscard]] inline std::uint64_t per_second(std::uint64_t amount, Nanos span) {
    return span == 0 ? 0 : static_cast<std::uint64_t>(Wide{amount} * kNanosPerSec / span);
}

class Source {
  public:
    virtual ~Source() = default;
    /// The figures of its traffic: counts, rates, percentiles.
    [[nodiscard]] virtual nlohmann::json summary() = 0;
};

/// @param index of the source in its scenario: gives it its own random numbers
[[nodiscard]] std::unique_ptr<Source> make_source(const Site& site, const SourceSpec& spec,
                                                  std::uint64_t index);

}  // namespace weir::sim
