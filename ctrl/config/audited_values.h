// audited_values.h - the changed values that an entry of the audit trail keeps, within bounds.
// Source: docs/operations.md
// Units: bytes. Threads: any (pure).
//
// A change of one cluster file may concern 20,000 values, and one value may be a whole tenant. An entry keeps
// the first values, each cut to a length, and the number of all. The texts of both revisions have the rest.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "ctrl/config/cluster_change.h"

namespace weir {

struct AuditedValues {
    static constexpr std::size_t kValuesMax = 100;
    static constexpr std::size_t kTextMax = 200;     ///< bytes of a path or value, without the mark of a cut
    static constexpr std::size_t kBytesMax = 8'192;  ///< of the list; 1,000 entries fit into one reply

    std::string list{};      ///< JSON: [{"path", "before", "now"}, ...]; empty: no value
    std::size_t in_all = 0;  ///< values that changed
};

[[nodiscard]] AuditedValues audited_values(std::span<const ChangedValue> changes);

}  // namespace weir
