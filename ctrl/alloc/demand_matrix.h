// demand_matrix.h - D of Pulsar's eq. 1, sparse: a row per flow, a column per resource, tokens in the coming
// interval. Only what is positive is kept. Values are bounded so that no quotient of two of them overflows.
// Threads: any, one at a time.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace weir::alloc {

/// Bounds of every amount of tokens: a demand below the least is none, one above the most is no demand.
inline constexpr double kTokensLeast = 1e-9;
inline constexpr double kTokensMost = 1e18;
inline constexpr double kInfinite = std::numeric_limits<double>::infinity();
inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

class DemandMatrix {
  public:
    DemandMatrix() { clear(); }

    void clear();
    void reserve(std::size_t flows, std::size_t entries);
    /// Adds to the row that end_flow() ends; unchecked.
    void put(std::uint32_t resource, double tokens) {
        if (tokens < kTokensLeast)
            return;
        resource_.push_back(resource);
        tokens_.push_back(tokens);
    }
    void end_flow() { begin_.push_back(static_cast<std::uint32_t>(resource_.size())); }

    [[nodiscard]] std::uint32_t flows() const { return static_cast<std::uint32_t>(begin_.size() - 1); }
    [[nodiscard]] std::size_t entries() const { return resource_.size(); }
    /// Entries begin(i) to begin(i + 1) are flow i's.
    [[nodiscard]] std::uint32_t begin(std::uint32_t flow) const { return begin_[flow]; }
    [[nodiscard]] std::span<const std::uint32_t> resource() const { return resource_; }
    [[nodiscard]] std::span<const double> tokens() const { return tokens_; }

  private:
    std::vector<std::uint32_t> begin_;
    std::vector<std::uint32_t> resource_;
    std::vector<double> tokens_;
};

}  // namespace weir::alloc
