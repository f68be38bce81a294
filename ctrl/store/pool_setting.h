// pool_setting.h - what an operator set of a pool while all ran, as the store keeps it. Source: SRP 2.1.
// Units: tokens/s; shares. Threads: any (values).
#pragma once

#include <cstdint>
#include <string>

namespace weir {

struct PoolSetting {
    static constexpr std::int64_t kNoLimit = -1;

    std::string appliance{};
    std::string name{};  ///< of a pool, or of a vNIC in one
    bool vnic = false;
    std::string key{};  ///< reservation, limit, shares
    std::int64_t value = 0;
    std::int64_t filed = 0;  ///< what the cluster file said of it then

    bool operator==(const PoolSetting&) const = default;
};

}  // namespace weir
