// plan.h - the cluster, its hosts and its flows that a seed describes.
// Units: in the field names; rates per second. Threads: tests only.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "ctrl/config/cluster_config.h"
#include "test/support/random.h"

namespace weir::faults {

using testing::Random32;

/// As an index: none.
inline constexpr std::uint32_t kNone = UINT32_MAX;

/// A vNIC of the cluster file, and the host whose switch has it.
struct PlannedVnic {
    std::string name;
    std::string mac;
    std::uint32_t tenant = 0;
    std::uint32_t index = 0;  ///< among its tenant's
    std::uint32_t home = 0;
    bool is_pinned = false;  ///< the file names its host
};

/// Traffic that a vNIC may have: requests to an appliance, or bytes to another vNIC of its tenant.
struct PlannedFlow {
    std::uint32_t vnic = 0;  ///< index into Plan::vnics
    std::uint32_t appliance = kNone;
    std::uint32_t peer = kNone;  ///< index into Plan::vnics
    double bytes_there = 0;      ///< of a token
    double bytes_back = 0;
    double most = 0;  ///< that it ever asks for, tokens or bytes
};

struct Plan {
    std::string file;  ///< the cluster file's text
    ClusterConfig config;
    std::vector<PlannedVnic> vnics;
    std::vector<PlannedFlow> flows;
    std::vector<double> serves;  ///< by appliance: tokens that it really has, within its bounds

    [[nodiscard]] const TenantVnicConfig& vnic_config(std::uint32_t vnic) const {
        return config.tenants[vnics[vnic].tenant].vnics[vnics[vnic].index];
    }
    /// Of the vNIC's tenant at the appliance; nullptr: it has no part.
    [[nodiscard]] const TenantApplianceConfig* part_of(std::uint32_t tenant, std::uint32_t appliance) const;
};

/// A cluster of 2 to 8 hosts, 1 or 2 appliances and 1 to 3 tenants, whose file the controller admits.
[[nodiscard]] Plan draw_plan(Random32& random);

/// A number from `from` to `to`.
[[nodiscard]] inline std::uint32_t draw(Random32& random, std::uint32_t from, std::uint32_t to) {
    return from + random() % (to - from + 1);
}
/// True once in `times`.
[[nodiscard]] inline bool one_in(Random32& random, std::uint32_t times) {
    return random() % times == 0;
}

}  // namespace weir::faults
