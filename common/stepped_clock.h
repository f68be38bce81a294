// stepped_clock.h - time that stands still until a test moves it, so that real processes show exact counts.
// Source: docs/design.md 2. Units: ns. Threads: now() any; advance() by one at a time: a worker in its
// poll turns, or the controller's loop.
//
// A cycle of the processor is 1 ns on this clock, on every machine. Example: a step of 100 ms with poll turns
// of 10 us is 10,000 poll turns of every worker, at 10 us, 20 us ... 100 ms after the time before it.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/clock.h"

namespace weir {

class SteppedClock {
  public:
    /// Not 0, which stands for "never" in some places.
    static constexpr Nanos kStart = kNanosPerSec;

    [[nodiscard]] Nanos now() const { return now_.load(std::memory_order_relaxed); }
    /// The same as a counter of cycles.
    [[nodiscard]] const std::atomic<std::uint64_t>& cycles() const { return now_; }
    void advance(Nanos span) { now_.store(now() + span, std::memory_order_relaxed); }

  private:
    std::atomic<Nanos> now_{kStart};
};

/// Of the option --clock, and of the log when it is used.
inline constexpr const char* kClockHelp =
    "real, or, for tests, stepped: time stands still but for `weirctl clock step`";
inline constexpr const char* kSteppedWarning =
    "--clock stepped: time stands still but for `weirctl clock step`; this is for tests alone";

/// One command of a test: so much time, in poll turns of equal length.
struct ClockStep {
    static constexpr Nanos kSpanMax = 60 * kNanosPerSec;
    static constexpr Nanos kTurnMin = 100;
    static constexpr Nanos kTurnMax = 10'000'000;
    /// Bounds the time in which the agent serves no other command, to less than weirctl waits.
    static constexpr std::uint64_t kTurnsMax = 20'000;

    Nanos span = 0;
    Nanos turn = 10'000;

    [[nodiscard]] std::uint64_t turns() const { return span / turn; }
    [[nodiscard]] bool whole() const { return span % turn == 0; }
};

}  // namespace weir
