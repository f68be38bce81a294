// pool_scenario.h - scenario of VMs on several hosts that share one appliance by pools.
// Source: SRP 5
// Units: in the field names.
// Threads: built at start; read-only afterwards.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "bench/sim/services/service_scenario.h"
#include "ctrl/config/cluster_config.h"
#include "vswitch/qos/schedulers/registry.h"

namespace weir::sim {

/// The bound of a host's outstanding requests.
enum class PoolControl {
    kOff,    ///< no bound: everything is sent at once
    kSrp,    ///< one window for all, held by latency and divided by entitlements; dynamic bounds for VMs
    kParda,  ///< each host its own by PARDA, from its VMs' shares; static bounds for VMs (mClock)
};

struct PoolVmSpec {
    std::string name;
    std::uint32_t host = 0;
    double reads = 1;  ///< part of the requests; the others write
    std::uint32_t bytes = 0;
    std::uint32_t outstanding = 1;  ///< threads, each with one request at a time
    Nanos think = 0;                ///< mean of a thread's pause between answer and request, exponential
    Nanos on = 0;  ///< mean length of bursts and of pauses between them, exponential; 0 = always on
    Nanos off = 0;
    Nanos from = 0;
    Nanos to = kNever;
};

/// Something set while all runs, as `weirctl pool set` would.
struct PoolEvent {
    Nanos at = 0;
    std::string name;
    std::optional<std::uint64_t> reservation;
    std::optional<std::optional<std::uint64_t>> limit;
    std::optional<std::uint32_t> shares;
};

struct PoolScenario {
    std::string title;
    std::uint64_t seed = 1;
    Nanos duration = 0;
    Nanos warmup = 0;  ///< left out of the summary
    Nanos interval = kNanosPerSec;
    Nanos record = 0;  ///< length of a row; 0 = the interval's
    Nanos delay = 50'000;
    PoolControl control = PoolControl::kSrp;
    const SchedulerEntry* scheduler = find_scheduler("rls");  ///< of the hosts' gates
    Nanos latency = 20'000'000;                               ///< congestion threshold
    double gamma = 0.5;
    double window = 32;     ///< at the start, in all
    double parda_beta = 8;  ///< of all hosts together, divided by their VMs' shares
    ServiceSpec array;      ///< capacity_min: tokens/s that may be reserved
    std::vector<std::string> hosts;
    std::vector<PoolConfig> pools;
    std::vector<PoolVmSpec> vms;
    std::vector<PoolEvent> events;
};

/// Parses JSON with comments; all faults, in the order of the text.
/// @param costs folder of the cost tables that the array names
[[nodiscard]] std::variant<PoolScenario, Faults> parse_pool_scenario(std::string_view text,
                                                                     const std::string& costs);
[[nodiscard]] std::variant<PoolScenario, Faults> load_pool_scenario(const std::string& file,
                                                                    const std::string& costs);

}  // namespace weir::sim
