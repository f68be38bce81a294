// tenant_traffic.h - bytes between the VMs of two tenants on this host.
// Units: bytes as accounted. Threads: add() by the owning worker; bytes() by any.
//
// A table of pairs, by the tenants' places, which the agent gives out: 512 KiB per worker, of which a pair in
// use touches one cache line. Frames for all of a VLAN are not counted.
//
// Example: a burst of 32 frames from tenant 1 to tenant 2 is one addition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/metrics.h"
#include "vswitch/base/limits.h"

namespace weir {

/// Place of a tenant in this table, 0 .. limits::kTenantsMax-1.
using TenantSlot = std::uint16_t;

class TenantTraffic {
  public:
    void add(TenantSlot from, TenantSlot to, std::uint64_t bytes) { counters_[at(from, to)].add(bytes); }
    [[nodiscard]] std::uint64_t bytes(TenantSlot from, TenantSlot to) const {
        return counters_[at(from, to)].value();
    }

  private:
    [[nodiscard]] static std::size_t at(TenantSlot from, TenantSlot to) {
        return std::size_t{from} * limits::kTenantsMax + to;
    }

    std::vector<Counter> counters_ = std::vector<Counter>(limits::kTenantsMax * limits::kTenantsMax);
};

}  // namespace weir
