// clock.h - time in nanoseconds since the process's own epoch, and its conversion from TSC ticks.
// Units: nanoseconds, 64 bit (584 years). Threads: any.
#pragma once

#include <cstdint>

#include "common/types.h"

namespace weir {

/// A point in time, or a duration. Pure code never reads a clock: its callers pass the time.
using Nanos = std::uint64_t;

inline constexpr Nanos kNanosPerSec = 1'000'000'000;
inline constexpr Nanos kNever = UINT64_MAX;

[[nodiscard]] constexpr double to_seconds(Nanos time) {
    return static_cast<double>(time) / static_cast<double>(kNanosPerSec);
}

/// Converts ticks of a constant-rate counter (TSC) to Nanos by one multiplication; no division per call.
/// Example: at 2.5 GHz a tick is 0.4 ns, kept as 0.4 * 2^32; 250 ticks are 100 ns.
class TickConverter {
  public:
    /// @param ticks_per_sec rate of the counter, 1 kHz .. 100 GHz
    /// @param epoch_ticks   counter value that becomes time 0
    TickConverter(std::uint64_t ticks_per_sec, std::uint64_t epoch_ticks)
        : nanos_per_tick_fp_(
              static_cast<std::uint64_t>((Wide{kNanosPerSec} << kFractionBits) / ticks_per_sec)),
          epoch_ticks_(epoch_ticks) {}

    [[nodiscard]] Nanos to_nanos(std::uint64_t ticks) const { return span_to_nanos(ticks - epoch_ticks_); }
    [[nodiscard]] Nanos span_to_nanos(std::uint64_t ticks) const {
        return static_cast<Nanos>((Wide{ticks} * nanos_per_tick_fp_) >> kFractionBits);
    }

  private:
    static constexpr unsigned kFractionBits = 32;
    std::uint64_t nanos_per_tick_fp_;  // 32.32 fixed point
    std::uint64_t epoch_ticks_;
};

}  // namespace weir
