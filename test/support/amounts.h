// amounts.h - short words for rates, times and frames.
// Threads: tests only.
#pragma once

#include <cstdint>

#include "common/clock.h"

namespace weir::testing {

inline constexpr std::uint64_t kGbit = 125'000'000;  ///< bytes/s
inline constexpr std::uint64_t kMbit = 125'000;
inline constexpr Nanos kMs = 1'000'000;
inline constexpr Nanos kUs = 1000;
inline constexpr std::uint32_t kWireFrame = 1538;  ///< bytes of a full frame on the wire

}  // namespace weir::testing
