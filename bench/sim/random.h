// random.h - seeded random numbers that are the same with every library.
// Source: SplitMix64 (OOPSLA'14).
// Threads: one owner.
#pragma once

#include <cmath>
#include <cstdint>

#include "vswitch/qos/buckets/rate_profile.h"

namespace weir::sim {

/// A well-mixed value of a value: for seeds and for hashes of flows.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
}

class Random {
  public:
    /// A stream of its own for each `stream` of one seed, so that one more source leaves the others alone.
    Random(std::uint64_t seed, std::uint64_t stream) : state_(mix(seed ^ mix(stream + kStep))) {}

    [[nodiscard]] std::uint64_t next() { return mix(state_ += kStep); }
    /// 0 .. bound-1
    [[nodiscard]] std::uint64_t below(std::uint64_t bound) {
        return static_cast<std::uint64_t>((Wide{next()} * bound) >> 64);
    }
    /// 0 <= x < 1, 53 bits
    [[nodiscard]] double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
    /// Times between events of a Poisson process.
    [[nodiscard]] double exponential(double mean) { return -mean * std::log1p(-unit()); }

  private:
    static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15;
    std::uint64_t state_;
};

}  // namespace weir::sim
