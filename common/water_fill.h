// water_fill.h - splits a capacity by reservation, shares, limit and demand (weighted max-min).
// Source: SRP Algorithm 2 (divvy), with the cases that the paper leaves out (sum of reservations over
// capacity, no shares, demand). Units: any one unit for all amounts (tokens/s). Pure; no allocation. Threads:
// any.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "common/wide.h"

namespace weir {

template <typename AmountType, typename SharesType>
struct BasicClaim {
    using Amount = AmountType;
    using Shares = SharesType;
    static constexpr Amount kNoLimit = std::numeric_limits<Amount>::has_infinity
                                           ? std::numeric_limits<Amount>::infinity()
                                           : std::numeric_limits<Amount>::max();

    Amount reservation = 0;
    Amount limit = kNoLimit;   ///< below the reservation it counts as the reservation
    Amount demand = kNoLimit;  ///< what it could use; what it cannot goes to the others
    Shares shares = 100;       ///< 0: its reservation and no more
};

/// What the switch counts in: every token is given to somebody or returned.
using Claim = BasicClaim<std::uint64_t, std::uint32_t>;
/// What the controller counts in: no rounding; what is not finite but kNoLimit, or negative, does not belong
/// here.
using RealClaim = BasicClaim<double, double>;

/// allocation[i] = clamp(level * shares, reservation, min(limit, demand)) with one level for all, such that
/// the capacity is used up; if reservations alone exceed it, each gets the same fraction of its own. O(n) per
/// round, a handful of rounds as a rule.
/// @param allocation as many as claims
/// @return what nobody could use
std::uint64_t water_fill(std::uint64_t capacity, std::span<const Claim> claims,
                         std::span<std::uint64_t> allocation);
double water_fill(double capacity, std::span<const RealClaim> claims, std::span<double> allocation);

/// value * capacity / total, or value itself while the total fits.
[[nodiscard]] inline std::uint64_t scale_down(std::uint64_t value, std::uint64_t capacity,
                                              std::uint64_t total) {
    return total <= capacity ? value : static_cast<std::uint64_t>(Wide{value} * capacity / total);
}

}  // namespace weir
