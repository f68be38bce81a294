// pool_fields.h - what `divvy` and `pools` read alike. Threads: any.
#pragma once

#include "ctrl/pools/pool_tree.h"
#include "ctrl/what_if/fields.h"

namespace weir::what_if {

/// `reservation`, `limit` (null: none) and `shares`, each by its default when it is absent or at fault.
[[nodiscard]] inline pools::Controls read_controls(ObjectReader& reader) {
    pools::Controls own;
    read_number(reader, "reservation", own.reservation, kTokenBounds);
    std::optional<double> limit;
    read_optional_number(reader, "limit", limit, kTokenBounds);
    own.limit = limit.value_or(pools::kNoLimit);
    if (own.limit < own.reservation)
        reader.fault("limit", "at least the reservation", "a limit below the reservation breaks the promise");
    read_weight(reader, "shares", own.shares);
    return own;
}

/// What somebody wants: absent and null are as much as there is.
[[nodiscard]] inline double read_wish(ObjectReader& reader, std::string_view key) {
    std::optional<double> wish;
    read_optional_number(reader, key, wish, kTokenBounds);
    return wish.value_or(pools::kNoLimit);
}

}  // namespace weir::what_if
