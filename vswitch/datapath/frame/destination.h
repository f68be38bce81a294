// destination.h - where a frame goes.
// Threads: any (values).
#pragma once

#include <cstdint>

namespace weir {

/// Where a frame goes: a VnicId, or one of the following.
using Destination = std::uint16_t;
inline constexpr Destination kToUplink = 0xFFFE;
inline constexpr Destination kToAll = 0xFFFD;  ///< broadcast, multicast, unknown
inline constexpr Destination kNowhere = 0xFFFF;

}  // namespace weir
