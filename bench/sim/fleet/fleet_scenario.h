// fleet_scenario.h - scenario of a datacenter with over-committed links.
// Source: SoftBW 6.1.
// Units: in the field names.
// Threads: built at start; read-only afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "common/clock.h"
#include "common/error.h"

namespace weir::sim {

/// How often a VM with a dynamic guarantee sends.
enum class FleetStarts {
    kOnce,   ///< once at most
    kAgain,  ///< whenever it is drawn, after its last transmission
};

struct FleetScenario {
    std::string title;
    std::uint64_t seed = 1;
    Nanos duration = 600 * kNanosPerSec;
    Nanos interval = kNanosPerSec;  ///< of demands, of s' / t', and of bills
    std::uint32_t servers = 2000;
    std::uint64_t link_bps = 1'000'000'000;
    std::uint64_t guarantee_bps = 250'000'000;  ///< of every VM: B, and S / T
    double overcommit = 1;                      ///< sum of guarantees over the links
    double utilization = 0.15;                  ///< mean use of a VM, of its guarantee
    double dynamic = 0.5;                       ///< part of the VMs
    FleetStarts starts = FleetStarts::kOnce;
    bool by_deadline = true;  ///< dynamic guarantees that do not fit: the earliest deadline first
    double beta = 0.5;        ///< price of dynamic and fair bandwidth over that of strict

    [[nodiscard]] std::uint32_t vms_per_server() const {
        // Not one VM less because a product of decimals falls short by its rounding.
        return static_cast<std::uint32_t>(
            overcommit * static_cast<double>(link_bps) / static_cast<double>(guarantee_bps) + 1e-9);
    }
};

/// Parses JSON with comments; all faults, in the order of the text.
[[nodiscard]] std::variant<FleetScenario, Faults> parse_fleet_scenario(std::string_view text);
[[nodiscard]] std::variant<FleetScenario, Faults> load_fleet_scenario(const std::string& file);

}  // namespace weir::sim
