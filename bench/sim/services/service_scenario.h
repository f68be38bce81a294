// service_scenario.h - scenario of tenants whose VMs use shared services and the links to them through
// enforcers, under the controller.
// Source: Pulsar 2.1; Pulsar 6.1; Pulsar 6.2
// Units: in the field names.
// Threads: built at start; read-only afterwards.
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
#include "ctrl/config/cluster_config.h"

namespace weir::sim {

inline constexpr std::uint32_t kNone = UINT32_MAX;

/// The parts that keep the tenants' guarantees.
enum class ServiceIsolation : std::uint8_t {
    kOff,         ///< none
    kAppliances,  ///< each appliance by itself, which serves tenants by their guarantees (Pisces, DRFQ)
    kNetwork,     ///< the controller and enforcers, for links alone (Hadrian)
    kWeir  ///< the controller and enforcers, for all; the switch's encryption by the tenants' guarantees
};

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
    std::uint32_t host = kNone;  ///< behind whose link it is; kNone = behind one that is never short
    std::uint32_t servers = 1;
    ServiceCurve read;
    ServiceCurve write;
    std::shared_ptr<const CostTable> costs;
    std::uint64_t capacity_min = 0;  ///< tokens/s, for the search
    std::uint64_t capacity_max = 0;
    bool answers = true;   ///< a request that leaves it goes back as its response
    double variation = 0;  ///< part of the mean by which service times differ at most, to either side
};

struct ServiceHost {
    std::string name;
    std::uint64_t link_bps = 0;    ///< each way
    std::uint64_t encryption = 0;  ///< tokens/s (bytes) that its switch encrypts; 0 = any number
};

struct ServiceTenant {
    struct Part {
        std::uint32_t service;
        std::uint64_t reservation;  ///< tokens/s
    };
    std::string name;
    std::uint32_t vms = 1;
    std::vector<std::string> vnics;     ///< names by VM; empty: NAME.1, NAME.2 ...
    std::vector<std::uint32_t> hosts;   ///< by VM; empty: each on one of its own, whose link is never short
    std::uint64_t reservation_bps = 0;  ///< of each VM, each way, without a specification
    std::uint64_t encryption = 0;       ///< reserved, tokens/s
    std::vector<Part> parts;
};

/// The requests of every VM of a tenant to a service, or of all its VMs but one to that one.
struct ServiceLoad {
    std::uint32_t tenant = 0;
    std::uint32_t service = kNone;
    std::uint32_t to_vm = kNone;  ///< instead of a service: all send to it, and tokens are bytes
    bool encrypted = false;       ///< on its host, before it is sent
    std::uint32_t connections = 1;
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
    Nanos delay = 20'000;  ///< network, each way
    ServiceIsolation isolation = ServiceIsolation::kWeir;
    std::vector<ServiceHost> hosts;
    std::vector<ServiceSpec> services;
    std::vector<ServiceTenant> tenants;
    std::vector<ServiceLoad> loads;
    /// A controller's, with a host for each vNIC; then the lists above are from it.
    std::optional<ClusterConfig> specification{};

    /// Whether the controller and enforcers do anything.
    [[nodiscard]] bool controlled() const {
        return isolation == ServiceIsolation::kWeir || isolation == ServiceIsolation::kNetwork;
    }
};

[[nodiscard]] std::string_view name_of(ServiceIsolation isolation);
/// @return whether `name` is one: off, appliances, network, weir
bool find_isolation(std::string_view name, ServiceIsolation& out);

/// Parses JSON with comments; all faults, in the order of the text.
/// @param costs folder of the cost tables that services name
/// @param folder where a relative name of a specification starts
[[nodiscard]] std::variant<ServiceScenario, Faults> parse_service_scenario(std::string_view text,
                                                                           const std::string& costs,
                                                                           const std::string& folder = "");
[[nodiscard]] std::variant<ServiceScenario, Faults> load_service_scenario(const std::string& file,
                                                                          const std::string& costs);

}  // namespace weir::sim
