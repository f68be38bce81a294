// capacity_search.h - how many tokens a second an appliance can serve, from what went through it.
// Source: Pulsar 4.3 (binary search in a window, both congestion signals, eq. 7), but:
//   - An appliance that nobody asks for all of its estimate says nothing: the estimate is held.
//   - A changed mix widens the window around the estimate and keeps the estimate. The paper begins again at
//     the bottom, below what may be promised.
//   - A window whose bottom is too much, or whose top was never too much, is moved.
//   - Eq. 7 alone turns a queue into a falling estimate and the estimate into a queue, and swings for ever
//     with open loops. `allocate` is less than the estimate while there is a queue: it goes, the estimate
//     stays.
//   - `jump`: what an overloaded appliance delivers is what it can deliver: one step, not a search. A step up
//     that ends in a queue is taken back at once. Congestion that comes by itself is believed after
//     `readings`; while they are gathered the queue tells, and nothing is added to it. And readings of a full
//     appliance tell what a token of each kind takes of it (work_model.h), so that a change of the mix is met
//     before it is felt.
//   - `latency_factor`: closed loops never queue at enforcers while the appliance is the bottleneck; there
//   the
//     time that tokens are outstanding tells.
//   - `check_intervals`: now and then a little more is tried; nothing else shows a faster appliance.
// Units: tokens, tokens/s. Threads: one owner.
#pragma once

#include "ctrl/estimate/capacity_settings.h"
#include "ctrl/estimate/request_mix.h"
#include "ctrl/estimate/work_model.h"

namespace weir::estimate {

class CapacitySearch {
  public:
    struct State {
        Phase phase = Phase::kIncrease;
        double min_window = 0;
        double max_window = 0;
        double estimate = 0;
        double allocate = 0;  ///< what to give out: the estimate, less while a queue is drained
    };

    /// @param settings 0 <= min <= max
    explicit CapacitySearch(const CapacitySettings& settings);

    /// Takes in what happened under `state().allocate` and says what to do in the next interval. A reading
    /// that is not plausible changes nothing.
    const State& update(const Reading& reading);
    [[nodiscard]] const State& state() const { return state_; }
    /// How many times longer than ever requests are outstanding; 1 when they do not queue at the appliance.
    [[nodiscard]] double slowdown(const Reading& reading) const;

  private:
    /// A queue of so much of what it was, or less, is drained.
    static constexpr double kQueueFalls = 0.9;

    enum class Signal { kClear, kIdle, kShort, kViolation, kNothing };

    [[nodiscard]] Signal signal_of(const Reading& reading) const;
    /// A throughput that is less by less is no sign.
    [[nodiscard]] double margin() const;
    [[nodiscard]] bool is_slow(const Reading& reading) const;
    [[nodiscard]] bool has_queue(const Reading& reading) const;
    void note_latency(const Reading& reading);
    [[nodiscard]] bool is_full(Signal signal, const Reading& reading) const;
    void learn(Signal signal, const Reading& reading);
    /// Goes to what the mix that is to come takes, when that is another and known. @return whether it has
    bool turn(const Reading& reading);
    /// How many times the estimate to try next: the surer it is, the less.
    [[nodiscard]] double step_of(const Reading& reading) const;
    /// What a full appliance has shown for the mix that is to come, else `otherwise`.
    [[nodiscard]] double shown(const Reading& reading, double otherwise) const;
    [[nodiscard]] bool queue_stays(const Reading& reading) const;
    void restart();
    void search(Signal signal, const Reading& reading);
    void stay(Signal signal, const Reading& reading);
    void congested(Signal signal, const Reading& reading);
    void increase(const Reading& reading);
    void revert(const Reading& reading);
    void step_back(const Reading& reading);
    void lower_floor();
    void jump(const Reading& reading);
    void settle(const Reading& reading);
    void follow(const Reading& reading);
    void check();
    [[nodiscard]] double busy_outstanding(double throughput) const;
    [[nodiscard]] double at_work(const Reading& reading) const;
    [[nodiscard]] double to_allocate(const Reading& reading) const;
    [[nodiscard]] bool at_floor() const { return state_.estimate - state_.min_window <= tolerance_; }
    [[nodiscard]] bool narrow() const { return state_.max_window - state_.min_window <= tolerance_; }

    CapacitySettings settings_;
    double tolerance_;
    State state_;
    RequestMix mix_;  // when the search or the stable phase began
    RequestMix aim_;  // to come, when the estimate was last set for it
    WorkModel work_;
    std::vector<double> rates_;
    unsigned since_restart_ = 0;

    unsigned congested_ = 0;     // readings in a row
    bool top_seen_ = false;      // something above the estimate was too much
    bool climbing_ = false;      // has gone up since the window was set
    bool stepped_back_ = false;  // the last reading led down
    unsigned waited_ = 0;
    double last_outstanding_ = 0;
    double least_latency_ = 0;  // seconds: outstanding per throughput; 0 = not known

    double settled_ = 0;              // the estimate at the beginning of the stable phase
    double settled_outstanding_ = 0;  // O_s of eq. 7
    bool outstanding_known_ = false;
    unsigned full_readings_ = 0;  // in a row: asked for all, and delivered
    double check_from_ = 0;       // the estimate to go back to when a check fails; 0 = no check is on
    double check_step_ = 0;       // part of the estimate; of the last check
    unsigned check_wait_;         // full readings between checks: more after each that was too much
};

}  // namespace weir::estimate
