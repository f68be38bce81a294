// rate_limits.h - keeps the rates of flows within the limits of their vNICs and tenants.
// Source: docs/algorithms.md 8.4
// Units: tokens (at links: bytes) per second. Threads: one owner. Keeps its working memory.
//
// A flow gets more than the allocation for its demand: its floor, and on the ways to and from an appliance
// room for larger requests. Both come out of the part of a limit that the allocation left. A tenth of each
// limit is kept for the floors of flows with less, so that they can show a demand beside flows that want the
// whole limit. An allocation is cut for them down to the flow's own floor at most: that is its guarantee.
//
// Example: a vNIC with a limit of 1,000 bytes/s has flows of 950, 20 and 0 with floors of 300. A third of
// the tenth is 33: the rates are 933, 33 and 33. With 400, 20 and 0 there is room: 400, 300 and 300.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "ctrl/alloc/mechanism.h"

namespace weir {

/// One part of a flow: the way there, the appliance, or the way back.
struct PartRate {
    bool is_stated = false;  ///< false: the flow does not use the part
    double allocated = 0;    ///< for its demand
    double wanted = 0;       ///< with room to grow
    double floor = 0;        ///< that it may use at any demand
    double demand = 0;       ///< up to its floor it has this, even if less is allocated; 0: it is not known
    /// Numbers of the limits that it counts against; alloc::kNone: none.
    std::array<std::uint32_t, 2> limits{alloc::kNone, alloc::kNone};
};

class RateLimits {
  public:
    /// Part of a limit that is kept for floors.
    static constexpr double kFloorPart = 0.1;
    /// Lowest rate of a flow: at a rate of 0 it could show no demand. It is the one way past a limit: n flows
    /// exceed it by n tokens per second at most.
    static constexpr double kRateMin = 1;

    /// Starts without parts. @param limits by number; alloc::kInfinite: it bounds nothing
    void begin(std::span<const double> limits);
    void add(const PartRate& part);
    /// Sets rates().
    void settle();
    /// In the order of add(); without meaning where the part is not stated.
    [[nodiscard]] std::span<const double> rates() const { return rates_; }

  private:
    struct Limit {
        double most = 0;
        double parts = 0;         // how many count against it
        double floors = 0;        // of parts that have less
        double kept = 0;          // of the others' allocations, up to their floors
        double above = 0;         // of these allocations, beyond the floors
        double kept_part = 1;     // that there is room for; below 1 only if floors exceed the limit
        double above_part = 1;    // that there is room for
        double left = 0;          // when all have their scaled allocation, or floor
        double wanted = 0;        // beyond that
        double granted_part = 1;  // of `wanted`
    };
    /// Calls visit(limit) for each limit that the part counts against.
    template <typename Visit>
    void each_limit(const PartRate& part, Visit&& visit);
    /// The part's floor within its share of each limit's tenth.
    [[nodiscard]] double floor_of(const PartRate& part);
    void give_floors();
    void grow();

    std::vector<Limit> limits_;
    std::vector<PartRate> parts_;
    std::vector<double> rates_;
};

}  // namespace weir
