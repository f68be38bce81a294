// burst_groups.h - the places of a burst's frames when those of one group are brought together.
// Source: docs/design.md 4. Units: frames. Threads: any (values).
//
// Groups come in the order of their numbers, and the frames of a group keep theirs.
//
// Example: frames of the groups 0, 1, 0, 2 go to the places 0, 2, 1, 3; group 1 begins at 2.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <span>

#include "vswitch/base/limits.h"

namespace weir {

class BurstGroups {
  public:
    /// @param group_of below limits::kBurst, of each of at most as many frames
    explicit BurstGroups(std::span<const std::uint8_t> group_of) {
        for (const std::uint8_t group : group_of)
            ++begins_[group + 1U];
        std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
        auto next = begins_;
        for (std::size_t i = 0; i < group_of.size(); ++i)
            places_[i] = next[group_of[i]]++;
    }
    [[nodiscard]] std::uint8_t place(std::size_t frame) const { return places_[frame]; }
    [[nodiscard]] std::uint8_t begin(std::size_t group) const { return begins_[group]; }
    [[nodiscard]] std::size_t size(std::size_t group) const { return begins_[group + 1] - begins_[group]; }

  private:
    std::array<std::uint8_t, limits::kBurst + 1> begins_{};
    std::array<std::uint8_t, limits::kBurst> places_;
};

}  // namespace weir
