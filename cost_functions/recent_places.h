// recent_places.h - set of the places that were requested within a window of time, for the prices of repeats.
// Source: Pulsar 8; docs/algorithms.md 5.2. Units: nanoseconds, bytes.
// Threads: one; touch() is for poll threads (no allocation, one cache line).
//
// A hash table of sets of four places, one cache line each; a new place replaces the oldest of its set.
// Places are stored whole, so a hit is never a mistake. A place that was replaced, or is requested with a
// larger span than before, counts as new. Example, with a window of 1 s: a read of 4 KiB at offset 0 is new;
// the same read 0.5 s later is a repeat; a read of 8 KiB at 0 is new again, because its second half was not
// read before.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/clock.h"
#include "cost_functions/cost_table.h"

namespace weir {

class RecentPlaces {
  public:
    /// Allocates all its memory: 16 bytes for each place, with the capacity rounded up to a power of two.
    explicit RecentPlaces(const RepeatRule& rule);

    /// Remembers the place. @return it was touched before, at most the window ago, with a span of at least
    /// the same power of two
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
        constexpr std::uint64_t kGolden = 0x9E37'79B9'7F4A'7C15;  // Fibonacci hashing: mixes the high bits
        return sets_[static_cast<std::size_t>((place * kGolden) >> 32U) & mask_];
    }

    std::vector<Set> sets_;
    std::size_t mask_;
    Nanos window_;
    unsigned block_bits_;
};

}  // namespace weir
