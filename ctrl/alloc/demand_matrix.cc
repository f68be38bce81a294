// demand_matrix.cc - rows one after the other, as compressed sparse rows.
#include "ctrl/alloc/demand_matrix.h"

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

}  // namespace weir::alloc
