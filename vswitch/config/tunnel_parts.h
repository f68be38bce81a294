// tunnel_parts.h - what the configuration's tunnels name in other files: their keys and cost tables.
// Threads: at start.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "vswitch/config/appliance_costs.h"

namespace weir {

struct TunnelParts {
    std::array<std::uint8_t, 32> key{};
    std::shared_ptr<const CostTable> cost;
};

/// One for each of config.tunnels, in their order; or every fault, as `tunnels[1].key_file`.
/// @param shipped the folder of the tables that come with the switch
[[nodiscard]] std::variant<std::vector<TunnelParts>, Faults> load_tunnels(
    const SwitchConfig& config, const std::string& shipped = shipped_tables());

}  // namespace weir
