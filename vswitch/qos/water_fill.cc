// water_fill.cc - the level is found by freezing, round by round, those whom their floor or their cap holds.
#include "vswitch/qos/water_fill.h"

#include <algorithm>
#include <cassert>
#include <cstddef>

namespace weir {
namespace {

constexpr std::uint64_t kOpen = UINT64_MAX;  // marks an allocation that is not frozen yet

std::uint64_t cap_of(const Claim& c) {
    return std::min(std::max(c.limit, c.reservation), c.demand);
}
std::uint64_t floor_of(const Claim& c) {
    return std::min(c.reservation, cap_of(c));
}

/// What is left to those that are open, and how many shares they have together.
struct Rest {
    std::uint64_t amount;
    std::uint64_t shares = 0;

    [[nodiscard]] std::uint64_t part(const Claim& c) const {
        return static_cast<std::uint64_t>(Wide{amount} * c.shares / shares);
    }
};

/// Freezes those held by their floor if floors cost more than caps save, else those held by their cap.
/// @return false when neither floors nor caps hold anybody
bool freeze_round(Rest& rest, std::span<const Claim> claims, std::span<std::uint64_t> allocation) {
    Wide raised = 0;
    Wide saved = 0;
    for (std::size_t i = 0; i < claims.size(); ++i) {
        if (allocation[i] != kOpen)
            continue;
        const std::uint64_t part = rest.part(claims[i]);
        raised += part < floor_of(claims[i]) ? floor_of(claims[i]) - part : 0;
        saved += part > cap_of(claims[i]) ? part - cap_of(claims[i]) : 0;
    }
    const bool floors = raised >= saved;
    const Rest before = rest;
    for (std::size_t i = 0; i < claims.size(); ++i) {
        if (allocation[i] != kOpen)
            continue;
        const std::uint64_t part = before.part(claims[i]);
        const std::uint64_t bound = floors ? floor_of(claims[i]) : cap_of(claims[i]);
        if (floors ? part >= bound : part <= bound)
            continue;
        allocation[i] = bound;
        rest.amount -= bound;
        rest.shares -= claims[i].shares;
    }
    return raised != 0 || saved != 0;
}

}  // namespace

std::uint64_t water_fill(std::uint64_t capacity, std::span<const Claim> claims,
                         std::span<std::uint64_t> allocation) {
    assert(claims.size() == allocation.size());
    Wide floors = 0;
    for (const Claim& c : claims)
        floors += floor_of(c);
    if (floors >= capacity) {
        std::uint64_t left = capacity;
        for (std::size_t i = 0; i < claims.size(); ++i) {
            allocation[i] =
                floors == 0 ? 0 : static_cast<std::uint64_t>(Wide{floor_of(claims[i])} * capacity / floors);
            left -= allocation[i];
        }
        return left;
    }

    Rest rest{.amount = capacity};
    for (std::size_t i = 0; i < claims.size(); ++i) {
        allocation[i] = claims[i].shares == 0 ? floor_of(claims[i]) : kOpen;
        rest.amount -= claims[i].shares == 0 ? allocation[i] : 0;
        rest.shares += claims[i].shares;
    }
    while (rest.shares != 0 && freeze_round(rest, claims, allocation)) {
    }
    for (std::size_t i = 0; i < claims.size() && rest.shares != 0; ++i) {  // no token lost to rounding
        if (allocation[i] != kOpen)
            continue;
        allocation[i] = rest.part(claims[i]);
        rest.amount -= allocation[i];
        rest.shares -= claims[i].shares;
    }
    return rest.amount;
}

}  // namespace weir
