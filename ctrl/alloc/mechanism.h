// mechanism.h - A <- MRA(D, W, C) of Pulsar (eq. 1): who gets how much of which resource. A mechanism is one
// file and one line in WEIR_MECHANISMS. It keeps its working memory, so that the next interval allocates
// none. Threads: one per mechanism object.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
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

// The mechanisms by the names that configurations know them by; each has a file of its name.
// clang-format off
#define WEIR_MECHANISMS(MECHANISM) \
    MECHANISM(drf) \
    MECHANISM(hdrf) \
    MECHANISM(first_fit) \
    MECHANISM(max_min) \
    MECHANISM(revenue)
// clang-format on

#define WEIR_DECLARE_MECHANISM(name) std::unique_ptr<Mechanism> make_##name();
WEIR_MECHANISMS(WEIR_DECLARE_MECHANISM)
#undef WEIR_DECLARE_MECHANISM

struct MechanismEntry {
    std::string_view name;
    std::unique_ptr<Mechanism> (*make)();
};
#define WEIR_MECHANISM_ENTRY(name) MechanismEntry{#name, make_##name},
inline constexpr std::array kMechanisms{WEIR_MECHANISMS(WEIR_MECHANISM_ENTRY)};
#undef WEIR_MECHANISM_ENTRY

}  // namespace weir::alloc
