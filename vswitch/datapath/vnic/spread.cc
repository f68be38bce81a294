// spread.cc - SpreadMember: the vNIC's reservation and shares of the uplink, divided among its members.
#include "vswitch/datapath/vnic/spread.h"

#include <algorithm>

namespace weir {
namespace {

template <class Number>
Number part_of(Number whole, std::uint64_t part) {
    return static_cast<Number>(Wide{whole} * part / Spread::kWhole);
}

}  // namespace

/// Shares are whole numbers, and each member has one at least.
ClassProfile SpreadMember::part(const ClassProfile& whole) const {
    const std::uint64_t part = spread.parts.allocation(static_cast<WorkerId>(index));
    ClassProfile own = whole;
    own.reservation = part_of(whole.reservation, part);
    own.reservation_burst = part_of(whole.reservation_burst, part);
    own.shares = std::max(1U, part_of(whole.shares, part));
    return own;
}

void SpreadMember::report(const ClassProfile& whole, std::uint64_t used, bool backlogged) {
    constexpr Wide kMost = 4 * Spread::kWhole;
    const std::uint64_t base = whole.reservation != 0 ? whole.reservation : spread.link_rate;
    const Wide parts = Wide{used} * Spread::kWhole / std::max<std::uint64_t>(base, 1);
    spread.parts.report(
        static_cast<WorkerId>(index),
        {.shares = 1, .used = static_cast<std::uint64_t>(std::min(parts, kMost)), .backlogged = backlogged});
}

}  // namespace weir
