// leftover.h - what a mechanism leaves goes to some flows by DRF: to those of weight 0, or as the crumbs of
// quanta. Threads: one.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ctrl/alloc/registry.h"

namespace weir::alloc {

class Leftover {
  public:
    Leftover() : drf_(make_drf()) {}

    /// Raises the fill of `flows` towards their demand; a weight of 0 counts as 1.
    void give(const Problem& problem, std::span<const std::uint32_t> flows, Allocation& out);

  private:
    std::unique_ptr<Mechanism> drf_;
    DemandMatrix demand_;
    std::vector<double> weights_;
    std::vector<double> capacity_;
    Allocation found_;
};

}  // namespace weir::alloc
