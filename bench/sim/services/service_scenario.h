// service_scenario.h - tenants whose VMs use shared services through enforcers, under the controller: what is
// simulated. Source: Pulsar 6.2. Units: in the field names. Threads: built at start; read-only afterwards.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/clock.h"
#include "common/error.h"
#include "cost_functions/cost_table.h"

namespace weir::sim {

/// How long a server is busy with a request, by its size: linear between points, and beyond the last.
struct ServiceCurve {
    struct Point {
        std::uint32_t bytes;
        double nanos;
    };
    std::vector<Point> points;  ///< rising sizes; at least one

    [[nodiscard]] Nanos time_of(std::uint32_t bytes) const;
};

/// Servers with one queue, first come, first served.
struct ServiceSpec {
    std::string name;
    std::uint32_t servers = 1;
    ServiceCurve read;
    ServiceCurve write;
    std::shared_ptr<const CostTable> costs;
    std::uint64_t capacity_min = 0;  ///< tokens/s, for the search
    std::uint64_t capacity_max = 0;
};

struct ServiceTenant {
    struct Part {
        std::uint32_t service;
        std::uint64_t reservation;  ///< tokens/s
    };
    std::string name;
    std::uint32_t vms = 1;
    std::vector<Part> parts;
};

/// What every VM of a tenant does with a service.
struct ServiceLoad {
    std::uint32_t tenant = 0;
    std::uint32_t service = 0;
    double reads = 1;  ///< part of the requests; the others write
    std::uint32_t bytes = 0;
    std::uint32_t outstanding = 0;  ///< closed loop: that many at once
    double per_second = 0;          ///< open loop: requests/s, Poisson; 0 = closed
    Nanos from = 0;
    Nanos to = kNever;
};

struct ServiceScenario {
    std::string title;
    std::uint64_t seed = 1;
    Nanos duration = 0;
    Nanos interval = kNanosPerSec;
    Nanos delay = 20'000;   ///< network, each way
    bool isolation = true;  ///< enforcers and the controller; else everything passes
    std::vector<ServiceSpec> services;
    std::vector<ServiceTenant> tenants;
    std::vector<ServiceLoad> loads;
};

/// Parses JSON with comments; all faults, in the order of the text.
/// @param costs folder of the cost tables that services name
[[nodiscard]] std::variant<ServiceScenario, Faults> parse_service_scenario(std::string_view text,
                                                                           const std::string& costs);
[[nodiscard]] std::variant<ServiceScenario, Faults> load_service_scenario(const std::string& file,
                                                                          const std::string& costs);

}  // namespace weir::sim
