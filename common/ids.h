// ids.h - small integer identities that index fixed tables.
// Threads: any (values).
#pragma once

#include <cstdint>

namespace weir {

/// Index of a vNIC in the switch's vNIC table, 0 .. kVnicsMax-1; stable for the life of the vNIC.
using VnicId = std::uint16_t;
/// Index of a worker, 0 .. kWorkersMax-1.
using WorkerId = std::uint16_t;

inline constexpr VnicId kNoVnic = 0xFFFF;

}  // namespace weir
