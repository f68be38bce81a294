// demand_matrix.cc - rows one after the other, as compressed sparse rows.
#include "ctrl/alloc/demand_matrix.h"

#include <algorithm>

namespace weir::alloc {

void DemandMatrix::clear() {
    begin_.assign(1, 0);
    resource_.clear();
    tokens_.clear();
}

void DemandMatrix::reserve(std::size_t flows, std::size_t entries) {
    begin_.reserve(flows + 1);
    resource_.reserve(entries);
    tokens_.reserve(entries);
}

bool DemandMatrix::add_flow(std::span<const Demand> demands) {
    if (!std::all_of(demands.begin(), demands.end(), [](const Demand& d) { return are_tokens(d.tokens); }))
        return false;
    for (const Demand& demand : demands)
        put(demand.resource, demand.tokens);
    end_flow();
    return true;
}

}  // namespace weir::alloc
