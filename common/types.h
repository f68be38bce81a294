// types.h - integer types that all rooms share: identities of vNICs and workers, and 128-bit products.
// Threads: any (values).
#pragma once

#include <cstdint>

namespace weir {

/// Index of a vNIC in the switch's table of vNICs, 0 .. kVnicsMax-1; stable for the life of the vNIC.
using VnicId = std::uint16_t;

/// Counts the vNICs that had one index, one after another: 0 for the first, 14 bits that wrap. An object that
/// may outlive its vNIC (a frame that waits, an update for other workers) carries index and generation.
using VnicGeneration = std::uint16_t;
inline constexpr unsigned kVnicGenerationBits = 14;

/// No vNIC; larger than every index.
inline constexpr VnicId kNoVnic = 0xFFFF;

/// Index of a worker, 0 .. kWorkersMax-1.
using WorkerId = std::uint16_t;

/// 128-bit numbers, for products of two 64-bit ones. Example: 10^12 bytes times 10^9 ns per second is 10^21,
/// and 64 bits end at 1.8 * 10^19. A product is divided again before it is stored, so no state has this type.
__extension__ using Wide = unsigned __int128;

/// The same with a sign, for slopes and differences.
__extension__ using SignedWide = __int128;

}  // namespace weir
