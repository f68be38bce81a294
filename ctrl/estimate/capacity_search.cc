// capacity_search.cc - signals and phases of the search.
#include "ctrl/estimate/capacity_search.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "ctrl/estimate/demand.h"

namespace weir::estimate {
namespace {

constexpr double kDefaultTolerance = 0.01;  // of max
// Window after a jump, times the throughput: an overloaded appliance may deliver less than its best.
constexpr double kJumpBelow = 0.95;
constexpr double kJumpAbove = 1.1;
constexpr double kFollowMost = 0.1;   // part of the settled estimate by which eq. 7 may move it
constexpr double kCheckFirst = 0.03;  // step of a check; a check that succeeds doubles it
constexpr double kCheckMost = 0.25;
constexpr unsigned kBurstHold = 3;  // full readings from one check that succeeds to the next, after a burst
constexpr double kRowLost = 1.02;   // times the estimate before a row of checks: at most that is left of it
constexpr unsigned kChecksRarest = 3;    // times check_intervals, after failed checks
constexpr double kBusyOutstanding = 2;   // times throughput * least latency: keeps the appliance busy
constexpr double kLatencyGrowth = 1.02;  // of the least latency per reading, so that an old one is forgotten
constexpr double kLatencyLoad = 0.25;    // of the estimate: latency under less load is not comparable
constexpr double kMargin = 0.01;         // of the estimate
constexpr double kDrainMost = 0.97;      // of the rate, while there is a queue
constexpr double kBelow = 0.995;         // of a throughput that came with a queue
constexpr double kNearly = 0.95;     // of the estimate: with that much allocated the mix is the tenants' own
constexpr unsigned kMixSettles = 2;  // intervals over which one change of the mix may show
constexpr double kLatencyFalls = 0.9;  // of the last latency
constexpr double kPassed = 1.03;       // times the rate in force: more was served than let in
constexpr double kPress = 0.95;        // of the last rate, while a latency stays
constexpr unsigned kPresses = 3;       // readings in which letting in less made nothing faster

bool is_whole(const Reading& r) {
    return is_plausible(r.throughput) && is_plausible(r.offered) && is_plausible(r.outstanding) &&
           is_plausible(r.guaranteed) &&
           std::all_of(r.mix.begin(), r.mix.end(), [](double tokens) { return is_plausible(tokens); });
}

}  // namespace

const char* name_of(Phase phase) {
    switch (phase) {
        case Phase::kIncrease:
            return "increase";
        case Phase::kRevert:
            return "revert";
        case Phase::kWait:
            return "wait";
        case Phase::kHold:
            return "hold";
        case Phase::kStable:
            break;
    }
    return "stable";
}

CapacitySettings plain_search(double min, double max) {
    CapacitySettings settings{.min = min, .max = max};
    settings.jump = false;
    settings.latency_factor = 0;
    settings.drain = 0;
    settings.check_intervals = 0;
    settings.wait_max = 0;
    return settings;
}

CapacitySearch::CapacitySearch(const CapacitySettings& settings)
    : settings_(settings),
      tolerance_(settings.tolerance > 0 ? settings.tolerance : kDefaultTolerance * settings.max),
      state_{.min_window = settings.min,
             .max_window = settings.max,
             .estimate = settings.min,
             .allocate = settings.min},
      check_wait_(settings.check_intervals) {
    assert(settings.min >= 0 && settings.min <= settings.max);
}

const CapacitySearch::State& CapacitySearch::update(const Reading& reading) {
    if (!is_whole(reading))
        return state_;
    ++since_restart_;
    const Signal signal = signal_of(reading);
    // Only in clear readings: an overload, and the end of its queue, change the mix by themselves.
    if (signal == Signal::kClear && state_.allocate >= kNearly * state_.estimate) {
        if (mix_.moved(reading.mix) > settings_.mix_change &&
            (since_restart_ > kMixSettles || state_.phase == Phase::kStable))
            restart();
        if (!mix_.is_known() || since_restart_ <= kMixSettles)
            mix_.remember(reading.mix);
    }
    if (signal == Signal::kClear || signal == Signal::kIdle)
        congested_ = 0;
    learn(signal, reading);
    note_latency(signal, reading);
    if (meet_mix(reading))
        ;  // the state is set
    else if (state_.phase == Phase::kStable)
        stay(signal, reading);
    else
        search(signal, reading);
    judge_row();
    last_outstanding_ = reading.outstanding;
    state_.allocate = to_allocate(reading);
    return state_;
}

/// Tokens/s that the switches allowed, and flows could use.
double CapacitySearch::in_force(const Reading& r) const {
    return std::min(state_.allocate, r.in_force);
}

/// Whether less was served than was asked for and allowed. It may be that another limit held the flows.
bool CapacitySearch::is_under(const Reading& r) const {
    const double least = in_force(r) - margin();
    return r.offered >= least && r.throughput < least;
}

/// The paper's: a shortage alone is congestion.
CapacitySearch::Signal CapacitySearch::plain_signal_of(const Reading& r) const {
    if (r.violated && r.guaranteed <= in_force(r))
        return Signal::kViolation;
    if (is_under(r))
        return Signal::kShort;
    return r.offered >= in_force(r) - margin() ? Signal::kClear : Signal::kIdle;
}

/// Congestion needs evidence at the appliance: requests that queue there, and do not become fewer while less
/// is served than let in. Without it another limit, which the controller does not know, held the flows.
CapacitySearch::Signal CapacitySearch::signal_of(const Reading& r) const {
    if (!settings_.jump)
        return plain_signal_of(r);
    const bool waits = least_latency_ > 0 && r.outstanding > busy_outstanding(r.throughput);
    if (congested_ > 0 && state_.allocate < state_.estimate && r.throughput < state_.estimate - margin())
        return waits && !latency_stays(r) ? Signal::kShort : Signal::kNothing;
    // A jump sets the estimate to the throughput and so restores guarantees in one interval.
    if (is_under(r))
        return has_queue(r) && r.outstanding > kQueueFalls * last_outstanding_ ? Signal::kShort
                                                                               : Signal::kNothing;
    // When less is allowed than guaranteed, the allocation breaks the guarantees.
    if (r.violated && waits && r.guaranteed <= in_force(r))
        return Signal::kViolation;
    if (is_slow(r) && r.throughput < state_.allocate - margin())
        return Signal::kShort;
    if (r.offered < state_.allocate - margin())
        return Signal::kIdle;
    const double tried =
        state_.phase == Phase::kStable ? kNearly * state_.allocate : state_.estimate - margin();
    return in_force(r) >= tried ? Signal::kClear : Signal::kNothing;
}

/// Whether requests wait at the appliance although the switches let all of them through.
bool CapacitySearch::is_slow(const Reading& r) const {
    return settings_.latency_factor > 0 && r.throughput > kLatencyLoad * state_.allocate && has_queue(r);
}

/// At least twice the least latency: samples of outstanding tokens may show that much without a queue.
bool CapacitySearch::has_queue(const Reading& r) const {
    const double times = std::max(settings_.latency_factor, kBusyOutstanding);
    return least_latency_ > 0 && r.outstanding > times * least_latency_ * r.throughput;
}

double CapacitySearch::slowdown(const Reading& r) const {
    return has_queue(r) && r.throughput > 0 ? r.outstanding / (least_latency_ * r.throughput) : 1;
}

/// Outstanding tokens that keep the appliance busy at this throughput.
double CapacitySearch::busy_outstanding(double throughput) const {
    return kBusyOutstanding * least_latency_ * throughput;
}

/// Outstanding tokens without those that queue at the appliance.
double CapacitySearch::at_work(const Reading& r) const {
    return settings_.drain > 0 && least_latency_ > 0 ? std::min(r.outstanding, busy_outstanding(r.throughput))
                                                     : r.outstanding;
}

double CapacitySearch::margin() const {
    return settings_.jump ? std::min(tolerance_ / 2, kMargin * state_.estimate) : tolerance_ / 2;
}

/// Whether requests wait at the appliance as long as before although less was let in and no more came out:
/// either the appliance serves just that much and the queue stays, or it takes that long at this load.
bool CapacitySearch::latency_stays(const Reading& r) const {
    if (state_.allocate >= state_.estimate - margin() || least_latency_ <= 0 ||
        r.outstanding <= busy_outstanding(r.throughput) || r.throughput > kPassed * in_force(r))
        return false;
    const double latency = r.outstanding / r.throughput;
    return latency > kLatencyFalls * last_latency_ && latency < last_latency_ / kLatencyFalls;
}

void CapacitySearch::note_latency(Signal signal, const Reading& r) {
    if (r.throughput <= 0 || r.outstanding <= 0)
        return;
    const double latency = r.outstanding / r.throughput;
    if (settings_.drain > 0)
        judge_latency(latency, r);
    if (signal != Signal::kShort && signal != Signal::kViolation && congested_ == 0)
        least_latency_ = least_latency_ > 0 ? std::min(latency, least_latency_ * kLatencyGrowth) : latency;
    last_latency_ = latency;
}

/// While the latency stays, to_allocate() lets less and less in. A queue becomes shorter then, and the
/// appliance serves as much as when it stayed. If nothing becomes faster, there is no queue.
void CapacitySearch::judge_latency(double latency, const Reading& r) {
    if (latency_stays(r) && kPress * state_.allocate > least_to_allocate(r)) {
        if (pressed_++ == 0)
            stayed_at_ = is_under(r) ? state_.estimate : r.throughput;
        if (pressed_ < kPresses)
            return;
        least_latency_ = latency;
        congested_ = 0;
        outstanding_known_ = false;
    } else if (pressed_ > 0 && state_.estimate > stayed_at_ && !is_under(r) &&
               (latency <= kLatencyFalls * last_latency_ || r.throughput > kPassed * in_force(r))) {
        state_.estimate = std::max(stayed_at_, settings_.min);
        settled_ = std::min(settled_, state_.estimate);
        state_.min_window = std::min(state_.min_window, state_.estimate);
    }
    pressed_ = 0;
}

void CapacitySearch::restart() {
    if (check_from_ > 0)
        state_.estimate = check_from_;
    state_.min_window = std::max(settings_.min, state_.estimate / 2);
    state_.max_window = std::min(settings_.max, state_.estimate * 2);
    state_.phase = Phase::kIncrease;
    top_seen_ = climbing_ = false;
    congested_ = since_restart_ = 0;
    check_from_ = check_step_ = 0;
}

void CapacitySearch::search(Signal signal, const Reading& r) {
    switch (signal) {
        case Signal::kClear:
            increase(r);
            break;
        case Signal::kIdle:
            state_.phase = Phase::kHold;
            break;
        case Signal::kNothing:
            break;
        case Signal::kShort:
        case Signal::kViolation:
            congested(signal, r);
            break;
    }
}

void CapacitySearch::congested(Signal signal, const Reading& r) {
    if (state_.phase == Phase::kWait && signal == Signal::kViolation) {
        if (settings_.wait_max != 0 && ++waited_ >= settings_.wait_max)
            lower_floor();
        return;
    }
    // Congestion with a queue right after a step up comes from the step and needs no further readings.
    if (settings_.jump && signal == Signal::kShort && climbing_ && state_.phase != Phase::kStable &&
        is_full(signal, r)) {
        if (!stepped_back_)  // otherwise it is the queue that the step left
            step_back(r);
        else
            stepped_back_ = false;
        return;
    }
    if (++congested_ < settings_.readings)
        return;
    if (signal == Signal::kShort) {
        settings_.jump ? jump(r) : revert(r);
    } else {
        // At the bottom, tokens queued from before break guarantees, which is no reason to move the window.
        if (!is_at_floor())
            revert(r);
        state_.estimate = state_.min_window;
        state_.phase = Phase::kWait;
        waited_ = 0;
    }
    congested_ = 0;
}

void CapacitySearch::increase(const Reading& r) {
    state_.phase = Phase::kIncrease;
    state_.min_window = state_.estimate;
    stepped_back_ = false;
    // Requests begin to wait, so the capacity is near.
    const bool nearly =
        settings_.jump && least_latency_ > 0 && r.outstanding > busy_outstanding(r.throughput);
    if (settings_.jump && (top_seen_ || nearly)) {
        settle(r);
        if (shown_capacity(r, 0) <= 0)
            full_readings_ = check_wait_;  // checks find the rest
        return;
    }
    if (is_narrow()) {
        if (top_seen_ || state_.max_window >= settings_.max)
            return settle(r);
        state_.max_window = std::min(settings_.max, state_.max_window * 2);  // its top was never congested
    }
    // An overload shows the capacity, so the steps seek one: a small one, because it costs flows with little
    // outstanding as many tokens as it exceeds the capacity. Before the first estimate the steps are larger.
    if (settings_.jump)
        state_.estimate = std::min(state_.max_window, step_of(r) * std::max(state_.estimate, margin()));
    else
        state_.estimate += (state_.max_window - state_.min_window) / 2;
    climbing_ = true;
}

void CapacitySearch::revert(const Reading& r) {
    if (is_at_floor()) {
        lower_floor();
    } else {
        state_.max_window = state_.estimate;
        state_.estimate = state_.min_window;
        top_seen_ = true;
    }
    state_.phase = Phase::kRevert;
    if (is_narrow())
        settle(r);
}

/// Takes a step back to the throughput, unless the overload's mix served less than before.
void CapacitySearch::step_back(const Reading& r) {
    state_.max_window = state_.estimate;
    const bool as_before = mix_.moved(r.mix) <= settings_.mix_change / 3;
    const double known = shown_capacity(r, as_before ? r.throughput : 0);
    state_.estimate = known > kNearly * state_.min_window
                          ? std::clamp(known, state_.min_window, state_.estimate)
                          : state_.min_window + (state_.estimate - state_.min_window) / 4;
    state_.phase = Phase::kRevert;
    top_seen_ = true;
    congested_ = 0;
    stepped_back_ = true;
    settled_outstanding_ = busy_outstanding(state_.estimate);
    outstanding_known_ = true;
    if (is_narrow()) {
        state_.estimate = state_.min_window;
        settle(r);
    }
}

/// Moves the window down when its bottom is congested.
void CapacitySearch::lower_floor() {
    state_.max_window = state_.estimate;
    state_.min_window = std::max(settings_.min, state_.estimate / 2);
    state_.estimate = state_.min_window;
    top_seen_ = true;
    waited_ = 0;
}

void CapacitySearch::jump(const Reading& r) {
    // The last reading counts: those before may have been taken during a change.
    state_.estimate = std::clamp(shown_capacity(r, r.throughput), settings_.min, settings_.max);
    state_.min_window = std::max(settings_.min, kJumpBelow * state_.estimate);
    state_.max_window = std::min(settings_.max, kJumpAbove * state_.estimate);
    top_seen_ = true;
    settle(r);
    // The tokens outstanding now are the overload's queue.
    outstanding_known_ = least_latency_ > 0;
    mix_.forget();
    // The throughput of an overload may be less than the best, so a check follows when its queue is gone.
    if (shown_capacity(r, 0) <= 0)
        full_readings_ = check_wait_;
}

void CapacitySearch::settle(const Reading& r) {
    outstanding_known_ = congested_ == 0;  // after congestion: with the next reading
    settled_outstanding_ = at_work(r);
    settled_ = state_.estimate;
    state_.phase = Phase::kStable;
    congested_ = full_readings_ = 0;
    check_from_ = check_step_ = 0;
    mix_.remember(r.mix);
}

void CapacitySearch::stay(Signal signal, const Reading& r) {
    const bool tried = state_.allocate >= state_.estimate - margin();
    if (check_from_ > 0 && (signal != Signal::kClear || !tried)) {  // the check failed
        state_.estimate = signal == Signal::kShort ? std::clamp(shown_capacity(r, kBelow * r.throughput),
                                                                check_from_, state_.estimate)
                                                   : check_from_;
        settled_ = state_.estimate;
        check_from_ = check_step_ = 0;
        congested_ = full_readings_ = 0;
        check_wait_ = std::min(2 * check_wait_, kChecksRarest * settings_.check_intervals);
        return;
    }
    switch (signal) {
        case Signal::kIdle:
            full_readings_ = 0;
            break;
        case Signal::kNothing:
            break;
        case Signal::kShort:
        case Signal::kViolation:
            congested(signal, r);
            break;
        case Signal::kClear:
            full_readings_ += tried ? 1 : 0;
            if (settings_.drain > 0 && tried && has_queue(r))  // the appliance serves this much and no more
                state_.estimate = settled_ =
                    std::min(state_.estimate, std::max(kBelow * r.throughput, settings_.min));
            follow(r);
            check();
            break;
    }
}

/// Eq. 7, while no queue drains: a queue from before is no sign of the capacity now.
void CapacitySearch::follow(const Reading& r) {
    if (!outstanding_known_) {
        settled_outstanding_ = at_work(r);
        outstanding_known_ = true;
        return;
    }
    const double excess = r.outstanding - settled_outstanding_;
    if (check_from_ > 0 || settings_.drain * excess > tolerance_)
        return;
    state_.estimate = std::clamp(state_.estimate - settings_.alpha * excess, (1 - kFollowMost) * settled_,
                                 (1 + kFollowMost) * settled_);
    state_.estimate = std::clamp(state_.estimate, settings_.min, settings_.max);
}

/// Starts a check of a little more after enough full readings, and one of twice the step after a success. At
/// an appliance that gives bursts a success is kept for some readings first.
void CapacitySearch::check() {
    if (check_from_ > 0) {
        settled_ = state_.estimate;
        row_rose_ = true;
        check_wait_ = settings_.check_intervals;
        if (bursts_) {
            check_from_ = 0;
            full_readings_ = check_wait_ - std::min(check_wait_, kBurstHold);
            return;
        }
        check_step_ = std::min(2 * check_step_, kCheckMost);
    } else if (full_readings_ >= check_wait_ && settings_.check_intervals != 0 &&
               state_.allocate >= state_.estimate - margin()) {  // no queue drains
        check_step_ = kCheckFirst;
        if (row_from_ <= 0) {
            row_from_ = state_.estimate;
            row_rose_ = false;
        }
    } else {
        return;
    }
    check_from_ = state_.estimate;
    state_.estimate = std::min(settings_.max, state_.estimate * (1 + check_step_));
}

/// After a row of checks: a rise that was soon lost again was a burst.
void CapacitySearch::judge_row() {
    if (row_from_ <= 0 || check_from_ > 0)
        return;
    const bool is_lost = state_.estimate <= kRowLost * row_from_;
    if (!is_lost && full_readings_ < settings_.check_intervals)
        return;
    if (row_rose_)
        bursts_ = is_lost;
    row_from_ = 0;
}

/// The estimate, less the rate at which the appliance's queue is drained.
double CapacitySearch::to_allocate(const Reading& r) const {
    if (settings_.drain <= 0)
        return state_.estimate;
    const double drained = to_drain(r);
    return pressed_ > 0 ? std::min(drained, std::max(least_to_allocate(r), kPress * state_.allocate))
                        : drained;
}

double CapacitySearch::least_to_allocate(const Reading& r) const {
    return std::min(state_.estimate, std::max(r.guaranteed, state_.estimate / 2));
}

double CapacitySearch::to_drain(const Reading& r) const {
    double busy = settled_outstanding_;
    double rate = state_.estimate;
    if (settings_.jump &&
        congested_ > 0) {  // until congestion is believed or not, nothing is added to the queue
        rate = std::min(rate, r.throughput);
        busy = busy_outstanding(rate);
        if (least_latency_ <= 0 || r.outstanding <= busy)
            return state_.estimate;  // there is no queue left: the estimate is tried again
    } else if (!outstanding_known_ || (state_.phase != Phase::kStable && state_.phase != Phase::kRevert)) {
        return state_.estimate;
    }
    if (state_.phase == Phase::kRevert && has_queue(r))
        rate = std::min(rate, std::max(r.throughput, state_.min_window));
    const double excess = std::max(0.0, r.outstanding - busy);
    const double least = std::min(state_.estimate, std::max(r.guaranteed, rate / 2));
    // A queue of milliseconds is few tokens and still hurts flows with few outstanding.
    const double most = has_queue(r) ? kDrainMost * rate : rate;
    return std::max(least, std::min(most, rate - settings_.drain * excess));
}

}  // namespace weir::estimate
