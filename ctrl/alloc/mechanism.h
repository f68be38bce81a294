// mechanism.h - interface of the allocation mechanisms: a problem, its answer, and the solver between them.
// Source: Pulsar 4.1; docs/algorithms.md 8
// Units: tokens in the control interval.
// Threads: one per mechanism object, which keeps its working memory for the next interval.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ctrl/alloc/demand_matrix.h"
#include "ctrl/alloc/share_tree.h"

namespace weir::alloc {

/// Two levels count as one when the greater is at most this many times the other.
inline constexpr double kSame = 1 + 1e-12;

struct Problem {
    const DemandMatrix& demand;        ///< D
    std::span<const double> weights;   ///< W: one per flow, >= 0; weight 0 gets what the others leave
    std::span<const double> capacity;  ///< C: one per resource
    /// Denominators of shares; empty: `capacity`. A step that divides the rest of a capacity sets the whole
    /// capacity here. Infinite: the resource bounds flows and does not count in shares.
    std::span<const double> share_base = {};
    const ShareTree* tree = nullptr;  ///< hierarchy of the flows; null: all flows below the root
};

/// A of eq. 1: every mechanism keeps within the demands and the capacities.
struct Allocation {
    std::vector<double> tokens;             ///< one per entry of the demand matrix
    std::vector<double> fill;               ///< per flow: the part of its demand that it gets, 0 to 1
    std::vector<std::uint32_t> bottleneck;  ///< per flow: the full resource that stops it; kNone: none does
    std::vector<double> used;               ///< per resource

    /// Gives every flow fill 1 and no bottleneck; `tokens` gets its size only.
    void reset(const Problem& problem);
    /// Serves the flows of `order` one after another: each gets the largest fill that the rest of its
    /// resources allows. Sets `fill` and `bottleneck`; `left` becomes what remains of each resource.
    void fit(const Problem& problem, std::span<const std::uint32_t> order, std::vector<double>& left);
    /// Sets `tokens` and `used` from `fill`. Where rounding exceeds a capacity, it lowers the fills.
    void settle(const Problem& problem);
    /// Sets `used` from `tokens`. Where rounding exceeds a capacity, it lowers the tokens.
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
