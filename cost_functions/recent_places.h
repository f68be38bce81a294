// recent_places.h - which places were asked for a short while ago: four to a cache line, the oldest gives
// way. Source: the stateful cost functions that Pulsar 8 leaves open. Units: nanoseconds, bytes. Threads:
// one; touch() is for poll threads (no allocation, one cache line).
//
// Places are kept whole, so a hit is never a mistake. One that was pushed out, or asked for in a larger piece
// than before, counts as new: the service may know better, the price does not.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/clock.h"
#include "cost_functions/cost_table.h"

namespace weir {

class RecentPlaces {
  public:
    /// Takes all the memory that it will ever have: 16 bytes for each place, capacity rounded up to a power
    /// of two.
    explicit RecentPlaces(const RepeatRule& rule);

    /// Whether `place` was touched at most the window ago, with a span that reached as far (by powers of
    /// two). It now is.
    [[nodiscard]] bool touch(std::uint64_t place, std::uint32_t span, Nanos now) noexcept;
    void forget(std::uint64_t place) noexcept;

    [[nodiscard]] std::size_t capacity() const { return sets_.size() * kWays; }

  private:
    static constexpr std::size_t kWays = 4;
    static constexpr unsigned kReachBits = 6;
    static constexpr std::uint64_t kReachMask = (1U << kReachBits) - 1;

    struct Entry {
        std::uint64_t place = 0;
        std::uint64_t seen = 0;  // (time + 1) << 6 | reach; 0: empty
    };
    struct alignas(64) Set {
        std::array<Entry, kWays> entries;
    };
    static_assert(sizeof(Set) == 64);

    [[nodiscard]] Set& set_of(std::uint64_t place) noexcept {
        constexpr std::uint64_t kGolden =
            0x9E37'79B9'7F4A'7C15;  // Fibonacci hashing: the high bits are mixed
        return sets_[static_cast<std::size_t>((place * kGolden) >> 32U) & mask_];
    }

    std::vector<Set> sets_;
    std::size_t mask_;
    Nanos window_;
    unsigned block_bits_;
};

}  // namespace weir
