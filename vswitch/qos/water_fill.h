// water_fill.h - splits a capacity by reservation, shares, limit and demand (weighted max-min).
// Source: SRP Algorithm 2 (divvy), with the cases that the paper leaves out (sum of reservations over
// capacity, no shares, demand). Units: any one unit for all amounts (tokens/s). Pure; no allocation. Threads:
// any.
#pragma once

#include <cstdint>
#include <span>

#include "vswitch/qos/rate_profile.h"

namespace weir {

struct Claim {
    static constexpr std::uint64_t kNoLimit = UINT64_MAX;

    std::uint64_t reservation = 0;
    std::uint64_t limit = kNoLimit;   ///< below the reservation it counts as the reservation
    std::uint64_t demand = kNoLimit;  ///< what it could use; what it cannot goes to the others
    std::uint32_t shares = 100;       ///< 0: its reservation and no more
};

/// allocation[i] = clamp(level * shares, reservation, min(limit, demand)) with one level for all, such that
/// the capacity is used up; if reservations alone exceed it, each gets the same fraction of its own. O(n) per
/// round, n rounds at most, two or three as a rule.
/// @param allocation as many as claims
/// @return what nobody could use
std::uint64_t water_fill(std::uint64_t capacity, std::span<const Claim> claims,
                         std::span<std::uint64_t> allocation);

/// value * capacity / total, or value itself while the total fits.
[[nodiscard]] inline std::uint64_t scale_down(std::uint64_t value, std::uint64_t capacity,
                                              std::uint64_t total) {
    return total <= capacity ? value : static_cast<std::uint64_t>(Wide{value} * capacity / total);
}

}  // namespace weir
