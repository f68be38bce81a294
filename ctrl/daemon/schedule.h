// schedule.h - when the controller solves: a tick every interval, early solves between them, and how late and
// long. Source: Pulsar 4.1; docs/protocol.md. Units: Nanos of a clock that only rises. Threads: one owner.
//
// A tick that is missed (the process was stopped, a solve took too long) is not made up for: the next one has
// all demands that the missed one would have had. Early solves are at least a tenth of the interval apart (a
// twentieth after a tick), and five times as long as the last one took, so that they take a fifth of the time
// at most: with an interval of 1 s, one of 4 ms is followed by the next after 100 ms, one of 60 ms after 300
// ms.
#pragma once

#include <algorithm>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <utility>

#include "common/clock.h"
#include "common/metrics.h"

namespace weir {

/// How late ticks began, and how long solves took.
class LoopFigures {
  public:
    void on_tick(Nanos due, Nanos began, Nanos ended, std::uint64_t missed);
    void on_early_solve(Nanos began, Nanos ended);
    [[nodiscard]] Nanos lag_max() const { return lag_.snapshot().max(); }
    [[nodiscard]] nlohmann::json describe() const;

  private:
    Histogram lag_;
    Histogram solve_;
    Nanos last_lag_ = 0;
    Nanos last_solve_ = 0;
    Nanos last_early_ = 0;
    Nanos early_max_ = 0;
    Nanos early_sum_ = 0;
    std::uint64_t missed_ = 0;
};

class Schedule {
  public:
    struct Calls {
        std::function<void(Nanos now)> tick;
        std::function<void(Nanos now)> solve_early;
        std::function<bool()> early_solve_due;
        std::function<Nanos()> clock;  ///< read after a solve
    };

    Schedule(Calls calls, Nanos interval, Nanos now)
        : calls_(std::move(calls)), interval_(interval), next_tick_(now + interval) {}

    [[nodiscard]] Nanos next_tick() const { return next_tick_; }
    [[nodiscard]] Nanos next_due() const {
        return std::min(next_tick_, calls_.early_solve_due() ? next_early_ : kNever);
    }
    void run_due(Nanos now);
    [[nodiscard]] const LoopFigures& figures() const { return figures_; }

  private:
    /// Early solves per interval, and the inverse of their part of the time.
    static constexpr Nanos kEarlySolves = 10;
    static constexpr Nanos kEarlyPart = 5;

    Calls calls_;
    Nanos interval_;
    Nanos next_tick_;
    Nanos next_early_ = 0;
    LoopFigures figures_;
};

/// The end of one turn of intake, in which messages are taken: a tenth of the interval after `now`, or 50 ms
/// if that is less, and not beyond a tick that is due in it. A tick that is late already, because solving
/// takes long, follows the turn. After it is late by a whole interval, the process stood still: the messages
/// that came meanwhile show which switches are alive, and are taken for half an interval.
[[nodiscard]] inline Nanos intake_end(Nanos now, Nanos interval, Nanos next_tick) {
    constexpr Nanos kIntakeMax = 50'000'000;
    if (now >= next_tick && now - next_tick >= interval)
        return now + interval / 2;
    const Nanos end = now + std::min(interval / 10, kIntakeMax);
    return now < next_tick ? std::min(end, next_tick) : end;
}

}  // namespace weir
