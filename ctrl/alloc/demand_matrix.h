// demand_matrix.h - sparse matrix of demands: one row per flow, one column per resource.
// Source: Pulsar 4.1; docs/algorithms.md 8
// Units: tokens in the control interval.
// Threads: any, one at a time.
#pragma once

#include <cstdint>
#include <limits>
#include <ranges>
#include <span>
#include <vector>

namespace weir::alloc {

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
    void reserve(std::size_t flows, std::size_t entries) {
        begin_.reserve(flows + 1);
        resource_.reserve(entries);
        tokens_.reserve(entries);
    }
    /// Adds an entry to the open row, unchecked; at most one per resource. Less than kTokensLeast is left
    /// out.
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

}  // namespace weir::alloc
