// mechanism.h - interface of the allocation mechanisms: a problem, its answer, and what computes one from the
// other. Source: Pulsar 4.1 (eq. 1) Units: tokens in the control interval. Threads: one per mechanism object.
// It keeps its working memory, so that the next interval allocates none.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ctrl/alloc/demand_matrix.h"
#include "ctrl/alloc/share_tree.h"

namespace weir::alloc {

/// A bound of a level that moves by less than this part of itself is the level.
inline constexpr double kSame = 1 + 1e-12;

struct Problem {
    const DemandMatrix& demand;        ///< D
    std::span<const double> weights;   ///< W, one per flow, >= 0; 0: only what nobody else wants
    std::span<const double> capacity;  ///< C, one per resource, tokens in the interval
    /// What shares are shares of, when it is not `capacity`: the whole of a resource of which `capacity` is
    /// what is left. Infinite: the resource bounds but does not count in shares.
    std::span<const double> share_base = {};
    const ShareTree* tree = nullptr;  ///< who shares with whom, for mechanisms with a hierarchy
};

/// A. Every mechanism keeps within D and C.
struct Allocation {
    std::vector<double> tokens;  ///< one per entry of D
    std::vector<double> fill;    ///< per flow: how much of its demand all its resources give, 0 to 1
    std::vector<std::uint32_t>
        bottleneck;            ///< per flow: the resource that holds it back; kNone when nothing does
    std::vector<double> used;  ///< per resource

    void reset(const Problem& problem);
    /// Fills `tokens` and `used` from `fill`; what rounding put above a capacity is taken back.
    void settle(const Problem& problem);
    /// Fills `used` from `tokens`, and takes back the same of them.
    void trim(const Problem& problem);
};

class Mechanism {
  public:
    Mechanism() = default;
    Mechanism(const Mechanism&) = delete;
    Mechanism& operator=(const Mechanism&) = delete;
    virtual ~Mechanism() = default;
    virtual void allocate(const Problem& problem, Allocation& out) = 0;
};

}  // namespace weir::alloc
