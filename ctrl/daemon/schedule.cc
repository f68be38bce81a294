// schedule.cc - ticks and early solves by the time that is given, and their figures.
#include "ctrl/daemon/schedule.h"

#include <nlohmann/json.hpp>

namespace weir {

void LoopFigures::on_tick(Nanos due, Nanos began, Nanos ended, std::uint64_t missed) {
    last_lag_ = began - due;
    last_solve_ = ended - began;
    missed_ += missed;
    lag_.add(last_lag_);
    solve_.add(last_solve_);
}

void LoopFigures::on_early_solve(Nanos began, Nanos ended) {
    last_early_ = ended - began;
    early_max_ = std::max(early_max_, last_early_);
    early_sum_ += last_early_;
}

nlohmann::json LoopFigures::describe() const {
    const HistogramSnapshot lag = lag_.snapshot();
    return {{"ticks", lag.count()},
            {"missed", missed_},
            {"lag_ns", {{"last", last_lag_}, {"p99", lag.percentile(0.99)}, {"max", lag.max()}}},
            {"solve_ns", {{"last", last_solve_}, {"max", solve_.snapshot().max()}}},
            {"early_solve_ns", {{"last", last_early_}, {"max", early_max_}, {"sum", early_sum_}}}};
}

void Schedule::run_due(Nanos now) {
    if (now < next_due())
        return;
    if (now >= next_tick_) {
        const Nanos due = next_tick_;
        const Nanos missed = (now - due) / interval_;
        next_tick_ += (missed + 1) * interval_;
        calls_.tick(now);
        figures_.on_tick(due, now, calls_.clock(), missed);
        next_early_ = std::max(next_early_, now + interval_ / kEarlySolves / 2);
        return;
    }
    calls_.solve_early(now);
    const Nanos ended = calls_.clock();
    figures_.on_early_solve(now, ended);
    next_early_ = now + std::max(interval_ / kEarlySolves, kEarlyPart * (ended - now));
}

}  // namespace weir
