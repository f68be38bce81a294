// mechanism.h - interface of the allocation mechanisms: demands, a problem, its answer, its solver.
// Source: Pulsar 4.1; docs/algorithms.md 8
// Units: tokens in the control interval.
// Threads: one per mechanism object, which keeps its working memory for the next interval.
//
// Example: flows of weight 1 want 80 and 60 of a link of 100 tokens: rows {link: 80} and {link: 60}. DRF
// gives 50 to each, which are fills of 0.625 and 0.833, and names the link as the bottleneck of both.
#pragma once

#include <cstdint>
#include <limits>
#include <ranges>
#include <span>
#include <vector>

namespace weir::alloc {

struct ShareTree;

/// Bounds of an amount of tokens, so that no quotient of two amounts overflows. A demand below the least
/// counts as none; one above the most is invalid.
inline constexpr double kTokensLeast = 1e-9;
inline constexpr double kTokensMost = 1e18;
inline constexpr double kInfinite = std::numeric_limits<double>::infinity();
/// The number of no flow, resource or node.
inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// Rows stand one after another (compressed sparse rows) and are filled in order: put() for each entry of a
/// row, then end_flow().
class DemandMatrix {
  public:
    void clear() {
        begin_.assign(1, 0);
        resource_.clear();
        tokens_.clear();
    }
    /// Adds an entry to the open row, unchecked; at most one per resource; none below kTokensLeast.
    void put(std::uint32_t resource, double tokens) {
        if (tokens < kTokensLeast)
            return;
        resource_.push_back(resource);
        tokens_.push_back(tokens);
    }
    void end_flow() { begin_.push_back(static_cast<std::uint32_t>(resource_.size())); }

    [[nodiscard]] std::uint32_t flows() const { return static_cast<std::uint32_t>(begin_.size() - 1); }
    [[nodiscard]] std::size_t entries() const { return resource_.size(); }
    /// Numbers of the entries of a flow.
    using Row = std::ranges::iota_view<std::uint32_t, std::uint32_t>;
    [[nodiscard]] Row row(std::uint32_t flow) const { return {begin_[flow], begin_[flow + 1]}; }
    /// Resources and tokens of all entries, by number.
    [[nodiscard]] std::span<const std::uint32_t> resource() const { return resource_; }
    [[nodiscard]] std::span<const double> tokens() const { return tokens_; }

  private:
    std::vector<std::uint32_t> begin_{0};
    std::vector<std::uint32_t> resource_;
    std::vector<double> tokens_;
};

/// Two levels count as one when the greater is at most this many times the other.
inline constexpr double kSame = 1 + 1e-12;

struct Problem {
    const DemandMatrix& demand;        ///< D
    std::span<const double> weights;   ///< W: one per flow, >= 0; weight 0: a part of the rest
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
    /// resources allows. Sets `fill` and `bottleneck`; `left` becomes the rest of each resource.
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
