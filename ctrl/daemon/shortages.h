// shortages.h - the resource or limit that holds a flow back, the vNICs that use the resource, and since
// when. Source: docs/algorithms.md 8.4 Units: tokens (at links: bytes) of one interval; Unix seconds.
// Threads: one owner.
//
// A resource is short while a flow wants more of it and it has no more to give. The time is kept since when
// a resource is short, and since when a vNIC uses a tenth of a resource or more: a tenant asks "slow since
// when, and because of which other tenant?". Example: b1 sends 8 Gbit/s to host h2 since 10:00:03, and a1
// gets 1.7 of the 4 Gbit/s that it wants. Then h2's downlink of 9.7 Gbit/s holds a1 back since 10:00:03, and
// its users are b1 since 10:00:03 and a1 since the day before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ctrl/alloc/vdc.h"
#include "ctrl/daemon/cluster.h"
#include "ctrl/daemon/renumbering.h"

namespace weir {

/// The problem of the last interval, and its allocation: views that last until the next one.
struct Solution {
    std::span<const wire::FlowKey> flows;  ///< ordered
    alloc::VdcProblem problem;
    const alloc::VdcAllocation& allocation;

    /// Tokens that are allocated for the demand of an entry of `problem.demand`.
    [[nodiscard]] double allocated(std::uint32_t entry) const {
        return allocation.local[entry] + allocation.global[entry];
    }
};

/// That which holds a flow back.
struct Holder {
    enum class Kind : std::uint8_t {
        kNothing,   ///< its demand is met, or something that the allocation does not know holds it
        kResource,  ///< `index` is a ResourceIndex
        kLimit,     ///< a limit of a vNIC, or of a tenant at an appliance: a virtual resource of the problem
        kReservation,  ///< the same's reservation, because the tenant's sharing rule is fixed
    };
    Kind kind = Kind::kNothing;
    std::uint32_t index = 0;
};

class Shortages {
  public:
    /// Part of a resource from which on a vNIC's use is timed. It ends below half of it.
    static constexpr double kHeavy = 0.1;
    /// Part of a capacity that counts as all of it, and of a demand that counts as met.
    static constexpr double kFull = 0.99;

    struct User {
        std::uint32_t vnic = 0;               ///< id of the sender
        double tokens = 0;                    ///< allocated for its demand
        std::optional<std::int64_t> since{};  ///< when it began to use kHeavy; nothing: it uses less
    };

    /// Takes in the next solution.
    void update(const Solution& solution, std::int64_t unix_time);
    // Of one flow of the last solution. @param flow its index

    /// The part of its demand that it gets.
    [[nodiscard]] double met_part(std::uint32_t flow) const { return fill_[flow]; }
    [[nodiscard]] Holder holder_of(const Solution& solution, std::uint32_t flow) const;
    [[nodiscard]] std::optional<std::int64_t> short_since(ResourceIndex resource) const;
    /// Tokens that are allocated for demands.
    [[nodiscard]] double used(ResourceIndex resource) const { return used_[resource]; }
    /// The vNICs that use most of it, the largest first, at most `count`.
    [[nodiscard]] std::vector<User> users_of(const Solution& solution, ResourceIndex resource,
                                             std::size_t count) const;
    /// The same of every resource, by its index, in one pass over the flows.
    [[nodiscard]] std::vector<std::vector<User>> users(const Solution& solution, std::size_t count) const;
    /// Takes over the times of another configuration. @param places by ResourceIndex before; kNowhere: gone
    void take_over(const Shortages& before, const std::vector<ResourceIndex>& places);

  private:
    /// A vNIC's use of kHeavy of a resource or more.
    struct HeavyUse {
        std::uint32_t vnic;
        ResourceIndex resource;
        std::int64_t since;

        [[nodiscard]] auto key() const { return std::pair(vnic, resource); }
    };
    void sum_up(const Solution& solution);
    void time_users(const Solution& solution, std::int64_t unix_time);
    void time_uses(std::uint32_t vnic, const Solution& solution, std::int64_t unix_time);
    void keep_largest(std::vector<User>& users, ResourceIndex resource, std::size_t count) const;
    [[nodiscard]] std::optional<std::int64_t> heavy_since(std::uint32_t vnic, ResourceIndex resource) const;

    // Of the last solution.
    std::vector<double> fill_;    // by flow: the part of its demand that it gets
    std::vector<double> used_;    // by resource
    std::vector<double> inside_;  // by virtual resource
    std::vector<std::uint8_t> is_short_;
    std::map<ResourceIndex, std::int64_t> short_since_;
    std::vector<HeavyUse> heavy_;  // ordered by vNIC and resource
    // Working memory.
    std::vector<HeavyUse> before_;
    std::vector<std::pair<ResourceIndex, double>> uses_;  // of one vNIC, ordered
};

/// Where the resources of one cluster are in another; kNowhere: it has them no more.
[[nodiscard]] std::vector<ResourceIndex> resource_places(const Cluster& before, const Cluster& now,
                                                         const Renumbering& places);

}  // namespace weir
