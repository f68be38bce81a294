// random.h - seeded 32-bit random numbers, the same on every machine.
// Threads: tests only.
#pragma once

#include <cstdint>
#include <random>

namespace weir::testing {

using Random32 = std::independent_bits_engine<std::mt19937_64, 32, std::uint32_t>;

}  // namespace weir::testing
