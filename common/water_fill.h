// water_fill.h - division of a capacity by reservations, shares, limits and demands (weighted max-min).
// Source: SRP Algorithm 2; docs/algorithms.md 3.6. Units: any one unit for all amounts (tokens/s).
// Threads: any; no allocation of memory.
//
// Each claim gets level * shares, but at least its reservation and at most its limit and its demand; the
// level is the same for all and uses up the capacity. It is found in rounds: each divides the rest of the
// capacity by shares and freezes the claims whose bound this breaks, at the bound. Example: 100 for A
// (reservation 50, shares 1), B (shares 1) and C (limit 20, shares 2). Parts of 25, 25 and 50 freeze C at 20;
// then 40 and 40 freeze A at 50; B gets the other 30. The paper leaves out reservations beyond the capacity,
// claims without shares, and demand.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "common/types.h"

namespace weir {

template <typename AmountType, typename SharesType>
struct BasicClaim {
    using Amount = AmountType;
    using Shares = SharesType;
    static constexpr Amount kNoLimit = std::numeric_limits<Amount>::has_infinity
                                           ? std::numeric_limits<Amount>::infinity()
                                           : std::numeric_limits<Amount>::max();

    Amount reservation = 0;
    Amount limit = kNoLimit;   ///< a limit below the reservation counts as the reservation
    Amount demand = kNoLimit;  ///< amount that the claim could use; the rest goes to the others
    Shares shares = 100;       ///< 0: the claim gets its reservation and no more
};

/// Whole tokens, for the switch: every token is given to a claim or returned.
using Claim = BasicClaim<std::uint64_t, std::uint32_t>;
/// Real numbers, for the controller: no rounding. All values are finite and not negative, except kNoLimit.
using RealClaim = BasicClaim<double, double>;

/// allocation[i] = clamp(level * shares, reservation, min(limit, demand)). When the reservations alone exceed
/// the capacity, each claim gets the same fraction of its reservation. O(n) for each round; a few rounds as a
/// rule.
/// @param allocation as many elements as claims
/// @return capacity that no claim can use
std::uint64_t water_fill(std::uint64_t capacity, std::span<const Claim> claims,
                         std::span<std::uint64_t> allocation);
double water_fill(double capacity, std::span<const RealClaim> claims, std::span<double> allocation);

/// value * capacity / total, or value itself while the total fits.
[[nodiscard]] inline std::uint64_t scale_down(std::uint64_t value, std::uint64_t capacity,
                                              std::uint64_t total) {
    return total <= capacity ? value : static_cast<std::uint64_t>(Wide{value} * capacity / total);
}

}  // namespace weir
