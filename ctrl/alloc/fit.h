// fit.h - one pass of first fit in a given order. Threads: any.
#pragma once

#include <span>
#include <vector>

#include "ctrl/alloc/mechanism.h"

namespace weir::alloc {

/// Sets fill and bottleneck of every flow of `order`. @param left comes to be what no flow got, per resource
void fit(const Problem& problem, std::span<const std::uint32_t> order, std::vector<double>& left,
         Allocation& out);

}  // namespace weir::alloc
